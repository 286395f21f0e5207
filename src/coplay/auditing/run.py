"""An audit from beginning to end: the ceiling, scripted co-players, then co-players that learn until the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from coplay.auditing.parts import Case, Found, measured, parts, title
from coplay.auditing.plan import Plan
from coplay.auditing.record import PRESENTATIONS, Audit, Measure
from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.players.scripted import is_script, of_other_library
from coplay.runs.contestants import Contestant
from coplay.runs.exploiter import KINDS
from coplay.runs.trained import parse_run

Tell = Callable[[str], None]
"""Is told what is being measured."""


def case_of(game: Game, player: Contestant, plan: Plan) -> Case:
    """Who is audited in what; raises UsageError if the player can sit in no seat beside a co-player."""
    return Case(game, player, seats_of_co_players(game, player), plan)


def audit_player(case: Case, *, tell: Tell = lambda text: None) -> Audit:
    """Measure what co-players take from a player, and what it gets and does among them, one part after the other.

    Args:
        case: who is audited in what. Of a run with several seeds, measures are means over seeds, and the i-th seed meets the i-th learner of each kind.
            What a kind of learners leaves of its share of the seconds, those have that follow.
        tell: is told what is being measured.
    """
    left = math.inf if case.plan.seconds is None else case.plan.seconds
    found: dict[str, Found] = {}
    for part in parts(case):
        tell(title(part))
        started = time.monotonic()
        found[part] = measured(part, case, seconds=max(0.0, left) / max(1, _learners_left(case, found)))
        left -= time.monotonic() - started if part in KINDS else 0.0
    return merged(case, found)


def _learners_left(case: Case, found: Mapping[str, Found]) -> int:
    """How many kinds of learners have not been trained yet."""
    return sum(part in KINDS and part not in found for part in parts(case))


def merged(case: Case, found: Mapping[str, Found]) -> Audit:
    """The audit of which these are the parts, in the order in which they are told."""
    measures = [one for part in found.values() for one in part.measures]
    notes = [note for part in found.values() for note in part.notes]
    refused: dict[str, list[str]] = {}
    for part, one in found.items():
        if one.refused:
            refused.setdefault(one.refused, []).append(part)
    notes += [f"no {', '.join(of)}: {why}" for why, of in refused.items()]
    notes += _few_games(measures) + _all_illegal(measures)
    return Audit(case.player.name, case.game.name, case.plan.rounds, tuple(measures), tuple(notes))


def seats_of_co_players(game: Game, player: Contestant) -> tuple[str, ...]:
    """The seats that co-players take in turn: those beside which the player can fill all others; one is enough where seats are all alike."""
    seats = tuple(seat for seat in game.playing_seats if all(one in player.seats for one in game.seats if one != seat))
    if not seats:
        raise UsageError(
            f"{player.name} plays {' or '.join(player.seats)} alone, so that it cannot be audited in {game.name!r}:"
            " an audit fills all seats but one with it"
        )
    # a player of one's own may look at the name of its seat
    known = is_script(player.name, game) or of_other_library(player.name) or parse_run(player.name) is not None
    alike = known and bool(getattr(game, "is_symmetric", False)) and set(player.seats) == set(game.seats)
    return seats[:1] if alike else seats


def _few_games(measures: Sequence[Measure]) -> list[str]:
    """A note where games that all went the same way count as one."""
    played = [one for one in measures if one.n_seeds == 0 and not one.name.startswith(PRESENTATIONS)]
    few = {one.co_player for one in played if 0 < one.effective_n < _episodes(one)}
    if not few:
        return []
    return [
        f"with {', '.join(sorted(few))} all games of a seating went the same way and count as one; where the player's word makes that certain,"
        " values are exact, elsewhere they have no interval"
    ]


def _all_illegal(measures: Sequence[Measure]) -> list[str]:
    """A note where nothing but illegal replies was measured."""
    illegal = [one.value for one in measures if one.name == "illegal"]
    if not illegal or any(share != 1.0 for share in illegal):
        return []
    return [
        "every reply was illegal, so nothing else says what the player does; read its games with `coplay eval --print-games 1`: a model may have to"
        " learn the format first (`coplay align --to own`), an endpoint to be told it by a persona"
    ]


def _episodes(one: Measure) -> int:
    return int(str(one.budget.get("episodes", 0)))
