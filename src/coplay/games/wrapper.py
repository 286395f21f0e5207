"""A game around another one: whatever the wrapper does not change is as the game within has it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from coplay.games.base import Game
from coplay.games.records import Act, Action, Harm, Phase, Request, Round


class InnerRounds(Sequence[Round]):
    """Rounds as the game within has them.

    Args:
        inner: what a round looks like to the game within.
        rounds: the rounds as the wrapper has them.
    """

    def __init__(self, inner: Callable[[Round], Round], rounds: Sequence[Round]) -> None:
        self._inner, self._rounds = inner, rounds

    def __len__(self) -> int:
        """As many as the wrapper has."""
        return len(self._rounds)

    @overload
    def __getitem__(self, place: int) -> Round: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Round, ...]: ...
    def __getitem__(self, place: int | slice) -> Round | tuple[Round, ...]:
        """One of them, or some."""
        if isinstance(place, slice):
            return tuple(map(self._inner, self._rounds[place]))
        return self._inner(self._rounds[place])

    def __iter__(self) -> Iterator[Round]:
        """All of them, in order."""
        return map(self._inner, self._rounds)


class GameWrapper(Game):
    """Hands every question on to the game within, in that game's own terms.

    Subclasses say what a round looks like to the game within (:meth:`inner`) and override what they add.
    """

    game: Game
    """The game within."""

    @abstractmethod
    def inner(self, one: Round) -> Round:
        """A round as the game within has it."""

    def inner_past(self, past: Sequence[Round]) -> Sequence[Round]:
        """Rounds as the game within has them, each made when it is read: most rules read the last one, and an episode may be long."""
        return InnerRounds(self.inner, past)

    def inner_request(self, request: Request) -> Request:
        """A request as the game within has it; asked for several times while one reply is made, so the last one is kept."""
        kept: tuple[Request, Request] | None = self.__dict__.get("_kept_request")
        if kept is None or kept[0] is not request:
            kept = (request, request.of(self.inner(request.now), self.inner_past(request.past)))
            self.__dict__["_kept_request"] = kept
        return kept[1]

    # ------------------------------------------------------------------ rules

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> Any:
        """See :class:`coplay.games.base.Game`."""
        return self.game.deal(chance, self.inner_past(past))

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[Any, float]] | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.deals(self.inner_past(past))

    def is_over(self, past: Sequence[Round]) -> bool:
        """See :class:`coplay.games.base.Game`."""
        return type(self.game).is_over is not Game.is_over and self.game.is_over(self.inner_past(past))

    def next_phase(self, now: Round) -> Phase | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.next_phase(self.inner(now))

    def spectate(self, one: Round) -> Round:
        """See :class:`coplay.games.base.Game`."""
        return self.game.spectate(self.inner(one))

    def choices(self, request: Request) -> Sequence[Action] | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.choices(self.inner_request(request))

    def most_choices(self, seat: str) -> int:
        """See :class:`coplay.games.base.Game`."""
        return self.game.most_choices(seat)

    def examples(self, request: Request) -> Sequence[Action]:
        """See :class:`coplay.games.base.Game`."""
        return self.game.examples(self.inner_request(request))

    def perform(self, conduct: str, request: Request) -> Action:
        """See :class:`coplay.games.base.Game`."""
        return self.game.perform(conduct, self.inner_request(request))

    # ------------------------------------------------------------------ what a round came to

    def context(self, one: Round) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.context(self.inner(one))

    def shortfall(self, one: Round, seat: str) -> float | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.shortfall(self.inner(one), seat)

    def collective(self, one: Round) -> Mapping[str, float]:
        """See :class:`coplay.games.base.Game`."""
        return self.game.collective(self.inner(one))

    def cooperation_payoff(self, seat: str) -> float | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.cooperation_payoff(seat)

    def fair_payoff(self, seat: str) -> float | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.fair_payoff(seat)

    def harm(self, one: Round, seat: str) -> Harm:
        """See :class:`coplay.games.base.Game`."""
        return self.game.harm(self.inner(one), seat)

    def conducts(self, seat: str) -> tuple[str, ...]:
        """See :class:`coplay.games.base.Game`."""
        return self.game.conducts(seat)

    def state_names(self) -> tuple[str, ...]:
        """See :class:`coplay.games.base.Game`."""
        return self.game.state_names()

    def initial(self, seat: str, conduct: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.initial(seat, conduct)

    def action_named(self, seat: str, word: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.action_named(seat, word)

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.rules(seat)

    def opening(self, now: Round, seat: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.opening(self.inner(now), seat)

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.question(self.inner(now), phase, seat)

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.recap(self.inner(last), seat, dated=dated)

    def announce(self, act: Act, seat: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.announce(act, seat)

    def verb(self, act: Act) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.verb(act)

    def show(self, action: Action | None) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.show(action)

    def show_deal(self, one: Round, seat: str) -> str | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.show_deal(self.inner(one), seat)

    def call(self, seat: str) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.call(seat)

    def parse_action(self, request: Request, text: str) -> Action | None:
        """See :class:`coplay.games.base.Game`."""
        return self.game.parse_action(self.inner_request(request), text)

    def render_action(self, request: Request, action: Action) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.render_action(self.inner_request(request), action)

    def label(self, seat: str, action: Action) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.label(seat, action)

    def completes(self, request: Request, text: str) -> bool:
        """See :class:`coplay.games.base.Game`."""
        return self.game.completes(self.inner_request(request), text)

    def completing(self, request: Request) -> str:
        """See :class:`coplay.games.base.Game`."""
        return self.game.completing(self.inner_request(request))
