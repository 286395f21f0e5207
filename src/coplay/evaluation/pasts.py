"""The earlier rounds of an episode, one history standing for all that a player remembers alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.information import remembered
from coplay.games.memory import WINDOW_ROUNDS, History, Memory, Observation
from coplay.games.records import Occupant, Outcome, Round, Turn
from coplay.games.strategy import Recall
from coplay.play.rules import checked_view, settled

OWN_WORDS = (Memory.CHAT, Memory.WINDOW)
"""The memories that show a player its own earlier replies as they were."""


class NotExact(UsageError):
    """Why a value cannot be computed by enumeration, and what to do about it."""


@dataclass(frozen=True, eq=False)
class Past:
    """One history of an episode between two rounds."""

    game: Game
    """The rules."""
    rounds: tuple[Round, ...]
    """The earlier rounds, unredacted."""
    seen: Mapping[str, tuple[Round, ...]]
    """The earlier rounds as each seat saw them."""
    texts: Mapping[str, tuple[str, ...]]
    """The same as text that is equal for equal knowledge."""
    outcomes: tuple[Outcome, ...]
    """What the rounds came to."""
    own: Mapping[str, tuple[Turn, ...]]
    """Each seat's replies."""

    @staticmethod
    def start(game: Game) -> Past:
        """The history before the first round."""
        seats = game.seats
        return Past(game, (), dict.fromkeys(seats, ()), dict.fromkeys(seats, ()), (), dict.fromkeys(seats, ()))

    def after(self, now: Round, own: Mapping[str, tuple[Turn, ...]]) -> Past:
        """The history after one more round, which is over."""
        game = self.game
        one, outcome = settled(game, now)
        views = {seat: checked_view(game, one, seat) for seat in game.seats}
        return Past(
            game,
            (*self.rounds, one),
            {seat: (*self.seen[seat], views[seat]) for seat in game.seats},
            {seat: (*self.texts[seat], repr(views[seat])) for seat in game.seats},
            (*self.outcomes, outcome),
            own,
        )

    def payoff(self, seat: str) -> float:
        """What the last round paid a seat; 0 where it was void."""
        paid = (self.rounds[-1].payoffs or {}).get(seat)
        return 0.0 if paid is None else float(paid)

    def observation(self, seat: str, player: Occupant) -> Observation:
        """What a player's memory shows a seat now."""
        return self._history.observe(self.game.seats.index(seat), player.player.memory, window=_window(player))

    def remembered(self, seat: str, player: Occupant, *, playing: str | None = None) -> Hashable:
        """What a player makes of the past as one seat saw it: equal for histories that are alike to it.

        Args:
            seat: the seat that saw it.
            player: the player whose memory it is.
            playing: the player's own seat, if it is another.
        """
        recalls: Recall | None = getattr(player.player, "recalls", None)
        if (
            recalls is not None and type(self.game).is_over is Game.is_over
        ):  # else all of it may decide when an episode ends
            return recalls(playing or seat, self.seen[seat])
        return remembered(
            self.game,
            player.player.memory,
            self.texts[seat],
            lambda: self.observation(seat, player),
            window=_window(player),
        )

    @cached_property
    def _history(self) -> History:
        game = self.game
        history = History(lambda index: game.own_states(game.seats[index]))
        history.start_episode()
        for outcome in self.outcomes:
            history.append(outcome.conduct, void=outcome.void)
        return history


def merged(known: dict[Hashable, Past], key: Hashable, past: Past) -> Past:
    """The history that stands for all that are remembered alike: the first one.

    Args:
        known: the histories so far, by what is remembered; a new one is added.
        key: what is remembered of this one.
        past: this one.

    Raises:
        NotExact: if chance deals otherwise after the two, so that one cannot stand for the other.
    """
    first = known.setdefault(key, past)
    game = past.game
    if first is not past and game.deals(first.rounds) != game.deals(past.rounds):
        raise NotExact(
            f"what chance deals in {game.name!r} depends on earlier rounds that the player does not remember, so that the value cannot be enumerated"
        )
    return first


def _window(player: Occupant) -> int:
    return getattr(player.player, "window", WINDOW_ROUNDS)
