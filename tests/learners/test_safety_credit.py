"""The penalties' gradients, by enumeration of everything that a batch can come to: exact for credit=rollout, zero for the published ways."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from coplay.games import make_game
from coplay.games.memory import START
from coplay.games.records import Act, Episode, Occupant, Reply, Round, Turn
from coplay.games.safety import safety_measures
from coplay.learners.group_gradient import credited_replies, safe_credits
from coplay.learners.safety_credit import (
    SafetyGame,
    exploited_by,
    penalty,
    pool_weights,
    safety_game,
    safety_metrics,
    safety_rewards,
)
from coplay.learners.settings import GroupGradient, SafetyTerms

GAME = make_game("ipd-8")
SEATS = ("alice", "bob")
WORDS = ("cooperate", "defect")

Rule = Callable[[Sequence[str]], str]
"""A deterministic co-player: from the learner's earlier actions to its own."""

TIT_FOR_TAT: Rule = lambda theirs: theirs[-1] if theirs else "cooperate"  # noqa: E731
DEFECTOR: Rule = lambda theirs: "defect"  # noqa: E731
COOPERATOR: Rule = lambda theirs: "cooperate"  # noqa: E731
POOLS = {"train": TIT_FOR_TAT, "exploit": DEFECTOR, "collusive": COOPERATOR}


def episode(actions: Sequence[str | None], rule: Rule, pool: str, group: int, *, name: str = "") -> Episode:
    """A game of the learner, in alice's seat, against a deterministic co-player."""
    seated = {"alice": Occupant(None, "agent", 0, "agent"), "bob": Occupant(None, name or pool, pool=pool)}
    found = Episode(0, group, 0, seated, turns={"alice": [], "bob": []})
    for t, action in enumerate(actions):
        theirs = rule([word or "cooperate" for word in actions[:t]])
        acts = (Act("action", 0, "alice", action), Act("action", 0, "bob", theirs))
        one = Round(t, None, acts)
        found.rounds.append(Round(t, None, acts, GAME.payoffs(one)))
        for seat, did in zip(SEATS, (action, theirs), strict=True):
            found.turns[seat].append(Turn(seat, t, "action", 0, START, Reply(str(did), did, (0,), (0.0,))))
    return found


def batches(rounds: int, pools: Sequence[str], size: int) -> Iterator[list[Episode]]:
    """All batches that can be played: ``size`` games a pool."""
    plays = list(product(WORDS, repeat=rounds))
    for chosen in product(plays, repeat=size * len(pools)):
        yield [
            episode(actions, POOLS[pools[i // size]], pools[i // size], i // size) for i, actions in enumerate(chosen)
        ]


def state_of(one: Episode, t: int) -> int:
    """What the learner's policy sees: nothing, or the co-player's last action."""
    return 0 if t == 0 else 1 + WORDS.index(str(one.rounds[t - 1].acts[1].action))


def logprob(theta: Tensor, one: Episode, t: int) -> Tensor:
    """Log-probability of the learner's action under a policy of one logit a state."""
    return torch.log_softmax(torch.stack([theta[state_of(one, t)], torch.zeros((), dtype=theta.dtype)]), 0)[
        WORDS.index(str(one.rounds[t].acts[0].action))
    ]


def expected_gradient(
    theta: Tensor, settings: GroupGradient, *, rounds: int, pools: Sequence[str], size: int
) -> Tensor:
    """The mean of the estimator over all batches, each as likely as the policy makes it."""
    total = torch.zeros_like(theta)
    for games in batches(rounds, pools, size):
        logprobs_BT = torch.stack([torch.stack([logprob(theta, one, t) for t in range(rounds)]) for one in games])
        credits_BT = safe_credits(GAME, games, SEATS, "agent", settings)[:, 0]
        (gradient,) = torch.autograd.grad((credits_BT * logprobs_BT).sum() / len(games), theta)
        total += gradient * float(logprobs_BT.detach().sum().exp())
    return total


def exact_gradient(theta: Tensor, terms: SafetyTerms, *, rounds: int, pools: Sequence[str]) -> Tensor:
    """The derivative of the objective, times the number of rounds, by enumeration of each co-player's games."""
    objective = torch.zeros((), dtype=theta.dtype)
    weights = {"train": 1.0, "exploit": terms.exploit, "collusive": terms.collusion}
    for pool in pools:
        for actions in product(WORDS, repeat=rounds):
            one = episode(actions, POOLS[pool], pool, 0)
            seen = safety_measures(GAME, one, "alice")
            harm = [terms.externality * x for x in seen.externality_T]
            value = {
                "train": sum(seen.payoff_T) - sum(harm),
                "exploit": -sum(seen.over_agent_T if terms.measure == "over_agent" else seen.over_fair_T),
                "collusive": -sum(seen.collusion_T),
            }[pool]
            chance = torch.stack([logprob(theta, one, t) for t in range(rounds)]).sum().exp()
            objective = objective + weights[pool] * value * chance
    (gradient,) = torch.autograd.grad(objective, theta)
    return gradient


def policy() -> Tensor:
    return torch.tensor([0.3, 0.8, -0.4], dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("rounds", "pools"), [(1, ("train", "exploit", "collusive")), (2, ("train", "exploit"))])
@pytest.mark.parametrize("measure", ["over_agent", "over_fair"])
def test_rollout_credit_is_the_exact_gradient_of_the_objective(
    rounds: int, pools: tuple[str, ...], measure: str
) -> None:
    terms = SafetyTerms(exploit=2.4, collusion=1.0, externality=1.8, floor=False, measure=measure)
    found = expected_gradient(policy(), GroupGradient(safety=terms, discount=1.0), rounds=rounds, pools=pools, size=2)
    torch.testing.assert_close(found, exact_gradient(policy(), terms, rounds=rounds, pools=pools))


@pytest.mark.parametrize("credit", ["shared", "auxiliary"])
@pytest.mark.parametrize(("rounds", "pools"), [(1, ("train", "exploit", "collusive")), (2, ("train", "exploit"))])
def test_the_published_credit_gives_the_penalties_no_gradient(credit: str, rounds: int, pools: tuple[str, ...]) -> None:
    terms = SafetyTerms(exploit=2.4, collusion=1.0, externality=1.8, credit=credit)
    found = expected_gradient(policy(), GroupGradient(safety=terms, discount=1.0), rounds=rounds, pools=pools, size=2)
    only_pay = exact_gradient(policy(), SafetyTerms(), rounds=rounds, pools=("train",))
    torch.testing.assert_close(found, only_pay)
    assert float(only_pay.abs().max()) > 0.1
    with_penalty = exact_gradient(policy(), terms, rounds=rounds, pools=pools)
    assert not torch.allclose(found, with_penalty, atol=0.1)


def test_a_shared_penalty_cancels_in_every_batch_and_an_auxiliary_one_only_on_average() -> None:
    def credits(credit: str, weight: float) -> list[Tensor]:
        terms = SafetyTerms(exploit=weight, externality=1e-9, credit=credit)
        settings = GroupGradient(safety=terms, normalise="round", discount=0.0)
        return [safe_credits(GAME, games, SEATS, "agent", settings) for games in batches(1, ("train", "exploit"), 2)]

    for without, heavy in zip(credits("shared", 0.0), credits("shared", 100.0), strict=True):
        torch.testing.assert_close(without, heavy, atol=1e-5, rtol=0)
    differences = [
        float((without - heavy).abs().max())
        for without, heavy in zip(credits("auxiliary", 0.0), credits("auxiliary", 3.0), strict=True)
    ]
    assert max(differences) > 0.5


def seen(*games: Episode) -> list[SafetyGame]:
    return [safety_game(GAME, one, "alice") for one in games]


def test_measures_by_hand() -> None:
    measures = safety_measures(GAME, episode(["cooperate", "cooperate", "defect"], DEFECTOR, "exploit", 0), "alice")
    assert measures.payoff_T == (0.0, 0.0, 1.0)
    assert measures.over_agent_T == (5.0, 5.0, 0.0)
    assert measures.over_fair_T == (2.0, 2.0, -2.0)
    assert measures.collusion_T == (0.0, 0.0, 1.0)
    assert measures.externality_T == pytest.approx((1 / 6, 1 / 6, 4 / 6))


def test_each_exploiter_counts_once_and_one_that_loses_hides_no_other() -> None:
    games = seen(
        episode(["cooperate"], DEFECTOR, "exploit", 0, name="a"),
        episode(["cooperate"], DEFECTOR, "exploit", 0, name="a"),
        episode(["cooperate"], DEFECTOR, "exploit", 0, name="a"),
        episode(["defect"], COOPERATOR, "exploit", 1, name="b"),
    )
    assert exploited_by(games, SafetyTerms()) == {"a": 5.0, "b": -5.0}
    assert penalty(games, SafetyTerms(exploit=2.0)) == 5.0  # the mean of 5 and 0, times 2
    assert penalty(games, SafetyTerms(exploit=2.0, floor=False)) == 0.0
    weights = pool_weights(games, SafetyTerms(exploit=2.0))
    assert weights.tolist() == [2.0, 2.0, 2.0, 0.0]  # what does not gain teaches nothing
    assert pool_weights(games, SafetyTerms(exploit=2.0, floor=False)).tolist() == [2.0] * 4


def test_pools_count_as_one_mean_each_whatever_their_number_of_games() -> None:
    games = seen(
        episode(["cooperate"], TIT_FOR_TAT, "train", 0),
        episode(["cooperate"], DEFECTOR, "exploit", 1),
        episode(["cooperate"], DEFECTOR, "exploit", 1),
        episode(["cooperate"], COOPERATOR, "collusive", 2),
    )
    assert pool_weights(games, SafetyTerms(exploit=3.0, collusion=0.5)).tolist() == [4.0, 6.0, 6.0, 2.0]


def test_the_metrics_are_the_objective() -> None:
    games = seen(
        episode(["cooperate", "defect"], TIT_FOR_TAT, "train", 0),
        episode(["cooperate", "defect"], DEFECTOR, "exploit", 1),
        episode(["cooperate", "defect"], COOPERATOR, "collusive", 2),
    )
    terms = SafetyTerms(exploit=2.4, collusion=1.0, externality=1.8)
    found = safety_metrics(games, terms)
    assert found["pay"] == 4.0
    assert found["exploit"] == 2.5
    assert found["collusion"] == 0.5
    assert found["externality"] == pytest.approx(1 / 12)
    assert found["safety"] == pytest.approx(4.0 - 2.4 * 2.5 - 0.5 - 1.8 / 12)


def test_games_of_different_length_are_padded() -> None:
    games = seen(
        episode(["cooperate", "cooperate"], TIT_FOR_TAT, "train", 0), episode(["cooperate"], DEFECTOR, "exploit", 1)
    )
    rewards = safety_rewards(games, SafetyTerms(exploit=1.0, credit="shared"), rounds=2)
    assert rewards.tolist() == [[3.0 - 5.0, 3.0 - 5.0], [-5.0, 0.0]]


def test_a_round_that_is_not_parsed_costs_its_penalty_and_counts_as_no_collusion() -> None:
    one = episode([None], COOPERATOR, "collusive", 0)
    assert safety_measures(GAME, one, "alice").collusion_T == (0.0,)
    settings = GroupGradient(safety=SafetyTerms(collusion=1.0), parse_error_penalty=2.0)
    games = [one, episode(["cooperate"], COOPERATOR, "collusive", 0)]
    credits = safe_credits(GAME, games, SEATS, "agent", settings)[:, 0, 0]
    assert credits.tolist() == [-2.0, 2.0]


def test_only_the_train_pool_is_learnt_from_where_penalties_are_subtracted_from_it() -> None:
    games = [
        episode([word], POOLS[pool], pool, group)
        for group, pool in enumerate(POOLS)
        for word in ("cooperate", "defect")
    ]
    settings = GroupGradient(safety=SafetyTerms(exploit=1.0, collusion=1.0, credit="shared"))
    credited = credited_replies(games, SEATS, "agent", settings, game=GAME)
    assert [one.credit != 0 for one in credited] == [True, True, False, False, False, False]


def test_weights_below_zero_are_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        SafetyTerms(exploit=-1.0)
