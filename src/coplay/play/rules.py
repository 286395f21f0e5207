"""What a game answers in play, checked: a game that fails or breaks its protocol is named in one line, with the method and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.records import Outcome, Phase, Round
from coplay.user_code import failed_method, one_line

_MAX_ACTS = 2_000
"""A round with more acts than this never ends."""


@contextmanager
def game_errors(game: Game) -> Iterator[None]:
    """In the block, an error that arises in a method of the game is raised as a CoplayError that names the game and the method."""
    try:
        yield
    except CoplayError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        method = failed_method(game, error)
        if method is None:
            raise
        raise CoplayError(f"game {game.name!r}: {method} failed: {one_line(error)}") from error


def _wrong(game: Game, method: str, one: Round, what: str) -> CoplayError:
    return CoplayError(f"game {game.name!r}: {method} {what} in round {one.number + 1}")


def checked_phase(game: Game, now: Round) -> Phase | None:
    """The next phase of a round; raises CoplayError if it asks for what cannot be asked for."""
    phase = game.next_phase(now)
    if phase is None:
        return None
    if not isinstance(phase, Phase):
        raise _wrong(game, "next_phase", now, f"returned {phase!r}, which is neither a Phase nor None,")
    where = f"game {game.name!r}: phase {phase.name!r}"
    if not phase.seats or any(seat not in game.seats for seat in phase.seats):
        raise CoplayError(f"{where} asks {phase.seats}, which are not its seats")
    if len(set(phase.seats)) < len(phase.seats):
        raise CoplayError(f"{where} asks a seat twice: {phase.seats}")
    if now.acted(phase.name, phase.turn):
        raise CoplayError(f"{where} with turn {phase.turn} comes twice in one round; give each its own turn")
    if len(now.acts) > _MAX_ACTS:
        raise CoplayError(
            f"game {game.name!r}: a round has more than {_MAX_ACTS} acts; next_phase must return None when the round is over"
        )
    return phase


def checked_view(game: Game, one: Round, seat: str) -> Round:
    """What a seat sees of a round; raises CoplayError if that is no round, or another one."""
    seen = game.observe(one, seat)
    if not isinstance(seen, Round) or seen.number != one.number:
        raise _wrong(game, "observe", one, f"returned {seen!r} for {seat}, which is not that round,")
    return seen


def checked_payoffs(game: Game, now: Round) -> dict[str, float | None]:
    """The payoffs of a round that is over, a mapping of its own; raises CoplayError if they are not a finite number or None for each seat."""
    payoffs = game.payoffs(now)
    if not isinstance(payoffs, Mapping):
        raise _wrong(game, "payoffs", now, f"returned {payoffs!r}, which is no mapping from seats to numbers,")
    if len(payoffs) != len(game.seats) or any(seat not in payoffs for seat in game.seats):
        raise CoplayError(
            f"game {game.name!r} pays {', '.join(map(str, payoffs))}; its seats are {', '.join(game.seats)}"
        )
    for seat, payoff in payoffs.items():
        if payoff is not None and not (isinstance(payoff, int | float) and math.isfinite(payoff)):
            raise _wrong(game, "payoffs", now, f"pays {seat} {payoff!r}, which is neither a finite number nor None,")
    return dict(payoffs)


def checked_outcome(game: Game, one: Round) -> Outcome:
    """What a round came to; raises CoplayError if that does not say a word for each seat."""
    outcome = game.outcome(one)
    if not isinstance(outcome, Outcome):
        raise _wrong(game, "outcome", one, f"returned {outcome!r}, which is no Outcome,")
    conduct = outcome.conduct
    if len(conduct) != len(game.seats) or not all(word is None or isinstance(word, str) for word in conduct):
        raise _wrong(
            game,
            "outcome",
            one,
            f"has the conduct {conduct!r}, which is not a word or None for each of {', '.join(game.seats)},",
        )
    return outcome


def settled(game: Game, now: Round) -> tuple[Round, Outcome]:
    """A round that is over with its payoffs, and what it came to; raises CoplayError if either breaks the protocol."""
    one = Round(now.number, now.deal, now.acts, checked_payoffs(game, now))
    return one, checked_outcome(game, one)
