"""What a fitted player predicts of a game: which decisions a seat makes, and from what each is predicted.

A game says so in :meth:`coplay.games.base.Game.decisions`. Fitting and playing read the same numbers from the same view: the seat's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coplay.games.records import Action, Round

View = Callable[[Round, Sequence[Round], str], Mapping[str, tuple[float, ...]]]
"""From the round in progress and the earlier ones, as a seat sees them, and the seat, to the features of each of its decisions, by name."""

READ, TOLD, TOLD_BEFORE = "read:", "read:{}", "read_before:{}"
"""Names of the features of a message: the seat reads it in this round, and read it in the last one."""

ALL = "all"
"""The name of a decision that is one for all co-players; what they did last is then the share that cooperated."""

INTERCEPT = "intercept"
"""The feature that is always 1."""


@dataclass(frozen=True)
class Decisions:
    """The decisions of a game's seats."""

    phase: str
    """The phase in which they are made."""
    kind: Literal["yes_or_no", "number"]
    """Whether a decision is 1 or 0, or any number."""
    meaning: str
    """What a 1, or the number, means, for a person."""
    features: tuple[str, ...]
    """What a decision is predicted from, the intercept first."""
    own: str
    """The feature that is the seat's own last decision of that name."""
    baseline: tuple[str, ...]
    """The features of the simple prediction that a fit is compared with."""
    view: View
    """Tells the features."""
    decided: Callable[[Action, str], Mapping[str, float]]
    """From a seat's action to its decisions, by name."""
    action: Callable[[Mapping[str, float], str], Action]
    """From decisions to the seat's action."""
    messages: tuple[str, ...] = ()
    """The mediator's messages, by name."""

    @property
    def interactions(self) -> tuple[str, ...]:
        """The features by which the effect of a message depends on the seat's own last decision."""
        return tuple(f"{TOLD.format(name)} x {self.own}" for name in self.messages) if self.kind == "yes_or_no" else ()


def with_messages(
    inner: Decisions,
    names: Sequence[str],
    *,
    inside: Callable[[Round], Round],
    read: Callable[[Round, str], str | None],
) -> Decisions:
    """A game's decisions predicted from the mediator's messages too.

    Args:
        inner: of the game without the mediator.
        names: the messages.
        inside: a round as that game has it.
        read: the message that a seat read in a round; None for none.
    """
    crossed = inner.kind == "yes_or_no"
    at = inner.features.index(inner.own)
    added = [
        feature
        for name in names
        for feature in (
            TOLD.format(name),
            *((f"{TOLD.format(name)} x {inner.own}",) if crossed else ()),
            TOLD_BEFORE.format(name),
        )
    ]

    def view(now: Round, past: Sequence[Round], seat: str) -> Mapping[str, tuple[float, ...]]:
        told, before = read(now, seat), read(past[-1], seat) if past else None
        found = {}
        for name, own in inner.view(inside(now), [inside(one) for one in past[-1:]], seat).items():
            more: list[float] = []
            for message in names:
                here = float(told == message)
                more += [here, *((here * own[at],) if crossed else ()), float(before == message)]
            found[name] = (*own, *more)
        return found

    return replace(inner, features=(*inner.features, *added), view=view, messages=tuple(names))


def towards_each(
    towards: Callable[[Action | None, str], Mapping[str, str] | None],
    others: Mapping[str, Sequence[str]],
    *,
    phase: str,
    words: tuple[str, str],
    shared: bool,
) -> Decisions:
    """The decisions of a game in which a seat cooperates or not with each co-player.

    Args:
        towards: what an action of a seat means for each co-player; None for one that could not be parsed.
        others: each seat's co-players.
        phase: the phase of the decisions.
        words: cooperating and defecting.
        shared: whether one word is for all co-players.
    """
    cooperate, defect = words
    features = (INTERCEPT, "own_last", "their_last", "first_round")

    def last(actions: Mapping[str, Action | None], seat: str, other: str) -> float:
        did = towards(actions.get(seat), seat)
        return 0.5 if did is None else float(did[other] == cooperate)

    def view(now: Round, past: Sequence[Round], seat: str) -> Mapping[str, tuple[float, ...]]:
        if not past:
            return dict.fromkeys([ALL] if shared else others[seat], (1.0, 0.0, 0.0, 1.0))
        actions = past[-1].actions(phase)
        each = {one: (1.0, last(actions, seat, one), last(actions, one, seat), 0.0) for one in others[seat]}
        return {ALL: tuple(sum(column) / len(each) for column in zip(*each.values(), strict=True))} if shared else each

    def decided(action: Action, seat: str) -> Mapping[str, float]:
        each = {one: float(word == cooperate) for one, word in (towards(action, seat) or {}).items()}
        return {ALL: next(iter(each.values()))} if shared and each else each

    def action(values: Mapping[str, float], seat: str) -> Action:
        if shared:
            return cooperate if values[ALL] else defect
        return tuple((one, cooperate if values[one] else defect) for one in others[seat])

    return Decisions(
        phase, "yes_or_no", "cooperates with a co-player", features, "own_last", features, view, decided, action
    )
