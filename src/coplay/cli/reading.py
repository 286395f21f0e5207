"""The verbs that answer at once or nearly so: ``report``, ``list``, ``prompt``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.files.reading import expected_shape
from coplay.terminal.tables import align
from coplay.text.rendering import counted

if TYPE_CHECKING:
    from coplay.runs.directory import RunDirectory


def show(data: object) -> None:
    """Print JSON for programs."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


# ---------------------------------------------------------------------- prompt


def prompt(options: argparse.Namespace) -> int:
    """``coplay prompt``."""
    from coplay.cli.options import config_from
    from coplay.runs.prompts import prompts_after

    config = config_from(options)
    texts = prompts_after(config, [item.strip() for item in options.history.split(",") if item.strip()])
    if options.json:
        show(texts)
    else:
        print("\n".join(f"--- {seat}\n{text}" for seat, text in texts.items()))
    return 0


# ---------------------------------------------------------------------- report


def report(options: argparse.Namespace) -> int:
    """``coplay report``."""
    from coplay.experiments.summary import report_on

    directories = [Path(directory) for directory in options.directories]
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"there is no directory {directory}")
    print(report_on(directories, Path(options.out) if options.out else directories[0]))
    return 0


# ---------------------------------------------------------------------- list


def list_(options: argparse.Namespace) -> int:
    """``coplay list``."""
    tables: dict[str, Callable[[], _Rows]] = {
        "games": _games,
        "players": _players,
        "recipes": _recipes,
        "experiments": _experiments,
        "claims": lambda: _claims(Path(options.runs_in)),
        "runs": lambda: _runs(Path(options.runs_in)),
    }
    rows = tables[options.what]()
    show(rows) if options.json else print("\n".join(_listed(rows)) or f"no {options.what}")
    return 0


def _listed(rows: _Rows) -> list[str]:
    """Names and descriptions in a table; those of several papers under the papers' titles."""
    names = [[str(row["name"]), *([str(row["verdict"] or "-")] if "verdict" in row else [])] for row in rows]
    lines = align([[*name, str(row["description"])] for name, row in zip(names, rows, strict=True)])
    if any("paper" not in row for row in rows):
        return lines
    from coplay.recipes.papers import PAPERS

    papers = [PAPERS.get(str(row["paper"])) for row in rows]
    if None in papers:
        return lines
    found: list[str] = []
    for paper in dict.fromkeys(papers):
        of_paper = [line for line, own in zip(lines, papers, strict=True) if own == paper]
        found += [*([""] if found else []), f"{paper}:", *(f"  {line}" for line in of_paper)]
    return found


_Rows = Sequence[Mapping[str, object]]


def _games() -> _Rows:
    from coplay.games.base import Game
    from coplay.games.catalogue import GAMES, installed_games

    return [
        {"name": name, "description": game.description, "seats": list(game.seats)}
        if isinstance(game, Game)
        else {"name": name, "description": str(game), "seats": []}
        for name, game in (GAMES | installed_games()).items()
    ]


def _players() -> _Rows:
    """Those of any game, language models, those that belong to games, then mediators and those that follow them."""
    from coplay.players.model_player import DESCRIPTIONS
    from coplay.players.scripted import PLAYERS

    general = {**{name: script.description for name, script in PLAYERS.items()}, **DESCRIPTIONS}
    of_games = _players_of_games()
    rows: list[dict[str, object]] = []
    for name, description in general.items():
        told = [f"In {game}: {other}" for game, other in of_games.get(name, {}).items()]
        rows.append({"name": name, "description": " ".join([description, *told])})
    for name, in_game in of_games.items():
        if name not in general:
            description = " ".join(f"In {game}: {told}" for game, told in in_game.items())
            rows.append({"name": name, "description": description, "games": [*in_game]})
    return [*rows, *_mediators()]


def _players_of_games() -> dict[str, dict[str, str]]:
    """From the name of a strategy to its description in each game that has it."""
    from coplay.games.catalogue import GAMES

    found: dict[str, dict[str, str]] = {}
    for game in GAMES.values():
        for name, strategy in game.strategies.items():
            found.setdefault(name, {})[game.name] = strategy.description
    return found


def _mediators() -> _Rows:
    """The strategies that games have with a mediator alone."""
    from coplay.games.catalogue import GAMES
    from coplay.games.mediated import Mediated

    found: dict[str, tuple[str, list[str]]] = {}
    for game in (Mediated(game) for game in GAMES.values() if game.mediation is not None):
        for name, strategy in game.strategies.items():
            if name not in game.game.strategies:
                found.setdefault(name, (f"With a mediator: {strategy.description}", []))[1].append(game.name)
    return [{"name": name, "description": told, "games": games} for name, (told, games) in found.items()]


def _recipes() -> _Rows:
    from coplay.recipes import RECIPES

    return [
        {"name": recipe.name, "description": recipe.description, "paper": recipe.name.partition("/")[0]}
        for recipe in RECIPES.values()
    ]


def _experiments() -> _Rows:
    from coplay.experiments.catalogue import all_experiments, all_figures

    rows: list[dict[str, object]] = [
        {"name": one.id, "description": f"{one.title} (--game {one.game})", "game": one.game}
        for one in all_experiments()
    ]
    rows += [{"name": one.id, "description": one.title, "games": list(one.games)} for one in all_figures()]
    return [{**row, "paper": str(row["name"]).partition("/")[0]} for row in rows]


def _claims(parent: Path) -> _Rows:
    """All claims, with the numbers and verdicts of those that were checked in a directory."""
    from coplay.experiments.catalogue import all_claims
    from coplay.experiments.claims_file import latest_claims

    checked = latest_claims(parent)
    return [
        {
            "name": claim.id,
            "description": claim.text,
            "paper": claim.paper,
            "published": claim.published,
            "rule": claim.rule.words,
            **{key: getattr(checked.get(claim.id), key, None) for key in ("measured", "ci95", "model", "verdict")},
        }
        for claim in all_claims()
    ]


def _runs(parent: Path) -> _Rows:
    from coplay.runs.directory import find_runs

    return [_run(path) for path in find_runs(parent)]


def _run(path: Path) -> Mapping[str, object]:
    """A run in a line; one that is damaged says so."""
    from coplay.runs.directory import RunDirectory

    try:
        run = RunDirectory.open(path)
        words, recipe, done = _words(run), str(run.raw_config.get("recipe")), run.is_finished
    except UsageError as error:
        told = " ".join(str(error).split())
        return {"name": str(path), "description": f"damaged: {told}", "recipe": None, "finished": False, "damage": told}
    failed = run.store.failed
    words = f"{words}, {'finished' if done else 'not finished' if failed is None else f'failed: {failed}'}"
    return {"name": str(path), "description": words, "recipe": recipe, "finished": done, "damage": None}


def _words(run: RunDirectory) -> str:
    """What was run. The config is not checked any further: that takes a thousand runs a second."""
    config = run.raw_config
    with expected_shape(run.path / "config.json"):
        policies = {learner["policy"] for learner in config["learners"].values()}
        model = " and ".join(sorted(policies)) if policies <= {"tabular", "network"} else config["model"]
        game = config["game"] if isinstance(config["game"], str) else config["game"]["name"]
        lengths = f"{counted(len(config['seeds']), 'seed')}, {counted(config['trials'], 'trial')}"
        return f"{config['recipe']}, {game}, {model}, {lengths}"
