"""Reading a player's memory-one policy: by asking it, or by counting what it did.

A memory-one policy is laid out as in :mod:`coplay.games.exact`: [1 + n·m, A], the start first, then the seat's own states.

See docs/theory/other_learners.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coplay.games.matrix import MatrixGame, first_observations
from coplay.games.memory import Memory, own_view
from coplay.games.records import Episode, Occupant, Request, Round

READABLE = (Memory.NONE, Memory.LAST_ROUND)
"""Memories under which a player *has* a memory-one policy."""

_ALMOST_NOTHING = 1e-9
"""A player whose legal replies have less probability than this together is taken to choose among them evenly."""


def read_policy(occupants: Sequence[Occupant], game: MatrixGame, seat: str, *, seeds: Sequence[int]) -> Tensor | None:
    """Ask a player what it would do at the start and after each joint action.

    Probabilities of legal replies are renormalised: a language model's illegal replies are left out.

    Args:
        occupants: who sits in ``seat``, for each seed: one player, under the seed's slot.
        game: the rules.
        seat: whose policy it is.
        seeds: P seeds.

    Returns:
        Its policies, [P, 1 + n·m, A], in double precision; None if it remembers more than the last round, or does not say with
        what probabilities it acts.
    """
    player = occupants[0].player
    if player.memory not in READABLE or not getattr(player, "tells_probabilities", False):
        return None
    observations = first_observations(game, seat, player.memory)
    phase = game.next_phase(Round(0))
    assert phase is not None
    requests = [
        Request(seed, 0, seat, phase, Round(min(i, 1)), (), (), observation, occupant.slot, (), 0.0)
        for seed, occupant in zip(seeds, occupants, strict=True)
        for i, observation in enumerate(observations)
    ]
    probs = [reply.probs for reply in player.act(requests)]
    if any(p is None for p in probs):
        return None
    probs_RA = torch.tensor(probs, dtype=torch.float64)
    legal_R1 = probs_RA.sum(-1, keepdim=True)
    even_RA = torch.full_like(probs_RA, 1.0 / probs_RA.shape[-1])
    policy_RA = torch.where(legal_R1 > _ALMOST_NOTHING, probs_RA / legal_R1.clamp(min=_ALMOST_NOTHING), even_RA)
    return policy_RA.view(len(seeds), len(observations), -1)


class PolicyCounts:
    """Estimates a seat's memory-one policy from games: how often each action followed each joint action, add-one smoothed.

    For a player with a longer memory this is the memory-one policy that looks most like it in the games counted, and no more.
    """

    def __init__(self, game: MatrixGame, seat: str, *, seeds: Sequence[int]) -> None:
        self.game, self.seat = game, seat
        self.position = {seed: i for i, seed in enumerate(seeds)}
        self.states = game.own_states(seat)
        self.counts = torch.zeros(len(seeds), 1 + len(self.states), len(game.actions[seat]), dtype=torch.float64)

    def add(self, episodes: Sequence[Episode]) -> None:
        """Count the seat's legal moves in these games."""
        for episode in episodes:
            line, index = 0, self.game.seats.index(self.seat)
            for turn, outcome in zip(episode.turns[self.seat], episode.outcomes, strict=True):
                if turn.reply.action is not None:
                    action = self.game.actions[self.seat].index(str(turn.reply.action))
                    self.counts[self.position[episode.seed], line, action] += 1
                if outcome.parsed:
                    line = 1 + self.states.index(own_view(index, outcome.conduct))

    def policy(self) -> Tensor:
        """(count + 1) / (total + A), [P, 1 + n·m, A]."""
        smoothed = self.counts + 1.0
        return smoothed / smoothed.sum(-1, keepdim=True)

    def clear(self) -> None:
        """Forget all that was counted."""
        self.counts.zero_()
