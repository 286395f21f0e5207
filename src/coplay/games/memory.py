"""What a seat is shown of the past: history in, observation out.

A :class:`History` is the joint actions of one trial of one game. :meth:`History.observe` gives the part of it that a memory mode
reveals, from the seat's own point of view (own action first). Rounds with an illegal reply never enter a history
(ShapeLLM, appendix A.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from coplay.games.matrix import ROW, Joint, MatrixGame


class Memory(StrEnum):
    """How much of the past a player is shown."""

    NONE = "none"
    """Nothing but the rules."""
    LAST_ROUND = "last_round"
    """The last joint action of this episode (naive learners)."""
    EPISODE_COUNTS = "episode_counts"
    """The last joint action and how often each earlier one occurred in this episode."""
    TRIAL_COUNTS = "trial_counts"
    """The last joint action and how often each earlier one occurred in this trial, across episodes (shapers)."""
    TRANSCRIPT = "transcript"
    """Every joint action of this episode, in order."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a memory mode shows. Hashable, so that whatever follows from it can be computed once."""

    last: Joint | None = None
    """The last joint action, (own, co-player's)."""
    counts: tuple[int, ...] | None = None
    """Occurrences of each joint action *before* the last one, in the order of ``MatrixGame.own_states(seat)``."""
    transcript: tuple[Joint, ...] | None = None
    """Every joint action of the episode, (own, co-player's), in order."""


class History:
    """The joint actions of one trial of one game, with the episode's beginning marked."""

    def __init__(self, game: MatrixGame) -> None:
        """Start an empty trial of ``game``."""
        self.game = game
        self.rounds: list[Joint] = []
        self.episode_start = 0
        self._trial_counts: dict[Joint, int] = {}
        self._episode_counts: dict[Joint, int] = {}

    def start_episode(self) -> None:
        """Mark the beginning of an episode; what happened before stays part of the trial."""
        self.episode_start = len(self.rounds)
        self._episode_counts = {}

    def append(self, joint: Joint) -> None:
        """Add the joint action of a round in which both replies were legal."""
        self.rounds.append(joint)
        for counts in (self._trial_counts, self._episode_counts):
            counts[joint] = counts.get(joint, 0) + 1

    def observe(self, seat: str, memory: Memory) -> Observation:
        """What ``memory`` shows ``seat`` now."""
        start = 0 if memory is Memory.TRIAL_COUNTS else self.episode_start
        if memory is Memory.TRANSCRIPT:
            return Observation(transcript=tuple(own_view(seat, joint) for joint in self.rounds[start:]))
        if memory is Memory.NONE or len(self.rounds) == start:
            return Observation()
        latest = self.rounds[-1]
        last = own_view(seat, latest)
        if memory is Memory.LAST_ROUND or len(self.rounds) == start + 1:
            return Observation(last=last)
        counts = self._trial_counts if memory is Memory.TRIAL_COUNTS else self._episode_counts
        earlier = tuple(counts.get(own_view(seat, state), 0) - (state == last) for state in self.game.own_states(seat))
        return Observation(last=last, counts=earlier)


def own_view(seat: str, joint: Joint) -> Joint:
    """Turn (row, column) into (own, co-player's), or back: the operation is its own inverse."""
    return joint if seat == ROW else (joint[1], joint[0])


def history_of(game: MatrixGame, episodes: Sequence[Sequence[Joint]]) -> History:
    """The history of a trial whose episodes held these joint actions; the last one is still being played."""
    history = History(game)
    for rounds in episodes:
        history.start_episode()
        for joint in rounds:
            history.append(joint)
    return history


def first_observations(game: MatrixGame, seat: str, memory: Memory) -> list[Observation]:
    """What ``memory`` shows ``seat`` at the start and after each joint action, in the order of a memory-one policy's lines."""
    pasts: list[list[Joint]] = [[], *([own_view(seat, state)] for state in game.own_states(seat))]
    return [history_of(game, [past]).observe(seat, memory) for past in pasts]
