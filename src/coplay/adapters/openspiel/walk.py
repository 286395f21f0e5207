"""A way through a game of coplay, step by step, as OpenSpiel's states are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coplay.errors import UsageError
from coplay.evaluation.action_probabilities import ActionProbabilities, Option, Question
from coplay.evaluation.pasts import Past
from coplay.games.base import Game
from coplay.games.memory import START
from coplay.games.records import Act, Phase, Round, Turn
from coplay.play.rules import checked_phase, checked_view


@dataclass(frozen=True, eq=False)
class Walk:
    """A point of an episode at which chance deals, seats are asked, or all is over. It is never changed."""

    game: Game
    """The rules."""
    rounds: int
    """T, the most rounds of the episode."""
    past: Past
    """The rounds before."""
    now: Round | None
    """The round in progress; None if chance is to deal, and at the end."""
    own: Mapping[str, tuple[Turn, ...]]
    """Each seat's replies so far."""
    phase: Phase | None = None
    """What is asked for now; None if nothing is."""

    @staticmethod
    def start(game: Game, rounds: int) -> Walk:
        """Before the first round."""
        past = Past.start(game)
        return Walk(game, rounds, past, None, past.own)

    @staticmethod
    def along(game: Game, rounds: int, actions: Sequence[int]) -> Walk:
        """Where OpenSpiel's history of an exported game leads: the place of each deal and choice in its list.

        Where several seats act at once, it has an action of every seat. Actions of a phase that is not complete are left out, as are deals without
        an alternative.
        """
        walk, left = Walk.start(game, rounds).past_certain_deals(), list(reversed(actions))
        while not walk.over:
            wanted = 1 if walk.phase is None or len(walk.phase.seats) == 1 else len(game.seats)
            if len(left) < wanted:
                break
            walk = walk.played([left.pop() for _ in range(wanted)])
        return walk

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        played = len(self.past.rounds)
        return self.now is None and (played >= self.rounds or (played > 0 and self.game.is_over(self.past.rounds)))

    def deals(self) -> Sequence[tuple[Any, float]]:
        """What chance can deal now, with probabilities above 0.

        Raises:
            UsageError: if the game cannot list it.
        """
        deals = self.game.deals(self.past.rounds)
        if deals is None:
            raise UsageError(f"game {self.game.name!r} cannot list what chance deals, and OpenSpiel asks for that")
        return [(deal, p) for deal, p in deals if p > 0]

    def dealt(self, deal: object) -> Walk:
        """After chance has dealt this."""
        return self._at(Round(len(self.past.rounds), deal), self.own)

    def question(self, seat: str) -> Question:
        """What a seat of the present phase is asked."""
        assert self.now is not None and self.phase is not None
        return Question(seat, self.phase, self.now, self.past, self.own[seat])

    def options(self, seat: str) -> tuple[Option, ...]:
        """All that a seat of the present phase may do.

        Raises:
            UsageError: if the game does not list it.
        """
        return ActionProbabilities(self.game, {}).choices(self.question(seat))

    def after(self, chosen: Mapping[str, Option]) -> Walk:
        """After the seats of the present phase have done this."""
        now, phase = self.now, self.phase
        assert now is not None and phase is not None
        own = dict(self.own)
        for seat, (reply, _) in chosen.items():
            own[seat] = (*own[seat], Turn(seat, now.number, phase.name, phase.turn, START, reply))
        acts = [Act(phase.name, phase.turn, seat, chosen[seat].reply.action) for seat in phase.seats]
        return self._at(Round(now.number, now.deal, (*now.acts, *acts)), own)

    def played(self, actions: Sequence[int]) -> Walk:
        """After the deal or the choices at these places: one number, or where several seats act at once one for every seat of the game."""
        if self.phase is None:
            return self.dealt(self.deals()[actions[0]][0])
        seats, everyone = self.phase.seats, self.game.seats
        places = {seat: actions[0 if len(seats) == 1 else everyone.index(seat)] for seat in seats}
        return self.after({seat: self.options(seat)[place] for seat, place in places.items()}).past_certain_deals()

    def past_certain_deals(self) -> Walk:
        """The same, with the next round dealt if chance has no choice."""
        if self.over or self.phase is not None:
            return self
        deals = self.deals()
        return self.dealt(deals[0][0]) if len(deals) == 1 else self

    def _at(self, now: Round, own: Mapping[str, tuple[Turn, ...]]) -> Walk:
        """At this point of the round, or after it if it is over."""
        phase = checked_phase(self.game, now)
        if phase is not None:
            return Walk(self.game, self.rounds, self.past, now, own, phase)
        return Walk(self.game, self.rounds, self.past.after(now, own), None, own)

    def returns(self) -> list[float]:
        """What each seat has been paid so far; void rounds pay nothing."""
        paid = [one.payoffs or {} for one in self.past.rounds]
        return [float(sum(one.get(seat) or 0.0 for one in paid)) for seat in self.game.seats]

    def known(self, seat: str) -> str:
        """All that a seat knows now, as text that is equal for equal knowledge."""
        now = [] if self.now is None else [repr(checked_view(self.game, self.now, seat))]
        acts = [
            (turn.phase, turn.turn, turn.reply.action)
            for turn in self.own[seat]
            if self.now and turn.round == self.now.number
        ]
        asked = [f"{self.phase.name} {self.phase.turn}"] if self.phase is not None and seat in self.phase.seats else []
        return "\n".join([*self.past.texts[seat], *now, repr(acts), *asked])
