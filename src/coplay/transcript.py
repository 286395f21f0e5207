"""A complete game as text: round by round what each seat was dealt, said, did and got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coplay.games.matrix import SEATS, MatrixGame
from coplay.rounds.records import dealt, in_words
from coplay.rounds.types import Reply, RoundEpisode
from coplay.tables import align
from coplay.text.prompts import number
from coplay.text.rounds import Worded
from coplay.types import Episode


def matrix_transcript(game: MatrixGame, episode: Episode) -> str:
    """A game of a matrix game, a line a round.

    Args:
        game: the rules.
        episode: what was played. An illegal reply is shown as it came, in quotes.
    """

    def lines() -> Iterator[list[str]]:
        yield ["round", *(f"{seat}" for seat in SEATS), "points"]
        for i, turns in enumerate(zip(*(episode.traces[seat].turns for seat in SEATS), strict=True)):
            done = [turn.move.action if turn.move.action is not None else repr(turn.move.reply) for turn in turns]
            points = " / ".join("-" if turn.payoff is None else number(turn.payoff) for turn in turns)
            yield [str(i + 1), *done, points]

    return "\n".join(align(list(lines())))


def round_transcript(words: Worded, game: RoundEpisode) -> str:
    """A game of a game in rounds, a line a seat and round.

    Args:
        words: the game.
        game: what was played. A reply that could not be read is shown as it came, in quotes.
    """

    def lines() -> Iterator[list[str]]:
        phases = list(game.rounds[0].replies)
        hands = dealt(game.rounds[0].deal, words.game.seats[0]) is not None
        yield ["round", "seat", *(["dealt"] if hands else []), *phases, "points"]
        for i, one in enumerate(game.rounds):
            for k, seat in enumerate(words.game.seats):
                said = [one.replies[phase].get(seat) for phase in phases]
                shown = ["" if r is None else _shown(r) for r in said]
                held = [dealt(one.deal, seat) or ""] if hands else []
                yield ["" if k else str(i + 1), seat, *held, *shown, number(round(one.payoffs[seat], 1))]

    return "\n".join(align(list(lines())))


def _shown(reply: Reply) -> str:
    """What was read, which may be nothing at all; else the reply as it came, in quotes."""
    read = in_words(reply.action)
    return repr(reply.text) if read is None else read


def transcripts(games: Sequence[str]) -> str:
    """Several games under one another, numbered."""
    return "\n\n".join(f"game {i + 1}\n{text}" for i, text in enumerate(games))
