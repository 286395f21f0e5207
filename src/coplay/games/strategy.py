"""Strategies that belong to one game: what a seat knows in, a distribution over its actions out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from coplay.games.memory import Memory
from coplay.games.records import Action, Request, Round

GameRule = Callable[[Request, float | None], Mapping[Action, float]]
"""From a request and the parameter, if there is one, to the probability of each action; actions of probability 0 may be left out.

A rule reads what the seat knows of the present round (``request.now``) and of all earlier ones of the episode (``request.past``), and nothing else."""

Recall = Callable[[str, Sequence[Round]], Hashable]
"""From the strategy's seat and the earlier rounds of the episode to what the rule makes of them.

Values that are equal promise the same behaviour in whatever rounds follow, and a value follows from what every seat may see."""


@dataclass(frozen=True)
class GameStrategy:
    """A scripted player of one game."""

    description: str
    """One sentence for a person."""
    rule: GameRule
    """What it does."""
    parameter: str = ""
    """What may follow the colon, for a person, e.g. ``alpha, from 0 to 1/3``; empty if nothing may."""
    least: float = 0.0
    """Smallest value of the parameter."""
    most: float = 1.0
    """Largest value of the parameter."""
    default: float | None = None
    """The parameter if none is given; None if the rule can do without."""
    reason: Callable[[Request, Action], str] | None = None
    """What it says before an action that it chose, in demonstrations; None for nothing."""
    memory: Memory = Memory.TRANSCRIPT
    """The least of the past that the rule reads. Exact best responses need it: they tell apart no more of the past than this."""
    recalls: Recall | None = None
    """What a rule that reads the whole past sums it up as, e.g. a number of breakdowns: exact best responses tell apart no more than that."""
    seats: tuple[str, ...] = ()
    """The seats that it can play; empty for all."""
