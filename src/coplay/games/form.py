"""What is wrong with the form of a game: its name, seats, rounds and actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coplay.games.base import MOST_ROUNDS, Game


def are_words(value: object) -> bool:
    """Whether a value is a tuple of text."""
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)


def malformed(game: Game) -> Iterator[str]:
    """What is wrong with the type of a game's name, description, seats, rounds, draws and actions; a sentence each."""
    for name in ("name", "description"):
        if not isinstance(getattr(game, name, None), str):
            yield f"{name} must be text"
    seats = getattr(game, "seats", None)
    if not isinstance(seats, tuple) or len(seats) < 1 or not all(isinstance(seat, str) and seat for seat in seats):
        yield "seats must be a tuple of names, one at least"
    elif len(set(seats)) != len(seats):
        yield f"seats must differ from one another, got {', '.join(seats)}"
    elif game.actions is not None and not (isinstance(game.actions, Mapping) and set(game.actions) == set(seats)):
        yield f"actions must have an entry for each of {', '.join(seats)}, and no other; got {game.actions!r}"
    elif game.actions is not None and not all(map(are_words, game.actions.values())):
        yield f"actions of each seat must be a tuple of words, got {dict(game.actions)!r}"
    for name, least in (("rounds", 1), ("draws", 0)):
        value = getattr(game, name, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            yield f"{name} must be a whole number of at least {least}, got {value!r}"
        elif value > MOST_ROUNDS:
            yield f"{name} must be at most {MOST_ROUNDS:,}, got {value}"
