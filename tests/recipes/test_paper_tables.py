"""The resolved settings of every recipe of a paper at its scale, compared with the paper's own numbers (``paper_tables.toml``).

A recipe that has another number must be listed there with the decision that says why, and only as long as it has it. No weights are loaded.
"""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from coplay.errors import UsageError
from coplay.experiments.catalogue import all_experiments
from coplay.experiments.request import Request
from coplay.games import make_game
from coplay.games.bertrand import Bertrand
from coplay.games.matrix import MatrixGame
from coplay.games.mediated import Mediated
from coplay.games.normal_form import NormalFormGame
from coplay.games.pairwise import PairwiseDilemma
from coplay.recipes import adalign, make_config, sepo, shapellm
from coplay.recipes.mediation import dilemmas, market
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS, VALIDATION
from coplay.recipes.sepo.tables import warm_start
from coplay.runs.config import Config
from coplay.runs.config_input import flat

TABLES = tomllib.loads((Path(__file__).parent / "paper_tables.toml").read_text(encoding="utf-8"))
DECISIONS = (Path(__file__).parents[2] / "docs/decisions.md").read_text(encoding="utf-8")

Values = Mapping[str, Any]
"""Settings by name, as JSON has them."""

ONLY_ON_TABLES = tuple(f"sepo/{name}" for name, variant in sepo.VARIANTS.items() if variant.of_tables)

RECIPES = (
    *(f"shapellm/{name}" for name in shapellm.VARIANTS),
    *(f"adalign/{name}" for name in adalign.VARIANTS),
    *(f"sepo/{name}" for name in sepo.VARIANTS if f"sepo/{name}" not in ONLY_ON_TABLES),
    *(f"mediation/{name}" for name in (*dilemmas.VARIANTS, *market.VARIANTS)),
)
"""The recipes of the papers' experiments."""

WARM_STARTS = tuple(f"warm start of {game}" for game in DEMONSTRATIONS)

FEWEST = {"ShapeLLM": 2200, "Social strategies": 330, "SEPO": 1800, "Mediation": 1600}
"""Numbers compared of each paper, at least, so that the comparison cannot become empty."""


@cache
def resolved(target: str) -> Values:
    """All settings of a recipe, of a learner of a recipe (``RECIPE:LEARNER``), or of a warm start."""
    if target in WARM_STARTS:
        return _of_warm_start(target.removeprefix("warm start of "))
    recipe, _, learner = target.partition(":")
    config = make_config(recipe, scale="paper")
    return _of_learner(config, learner) if learner else _of_recipe(config)


@cache
def seeds_of_reproductions() -> Mapping[str, set[int]]:
    """By recipe, how many seeds `coplay reproduce` trains in the papers' tables."""
    found: dict[str, set[int]] = {}
    for experiment in all_experiments():
        for arm in () if experiment.extra else experiment.arms:
            found.setdefault(arm.recipe, set()).add(len(Request(experiment.id, experiment.game).seeds_of(arm)))
    return found


def _of_recipe(config: Config) -> Values:
    game = make_game(config.game)
    inner = game.game if isinstance(game, Mediated) else game
    found: dict[str, Any] = {
        **flat(config.model_dump(mode="json")),
        "number of seeds": len(config.seeds),
        "evaluated games": len(config.seeds) * config.eval_games,
        "episodes of an update": config.games * config.episodes,
        "training episodes": config.trials * config.games * config.episodes,
    }
    reproduced = seeds_of_reproductions().get(config.recipe, set())
    if len(reproduced) == 1:
        (found["seeds of a reproduction"],) = reproduced
    if isinstance(inner, NormalFormGame):
        found["null_payoff"] = inner.null_payoff
    if isinstance(inner, MatrixGame):
        found["payoffs"] = inner.table
    if isinstance(inner, PairwiseDilemma):
        first, second = "cooperate", "defect"
        found["payoffs"] = [[inner.pair_payoffs(a, b) for b in (first, second)] for a in (first, second)]
    if isinstance(inner, Bertrand):
        market = inner.market
        found |= {"Nash price": round(market.nash.price, 3), "monopoly price": round(market.monopoly.price, 3)}
    return found


def _of_learner(config: Config, name: str) -> Values:
    learner, game = config.learners[name], make_game(config.game)
    of_an_episode = config.games * config.rounds
    found = {
        **flat(learner.model_dump(mode="json")),
        "batch": of_an_episode * (config.episodes if learner.update == "trial" else 1),
    }
    if learner.labels is None and isinstance(game, MatrixGame) and name in game.labels:
        found["labels"] = game.labels[name]
    return found


def _of_warm_start(game: str) -> Values:
    start = warm_start(game)
    settings, shown = start.settings["paper"], start.demonstrations
    assert shown == DEMONSTRATIONS[game]
    opponents = len(shown.opponents)
    return {
        **flat(settings.model_dump(mode="json")),
        **{f"strategies.{name}": weight for name, weight in shown.strategies.items()},
        "accumulation": settings.batch_size // settings.microbatch_size,
        "seed": start.seed,
        "validation": VALIDATION,
        "episodes": shown.episodes,
        "rounds": shown.rounds,
        "number of opponents": opponents,
        "decisions": shown.episodes * opponents * (shown.rounds or 0),
    }


@cache
def targets() -> tuple[str, ...]:
    """Everything that has settings: recipes, their learners, warm starts."""
    learners = [f"{name}:{one}" for name in RECIPES for one in make_config(name, scale="paper").learners]
    return (*RECIPES, *learners, *WARM_STARTS)


def _patterns(listed: list[str]) -> Iterator[str]:
    for one in listed:
        yield from TABLES["groups"][one[1:]] if one.startswith("@") else (one,)


def _matches(target: str, listed: list[str]) -> bool:
    """Whether a target is named, itself or by its recipe."""
    names = (target, target.partition(":")[0])
    return any(fnmatchcase(name, pattern) for pattern in _patterns(listed) for name in names)


def named(entry: Mapping[str, Any]) -> list[str]:
    """The targets of an entry. A recipe's pattern names no learners, and a learner's no recipes."""
    patterns = list(_patterns(entry["of"]))
    return [
        target
        for target in targets()
        if any(fnmatchcase(target, one) and (":" in one) == (":" in target) for one in patterns)
        and not _matches(target, entry.get("but", []))
        and ("only" not in entry or _matches(target, entry["only"]))
    ]


def numbers_in(value: object) -> int:
    """How many numbers or words a value has."""
    if isinstance(value, list | tuple):
        return sum(map(numbers_in, value)) or 1
    return 1


def is_value(found: object, wanted: object) -> bool:
    """Whether a setting has the paper's value; ``none`` is None, and a mapping a range."""
    if isinstance(wanted, dict):
        return isinstance(found, int | float) and wanted["from"] <= found <= wanted["to"]
    if isinstance(wanted, list):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(is_value(a, b) for a, b in zip(found, wanted, strict=True))
        )
    if wanted == "none":
        return found is None
    if isinstance(wanted, bool) or isinstance(found, bool) or isinstance(wanted, str):
        return type(found) is type(wanted) and found == wanted
    return isinstance(found, int | float) and math.isclose(found, wanted, rel_tol=1e-12)


def compared(resolve: Callable[[str], Values] = resolved) -> tuple[list[str], dict[str, int], set[str]]:
    """What is wrong, how many numbers of each paper were compared, and the recipes and warm starts that they are of."""
    wrong: list[str] = []
    counts = dict.fromkeys(FEWEST, 0)
    seen: set[str] = set()
    allowed = {(target, one["setting"]): one["ours"] for one in TABLES["deviations"] for target in named(one)}
    unused = set(allowed)
    for entry in TABLES["numbers"]:
        where, found = f"{entry['from']}, {entry['row']}", named(entry)
        if not found:
            wrong.append(f"{where}: nothing is called {entry['of']}")
        for target in found:
            seen.add(target.partition(":")[0])
            values = resolve(target)
            for setting, paper in entry["values"].items():
                counts[entry["from"].partition(",")[0]] += numbers_in(paper)
                ours = values.get(setting, "no such setting")
                unused.discard((target, setting))
                if is_value(ours, paper):
                    if (target, setting) in allowed:
                        wrong.append(f"{where}: {target} has the paper's {setting}; leave out the deviation")
                elif not is_value(ours, allowed.get((target, setting), paper)):
                    wrong.append(f"{where}: {target} has {setting}={ours!r}, the paper {paper!r}")
    wrong += [f"deviation: no number is compared with {setting} of {target}" for target, setting in sorted(unused)]
    return wrong, counts, seen


def test_every_recipe_has_the_papers_numbers() -> None:
    wrong, counts, seen = compared()
    assert not wrong, "\n".join(wrong)
    assert all(counts[paper] >= fewest for paper, fewest in FEWEST.items()), counts
    assert seen == {*RECIPES, *WARM_STARTS}


@pytest.mark.parametrize(
    ("target", "setting", "value", "told"),
    [
        ("shapellm/ipd:row", "ppo.clip", 0.3, "shapellm/ipd:row has ppo.clip=0.3, the paper 0.0001"),
        ("shapellm/ish:column", "ppo.epochs", True, "shapellm/ish:column has ppo.epochs=True, the paper 1"),
        ("shapellm/icg:row", "batch", 100, "shapellm/icg:row has the paper's batch; leave out the deviation"),
        ("sepo/auction", "adapter.rank", 8, "sepo/auction has adapter.rank=8, the paper 16"),
        ("adalign/ipd-ab", "games", None, "adalign/ipd-ab has games=None, the paper 128"),
        ("mediation/ipd-3-ppo", "payoffs", [[[3, 3], [0, 5]]], "has payoffs=[[[3, 3], [0, 5]]]"),
    ],
)
def test_another_number_is_found(target: str, setting: str, value: object, told: str) -> None:
    """The comparison can fail."""
    wrong, _, _ = compared(lambda one: {**resolved(one), setting: value} if one == target else resolved(one))
    assert len(wrong) == 1
    assert told in wrong[0]


@pytest.mark.parametrize("entry", TABLES["deviations"], ids=lambda entry: f"{entry['setting']}-{entry['ours']}")
def test_deviations_are_decisions(entry: Mapping[str, Any]) -> None:
    assert f"\n| {entry['decision']} |" in DECISIONS


def test_what_differs_on_tables_alone_is_refused_elsewhere() -> None:
    games = ("ipd-8", "auction", "negotiation-v1", "negotiation-v2", "kuhn")
    assert tuple(f"sepo/{game}-round" for game in games) == ONLY_ON_TABLES
    for name in ONLY_ON_TABLES:
        game = name.removesuffix("-round")
        with pytest.raises(UsageError, match=f"{name} is {game} itself.*run {game}, or add --learner tabular"):
            make_config(name, scale="paper")
        there, main = (make_config(one, learner="tabular").learners["learner"] for one in (name, game))
        assert (there.group.normalise, there.group.discount) == ("round", 0.0)
        assert (main.group.normalise, main.group.discount) == ("none", 1.0)
