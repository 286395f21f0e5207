"""A complete game as text: round by round what each seat was dealt, replied and got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from coplay.games.base import Game
from coplay.games.mediation_words import addressed
from coplay.games.mediator_seat import MEDIATION
from coplay.games.records import Episode, Round, Turn
from coplay.terminal.printable import printable
from coplay.terminal.tables import align
from coplay.text.rendering import join, number, spans


def transcript(game: Game, episode: Episode) -> str:
    """A game: a line a round where every seat acts once, else a line a seat and round. Replies that could not be parsed stand in quotes.

    What a mediator wrote follows, with who read it in which round.
    """
    once = all(len(own) == len(episode.rounds) for own in episode.turns.values())
    dealt = any(game.show_deal(one, seat) is not None for one in episode.rounds for seat in game.seats)
    lines = (
        _round_lines(game, episode)
        if once and not dealt and game.actions is not None
        else _seat_lines(game, episode, dealt)
    )
    return "\n".join([*align(list(lines)), *_letters(episode)])


def _round_lines(game: Game, episode: Episode) -> Iterator[list[str]]:
    yield ["round", *game.seats, "points"]
    for i, one in enumerate(episode.rounds):
        did = [_shown(game, episode.turns[seat][i]) for seat in game.seats]
        points = " / ".join(_points(game, one, seat) for seat in game.seats)
        yield [str(i + 1), *did, points]


def _seat_lines(game: Game, episode: Episode, dealt: bool) -> Iterator[list[str]]:
    phases = list(dict.fromkeys(act.phase for one in episode.rounds for act in one.acts))
    yield ["round", "seat", *(["dealt"] if dealt else []), *phases, "points"]
    for i, one in enumerate(episode.rounds):
        for k, seat in enumerate(sorted(game.seats, key=game.playing_seats.__contains__)):  # a mediator acts first
            turns = [turn for turn in episode.turns[seat] if turn.round == one.number]
            shown = ["; ".join(_shown(game, t) for t in turns if t.phase == phase) for phase in phases]
            held = [game.show_deal(one, seat) or ""] if dealt else []
            yield ["" if k else str(i + 1), seat, *held, *shown, _points(game, one, seat)]


def _letters(episode: Episode) -> Iterator[str]:
    """Each text of a mediator once, after a line that says who read it and when; nobody else read it."""
    read: dict[str, dict[int, list[str]]] = {}
    for one in episode.rounds:
        for act in one.acts:
            for seat, text in addressed(act.action).items() if act.phase == MEDIATION else ():
                read.setdefault(text, {}).setdefault(one.number + 1, []).append(seat)
    for text, rounds in read.items():
        yield ""
        yield f"mediator to {_readers(rounds)}:"
        yield from (f"  {printable(line)}" for line in text.splitlines())


def _readers(rounds: Mapping[int, Sequence[str]]) -> str:
    """``player-2 (rounds 1 and 3)``."""
    of_seat: dict[str, list[int]] = {}
    for when_round, seats in rounds.items():
        for seat in seats:
            of_seat.setdefault(seat, []).append(when_round)
    return join([f"{seat} (round{'s' if len(when) > 1 else ''} {spans(when)})" for seat, when in of_seat.items()])


def _points(game: Game, one: Round, seat: str) -> str:
    payoff = (one.payoffs or {}).get(seat)
    return "-" if payoff is None else number(round(payoff, game.decimals))


def _shown(game: Game, turn: Turn) -> str:
    """What was parsed; else the reply as it came, in quotes."""
    action = turn.reply.action
    return repr(turn.reply.text) if action is None else game.show(action)


def numbered(games: Sequence[str]) -> str:
    """Several games under one another, numbered."""
    return "\n\n".join(f"game {i + 1}\n{text}" for i, text in enumerate(games))
