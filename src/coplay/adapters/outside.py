"""A game some of whose seats are played from outside, episode after episode: what environments of other libraries are built on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coplay.adapters.encodings import Encoding
from coplay.errors import CoplayError, UsageError, unknown
from coplay.evaluation.match import STREAMS
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.play.in_progress import EpisodeInProgress
from coplay.play.loop import ask_once
from coplay.play.rules import game_errors
from coplay.play.table import Table
from coplay.players.named import PlayerSpec
from coplay.runs.occupants import occupant_of
from coplay.text.rendering import join


@dataclass(frozen=True)
class FromOutside:
    """Stands in the seat of an agent that another library asks: says what it remembers, and is never asked itself."""

    memory: Memory
    """What it is shown of the past."""
    window: int
    """H, of the window memory."""
    name: str = "outside"
    """What to call it in tables."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Never."""
        raise CoplayError(f"{requests[0].seat} is played from outside; give its action to step()")


class OutsidePlay:
    """Episodes in which some seats are played from outside and all others by players of coplay.

    The first episode after a seed, the second and so on are the games of a match with that seed: the same deals, the same random numbers for every
    seat.

    Args:
        encoding: the rules, and how the seats from outside are asked.
        inside: who sits in the other seats.
        rounds: T, most rounds of an episode.
    """

    def __init__(self, encoding: Encoding, inside: Mapping[str, Occupant], *, rounds: int) -> None:
        self.game, self.encoding, self.rounds = encoding.game, encoding, rounds
        game = self.game
        self.seats = tuple(seat for seat in game.seats if seat not in inside)
        """The seats from outside."""
        agent = FromOutside(encoding.memory, encoding.window)
        self._seated = {seat: inside.get(seat, Occupant(agent, agent.name)) for seat in game.seats}
        self._seed: int | None = None
        self._episodes = 0
        self._told = 0
        self._playing: EpisodeInProgress | None = None
        self.waiting: dict[str, Request] = {}
        """The seats from outside that have yet to reply in the phase in progress, in its order."""
        self.shown: dict[str, Any] = {}
        """What each seat from outside was shown last."""
        self.infos: dict[str, dict[str, Any]] = {}
        """What it was told with that."""

    @property
    def seeded(self) -> bool:
        """Whether a seed was given already."""
        return self._seed is not None

    @property
    def playing(self) -> EpisodeInProgress:
        """The episode in progress; raises CoplayError before the first."""
        if self._playing is None:
            raise CoplayError("no episode has begun: call reset() first")
        return self._playing

    @property
    def episode(self) -> Episode:
        """What was played so far in this episode."""
        return self.playing.episode

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        return self.playing.phase is None

    def reset(self, seed: int | None, *, game: int = 0) -> None:
        """Begin an episode, and play until a seat from outside is asked.

        Args:
            seed: begins the games of a match with that seed; None goes on to the next game of the one before.
            game: which of the games to begin with, from 0; for a seed that is given.
        """
        if seed is not None:
            self._seed, self._episodes = seed, game
        if self._seed is None:
            raise CoplayError("the first reset() needs a seed")
        table = Table(self.game, self._seed, self._episodes, self._episodes, self._seated)
        self._episodes += 1
        self._told, self.waiting = 0, {}
        self.shown = {seat: self.encoding.blank(seat) for seat in self.seats}
        self.infos = {seat: {} for seat in self.seats}
        self._playing = EpisodeInProgress(self.game, table, STREAMS, rounds=self.rounds)
        with game_errors(self.game):
            self._go_on()

    def act(self, seat: str, action: object) -> None:
        """Take a seat's action; when all have acted, play until a seat from outside is asked again.

        Raises:
            CoplayError: if the seat is not asked now, or the action is none of its own.
        """
        if seat not in self.waiting:
            raise CoplayError(f"{seat} is not asked now; asked are {', '.join(self.waiting) or 'none: call reset()'}")
        with game_errors(self.game):
            request = self.waiting[seat]
            self.playing.take(request, self.encoding.reply(request, action))
            del self.waiting[seat]
            self.shown[seat] = self._answered(self.shown[seat])
            if not self.waiting:
                self._go_on()

    def settled(self) -> tuple[dict[str, float], dict[str, bool]]:
        """What each seat from outside was paid since this was asked last, and whether a round of these was void for it, which pays 0."""
        new = self.episode.rounds[self._told :]
        self._told += len(new)
        paid = {seat: [(one.payoffs or {})[seat] for one in new] for seat in self.seats}
        rewards = {seat: float(sum(payoff or 0.0 for payoff in own)) for seat, own in paid.items()}
        return rewards, {seat: None in own for seat, own in paid.items()}

    def _go_on(self) -> None:
        """Ask the players inside; go from phase to phase until a seat from outside is asked, or the episode is over."""
        playing = self.playing
        while not self.waiting and playing.advance() is not None:
            requests = playing.requests()
            self.waiting = {one.seat: one for one in requests if one.seat in self.seats}
            asked = [one for one in requests if one.seat not in self.waiting]
            for request, reply in zip(asked, ask_once([(self._seated[one.seat], one) for one in asked]), strict=True):
                playing.take(request, reply)
        for seat, request in self.waiting.items():
            self.shown[seat], self.infos[seat] = self.encoding.shown(request)

    @staticmethod
    def _answered(shown: Any) -> Any:
        """The same observation when nothing is legal any more."""
        if not isinstance(shown, dict):
            return shown
        return {"observation": shown["observation"].copy(), "action_mask": shown["action_mask"] * 0}


def seat_of(game: Game, seat: str | None) -> str:
    """The seat that is played from outside, by default the game's first; raises UsageError for one that the game does not have."""
    if seat is None:
        return game.seats[0]
    if seat not in game.seats:
        raise unknown("seat", seat, game.seats)
    return seat


def others_of(
    game: Game, own: str, players: PlayerSpec | Sequence[PlayerSpec] | Mapping[str, PlayerSpec]
) -> dict[str, Occupant]:
    """Who sits in each of the other seats.

    Args:
        game: the rules.
        own: the seat that is played from outside.
        players: as for :func:`coplay.match`: one for all, one for each in the game's order, or by seat.

    Raises:
        UsageError: for unknown names, or if somebody is missing or too many.
    """
    others = [seat for seat in game.seats if seat != own]
    if isinstance(players, Mapping):
        found: Mapping[str, PlayerSpec] = players
    elif isinstance(players, Sequence) and not isinstance(players, str):
        found = dict(zip(others, players, strict=True)) if len(players) == len(others) else {}
    else:
        found = dict.fromkeys(others, players)
    if set(found) != set(others):
        raise UsageError(f"game {game.name!r} needs a player for each other seat, {join(others)}; got {players!r}")
    return {seat: occupant_of(spec, game, seat) for seat, spec in found.items()}
