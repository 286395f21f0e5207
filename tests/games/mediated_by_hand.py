"""Rounds, requests and episodes of games beside a mediator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import Message, addressed
from coplay.games.memory import START
from coplay.games.records import Act, Action, Episode, Occupant, Phase, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.scripted import make_script

MEDIATOR = "mediator"
SILENT: Message = ("none", ())


def mediated(spec: str) -> Mediated:
    return cast(Mediated, make_game(spec))


def decision(game: Mediated, seat: str, letters: str) -> Action:
    others = [one for one in game.playing_seats if one != seat]
    names = {"C": "cooperate", "D": "defect"}
    return tuple(zip(others, [names[one] for one in letters], strict=True)) if len(letters) > 1 else names[letters]


def over(game: Mediated, letters: str, message: Message | None = SILENT, number: int = 0) -> Round:
    """A round that is over: ``CC CD DD``, or with one shared action ``C D D``."""
    acts = [Act("mediation", 0, MEDIATOR, message)]
    did = zip(game.playing_seats, letters.split(), strict=True)
    acts += [Act("action", 0, seat, decision(game, seat, one)) for seat, one in did]
    one = Round(number, None, tuple(acts))
    return Round(number, None, tuple(acts), game.payoffs(one))


def past(game: Mediated, *rounds: str) -> tuple[Round, ...]:
    """What the mediator sees of rounds in which it was silent."""
    return tuple(game.observe(over(game, one, number=i), MEDIATOR) for i, one in enumerate(rounds))


def asked(game: Mediated, rounds: Sequence[Round] = (), seat: str = MEDIATOR) -> Request:
    now = Round(len(rounds))
    phase = Phase("mediation", (MEDIATOR,)) if seat == MEDIATOR else Phase("action", game.playing_seats)
    return Request(0, 0, seat, phase, now, tuple(rounds), (), START, None, (), 0.0)


def reached(messages: Sequence[Action]) -> list[list[str]]:
    return [list(addressed(one)) for one in messages]


def played(spec: str, *names: str, rounds: int = 5, tables: int = 1) -> list[Episode]:
    game = make_game(spec)
    seated = {seat: Occupant(make_script(one, game, seat), one) for seat, one in zip(game.seats, names, strict=True)}
    at = [Table(game, 0, i, i, seated) for i in range(tables)]
    return play_episode(game, at, rounds=rounds, streams=StreamNames(("test",)))
