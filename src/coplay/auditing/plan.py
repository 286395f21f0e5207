"""What an audit measures, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coplay.auditing.presented import PRESENTED
from coplay.auditing.record import BEST_RESPONSE
from coplay.errors import UsageError, suggestion
from coplay.runs.exploiter import KINDS, TABLES

SCRIPTED = "scripted"
"""All scripted co-players, as ``--against`` calls them."""

STEERING = "steering"
"""A shaper and a naive co-player beside a player that learns, as ``--against`` calls them."""

DEFAULT_SECONDS = 120.0
"""Of training, if no budget is given."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and at what cost."""

    rounds: int
    """T, the most rounds of an episode."""
    against: tuple[str, ...]
    """Kinds of co-players: ``scripted``, ``best_response``, and kinds of learners."""
    seconds: float | None = DEFAULT_SECONDS
    """Of training, shared out among the kinds of learners; None for no limit."""
    trials: int | None = None
    """Of each learner; None for no limit."""
    seeds: int = 5
    """Learners of each kind."""
    episodes: int = 40
    """Games of each seating with scripted co-players, and of each learner after training."""
    samples: int = 100
    """Replies sampled at each information set of a player that tells no probabilities, for the best response."""
    seed: int = 0
    """Of games and sampled replies."""
    model: str | None = None
    """What learners of kind ``language_model`` start from; None for an embedded one."""


def kinds() -> tuple[str, ...]:
    """All kinds of co-players."""
    return (BEST_RESPONSE, SCRIPTED, STEERING, *PRESENTED, *KINDS)


def default_kinds() -> tuple[str, ...]:
    """Those of an audit that names none: all but learners that are no tables, which take minutes."""
    return tuple(kind for kind in kinds() if kind not in KINDS or kind in TABLES)


def checked_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Kinds of co-players by name, without repetitions; raises UsageError for an unknown one."""
    for name in names:
        if name not in kinds():
            raise UsageError(
                f"{name!r} is no kind of co-player.{suggestion(name, kinds())} Known: {', '.join(kinds())}"
            )
    return tuple(dict.fromkeys(names))
