"""Exact values of two memory-one policies, differentiable: the truth that sampled estimates are tested against.

A memory-one policy is a tensor of shape [..., 1 + n·m, A] with A = n for row and m for column, of probabilities that sum to 1. Its
first line is the first round; the others follow ``game.own_states(seat)``, so each seat's policy is written in its *own* view: own
action first. Leading dimensions are a batch. Every reply is legal.

With x the distribution over joint actions, s the joint action of a round and r the payoffs:

    x_0(a, b) = π_row(a | start) π_column(b | start)
    P(s, (a, b)) = π_row(a | s) π_column(b | s),   x_{t+1} = x_t P
    finite:     V = Σ_{t<T} γ^t x_t · r
    discounted: V = Σ_{t≥0} γ^t x_t · r = x_0 (I - γP)^{-1} r
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from coplay.games.matrix import MatrixGame

Policies = Mapping[str, Tensor]
"""One memory-one policy a seat."""


def finite_value(game: MatrixGame, policies: Policies, *, rounds: int, discount: float = 1.0) -> dict[str, Tensor]:
    """Expected payoff of each seat, summed over an episode.

    See docs/theory/repeated_games_and_memory.md.

    Args:
        game: the rules.
        policies: each seat's policy, [..., 1 + n·m, A].
        rounds: T, the number of rounds.
        discount: γ, the weight of a round relative to the one before it; 1 for the plain sum.

    Returns:
        ``{seat: V}`` with V of shape [...], in the units of the payoffs, summed over rounds.

    Raises:
        ValueError: if a policy has the wrong shape or does not hold probabilities.
    """
    visits_TS = state_distributions(game, policies, rounds=rounds)
    weights_T = discount ** torch.arange(rounds, dtype=visits_TS.dtype, device=visits_TS.device)
    total_S = (weights_T.unsqueeze(-1) * visits_TS).sum(-2)
    return {seat: total_S @ payoff_vector(game, seat).to(total_S) for seat in game.seats}


def discounted_value(game: MatrixGame, policies: Policies, *, discount: float) -> dict[str, Tensor]:
    """Expected discounted payoff of each seat in the game that never ends: ``x_0 (I - γP)^{-1} r``.

    Multiply by 1 - γ for a payoff per round.

    See docs/theory/repeated_games_and_memory.md.

    Args:
        game: the rules.
        policies: each seat's policy, [..., 1 + n·m, A].
        discount: γ, 0 ≤ γ < 1.

    Returns:
        ``{seat: V}`` with V of shape [...].

    Raises:
        ValueError: as :func:`finite_value`, and if the discount is out of range.
    """
    if not 0.0 <= discount < 1.0:
        raise ValueError(f"discount must be at least 0 and less than 1, got {discount}")
    start_S, transition_SS = joint_chain(game, policies)
    identity_SS = torch.eye(start_S.shape[-1], dtype=start_S.dtype, device=start_S.device)
    payoffs_S2 = torch.stack([payoff_vector(game, seat) for seat in game.seats], dim=-1).to(start_S)
    values_S2 = torch.linalg.solve(identity_SS - discount * transition_SS, payoffs_S2.expand(*start_S.shape, 2))
    return {seat: (start_S * values_S2[..., s]).sum(-1) for s, seat in enumerate(game.seats)}


def value(game: MatrixGame, policies: Policies, *, rounds: int | None, discount: float) -> dict[str, Tensor]:
    """:func:`finite_value` of an episode of so many rounds, or :func:`discounted_value` if ``rounds`` is None."""
    if rounds is None:
        return discounted_value(game, policies, discount=discount)
    return finite_value(game, policies, rounds=rounds, discount=discount)


def discounted_rounds(*, rounds: int | None, discount: float) -> float:
    """How many rounds a value counts, Σ γ^t: dividing a value by it gives a payoff per round. ``rounds`` None: the endless game."""
    if rounds is None:
        return 1.0 / (1.0 - discount)
    return sum(discount**t for t in range(rounds))


def state_distributions(game: MatrixGame, policies: Policies, *, rounds: int) -> Tensor:
    """The probability of each joint action in each round: x_t, of shape [..., T, n·m], in the order of ``game.states``."""
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    x_S, transition_SS = joint_chain(game, policies)
    every = [x_S]
    for _ in range(rounds - 1):
        x_S = (x_S.unsqueeze(-2) @ transition_SS).squeeze(-2)
        every.append(x_S)
    return torch.stack(every, dim=-2)


def joint_chain(game: MatrixGame, policies: Policies) -> tuple[Tensor, Tensor]:
    """The Markov chain of joint actions.

    Returns:
        The start distribution x_0, [..., n·m], and the transition matrix P, [..., n·m, n·m], in the order of ``game.states``.

    Raises:
        ValueError: if a policy has the wrong shape or does not hold probabilities.
    """
    for seat in game.seats:
        _check_policy(game, seat, policies[seat])
    first, second = game.seats
    row = policies[first]
    column = policies[second][..., _row_view(game), :]
    joint = (row.unsqueeze(-1) * column.unsqueeze(-2)).flatten(-2)  # [..., 1 + n·m, n·m]
    return joint[..., 0, :], joint[..., 1:, :]


def payoff_vector(game: MatrixGame, seat: str) -> Tensor:
    """The payoffs of ``seat``, one for each joint action of ``game.states``, in double precision."""
    index = game.seats.index(seat)
    payoffs = [game.joint_payoffs(joint)[index] for joint in game.states]
    return torch.tensor(payoffs, dtype=torch.float64)


def naive_gradient(
    game: MatrixGame, logits: Policies, seat: str, *, rounds: int | None, discount: float = 1.0
) -> Tensor:
    """The exact policy gradient of a naive learner: ``∂V_seat / ∂logits_seat``, the co-player held fixed.

    Policies are the softmax of logits over the last dimension. This is what the expectation of REINFORCE, and of any unbiased
    estimate with a baseline or GAE(λ=1), must equal.

    See docs/theory/other_learners.md.

    Args:
        game: the rules.
        logits: each seat's logits, [..., 1 + n·m, A].
        seat: the learner.
        rounds: T, the number of rounds; None for the game that never ends, which needs a discount below 1.
        discount: γ of :func:`value`.

    Returns:
        The gradient, of the shape of ``logits[seat]``; a batch is summed over, so each member's gradient is its own.
    """
    own = logits[seat].detach().requires_grad_(True)
    theirs = logits[game.other(seat)].detach()
    policies = {seat: own.softmax(-1), game.other(seat): theirs.softmax(-1)}
    own_value = value(game, policies, rounds=rounds, discount=discount)[seat]
    (gradient,) = torch.autograd.grad(own_value.sum(), own)
    return gradient


def _row_view(game: MatrixGame) -> list[int]:
    """Where column's policy keeps each situation, in row's order: the start, then the joint actions of ``game.states``."""
    own = game.own_states(game.seats[1])
    return [0, *(1 + own.index((column, row)) for row, column in game.states)]


def _check_policy(game: MatrixGame, seat: str, policy: Tensor) -> None:
    expected = (1 + len(game.states), len(game.actions[seat]))
    if tuple(policy.shape[-2:]) != expected:
        raise ValueError(
            f"the policy of {seat} must be of shape [..., {expected[0]}, {expected[1]}], got {tuple(policy.shape)}"
        )
    probs = policy.detach()
    if bool((probs < 0).any()) or bool(((probs.sum(-1) - 1).abs() > 1e-4).any()):
        raise ValueError(f"the policy of {seat} must hold probabilities that sum to 1 over its last dimension")
