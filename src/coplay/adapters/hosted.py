"""A game that another library plays, as a game of coplay: one round is one of that library's episodes.

- A phase is one decision: of one seat, or of all that move at once.
- A seat sees what the library shows it at its moves and at the end, its own actions and its own payoff, nothing else: what others did it learns
  from what it is shown.
- A reply that cannot be parsed ends the round. The seat gets :attr:`HostedGame.null_payoff`, less than the game pays, and the round is void for the
  others: which action a foreign game would put in its place cannot be said.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from coplay.games.base import Game
from coplay.games.records import Act, Action, Outcome, Phase, Request, Round
from coplay.text.rendering import join, lines

MOST_POINTS = 4096
"""Points of games that are kept, so that play need not begin anew at each move."""


class Known(NamedTuple):
    """What a seat knows at a moment."""

    text: str
    """What the library shows it, as text."""
    legal: tuple[str, ...]
    """The actions it may choose from; empty if it is not asked, or its replies are open."""


@dataclass(frozen=True)
class SeatView:
    """What a seat may know of a round, in place of the deal."""

    known: tuple[Known, ...]
    """What it knew at each of its moves so far, then what it knows now."""


class Point(NamedTuple):
    """A point of a hosted game at which players are to act, or the end."""

    state: Any
    """The library's own state; not to be changed."""
    known: tuple[tuple[Known, ...], ...]
    """For each player what it knew at each of its moves so far."""


class HostedGame(Game):
    """See the module. A subclass leads the library's game from point to point, and says what players know there."""

    decimals = 2
    shows_acts = False

    # ------------------------------------------------------------------ what the library says

    @property
    @abstractmethod
    def null_payoff(self) -> float:
        """What a seat gets for a reply that cannot be parsed."""

    @abstractmethod
    def begun(self, deal: Any) -> Any:
        """The library's state at the first decision after a deal."""

    @abstractmethod
    def moved(self, state: Any, actions: dict[int, Action], deal: Any) -> Any:
        """The library's state at the next decision, or at the end, after these players' actions; the given state stays what it is."""

    @abstractmethod
    def asked(self, state: Any) -> Sequence[int]:
        """The players that are to act, in order; none at the end."""

    @abstractmethod
    def knows(self, state: Any, player: int) -> Known | None:
        """What a player is shown now; None if nothing, which a player that is to act cannot be."""

    @abstractmethod
    def returns(self, state: Any) -> Sequence[float]:
        """What each player has been paid."""

    # ------------------------------------------------------------------ points

    @cached_property
    def _points(self) -> OrderedDict[tuple[Any, tuple[Act, ...]], Point]:
        return OrderedDict()

    def point(self, deal: Any, acts: tuple[Act, ...]) -> Point:
        """Where the game is after these acts, all of which can be parsed: at a decision, or at the end."""
        points = self._points
        found = points.get((deal, acts))
        if found is not None:
            points.move_to_end((deal, acts))
            return found
        phases = [tuple(group) for _, group in groupby(acts, key=lambda act: (act.phase, act.turn))]
        fresh: list[tuple[Act, ...]] = []
        before = acts
        while before and (deal, before) not in points:  # as a rule the acts before the last phase are known
            fresh.append(phases.pop())
            before = before[: -len(fresh[-1])]
        now = points.get((deal, before)) or Point(self.begun(deal), ((),) * len(self.seats))
        for phase in reversed(fresh):
            now = self._after(now, phase, deal)
        points[deal, acts] = now
        if len(points) > MOST_POINTS:
            points.popitem(last=False)
        return now

    def _after(self, now: Point, acts: Sequence[Act], deal: Any) -> Point:
        """After the acts of one phase."""
        chosen: dict[int, Action] = {self.seats.index(act.seat): act.action for act in acts if act.action is not None}
        known = tuple(
            (*own, self._known(now.state, player)) if player in chosen else own for player, own in enumerate(now.known)
        )
        return Point(self.moved(now.state, chosen, deal), known)

    def _known(self, state: Any, player: int) -> Known:
        """What a player that is to act is shown."""
        return self.knows(state, player) or Known("", ())

    def _reached(self, one: Round) -> Point:
        """The last point of a round: that before a reply which could not be parsed, if there is one."""
        failed = next(((act.phase, act.turn) for act in one.acts if act.action is None), None)
        return self.point(one.deal, tuple(act for act in one.acts if (act.phase, act.turn) != failed))

    # ------------------------------------------------------------------ rules

    def next_phase(self, now: Round) -> Phase | None:
        """The decision that the game comes to. A phase's number counts decisions of the same seats, as hidden ones of others may not show."""
        if any(act.action is None for act in now.acts):
            return None
        seats = tuple(self.seats[player] for player in self.asked(self.point(now.deal, now.acts).state))
        if not seats:
            return None
        name = f"move of {join(seats)}"
        return Phase(name, seats, sum(act.phase == name and act.seat == seats[0] for act in now.acts))

    def choices(self, request: Request) -> Sequence[Action] | None:
        """The library's words for the legal actions."""
        view: SeatView = request.now.deal
        return view.known[-1].legal

    def observe(self, one: Round, seat: str) -> Round:
        """The seat's own actions and payoff, and what it knew at each of its moves."""
        acts = tuple(act for act in one.acts if act.seat == seat)
        if isinstance(one.deal, SeatView):
            return replace(one, deal=SeatView(one.deal.known[: len(acts) + 1]), acts=acts)
        player, point = self.seats.index(seat), self._reached(one)
        known = point.known[player]
        if len(known) < len(acts):  # its last reply could not be parsed
            known = (*known, self._known(point.state, player))
        now = self.knows(point.state, player)
        paid = None if one.payoffs is None else {seat: one.payoffs[seat]}
        return Round(one.number, SeatView(known if now is None else (*known, now)), acts, paid)

    def spectate(self, one: Round) -> Round:
        """Payoffs alone: what is private cannot be said."""
        return replace(one, deal=None, acts=())

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """What the library pays; see the module for replies that could not be parsed."""
        failed = {act.seat for act in now.acts if act.action is None}
        if failed:
            return {seat: self.null_payoff if seat in failed else None for seat in self.seats}
        return dict(zip(self.seats, map(float, self.returns(self._reached(now).state)), strict=True))

    def outcome(self, one: Round) -> Outcome:
        """No word for what a seat did; a round with a reply that could not be parsed is void."""
        parsed = all(act.action is not None for act in one.acts)
        return Outcome(tuple(None for _ in self.seats), parsed, void=not parsed)

    # ------------------------------------------------------------------ words

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """What the seat knows, and its legal actions."""
        known: Known = now.deal.known[-1]
        told = f"What you know:\n{known.text}" if known.text else "Nothing has been done yet."
        return lines(told, f"Reply with {join([self.label(seat, one) for one in known.legal], 'or')} and nothing else.")

    def show_deal(self, one: Round, seat: str) -> str | None:
        """What the seat knew before anything was done."""
        begun = self.observe(Round(one.number, one.deal), seat).deal.known
        return (begun[0].text or None) if begun else None
