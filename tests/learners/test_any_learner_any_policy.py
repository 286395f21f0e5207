"""Any learner trains any policy: PPO and group gradients on tables, one-token replies and generated text."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from combinations import (
    ANY_LEARNER_ANY_POLICY,
    SPLIT,
    Combination,
    group,
    one_token,
    played,
    ppo,
    same_state,
    self_play,
    split_with_script,
    state_of,
    table,
    text,
)
from small_policies import IPD

from coplay.games.exact import value as exact_value
from coplay.games.memory import Memory
from coplay.games.records import Episode, Turn
from coplay.learners.credit import whiten
from coplay.learners.group_gradient import credited_replies
from coplay.players.policy import Policy
from coplay.players.scripted import make_script
from coplay.players.tabular import InitialPolicy, TabularPolicy

torch.set_num_threads(1)


@pytest.fixture(params=ANY_LEARNER_ANY_POLICY)
def combination(request: pytest.FixtureRequest) -> Combination:
    """Every learner on every policy in turn."""
    return ANY_LEARNER_ANY_POLICY[request.param]


def own_turns(episodes: Sequence[Episode]) -> list[Turn]:
    return [turn for one in episodes for seat in one.seats_of("learner") for turn in one.turns[seat]]


def shake(policy: Policy) -> None:
    """Move every slot somewhere else, so that nothing is zero."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=generator)
    policy.bump_version(range(len(policy.parameters()[0])))


# --- One update --------------------------------------------------------------------------------------------------------------------------


def test_an_update_moves_the_policy_and_says_how_it_went(combination: Combination) -> None:
    learner = combination.make([7])
    before = learner.player.slot_state(0)
    episodes = combination.episodes(learner, [7], 0)
    assert any(payoff != 0 for one in episodes for seat in one.seats_of("learner") for payoff in one.payoffs(seat))
    learner.collect(episodes)
    metrics = learner.update((0,))[7]
    expected = {"kl", "kl_coef", "policy_loss", "value_loss", "entropy", "clipped", "clipped_first"}
    if hasattr(learner, "settings"):
        expected = {"loss", "entropy", "tokens", "grad_norm", *(["kl"] if learner.settings.kl_coef else [])}
    assert set(metrics) == expected
    assert all(math.isfinite(number) for number in metrics.values())
    after = learner.player.slot_state(0)
    assert before.keys() == after.keys() and all(bool(after[key].isfinite().all()) for key in after)
    assert not same_state(before, after)


def test_seeds_together_equal_seeds_alone(combination: Combination) -> None:
    seeds = [5, 0, 3]
    together = combination.make(seeds)
    combination.learn(together, seeds, 0, 1)
    for seed in seeds:
        alone = combination.make([seed])
        combination.learn(alone, [seed], 0, 1)
        mine, own = state_of(together, seed), state_of(alone, seed)
        assert mine.keys() == own.keys()
        for key in own:
            torch.testing.assert_close(mine[key], own[key], rtol=1e-3, atol=1e-5)


def test_a_seed_without_games_stays_as_it_was(combination: Combination) -> None:
    learner = combination.make([5, 6])
    before = state_of(learner, 6)
    learner.collect(combination.episodes(learner, [5], 0))
    metrics = learner.update((0,))
    assert "skipped" in metrics[6]["note"] and "note" not in metrics[5]
    after = state_of(learner, 6)
    progress = [state.pop("progress", torch.zeros(1)) for state in (before, after)]  # PPO counts skipped updates
    assert same_state(before, after) and torch.equal(progress[0][:-1], progress[1][:-1])


@pytest.mark.parametrize("name", ["group, table", "group, words", "group, network", "group, one token", "group, text"])
def test_the_reference_is_the_policy_before_any_learning(name: str) -> None:
    """Under its slot, and as :meth:`reference_logprobs` has it for whole replies."""
    combination = ANY_LEARNER_ANY_POLICY[name]
    learner, fresh = combination.make([7]), combination.make([7])
    combination.learn(learner, [7], 0)
    policy = learner.player
    shake(policy)
    turns = own_turns(combination.episodes(learner, [7], 1))
    expected = fresh.player.score_replies([0] * len(turns), turns).logprobs_R.tolist()
    assert policy.score_replies([0] * len(turns), turns).logprobs_R.tolist() != pytest.approx(expected, abs=1e-3)
    by_slot = policy.score_replies([policy.reference] * len(turns), turns).logprobs_R.tolist()
    assert by_slot == pytest.approx(expected, abs=1e-4)
    assert policy.reference_logprobs(turns) == pytest.approx(expected, abs=1e-4)


# --- PPO on generated replies --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_a_replys_log_probability_is_the_sum_of_its_tokens(temperature: float) -> None:
    """So are its gradients; entropies are means over the tokens."""
    policy = text([0, 1], temperature=temperature)
    shake(policy)
    learner = ppo(policy, [0, 1])
    turns = own_turns(split_with_script(learner, [0, 1], 0))
    slots = [seed for seed in (0, 1) for _ in range(len(turns) // 2)]
    assert len({len(turn.reply.tokens) for turn in turns}) >= 1 and min(len(turn.reply.tokens) for turn in turns) > 1
    weights_R = torch.linspace(-1.0, 2.0, len(turns))
    parameters = policy.parameters()
    replies = policy.score_replies(slots, turns, grad=True)
    tokens = policy.score_tokens(slots, turns, grad=True)
    assert replies.logprobs_R.shape == replies.entropies_R.shape == (len(turns),)
    assert replies.hidden_RH.shape == (len(turns), policy.width)
    of_replies = torch.autograd.grad((weights_R * replies.logprobs_R).sum(), parameters)
    of_tokens = torch.autograd.grad((weights_R[tokens.rows_N] * tokens.logprobs_N).sum(), parameters)
    assert max(float(gradient.abs().max()) for gradient in of_tokens) > 1e-3
    for mine, theirs in zip(of_replies, of_tokens, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    for row, turn in enumerate(turns):
        own_N = tokens.rows_N == row
        assert int(own_N.sum()) == len(turn.reply.tokens)
        assert float(replies.logprobs_R[row].detach()) == pytest.approx(sum(turn.reply.logprobs), abs=1e-3)
        assert float(replies.entropies_R[row].detach()) == pytest.approx(
            float(tokens.entropies_N[own_N].detach().mean()), abs=1e-5
        )


def test_each_token_alone_adds_up_to_the_replys_gradient() -> None:
    """The plain way: every token scored given the prompt and the tokens before it, one forward pass each."""
    policy = text([0])
    shake(policy)
    (turn, *_) = own_turns(split_with_script(ppo(policy, [0]), [0], 0))
    together = torch.autograd.grad(policy.score_replies([0], [turn], grad=True).logprobs_R.sum(), policy.parameters())
    summed = [torch.zeros_like(parameter) for parameter in policy.parameters()]
    for i, token in enumerate(turn.reply.tokens):
        prompt = (*turn.reply.prompt, *turn.reply.tokens[:i])
        logprob = policy.scorer.score([0], [prompt], grad=True).logits_RV.log_softmax(-1)[0, token]
        for total, gradient in zip(summed, torch.autograd.grad(logprob, policy.parameters()), strict=True):
            total += gradient
    for mine, theirs in zip(together, summed, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)


def test_a_ppo_step_on_generated_replies_is_the_policy_gradient() -> None:
    """Without clipping, penalty, value loss and bonus: -mean of A * grad log pi(reply), with A = G - V whitened over the batch."""
    policy = text([0])
    shake(policy)
    plain = {"kl_coef": 0.0, "value_coef": 0.0, "gamma": 1.0, "lam": 1.0, "epochs": 1, "minibatch": 1000}
    learner = ppo(policy, [0], **plain, score_scaling=False, gae_chain="episode")
    heads = learner.heads.weights.detach()[0].clone()
    episodes = split_with_script(learner, [0], 0)
    turns = own_turns(episodes)
    assert all(turn.reply.value is None for turn in turns)  # text models leave values to the update
    with torch.no_grad():
        hidden_RH = policy.score_replies([0] * len(turns), turns).hidden_RH
        values_R = hidden_RH @ heads[:-1] + heads[-1]
    returns_R = torch.tensor([sum(one.payoffs("alice")[t:]) for one in episodes for t in range(3)])  # type: ignore[arg-type]
    advantages_R = whiten(returns_R - values_R)
    logprobs = [policy.score_tokens([0], [turn], grad=True).logprobs_N.sum() for turn in turns]
    expected = torch.autograd.grad(-(advantages_R * torch.stack(logprobs)).mean(), policy.parameters())
    learner.collect(episodes)
    learner.update((0,))
    for parameter, gradient in zip(policy.parameters(), expected, strict=True):
        assert parameter.grad is not None  # one optimiser step: the gradient is still there
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-5)


def test_what_ppo_is_paid_for_is_said_more_often() -> None:
    """Paid by the share of the hats that it asks for; a reply that cannot be parsed asks for none."""

    def share(episode: Episode, t: int) -> float:
        proposal = episode.turns["alice"][t].reply.action
        return float(proposal["hats"]) / 10 if isinstance(proposal, dict) else 0.0

    changes = {"value_gradient": "head", "head_learning_rate": 0.03, "gamma": 0.0, "kl_coef": 0.0, "max_grad_norm": 1.0}
    learner = ppo(text([0]), [0], learning_rate=5e-3, epochs=4, minibatch=24, **changes)
    script = make_script("always_cooperate", SPLIT, "bob")
    paid = []
    for number in range(8):
        episodes = [
            replace(
                one,
                rounds=[replace(r, payoffs={**(r.payoffs or {}), "alice": share(one, r.number)}) for r in one.rounds],
            )
            for one in played(SPLIT, {"alice": learner, "bob": script}, [0], number, games=16)
        ]
        paid.append(sum(one.total("alice") for one in episodes) / (16 * 3))
        learner.collect(episodes)
        learner.update((number,))
    assert sum(paid[-3:]) / 3 > paid[0] + 0.2


# --- Group gradients on choices --------------------------------------------------------------------------------------------------------------

AS_GRADIENT = {"learning_rate": 1e6, "adam_eps": 1e6, "max_grad_norm": None}
"""With such an epsilon Adam's first step is the gradient itself."""


@pytest.mark.parametrize("make", [table, one_token])
def test_a_group_step_on_choices_is_its_equation(make: Any) -> None:
    """-1/N sum of c * grad log pi(reply), every reply one token, credits as for any other policy."""
    policy = make([0])
    learner = group(policy, [0], IPD, **AS_GRADIENT, beta=2.0)
    episodes = self_play(learner, [0], 0)
    credited = credited_replies(episodes, IPD.seats, "learner", learner.settings)
    assert len(credited) == 4 * 2 * 3 and all(len(one.turn.reply.tokens) == 1 for one in credited)
    logprobs_R = policy.score_replies([0] * len(credited), [one.turn for one in credited], grad=True).logprobs_R
    credits_R = torch.tensor([one.credit for one in credited])
    expected = torch.autograd.grad(-(credits_R * logprobs_R).mean(), policy.parameters())
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    learner.collect(episodes)
    learner.update((0,))
    assert max(float(gradient.abs().max()) for gradient in expected) > 1e-2
    for parameter, start, gradient in zip(policy.parameters(), before, expected, strict=True):
        torch.testing.assert_close(start - parameter.detach(), gradient, rtol=1e-3, atol=1e-5)


ROUNDS = 3
PROBS = {"row": (0.55, 0.7, 0.4, 0.6, 0.3), "column": (0.9, 0.95, 0.1, 0.9, 0.1)}


MANY = range(100)


def many_tables(seat: str) -> TabularPolicy:
    initial = InitialPolicy(PROBS[seat][0], PROBS[seat][1:])
    return TabularPolicy("table", IPD, seat, Memory.LAST_ROUND, slots=len(MANY), initial=initial)


@pytest.fixture(scope="module")
def many() -> list[Episode]:
    """30 games in two groups for each of 100 seeds."""
    us, them = (group(many_tables(seat), MANY, IPD) for seat in IPD.seats)
    them.name = "other"
    episodes = played(IPD, {"row": us, "column": them}, MANY, 0, games=30, rounds=ROUNDS)
    for one in episodes:
        one.group = one.game // 15
    return episodes


@pytest.mark.parametrize("method", ["grpo", "sum_of_rewards"])
def test_the_mean_group_gradient_on_a_table_is_the_exact_gradient(many: list[Episode], method: str) -> None:
    """Of the own value with GRPO, of the sum of both with the sum of rewards. A round's mean, so 1/T."""
    policy = many_tables("row")
    learner = group(policy, MANY, IPD, **AS_GRADIENT, method=method, discount=1.0)
    learner.collect(many)
    learner.update((0,))
    estimates = policy.theta.detach()[:, :5].double().numpy()
    logits = {
        seat: torch.tensor([[math.log(p / (1 - p)), 0.0] for p in own], dtype=torch.float64, requires_grad=True)
        for seat, own in PROBS.items()
    }
    values = exact_value(IPD, {seat: own.softmax(-1) for seat, own in logits.items()}, rounds=ROUNDS, discount=1.0)
    objective = values["row"] + (values["column"] if method == "sum_of_rewards" else 0.0)
    exact = torch.autograd.grad(objective / ROUNDS, logits["row"])[0].numpy()
    standard_error = estimates.std(0, ddof=1) / math.sqrt(len(MANY))
    assert np.abs(exact).max() > 10 * standard_error.max()  # the test can tell right from wrong
    assert (np.abs(estimates.mean(0) - exact) < 4.0 * standard_error).all()
