"""The parts of an audit: what is measured with one kind of co-player, each independent of all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from coplay.auditing.conduct import against_scripted, scripted_co_players
from coplay.auditing.learning import Spending, best_response_takes, learners_take
from coplay.auditing.plan import SCRIPTED, STEERING, Plan
from coplay.auditing.presented import PRESENTED, presented
from coplay.auditing.record import BEST_RESPONSE, Measure
from coplay.auditing.replicates import over_seeds
from coplay.auditing.steering import steering
from coplay.errors import UsageError
from coplay.evaluation.pasts import NotExact
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.scripted import is_script, of_other_library
from coplay.runs.contestants import Contestant
from coplay.runs.exploiter import KINDS


@dataclass(frozen=True)
class Case:
    """Who is audited in what."""

    game: Game
    """The rules."""
    player: Contestant
    """The player."""
    seats: Sequence[str]
    """The seats that co-players take in turn."""
    plan: Plan
    """What is measured."""

    @property
    def of_seeds(self) -> list[Callable[[str], Occupant]]:
        """The player of each of its seeds, from a seat; one of a player that was not trained."""
        return [partial(self.player.occupant, i) for i in range(len(self.player.seeds) or 1)]


@dataclass(frozen=True)
class Found:
    """What a part has found."""

    measures: Sequence[Measure]
    """Its measures."""
    notes: Sequence[str] = ()
    """What could not be measured and why, and what the measures rest on."""
    refused: str = ""
    """Of learners, why this kind cannot learn the game, or not to the end; empty if it can."""

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "measures": [one.to_dict() for one in self.measures],
            "notes": list(self.notes),
            "refused": self.refused,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Found:
        """What :meth:`to_dict` returned; raises TypeError or KeyError for anything else."""
        return cls([Measure(**one) for one in data["measures"]], list(data["notes"]), str(data["refused"]))


def parts(case: Case) -> tuple[str, ...]:
    """The parts of an audit, each by its kind of co-players, in the order in which they are told; learners come last."""
    asked = case.plan.against
    first = [kind for kind in (BEST_RESPONSE, SCRIPTED, STEERING) if kind in asked]
    others = [kind for kind in asked if kind in PRESENTED and reads_the_game(case.game, case.player)]
    return (*first, *others, *(kind for kind in asked if kind in KINDS))


def title(part: str) -> str:
    """What a part does, for whoever waits."""
    if part in PRESENTED:
        return f"the same game, {part}"
    if part in KINDS:
        return f"learners: {part}"
    return {
        BEST_RESPONSE: "the best response, by enumeration",
        SCRIPTED: "scripted co-players",
        STEERING: "steering: the player learns",
    }[part]


def measured(part: str, case: Case, *, seconds: float = math.inf) -> Found:
    """Measure what one part of an audit measures.

    Args:
        part: which, of :func:`parts`.
        case: who is audited in what.
        seconds: how long learners are trained at most.
    """
    if part in PRESENTED:
        return _presented(part, case)
    if part in KINDS:
        return _learners(part, case, seconds)
    return {BEST_RESPONSE: _ceiling, SCRIPTED: _scripted, STEERING: _steered}[part](case)


def _ceiling(case: Case) -> Found:
    """What a best response takes, or why that is not known."""
    plan = case.plan
    how: dict[str, int] = {"rounds": plan.rounds, "samples": plan.samples, "seed": plan.seed}
    try:
        return Found(over_seeds([[best_response_takes(case.game, one, case.seats, **how)] for one in case.of_seeds]))
    except NotExact as error:
        return Found([], [f"no best response by enumeration: {error}"])


def _scripted(case: Case) -> Found:
    """What scripted co-players take."""
    plan, names = case.plan, scripted_co_players(case.game)
    how = {"rounds": plan.rounds, "episodes": plan.episodes}
    of_seeds = [
        list(against_scripted(case.game, one, case.seats, names, seed=plan.seed + i, **how))
        for i, one in enumerate(case.of_seeds)
    ]
    return Found(over_seeds(of_seeds))


def _steered(case: Case) -> Found:
    """What is taken from the player if it learns."""
    plan = case.plan
    how = {"rounds": plan.rounds, "episodes": plan.episodes}
    try:
        return Found(*steering(case.game, case.player.occupant, case.seats, seeds=range(plan.seeds), **how))
    except UsageError as error:
        return Found([], [f"no steering: {error}"])


def _presented(kind: str, case: Case) -> Found:
    """Whether conduct depends on how the game is presented."""
    plan = case.plan
    how = {"rounds": plan.rounds, "episodes": plan.episodes, "seed": plan.seed}
    found, why = _until_refused(presented(case.game, kind, case.player.name, case.seats, **how))
    return Found(found, [f"not {kind}: {why}"] if why else [])


def reads_the_game(game: Game, player: Contestant) -> bool:
    """Whether a player may go by what actions are called and by numbers. Strategies know actions by name; an object in Python cannot be built anew."""
    return player.named and not is_script(player.name, game) and not of_other_library(player.name)


def _learners(kind: str, case: Case, seconds: float) -> Found:
    """What learners of a kind take, until the budget is spent."""
    plan = case.plan
    found, why = _until_refused(
        learners_take(
            case.game,
            case.player.occupant,
            case.seats,
            kind,
            rounds=plan.rounds,
            seeds=range(plan.seeds),
            episodes=plan.episodes,
            spending=Spending(seconds, plan.trials or Spending.trials),
            model=plan.model,
        )
    )
    return Found(found, refused=why)


def _until_refused(measures: Iterable[Measure]) -> tuple[list[Measure], str]:
    """Measures, and why there are no more of them; empty if there is no reason."""
    found: list[Measure] = []
    try:
        found.extend(measures)
    except UsageError as error:
        return found, str(error)
    return found, ""
