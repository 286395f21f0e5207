"""Shapes of every credit and loss function, with another size for every axis, and which axes a function may mix.

B games, S seats, T rounds, E episodes, N values, R rows of a batch, L tokens, V vocabulary, A actions, P slots.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from small_policies import IPD, episode_of
from torch import Tensor

from coplay.learners.credit import generalised_advantages, leave_one_out, returns_to_go, whiten
from coplay.learners.group_credit import (
    aligned_advantages,
    discounted_past,
    group_relative_advantages,
    lone_games,
    summed_advantages,
)
from coplay.learners.group_gradient import count_unparsed, credits_of, group_loss, padded_rounds, rewards_of
from coplay.learners.lola import lola, lola_gradient, lola_objective, naive_learning
from coplay.learners.losses import (
    clipped_policy_loss,
    clipped_value_loss,
    k3_kl,
    kl_penalised_rewards,
    ppo_loss,
    sparse_target_kl,
    truncated_importance,
)
from coplay.learners.q_learning import QTransition, epsilon_greedy, q_target
from coplay.learners.reinforce import reinforce_weights
from coplay.learners.settings import GroupGradient
from coplay.learners.value_heads import ValueHeads
from coplay.models.entropy import restricted_entropy

B, S, T, N, R, V, A, P, H, E = 5, 3, 4, 7, 6, 11, 2, 8, 9, 10
"""All different, so that no axis can be taken for another."""

GROUPS_B = torch.tensor([0, 1, 0, 1, 1])


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


GAMES_BY_SEATS_BY_ROUNDS: dict[str, Callable[[Tensor], Tensor]] = {
    "returns to go": lambda x_BST: returns_to_go(x_BST, discount=0.9),
    "leave one out": leave_one_out,
    "group baseline": lambda x_BST: group_relative_advantages(x_BST, GROUPS_B),
    "discounted past": lambda x_BST: discounted_past(x_BST, gamma=0.9),
    "sum of rewards": summed_advantages,
    **{
        f"alignment, {variant}": lambda x_BST, variant=variant: aligned_advantages(  # type: ignore[misc]
            x_BST, beta=2.0, gamma=0.9, variant=variant
        )
        for variant in ("paper", "one_gamma", "including_now", "undiscounted_mean")
    },
    **{
        f"credits, {method}": lambda x_BST, method=method: credits_of(  # type: ignore[misc]
            x_BST, torch.zeros(B, S, T), GROUPS_B, GroupGradient(method=method)
        )
        for method in ("grpo", "sum_of_rewards", "advantage_alignment")
    },
}
"""Functions from [B, S, T] to [B, S, T]."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", GAMES_BY_SEATS_BY_ROUNDS)
def test_credit_keeps_games_seats_and_rounds(name: str, dtype: torch.dtype) -> None:
    credit_BST = GAMES_BY_SEATS_BY_ROUNDS[name](random(B, S, T, dtype=dtype))
    assert credit_BST.shape == (B, S, T)
    assert credit_BST.dtype == dtype


@pytest.mark.parametrize("name", GAMES_BY_SEATS_BY_ROUNDS)
def test_seats_may_come_in_any_order(name: str) -> None:
    function, order = GAMES_BY_SEATS_BY_ROUNDS[name], [2, 0, 1]
    x_BST = random(B, S, T)
    torch.testing.assert_close(function(x_BST[:, order]), function(x_BST)[:, order])


@pytest.mark.parametrize("name", GAMES_BY_SEATS_BY_ROUNDS)
def test_games_of_a_group_may_come_in_any_order(name: str) -> None:
    function, order = GAMES_BY_SEATS_BY_ROUNDS[name], [2, 4, 0, 1, 3]  # within groups 0, 1, 0, 1, 1
    x_BST = random(B, S, T)
    assert GROUPS_B[order].tolist() == GROUPS_B.tolist()
    torch.testing.assert_close(function(x_BST[order]), function(x_BST)[order])


@pytest.mark.parametrize(
    ("name", "games", "seats"),
    [
        ("returns to go", False, False),
        ("leave one out", True, False),
        ("group baseline", True, False),
        ("discounted past", False, False),
        ("sum of rewards", False, True),
        ("alignment, paper", False, True),
        ("credits, grpo", True, False),
        ("credits, sum_of_rewards", True, True),
        ("credits, advantage_alignment", True, True),
    ],
)
def test_what_a_change_in_one_game_and_seat_reaches(name: str, games: bool, seats: bool) -> None:
    """Whether it reaches other games of the group, and other seats; games of other groups never."""
    function = GAMES_BY_SEATS_BY_ROUNDS[name]
    x_BST = random(B, S, T)
    changed_BST = x_BST.clone()
    changed_BST[0, 1] += 1.0
    moved_BS = (~torch.isclose(function(x_BST), function(changed_BST))).any(-1)
    assert moved_BS[0, 1]
    assert bool(moved_BS[2, 1]) == games  # another game of group 0
    assert bool(moved_BS[0, [0, 2]].all()) == bool(moved_BS[0, [0, 2]].any()) == seats
    if name != "leave one out":  # it is of one group
        assert not moved_BS[[1, 3, 4]].any()


def test_credit_over_games_and_rounds() -> None:
    rewards_BT, values_BT = random(B, T), random(B, T, seed=1)
    ends_BT = torch.zeros(B, T, dtype=torch.bool)
    assert generalised_advantages(rewards_BT, values_BT, ends_BT, gamma=0.9, lam=0.5).shape == (B, T)
    assert returns_to_go(rewards_BT, discount=0.9).shape == (B, T)
    assert leave_one_out(rewards_BT).shape == (B, T)
    assert whiten(random(N)).shape == whiten(random(N), shift_mean=False).shape == (N,)


def test_advantages_over_episodes_are_those_of_each_episode() -> None:
    """E episodes of T rounds in a row, cut at their ends, are B * E games of T rounds."""
    rewards_BET, values_BET = random(B, E, T), random(B, E, T, seed=1)
    ends_BET = torch.zeros(B, E, T, dtype=torch.bool)
    ends_BET[..., -1] = True
    whole = generalised_advantages(*(x.flatten(1) for x in (rewards_BET, values_BET, ends_BET)), gamma=0.9, lam=0.5)
    apart = generalised_advantages(*(x.flatten(0, 1) for x in (rewards_BET, values_BET, ends_BET)), gamma=0.9, lam=0.5)
    assert whole.shape == (B, E * T) and apart.shape == (B * E, T)
    assert torch.equal(whole.view(B, E, T), apart.view(B, E, T))


@pytest.mark.parametrize("baseline", [True, False])
def test_reinforce_has_a_weight_for_each_game_and_round(baseline: bool) -> None:
    payoffs_BT = random(B, T)
    weights_BT = reinforce_weights(payoffs_BT, discount=0.9, baseline=baseline)
    assert weights_BT.shape == (B, T)
    for b in range(B):
        for t in range(T):
            returns = [sum(0.9 ** (k - t) * float(payoffs_BT[j, k]) for k in range(t, T)) for j in range(B)]
            others = (sum(returns) - returns[b]) / (B - 1) if baseline else 0.0
            assert float(weights_BT[b, t]) == pytest.approx(0.9**t * (returns[b] - others) / B)


def test_a_q_target_is_a_number() -> None:
    values_SA = random(S, A).numpy()
    values_SA[2] = [1.0, 5.0]
    assert q_target(QTransition(0, 1, payoff=3.0, next_state=2), values_SA, discount=0.5) == 3.0 + 0.5 * 5.0
    assert q_target(QTransition(0, 1, 3.0, next_state=2, next_choices=1), values_SA, discount=0.5) == 3.0 + 0.5 * 1.0
    assert q_target(QTransition(0, 1, 3.0, next_state=None), values_SA, discount=0.5) == 3.0
    assert len(epsilon_greedy(np.arange(float(V)), epsilon=0.2)) == V


def test_counts_are_plain_numbers() -> None:
    assert lone_games(GROUPS_B) == 0 and lone_games(torch.tensor([0, 1, 1, 2])) == 2


def test_rewards_and_unparsed_replies_are_games_by_seats_by_rounds() -> None:
    """Two seats here; games of 1 to 4 rounds are padded to the longest."""
    episodes = [episode_of([("cooperate", "defect")] * rounds, game=b) for b, rounds in enumerate((4, 1, 2, 3, 4))]
    unparsed_BST = count_unparsed(episodes, IPD.seats)
    assert padded_rounds(episodes) == T and unparsed_BST.shape == (B, 2, T)
    assert rewards_of(episodes, IPD.seats, unparsed_BST, GroupGradient()).shape == (B, 2, T)
    assert count_unparsed(episodes, IPD.seats[:1]).shape == (B, 1, T)


def test_losses_have_a_number_a_row() -> None:
    x_R, y_R, z_R = random(3, R)
    assert clipped_policy_loss(x_R, y_R, z_R, clip=0.2).shape == (R,)
    assert clipped_value_loss(x_R, y_R, z_R, clip=0.2).shape == (R,)
    terms = ppo_loss(*random(7, R), clip=0.2, value_clip=0.2, value_coef=0.1, entropy_coef=0.1)
    assert [term.shape for term in terms] == [(R,)] * 3
    assert kl_penalised_rewards(*random(2, N), kl_coef=0.2).shape == (N,)
    assert k3_kl(*random(2, N)).shape == (N,)
    assert truncated_importance(*random(2, N), cap=2.0).shape == (N,)
    replies_RA = torch.tensor([[1, 4]] * R)
    assert sparse_target_kl(random(R, V), replies_RA, random(R, A).softmax(-1)).shape == (R,)
    assert restricted_entropy(random(R, A)).shape == (R,)


def test_the_group_loss_is_a_number() -> None:
    logprobs_N, sampled_N, credits_N, entropies_N, reference_N = random(5, N)
    settings = GroupGradient(kl_coef=0.1, entropy_coef=0.1)
    assert group_loss(logprobs_N, sampled_N, credits_N, entropies_N, reference_N, settings).shape == ()


def test_lola_has_a_value_a_batch_member() -> None:
    lines = 1 + len(IPD.states)
    logits = {seat: random(P, lines, A, seed=i) for i, seat in enumerate(IPD.seats)}
    options = {"rounds": None, "discount": 0.9, "co_player_rate": 0.5}
    assert lola_objective(IPD, logits, "row", **options).shape == (P,)  # type: ignore[arg-type]
    assert lola_gradient(IPD, logits, "row", **options).shape == (P, lines, A)  # type: ignore[arg-type]


def test_lola_and_naive_learning_keep_the_shapes_of_the_logits() -> None:
    lines = 1 + len(IPD.states)
    logits = {seat: random(P, lines, A, seed=i) for i, seat in enumerate(IPD.seats)}
    learnt = lola(IPD, logits, discount=0.9, learning_rate=0.5, co_player_rate=0.5, steps=2)
    naive = naive_learning(IPD, logits, discount=0.9, learning_rate=0.5, steps=2)
    assert [x.shape for x in (*learnt.values(), *naive.values())] == [(P, lines, A)] * 4


REFUSED: dict[str, Callable[[], object]] = {
    "advantages, values": lambda: generalised_advantages(
        random(B, T), random(1, T), torch.zeros(B, T, dtype=torch.bool), gamma=1, lam=1
    ),
    "advantages, ends": lambda: generalised_advantages(
        random(B, T), random(B, T), torch.zeros(B, 1, dtype=torch.bool), gamma=1, lam=1
    ),
    "leave one out": lambda: leave_one_out(random(1, T)),
    "groups": lambda: group_relative_advantages(random(B, S, T), torch.zeros(B + 1)),
    "credits": lambda: credits_of(random(B, S, T), torch.zeros(B, S, 1), GROUPS_B, GroupGradient()),
    "policy loss": lambda: clipped_policy_loss(random(R), random(R), random(1), clip=0.2),
    "value loss": lambda: clipped_value_loss(random(R), random(R, 1), random(R), clip=0.2),
    "entropies of PPO": lambda: ppo_loss(
        *random(6, R), random(1), clip=0.2, value_clip=0.2, value_coef=0.1, entropy_coef=0.1
    ),
    "values of PPO": lambda: ppo_loss(
        *random(3, R), *random(3, 1), random(R), clip=0.2, value_clip=0.2, value_coef=0.1, entropy_coef=0.1
    ),
    "KL reward": lambda: kl_penalised_rewards(random(N), random(1), kl_coef=0.2),
    "k3": lambda: k3_kl(random(N), random(1)),
    "importance": lambda: truncated_importance(random(N), random(1), cap=2.0),
    "group loss, credits": lambda: group_loss(random(N), random(N), random(1), random(N), None, GroupGradient()),
    "group loss, reference": lambda: group_loss(*random(4, N), random(1), GroupGradient(kl_coef=0.1)),
    "sparse KL": lambda: sparse_target_kl(random(R, V), torch.zeros(R, A, dtype=torch.long), random(R, 1)),
}
"""Calls whose tensors would be broadcast, or do not belong together."""


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_do_not_belong_together_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"must have one shape|games"):
        REFUSED[name]()


PURE: dict[str, Callable[..., Tensor]] = {
    "KL reward": lambda *x: kl_penalised_rewards(*x[:2], kl_coef=0.2),
    "PPO": lambda *x: ppo_loss(*x, clip=0.2, value_clip=0.2, value_coef=0.1, entropy_coef=0.1).loss_R,
    "REINFORCE": lambda *x: reinforce_weights(torch.stack(x[:3]), discount=0.9, baseline=True),
    "GRPO": lambda *x: group_loss(*x[:5], GroupGradient(kl_coef=0.1)),
}


@pytest.mark.parametrize("name", PURE)
def test_pure_functions_leave_their_arguments_alone_and_repeat_themselves(name: str) -> None:
    arguments = random(7, R)
    before = arguments.clone()
    first, second = PURE[name](*arguments), PURE[name](*arguments)
    assert torch.equal(first, second) and torch.equal(arguments, before)


def test_value_heads_have_a_value_a_row() -> None:
    heads = ValueHeads("row", range(P), H, torch.device("cpu"))
    assert heads.weights.shape == (P, H + 1)
    hidden_RH = random(R, H, dtype=torch.float32)
    positions = [0, 7, 7, 3, 1, 0]
    values_R = heads(positions, hidden_RH)
    assert values_R.shape == (R,)
    for r, position in enumerate(positions):
        *weights, bias = heads.weights[position].tolist()
        expected = sum(w * h for w, h in zip(weights, hidden_RH[r].tolist(), strict=True)) + bias
        assert float(values_R[r].detach()) == pytest.approx(expected, rel=1e-5, abs=1e-6)
