"""LOLA and naive learning with exact gradients: pure functions on the logits of memory-one policies.

Learning with Opponent-Learning Awareness (Foerster et al., 2018, "Learning with opponent-learning awareness", AAMAS; section 4.1)
looks through one step that its co-player is expected to take, Δθ' = η ∇_θ' V'(θ, θ'), and expands its own value to first order:

    V(θ, θ' + Δθ') ≈ V(θ, θ') + Δθ' · ∇_θ' V(θ, θ')

As in the paper, the own step differentiates Δθ' but not the factor ∇_θ' V beside it:

    ∇_LOLA = ∇_θ V + η (∇_θ' V)^T ∇_θ' ∇_θ V'

Policies are softmaxes of logits over the actions, [..., 1 + n·m, A], laid out as in :mod:`coplay.games.exact`; leading dimensions are a
batch whose members do not touch. The authors' code has one *sigmoid* logit for each state instead of two softmax logits. A step of rate
α on two logits moves their difference by 2α, so their rates are twice ours for the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from coplay.games.exact import Policies, naive_gradient, value
from coplay.games.matrix import MatrixGame


def lola_objective(
    game: MatrixGame, logits: Policies, seat: str, *, rounds: int | None, discount: float, co_player_rate: float
) -> Tensor:
    """What LOLA climbs: ``V + η sg(∇_θ' V) · ∇_θ' V'``, with sg a constant.

    Its derivative by the seat's own logits, or by whatever parameters these come from, is the LOLA gradient of the module's head.

    Derived in docs/theory/other_learners.md.

    Args:
        game: the rules.
        logits: each seat's logits, [..., 1 + n·m, A].
        seat: the learner.
        rounds: T, the number of rounds; None for the game that never ends.
        discount: γ.
        co_player_rate: η, the rate of the co-player's expected step on its logits; 0 for a naive learner.

    Returns:
        The objective of shape [...], differentiable by ``logits[seat]``, in units of payoffs summed over rounds.
    """
    theirs = logits[game.other(seat)].detach().requires_grad_(True)
    policies = {seat: logits[seat].softmax(-1), game.other(seat): theirs.softmax(-1)}
    values = value(game, policies, rounds=rounds, discount=discount)
    own, co_players = values[seat], values[game.other(seat)]
    (step,) = torch.autograd.grad(co_players.sum(), theirs, create_graph=True)
    (slope,) = torch.autograd.grad(own.sum(), theirs, retain_graph=True)
    return own + co_player_rate * (slope * step).sum((-2, -1))


def lola_gradient(
    game: MatrixGame, logits: Policies, seat: str, *, rounds: int | None, discount: float, co_player_rate: float
) -> Tensor:
    """The gradient of :func:`lola_objective` by the seat's own logits, of their shape; see docs/theory/other_learners.md."""
    own = logits[seat].detach().requires_grad_(True)
    both = {seat: own, game.other(seat): logits[game.other(seat)]}
    objective = lola_objective(game, both, seat, rounds=rounds, discount=discount, co_player_rate=co_player_rate)
    (gradient,) = torch.autograd.grad(objective.sum(), own)
    return gradient


def naive_learning(
    game: MatrixGame, logits: Policies, *, discount: float, learning_rate: float, steps: int, rounds: int | None = None
) -> dict[str, Tensor]:
    """Two naive learners: both climb the exact gradient of their own value, at once. Arguments and result are those of :func:`lola`."""

    def gradient(now: Policies, seat: str) -> Tensor:
        return naive_gradient(game, now, seat, rounds=rounds, discount=discount)

    return _ascend(gradient, logits, learning_rate, steps)


def lola(
    game: MatrixGame,
    logits: Policies,
    *,
    discount: float,
    learning_rate: float,
    co_player_rate: float,
    steps: int,
    rounds: int | None = None,
) -> dict[str, Tensor]:
    """Two LOLA learners, each expecting the other to be naive.

    Args:
        game: the rules.
        logits: where each seat starts, [..., 1 + n·m, A].
        discount: γ.
        learning_rate: α, of both seats, on softmax logits.
        co_player_rate: η, the rate at which each expects the other to step.
        steps: how many steps each takes.
        rounds: T; None for the game that never ends.

    Returns:
        Each seat's logits after the last step.
    """

    def gradient(now: Policies, seat: str) -> Tensor:
        return lola_gradient(game, now, seat, rounds=rounds, discount=discount, co_player_rate=co_player_rate)

    return _ascend(gradient, logits, learning_rate, steps)


def _ascend(
    gradient: Callable[[Policies, str], Tensor], logits: Mapping[str, Tensor], rate: float, steps: int
) -> dict[str, Tensor]:
    """Simultaneous steps: both gradients are taken before either seat moves."""
    now = {seat: logits[seat].detach() for seat in logits}
    for _ in range(steps):
        ways = {seat: gradient(now, seat) for seat in logits}
        now = {seat: now[seat] + rate * ways[seat] for seat in logits}
    return now
