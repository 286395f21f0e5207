"""How far a learner can be steered: the best memory-one policy to commit to while it climbs the exact gradient of its own payoff.

A learner with logits θ plays K episodes of T rounds against a fixed policy q of its co-player, and takes one step after each:

    V_seat(θ, q) = mean payoff per round of an episode (coplay.games.exact)
    θ_{k+1} = θ_k + α ∂V_learner(θ_k, q) / ∂θ_k
    J(q) = (1/K) Σ_k V_shaper(θ_k, q)

J is what a shaper gets that commits to q while the other side learns. It is searched by the cross-entropy method, as it is neither convex nor
smooth over long horizons: extortion and plain exploitation are maxima far apart. What is found bounds from below what can be taken.

See docs/howto/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coplay.games.exact import finite_value, naive_gradient
from coplay.games.matrix import MatrixGame
from coplay.rng import stream

LEAST = 0.02
"""A learner's probabilities at its start are at least this: the gradient of what is never tried is zero."""


@dataclass(frozen=True)
class Rule:
    """How the learner learns."""

    learning_rate: float = 5.0
    """Step along the gradient of the payoff per round, on softmax logits."""
    episodes: int = 50
    """K; a step after each."""


@dataclass(frozen=True)
class Search:
    """The cross-entropy method: draw policies, keep the best, draw around them."""

    population: int = 64
    """Policies drawn in each iteration."""
    elite: int = 8
    """Those that the next are drawn around."""
    iterations: int = 25
    """How often."""
    spread: float = 3.0
    """Standard deviation of the first draws' logits."""


@dataclass(frozen=True)
class Course:
    """What came of it; B courses at once. Payoffs are per round."""

    shaper_B: Tensor
    """The mean payoff of the side that does not change, over all episodes."""
    learner_B: Tensor
    """The same of the learner."""
    end_BFA: Tensor
    """The learner's policy in the end, [B, 1 + n·m, A]."""


def learning_logits(policy_FA: Tensor) -> Tensor:
    """The logits that a learner with this policy starts from; see :data:`LEAST`."""
    kept = policy_FA.clamp(min=LEAST)
    return (kept / kept.sum(-1, keepdim=True)).log()


def course(
    game: MatrixGame, shaper: str, *, fixed_BFA: Tensor, start_BFA: Tensor, rounds: int, rule: Rule, naive: bool = False
) -> Course:
    """Let a learner learn against policies that do not change, or beside one that learns by the same rule.

    Args:
        game: the rules.
        shaper: the seat of the side that does not learn.
        fixed_BFA: logits of its policies.
        start_BFA: logits of the learner in the other seat.
        rounds: T.
        rule: how the learner learns.
        naive: whether the shaper's side learns by the same rule, from ``fixed_BFA`` on.
    """
    learner = game.other(shaper)
    logits = {shaper: fixed_BFA, learner: start_BFA}
    paid = {seat: torch.zeros(fixed_BFA.shape[0], dtype=torch.float64) for seat in game.seats}
    for _ in range(rule.episodes):
        values = finite_value(game, {seat: own.softmax(-1) for seat, own in logits.items()}, rounds=rounds)
        for seat in game.seats:
            paid[seat] += values[seat] / (rounds * rule.episodes)
        climbing = game.seats if naive else (learner,)
        steps = {seat: naive_gradient(game, logits, seat, rounds=rounds) / rounds for seat in climbing}
        logits |= {seat: logits[seat] + rule.learning_rate * steps[seat] for seat in climbing}
    return Course(paid[shaper], paid[learner], logits[learner].softmax(-1))


def best_commitment(
    game: MatrixGame,
    shaper: str,
    *,
    start_PFA: Tensor,
    rounds: int,
    rule: Rule,
    seeds: Sequence[int],
    search: Search = Search(),
) -> Tensor:
    """The best policy found to commit to against each of P learners.

    Args:
        game: the rules.
        shaper: the seat that commits.
        start_PFA: logits of the learners in the other seat.
        rounds: T.
        rule: how they learn.
        seeds: of the search, one for each learner.
        search: how long is searched.

    Returns:
        Its logits, [P, 1 + n·m, A].
    """
    shape = (len(game.states) + 1, len(game.actions[shaper]))
    streams = [stream(seed, "commitment") for seed in seeds]
    places = torch.arange(len(streams))
    mean_PFA = torch.zeros((len(streams), *shape), dtype=torch.float64)
    spread_PFA = torch.full_like(mean_PFA, search.spread)
    best_PFA, most_P = mean_PFA, torch.full((len(streams),), -torch.inf, dtype=torch.float64)
    starts_BFA = start_PFA.repeat_interleave(search.population, dim=0)
    for _ in range(search.iterations):
        drawn = np.stack([rng.standard_normal((search.population, *shape)) for rng in streams])
        tried = mean_PFA.unsqueeze(1) + spread_PFA.unsqueeze(1) * torch.from_numpy(drawn)
        done = course(game, shaper, fixed_BFA=tried.flatten(0, 1), start_BFA=starts_BFA, rounds=rounds, rule=rule)
        gained, order = done.shaper_B.view(len(streams), -1).topk(search.elite)
        elite = tried[places.unsqueeze(1), order]
        better_P = gained[:, 0] > most_P
        best_PFA = torch.where(better_P.view(-1, 1, 1), elite[:, 0], best_PFA)
        most_P = most_P.maximum(gained[:, 0])
        mean_PFA, spread_PFA = elite.mean(1), elite.std(1)
    return best_PFA
