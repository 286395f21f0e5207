"""Players that tests seat: one that follows a line, one that keeps what it is asked, one that says one thing, one that mumbles first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.memory import Memory, Observation
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import make_script

TEST = StreamNames(("test",))
"""What the streams of tests are called."""

TEXT_GAMES = ("ipd-ab", "split-no-comm", "trust-and-split")
"""Games whose replies are text."""


@dataclass
class LinePlayer:
    """Plays a line of C (the first action), D (the second) and ? (a reply that cannot be parsed); keeps what it was shown.

    Several lines are of several games.
    """

    lines: str | Sequence[str]
    memory: Memory = Memory.TRANSCRIPT
    name: str = "line"
    observations: list[Observation] = field(default_factory=list, compare=False)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.observations += [request.observation for request in requests]
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        line = self.lines if isinstance(self.lines, str) else self.lines[request.game]
        letter = line[request.now.number]
        return Reply(letter, {"C": "cooperate", "D": "defect"}.get(letter))


@dataclass
class RecordingPlayer:
    """Replies as another player does, and keeps what it was asked."""

    player: Player
    requests: list[Request] = field(default_factory=list, compare=False)

    @property
    def name(self) -> str:
        return self.player.name

    @property
    def memory(self) -> Memory:
        return self.player.memory

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += requests
        return self.player.act(requests)


@dataclass(frozen=True)
class TextPlayer:
    """Gives one text, whatever it is asked; it is parsed as the game parses it."""

    game: Game
    text: str
    name: str = "text"
    memory: Memory = Memory.NONE

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(self.text, self.game.parse_action(request, self.text)) for request in requests]


@dataclass
class UnparseablePlayer:
    """Gives so many replies to each request that cannot be parsed, then replies as another player does."""

    player: Player
    times: int
    paths: list[tuple[int | str, ...]] = field(default_factory=list, compare=False)
    name: str = "unparseable"
    memory: Memory = Memory.TRANSCRIPT

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.paths += [request.rng_path for request in requests]
        clear = self.player.act(requests)
        return [Reply("hm") if r.attempt < self.times else reply for r, reply in zip(requests, clear, strict=True)]


def scripts(game: Game, *specs: str) -> dict[str, Player]:
    """A scripted player for each seat, in order."""
    return {seat: make_script(spec, game, seat) for seat, spec in zip(game.seats, specs, strict=True)}


def occupants(players: Mapping[str, Any]) -> dict[str, Occupant]:
    """Players in their seats; nobody learns."""
    return {seat: Occupant(player, player.name) for seat, player in players.items()}


def tables_of(game: Game, players: Mapping[str, Any], groups: Sequence[int] = (0,), *, seed: int = 0) -> list[Table]:
    """A table for each entry of ``groups``, with the same players."""
    seated = occupants(players)
    return [Table(game, seed, group, index, seated) for index, group in enumerate(groups)]


def play(
    game: Game | str,
    players: Mapping[str, Any],
    groups: Sequence[int] = (0,),
    *,
    seed: int = 0,
    rounds: int = 4,
    streams: StreamNames = TEST,
    retries: int = 0,
) -> list[Episode]:
    """One episode at each of some tables with the same players."""
    game = make_game(game)
    return play_episode(
        game, tables_of(game, players, groups, seed=seed), rounds=rounds, streams=streams, retries=retries
    )


def record(episode: Episode) -> tuple[Any, ...]:
    """What happened in an episode, without who sat where."""
    return (episode.seed, episode.group, episode.game, episode.rounds, episode.outcomes, episode.turns)


def states(episode: Episode) -> list[tuple[str | None, ...]]:
    """What all seats did, round by round."""
    return [outcome.conduct for outcome in episode.outcomes]


def actions(episode: Episode, seat: str) -> list[Any]:
    """A seat's actions, in order."""
    return [turn.reply.action for turn in episode.turns[seat]]
