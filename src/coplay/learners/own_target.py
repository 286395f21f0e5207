"""Alignment of a model to its own policy: what the replies should look like is taught, what to choose is not.

The target is the model's own distribution renormalised over the labels or, to make a start reciprocal in steps, a mixture of it with tit
for tat. :mod:`coplay.experiments.align` reads it and trains towards it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coplay.games.matrix import MatrixGame, first_observations
from coplay.games.memory import Memory
from coplay.learners.alignment import Schedule, Situation, reading_seats, sample_observation
from coplay.rng import stream

OWN_SCHEDULE = Schedule(epochs=10, learning_rate=5e-4, minibatch=4, among_weight=10.0)
"""Found on SmolLM2: few prompts, small steps, and more weight on the policy than on the format, which is learnt within the first epochs."""

OWN_PROMPTS = 40
"""Prompts that are trained on."""


def own_situations(
    game: MatrixGame, n: int, *, seed: int, purpose: str, episodes: int = 5, rounds: int = 20
) -> list[Situation]:
    """N prompts: every one without counts, of each seat that reads a text of its own, then random ones with a trial's counts.

    To train on, those without counts are repeated until they are a third: what is taught of the others would spill over to them. Unlike the
    paper's, counts are of any histories, one-sided ones too: the policy is to stay in all of them.

    Args:
        game: the rules.
        n: how many; where this is less than there are prompts without counts, the first of those.
        seed: names the stream of chance, together with ``purpose``.
        purpose: what they are for, e.g. ``"train"``, which repeats those without counts.
        episodes: E, episodes in a trial.
        rounds: T, rounds in an episode.
    """
    rng, seats = stream(seed, "own alignment prompts", purpose), reading_seats(game)
    plain = [Situation(seat, seen) for seat in seats for seen in first_observations(game, seat, Memory.LAST_ROUND)]
    repeats = max(1, round(n / 3 / len(plain))) if purpose == "train" else 1
    found = plain * repeats
    while len(found) < n:
        seat = seats[int(rng.integers(len(seats)))]
        observation = sample_observation(
            rng, game.own_states(seat), Memory.TRIAL_COUNTS, episodes=episodes, rounds=rounds, even=False
        )
        if observation.counts is not None:
            found.append(Situation(seat, observation))
    return found[:n]


def with_reciprocity(
    own_NA: Tensor, situations: Sequence[Situation], game: MatrixGame, *, share: float, counts_only: bool = False
) -> Tensor:
    r"""A policy mixed with tit for tat. Shape [N, A].

        T(a | s) = (1 - R) p(a | s) + R [a is what the co-player did last, or the first action where no round is shown]

    Args:
        own_NA: p, the policy's probabilities of a seat's actions, in their order.
        situations: what each row's prompt shows.
        game: a game in which both seats have the same actions.
        share: R, from 0 (the policy itself) to 1 (tit for tat).
        counts_only: whether the policy stays as it is in prompts without counts, which naive learners read.
    """
    copied = []
    for situation in situations:
        actions, last = game.actions[situation.seat], situation.observation.last
        copied.append(0 if last is None else actions.index(str(last[1])))
    tit_for_tat_NA = torch.zeros_like(own_NA)
    tit_for_tat_NA[torch.arange(len(copied)), copied] = 1.0
    mixed_N = [not counts_only or situation.observation.counts is not None for situation in situations]
    share_N1 = share * torch.tensor(mixed_N).to(own_NA)[:, None]
    return (1.0 - share_N1) * own_NA + share_N1 * tit_for_tat_NA.to(own_NA)
