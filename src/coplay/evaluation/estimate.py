"""What endpoints will be asked: requests and tokens, before anything is.

Of each kind of games one is played without them: stand-ins reply with any legal action, all equally often, and every prompt is rendered as the
endpoint would get it. So requests are exact where games have a fixed length, and prompts have the length that they would have if replies were as
short as they can be. The most that prompts can come to has replies of ``max_tokens`` in their places; where others read messages, the games are
played once more with messages of that length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coplay.games.base import Game
from coplay.games.memory import WINDOW_ROUNDS, Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.endpoint import shown_messages
from coplay.players.endpoint_file import EndpointFile, NoEndpointFile, endpoint_to_come, read_endpoint
from coplay.players.endpoint_usage import Spent
from coplay.players.model_player import MAX_TOKENS
from coplay.players.named import is_endpoint, with_persona
from coplay.players.personas import persona_text
from coplay.players.scripted import is_script, make_script

ROUNDS_PLAYED = 20
"""Games of fewer rounds are played several times, up to so many rounds: what is asked may be a matter of chance."""

ROUNDS_RENDERED, STEP = 20, 1.25
"""In so many rounds from the first every prompt is rendered; of later rounds every one that is so many times as late as the last rendered one.
Lengths between them are interpolated: a conversation grows evenly."""

LONGEST_MESSAGE = 4000
"""Characters up to which a message is written out; games cut messages that are longer."""

_FILLER = "word "


@dataclass(frozen=True)
class Games:
    """Games of the same players."""

    game: Game
    """The rules."""
    players: Mapping[str, str | None]
    """By seat who sits there, as it is named; None for a learner."""
    rounds: int
    """Most rounds of a game."""
    number: float
    """How many games; a fraction where chance decides who sits there."""
    retries: int = 0
    """How often a reply that cannot be parsed is asked for again."""

    @property
    def endpoints(self) -> list[str]:
        """The seats in which endpoints sit."""
        return [seat for seat, who in self.players.items() if who is not None and is_endpoint(who)]

    def alike(self, other: Games) -> bool:
        """Whether both are games of the same kind."""
        return replace(self, number=0) == replace(other, number=0)


@dataclass(frozen=True)
class Estimate:
    """What one endpoint's file will be asked."""

    file: EndpointFile
    """The file."""
    requests: int
    """Replies that are asked for; requests that fail and are tried again are not counted."""
    most_requests: int
    """The same if no reply can be parsed."""
    least: Spent
    """Tokens if replies are as short as the game allows."""
    most: Spent
    """Tokens if every reply has ``max_tokens``."""


@dataclass(frozen=True)
class _Use:
    """Requests and tokens, as numbers that are rounded last."""

    requests: float = 0.0
    most_requests: float = 0.0
    least_in: float = 0.0
    least_out: float = 0.0
    most_in: float = 0.0

    def plus(self, other: _Use, times: float) -> _Use:
        """These and so many times others."""
        pairs = zip(self._all, other._all, strict=True)
        return _Use(*(own + times * more for own, more in pairs))

    @property
    def _all(self) -> tuple[float, ...]:
        return (self.requests, self.most_requests, self.least_in, self.least_out, self.most_in)


def estimate(games: Sequence[Games]) -> list[Estimate]:
    """What the endpoints among the players will be asked, a file each, in the order in which they come up.

    A file that does not exist counts with the settings of :func:`coplay.players.endpoint_file.endpoint_to_come`.

    Args:
        games: all that is to be played.

    Raises:
        UsageError: for a file or a persona that cannot be read.
    """
    files: dict[Path, EndpointFile] = {}
    uses: dict[Path, _Use] = {}
    for one in _merged([one for one in games if one.endpoints and one.number]):
        for path, use in _measured(one, files).items():
            uses[path] = uses.get(path, _Use()).plus(use, one.number)
    return [_rounded(files[path], use) for path, use in uses.items()]


def _rounded(file: EndpointFile, use: _Use) -> Estimate:
    requests, most_requests = (math.ceil(round(number, 6)) for number in (use.requests, use.most_requests))
    return Estimate(
        file,
        requests,
        most_requests,
        Spent(math.ceil(use.least_in), math.ceil(use.least_out)),
        Spent(math.ceil(use.most_in), most_requests * file.settings.max_tokens),
    )


def _merged(games: Sequence[Games]) -> list[Games]:
    """Games of the same kind together."""
    found: list[Games] = []
    for one in games:
        place = next((i for i, other in enumerate(found) if one.alike(other)), None)
        if place is None:
            found.append(one)
        else:
            found[place] = replace(one, number=one.number + found[place].number)
    return found


def _measured(one: Games, files: dict[Path, EndpointFile]) -> dict[Path, _Use]:
    """What the endpoints are asked in one game, on average over the games played here."""
    paths = {seat: _read(str(one.players[seat]), files) for seat in one.endpoints}
    own = {seat: files[path] for seat, path in paths.items()}
    played = max(1, min(math.ceil(one.number), ROUNDS_PLAYED // one.rounds))
    short, talks = _play(one, own, played, padded=False)
    long = _play(one, own, played, padded=True)[0] if talks else short
    found: dict[Path, _Use] = {}
    for seat, path in paths.items():
        settings, prompts = own[seat].settings, long[seat].prompts
        characters, tries = settings.characters_per_token, 1 + one.retries
        others = prompts.characters - prompts.own_characters
        use = _Use(
            short[seat].requests,
            short[seat].requests * tries,
            short[seat].prompts.characters / characters,
            short[seat].said / characters,
            (others / characters + prompts.own_replies * settings.max_tokens) * tries,
        )
        found[path] = found.get(path, _Use()).plus(use, 1 / played)
    return found


def _read(spec: str, files: dict[Path, EndpointFile]) -> Path:
    """Read a player's file; returns its path, by which players of one file are one."""
    file, _ = with_persona(spec)
    try:
        found = read_endpoint(file)
    except NoEndpointFile:
        found = endpoint_to_come(file)
    return files.setdefault(found.path, found).path


def _play(
    one: Games, own: Mapping[str, EndpointFile], played: int, *, padded: bool
) -> tuple[dict[str, _StandIn], bool]:
    """Play some of the games; returns the endpoints' stand-ins by seat, and whether anybody's messages can be of any length."""
    standing: dict[str, _StandIn] = {}
    seated = {}
    for seat, who in one.players.items():
        if seat not in own and who is not None and is_script(who, one.game):
            player: Player = make_script(who, one.game, seat)
        else:
            player = standing[seat] = _stand_in(one.game, who, own.get(seat), padded=padded)
        seated[seat] = Occupant(player, seat)
    tables = [Table(one.game, 0, index, index, seated) for index in range(played)]
    for stand_in in standing.values():
        stand_in.last_round = one.rounds - 1
    play_episode(one.game, tables, rounds=one.rounds, streams=StreamNames(("estimate",)))
    return {seat: standing[seat] for seat in own}, any(one.talks for one in standing.values())


def _stand_in(game: Game, who: str | None, file: EndpointFile | None, *, padded: bool) -> _StandIn:
    """A stand-in of an endpoint; or of anybody else, whose messages have as many tokens as models' do."""
    if file is None or who is None:
        return _StandIn(game, longest=round(MAX_TOKENS * 4), padded=padded)
    settings = file.settings
    _, persona = with_persona(who)
    return _StandIn(
        game,
        longest=min(LONGEST_MESSAGE, round(settings.max_tokens * settings.characters_per_token)),
        padded=padded,
        memory=settings.memory,
        window=settings.window,
        system=None if persona is None else persona_text(persona, who),
        renders=True,
    )


class _Prompts(NamedTuple):
    """The size of prompts."""

    characters: float
    """All."""
    own_characters: float
    """Of the endpoint's own replies in them."""
    own_replies: float
    """How many there are."""


@dataclass
class _StandIn:
    """Replies with any legal action, all equally often, and notes how long the prompts of an endpoint in its place would be."""

    game: Game
    longest: int
    """Characters of the longest reply."""
    padded: bool
    """Whether every message has that many."""
    memory: Memory = Memory.NONE
    window: int = WINDOW_ROUNDS
    system: str | None = None
    renders: bool = False
    """Whether it stands for an endpoint."""
    last_round: int = 0
    name: str = "stand-in"
    said: int = 0
    """Characters of its replies."""
    talks: bool = False
    """Whether what it can say in a reply has any length."""
    asked: dict[_Question, list[int]] = field(default_factory=dict)
    """In which rounds it was asked what."""
    rendered: dict[_Question, list[tuple[int, _Prompts]]] = field(default_factory=dict)
    """In which of them the prompt was rendered."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        return [self._reply(request) for request in requests]

    @property
    def requests(self) -> int:
        """How often it was asked."""
        return sum(map(len, self.asked.values()))

    @property
    def prompts(self) -> _Prompts:
        """All prompts together; those that were not rendered are interpolated between those that were."""
        sums = np.zeros(len(_Prompts._fields))
        for question, rounds in self.asked.items():
            known, sizes = zip(*self.rendered[question], strict=True)
            sums += [np.interp(rounds, known, column).sum() for column in zip(*sizes, strict=True)]
        return _Prompts(*map(float, sums))

    def _reply(self, request: Request) -> Reply:
        if self.renders:
            self._note(request)
        reply = self._short(request)
        long = self._padded(request, reply)
        if long.action != reply.action:
            self.talks = True
            reply = long if self.padded else reply
        self.said += len(reply.text)
        return reply

    def _note(self, request: Request) -> None:
        question, number = (request.game, request.phase.name, request.phase.turn), request.now.number
        self.asked.setdefault(question, []).append(number)
        if question in self.rendered and not (_is_rendered(number) or number == self.last_round):
            return
        messages = shown_messages(self.game, request, self.memory, system=self.system)
        own = [len(one.text) for one in messages if one.role == "assistant"]
        size = _Prompts(sum(len(one.text) for one in messages), sum(own), len(own))
        self.rendered.setdefault(question, []).append((number, size))

    def _short(self, request: Request) -> Reply:
        """An action, or one of the game's examples, as the game writes it; nothing where the game has neither."""
        listed = self.game.choices(request)
        if listed is None:
            listed = self.game.examples(request)
        if not listed:
            return Reply("")
        action = listed[int(request.draw * len(listed))]
        return Reply(self.game.render_action(request, action), action)

    def _padded(self, request: Request, short: Reply) -> Reply:
        """The same with so many words that it is as long as can be: where a reply is a message, they are part of it, elsewhere they are not read."""
        more = max(0, self.longest - len(short.text) - 1)
        words = (_FILLER * (more // len(_FILLER) + 1))[:more]
        for text in (f"{words}\n{short.text}", f"{short.text} {words}"):
            action = self.game.parse_action(request, text)
            if action is not None:
                return Reply(text, action)
        return short


_Question = tuple[int, str, int]
"""Game, phase and turn: what is asked once a round."""


def _is_rendered(number: int) -> bool:
    """Whether prompts of a round, from 0, are rendered."""
    return number < ROUNDS_RENDERED or math.floor(math.log(number, STEP)) != math.floor(math.log(number - 1, STEP))
