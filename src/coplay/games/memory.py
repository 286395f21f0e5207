"""What a player is shown of the past: outcomes in, observation out.

A :class:`History` holds what the seats did in one trial at one table. :meth:`History.observe` gives the part of it that a memory reveals, from a
seat's own point of view (own conduct first). Void rounds never enter a history (ShapeLLM, appendix A.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

Joint = tuple[str | None, ...]
"""What all seats did in a round, in a word each: in the game's order of seats, or own first where a seat's view is meant."""


class Memory(StrEnum):
    """How much of the past a player is shown."""

    NONE = "none"
    """Nothing but the rules."""
    LAST_ROUND = "last_round"
    """The last round of this episode (naive learners)."""
    LAST_CHOICE = "last_choice"
    """The last round of this episode in which a co-player had a choice: the last round, in games in which all choose in every round."""
    EPISODE_COUNTS = "episode_counts"
    """The last round, and how often each state occurred before it in this episode."""
    TRIAL_COUNTS = "trial_counts"
    """The last round, and how often each state occurred before it in this trial, across episodes (shapers)."""
    WINDOW = "window"
    """The last H rounds of this episode, in order; in text the conversation about them."""
    TRANSCRIPT = "transcript"
    """Every round of this episode, in order, in a line."""
    CHAT = "chat"
    """The whole conversation of this episode: every question and the seat's own replies."""


WINDOW_ROUNDS = 3
"""H of the window memory where a player has no attribute ``window`` that says another."""

COUNTING = (Memory.EPISODE_COUNTS, Memory.TRIAL_COUNTS)
"""The memories that show counts."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a memory shows. Hashable, so that whatever follows from it is computed once."""

    last: Joint | None = None
    """What was done in the last round, or the last one in which a co-player had a choice; own conduct first."""
    round: int | None = field(default=None, compare=False, repr=False)
    """Which round of the episode that was, from 0. What follows from an observation must not depend on it, so it is no part of its text either, by
    which information sets are named (:func:`coplay.games.information.information_key`)."""
    counts: tuple[int, ...] | None = None
    """Occurrences of each state *before* the last round, in the order of ``game.own_states(seat)``."""
    transcript: tuple[Joint, ...] | None = None
    """What was done in every round of the episode, in order, own conduct first."""
    recent: tuple[Joint, ...] | None = None
    """What was done in the last H rounds of the episode, in order, own conduct first."""


START = Observation()
"""What a seat is shown before the first round."""


def own_view(index: int, joint: Joint) -> Joint:
    """What all did with the seat of that index first and the others in order behind it."""
    return joint if index == 0 else (joint[index], *joint[:index], *joint[index + 1 :])


def from_own_view(index: int, own: Joint) -> Joint:
    """The inverse of :func:`own_view`."""
    return own if index == 0 else (*own[1 : index + 1], own[0], *own[index + 1 :])


def state_in_words(states: Sequence[Joint], observation: Observation) -> str:
    """What a table looks up, for a reader: the last round and, where they are shown, the counts of ``states``."""
    if observation.last is None:
        return "start"
    text = f"after {' / '.join(map(str, observation.last))}"
    if observation.counts is not None:
        counted = ", ".join(f"{'/'.join(map(str, s))}: {n}" for s, n in zip(states, observation.counts, strict=True))
        text += f"; before that {counted}"
    return text


class History:
    """What the seats did in one trial at one table, with the beginning of the current episode marked.

    See docs/theory/repeated_games_and_memory.md.

    Args:
        own_states: from a seat's index to all states as it sees them; counts follow this order. Called only for seats that are shown counts.
    """

    def __init__(self, own_states: Callable[[int], Sequence[Joint]]) -> None:
        self.own_states = cache(own_states)
        self.joints: list[Joint] = []
        self.episode_start = 0
        self._rounds: list[int] = []
        self._next_round = 0
        self._seen: dict[int, list[Joint]] = {}
        self._trial_counts: dict[Joint, int] = {}
        self._episode_counts: dict[Joint, int] = {}

    def start_episode(self) -> None:
        """Mark the beginning of an episode; what happened before stays part of the trial."""
        self.episode_start = len(self.joints)
        self._next_round = 0
        self._episode_counts = {}
        self._seen = {}

    def append(self, joint: Joint, *, void: bool = False) -> None:
        """Add what was done in a round; of one that is void nothing is remembered."""
        self._next_round += 1
        if void:
            return
        self.joints.append(joint)
        self._rounds.append(self._next_round - 1)
        for counts in (self._trial_counts, self._episode_counts):
            counts[joint] = counts.get(joint, 0) + 1

    def observe(self, index: int, memory: Memory, *, window: int = WINDOW_ROUNDS) -> Observation:
        """What ``memory`` shows the seat of that index now; ``window`` is H of the memory of that name."""
        start = 0 if memory is Memory.TRIAL_COUNTS else self.episode_start
        if memory is Memory.TRANSCRIPT:
            seen = self._seen.setdefault(index, [])  # a long episode is not gone through again in each round
            seen += [own_view(index, joint) for joint in self.joints[start + len(seen) :]]
            return Observation(transcript=tuple(seen))
        if memory is Memory.NONE or memory is Memory.CHAT or len(self.joints) == start:
            return START
        if memory is Memory.WINDOW:
            return Observation(recent=tuple(own_view(index, joint) for joint in self.joints[start:][-window:]))
        at = self._last_choice(index) if memory is Memory.LAST_CHOICE else len(self.joints) - 1
        if at is None:
            return START
        last, shown = own_view(index, self.joints[at]), self._rounds[at]
        if memory not in COUNTING or len(self.joints) == start + 1:
            return Observation(last=last, round=shown)
        counts = self._trial_counts if memory is Memory.TRIAL_COUNTS else self._episode_counts
        earlier = tuple(
            counts.get(from_own_view(index, state), 0) - (state == last) for state in self.own_states(index)
        )
        return Observation(last=last, round=shown, counts=earlier)

    def _last_choice(self, index: int) -> int | None:
        """Where in the history a co-player of that seat last had a choice in this episode; None if nowhere."""
        for at in range(len(self.joints) - 1, self.episode_start - 1, -1):
            if any(did is not None for did in own_view(index, self.joints[at])[1:]):
                return at
        return None
