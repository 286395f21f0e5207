"""An audit from beginning to end: the ceiling, scripted co-players, then co-players that learn until the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from coplay.auditing.conduct import against_scripted, scripted_co_players
from coplay.auditing.learning import Spending, best_response_takes, learners_take
from coplay.auditing.presented import PRESENTED, presented
from coplay.auditing.record import BEST_RESPONSE, PRESENTATIONS, Audit, Measure
from coplay.auditing.replicates import over_seeds
from coplay.auditing.steering import steering
from coplay.errors import UsageError, suggestion
from coplay.evaluation.pasts import NotExact
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.scripted import is_script, of_other_library
from coplay.runs.contestants import Contestant
from coplay.runs.exploiter import KINDS, TABLES
from coplay.runs.trained import parse_run

SCRIPTED = "scripted"
"""All scripted co-players, as ``--against`` calls them."""

STEERING = "steering"
"""A shaper and a naive co-player beside a player that learns, as ``--against`` calls them."""

DEFAULT_SECONDS = 120.0
"""Of training, if no budget is given."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and at what cost."""

    rounds: int
    """T, the most rounds of an episode."""
    against: tuple[str, ...]
    """Kinds of co-players: ``scripted``, ``best_response``, and kinds of learners."""
    seconds: float | None = DEFAULT_SECONDS
    """Of training, shared out among the kinds of learners; None for no limit."""
    trials: int | None = None
    """Of each learner; None for no limit."""
    seeds: int = 5
    """Learners of each kind."""
    episodes: int = 40
    """Games of each seating with scripted co-players, and of each learner after training."""
    samples: int = 100
    """Replies sampled at each information set of a player that tells no probabilities, for the best response."""
    seed: int = 0
    """Of games and sampled replies."""
    model: str | None = None
    """What learners of kind ``language_model`` start from; None for an embedded one."""


def kinds() -> tuple[str, ...]:
    """All kinds of co-players."""
    return (BEST_RESPONSE, SCRIPTED, STEERING, *PRESENTED, *KINDS)


def default_kinds() -> tuple[str, ...]:
    """Those of an audit that names none: all but learners that are no tables, which take minutes."""
    return tuple(kind for kind in kinds() if kind not in KINDS or kind in TABLES)


def checked_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Kinds of co-players by name, without repetitions; raises UsageError for an unknown one."""
    for name in names:
        if name not in kinds():
            raise UsageError(
                f"{name!r} is no kind of co-player.{suggestion(name, kinds())} Known: {', '.join(kinds())}"
            )
    return tuple(dict.fromkeys(names))


def audit_player(game: Game, player: Contestant, plan: Plan, *, tell: Tell = lambda text: None) -> Audit:
    """Measure what co-players take from a player, and what it gets and does among them.

    Args:
        game: the rules.
        player: who is audited. Of a run with several seeds, measures are means over seeds, and the i-th seed meets the i-th learner of each kind.
        plan: what is measured.
        tell: is told what is being measured.

    Raises:
        UsageError: if the player can sit in no seat beside a co-player.
    """
    seats = seats_of_co_players(game, player)
    measures: list[Measure] = []
    notes: list[str] = []
    for part in (_ceiling, _scripted, _steered, _presented, _learners):
        found, told = part(game, player, seats, plan, tell)
        measures += found
        notes += told
    notes += _few_games(measures) + _all_illegal(measures)
    return Audit(player.name, game.name, plan.rounds, tuple(measures), tuple(notes))


Tell = Callable[[str], None]
"""Is told what is being measured."""

Found = tuple[list[Measure], list[str]]
"""Measures and notes."""


def _ceiling(game: Game, player: Contestant, seats: Sequence[str], plan: Plan, tell: Tell) -> Found:
    """What a best response takes, or why that is not known."""
    if BEST_RESPONSE not in plan.against:
        return [], []
    tell("the best response, by enumeration")
    how: dict[str, int] = {"rounds": plan.rounds, "samples": plan.samples, "seed": plan.seed}
    try:
        return over_seeds([[best_response_takes(game, one, seats, **how)] for one in _of_seeds(player)]), []
    except NotExact as error:
        return [], [f"no best response by enumeration: {error}"]


def _scripted(game: Game, player: Contestant, seats: Sequence[str], plan: Plan, tell: Tell) -> Found:
    """What scripted co-players take."""
    if SCRIPTED not in plan.against:
        return [], []
    tell("scripted co-players")
    names = scripted_co_players(game)
    how = {"rounds": plan.rounds, "episodes": plan.episodes}
    of_seeds = [
        list(against_scripted(game, one, seats, names, seed=plan.seed + i, **how))
        for i, one in enumerate(_of_seeds(player))
    ]
    return over_seeds(of_seeds), []


def _steered(game: Game, player: Contestant, seats: Sequence[str], plan: Plan, tell: Tell) -> Found:
    """What is taken from the player if it learns."""
    if STEERING not in plan.against:
        return [], []
    tell("steering: the player learns")
    how = {"rounds": plan.rounds, "episodes": plan.episodes}
    try:
        return steering(game, player.occupant, seats, seeds=range(plan.seeds), **how)
    except UsageError as error:
        return [], [f"no steering: {error}"]


def _presented(game: Game, player: Contestant, seats: Sequence[str], plan: Plan, tell: Tell) -> Found:
    """Whether conduct depends on how the game is presented, of players that read it: strategies and functions know actions by name."""
    measures: list[Measure] = []
    notes = []
    how = {"rounds": plan.rounds, "episodes": plan.episodes, "seed": plan.seed}
    for kind in [one for one in plan.against if one in PRESENTED and reads_the_game(game, player)]:
        tell(f"the same game, {kind}")
        try:
            measures += presented(game, kind, player.name, seats, **how)
        except UsageError as error:
            notes.append(f"not {kind}: {error}")
    return measures, notes


def reads_the_game(game: Game, player: Contestant) -> bool:
    """Whether a player may go by what actions are called and by numbers. Strategies know actions by name; an object in Python cannot be built anew."""
    return player.named and not is_script(player.name, game) and not of_other_library(player.name)


def _of_seeds(player: Contestant) -> list[Callable[[str], Occupant]]:
    """The player of each of its seeds, from a seat; one of a player that was not trained."""
    return [partial(player.occupant, i) for i in range(len(player.seeds) or 1)]


def _learners(game: Game, player: Contestant, seats: Sequence[str], plan: Plan, tell: Tell) -> Found:
    """What learners take, kind by kind, until the budget is spent; and which kinds cannot learn the game."""
    kinds = [kind for kind in plan.against if kind in KINDS]
    measures: list[Measure] = []
    refused: dict[str, list[str]] = {}
    ends = math.inf if plan.seconds is None else time.monotonic() + plan.seconds
    for place, kind in enumerate(kinds):
        tell(f"learners: {kind}")
        left = max(0.0, ends - time.monotonic()) / (len(kinds) - place)
        spending = Spending(left, plan.trials or Spending.trials)
        try:
            measures += learners_take(
                game,
                player.occupant,
                seats,
                kind,
                rounds=plan.rounds,
                seeds=range(plan.seeds),
                episodes=plan.episodes,
                spending=spending,
                model=plan.model,
            )
        except UsageError as error:
            refused.setdefault(str(error), []).append(kind)
    return measures, [f"no {', '.join(of)}: {why}" for why, of in refused.items()]


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
