"""The verbs that answer at once or nearly so: ``eval``, ``report``, ``list``, ``prompt``, ``check``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coplay.cli.options import config_from
from coplay.config import Config
from coplay.errors import UsageError
from coplay.games import GAMES, Joint, MatrixGame, make_game
from coplay.games.matrix import SEATS
from coplay.games.memory import Observation, history_of
from coplay.games.rounds import RoundGame
from coplay.rounds.config import AnyConfig, RoundConfig
from coplay.tables import align
from coplay.text.rounds import WORDED

if TYPE_CHECKING:
    pass


def show(data: Any) -> None:
    """Print JSON for programs."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


# ---------------------------------------------------------------------- prompt


def prompt(options: argparse.Namespace) -> int:
    """``coplay prompt``."""
    config = config_from(options)
    items = [item.strip() for item in options.history.split(",") if item.strip()]
    texts = prompts_after(config, items)
    if options.json:
        show(texts)
    else:
        print("\n".join(f"--- {seat}\n{text}" for seat, text in texts.items()))
    return 0


def prompts_after(config: AnyConfig, items: Sequence[str]) -> dict[str, str]:
    """What each seat reads after a trial's (row, column) actions so far, given as ``CC`` or ``cooperate/defect``."""
    if isinstance(config, RoundConfig):
        from coplay.rounds.prompts import questions_after

        return questions_after(config, items)
    from coplay.arena import game_of
    from coplay.models.loading import chat_format
    from coplay.text.chat import renderer
    from coplay.text.prompts import write_message

    game = game_of(config)
    joints = [_joint(game, config, item) for item in items]
    episodes: list[list[Joint]] = [joints[i : i + config.rounds] for i in range(0, len(joints) + 1, config.rounds)]
    history = history_of(game, episodes)
    render: Any = None
    texts = {}
    for name, seat in config.seats.items():
        observation = history.observe(name, seat.memory)
        if seat.player != "learner" or seat.learner == "tabular":
            texts[name] = _state_in_words(observation)
            continue
        if render is None:
            render = renderer(*chat_format(config.model, config.chat))
        texts[name] = render(write_message(game, name, observation, labels=seat.labels, layout=config.layout))
    return texts


def _joint(game: MatrixGame, config: Config, item: str) -> Joint:
    words = item.split("/") if "/" in item else list(item)
    if len(words) != 2:
        raise UsageError(
            f"--history: {item!r} is not a pair of (row, column) actions;"
            f" write e.g. {game.state_name(game.states[0])} or {'/'.join(game.states[0])}"
        )
    row, column = (_action(game, config, seat, word) for seat, word in zip(SEATS, words, strict=True))
    return row, column


def _action(game: MatrixGame, config: Config, seat: str, word: str) -> str:
    labels = config.seats[seat].labels
    if labels is not None and word in labels:
        return game.actions[seat][labels.index(word)]
    return game.action_named(seat, word)


def _state_in_words(observation: Observation) -> str:
    if observation == Observation():
        return "start"
    parts = []
    if observation.last is not None:
        parts.append(f"last round: {' / '.join(observation.last)}")
    if observation.counts is not None:
        parts.append(f"counts before it: {', '.join(map(str, observation.counts))}")
    if observation.transcript:
        parts.append(f"rounds: {', '.join('/'.join(joint) for joint in observation.transcript)}")
    return "; ".join(parts)


# ---------------------------------------------------------------------- report


def report(options: argparse.Namespace) -> int:
    """``coplay report``."""
    from coplay.summary import report_on

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
        "claims": _claims,
        "runs": lambda: _runs(Path(options.runs_in)),
    }
    rows = tables[options.what]()
    if options.json:
        show(rows)
        return 0
    if not rows:
        print(f"no {options.what}")
    for line in align([[row["name"], row["description"]] for row in rows]):
        print(line)
    return 0


_Rows = Sequence[dict[str, Any]]


def _games() -> _Rows:
    games: list[MatrixGame | RoundGame[Any]] = [*GAMES.values(), *(words.game for words in WORDED.values())]
    return [{"name": game.name, "description": game.description} for game in games]


def _players() -> _Rows:
    from coplay.players.round_scripted import DESCRIPTIONS
    from coplay.players.scripted import PLAYERS

    of_rounds = [
        {"name": name, "description": f"{description} (games in rounds)"} for name, description in DESCRIPTIONS.items()
    ]
    return [*({"name": name, "description": script.description} for name, script in PLAYERS.items()), *of_rounds]


def _recipes() -> _Rows:
    from coplay.recipes import RECIPES

    return [{"name": recipe.name, "description": recipe.description} for recipe in RECIPES.values()]


def _experiments() -> _Rows:
    from coplay.catalog import all_experiments, all_figures

    tables = [
        {
            "name": experiment.id,
            "description": f"{experiment.title} (--game {experiment.game})",
            "game": experiment.game,
        }
        for experiment in all_experiments()
    ]
    figures = [
        {"name": figure.id, "description": figure.title, "games": list(figure.games)} for figure in all_figures()
    ]
    return [*tables, *figures]


def _claims() -> _Rows:
    from coplay.catalog import all_claims

    return [
        {"name": claim.id, "description": claim.text, "paper": claim.paper, "published": claim.published}
        for claim in all_claims()
    ]


def _runs(parent: Path) -> _Rows:
    from coplay.runs import read_json

    rows = []
    for path in sorted(parent.glob("**/config.json")) if parent.is_dir() else []:
        config = read_json(path)
        if "recipe" not in config:
            continue
        done = (path.parent / "eval.json").exists()
        seeds = len(config["seeds"])
        seats = [config[seat] for seat in SEATS if seat in config]
        kinds = {seat.get("learner") for seat in seats if seat.get("player") == "learner"}
        model = "tabular" if kinds == {"tabular"} else config["model"]
        words = f"{config['recipe']}, {model}, {seeds} seed{'s' * (seeds > 1)}, {config['trials']} trials"
        rows.append(
            {
                "name": str(path.parent),
                "description": f"{words}, {'finished' if done else 'not finished'}",
                "recipe": config["recipe"],
                "finished": done,
            }
        )
    return rows


# ---------------------------------------------------------------------- check


def check(options: argparse.Namespace) -> int:
    """``coplay check``."""
    from coplay.games.check import check_game
    from coplay.user_code import load_object

    name = options.game
    if name in WORDED:
        from coplay.rounds.check import check_round_game

        return _told(name, check_round_game(WORDED[name]), json=options.json)
    game = (
        load_object(name, MatrixGame) if ":" in name and not name.endswith(".toml") else make_game(name, besides=WORDED)
    )
    return _told(game.name, check_game(game), json=options.json)


def _told(name: str, problems: list[str], *, json: bool) -> int:
    from coplay.games.check import failures

    failed = failures(problems)
    if json:
        show({"version": 1, "game": name, "problems": problems, "ok": not failed})
    else:
        print("\n".join(problems) if problems else f"{name}: all checks pass")
    return 1 if failed else 0
