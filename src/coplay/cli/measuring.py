"""The options of the verbs that measure players and models: ``eval``, ``exploit``, ``audit``, ``labels``, ``probe``."""

from __future__ import annotations

from coplay.cli.parser import GAME, MODEL, PLAYER, SEATS, SPACING, SPACINGS, Parser


def eval_options(sub: Parser) -> None:
    """``coplay eval``."""
    text = f"a player for each seat, in order, or one run directory; a player is {PLAYER}"
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
    sub.option("--record DIR", "keep the complete games in this directory; the same command continues with them")
    sub.option("--print-games N", "also print N episodes in full", type=int, default=0)
    sub.executor_options()
    text = "with --matrix --executor ray: where the results of tasks lie meanwhile, on storage that all machines share"
    sub.option("--parts DIR", text)
    sub.flag("--json", "print JSON")


def exploit_options(sub: Parser) -> None:
    """``coplay exploit``."""
    sub.add_argument("player", metavar="PLAYER", help=PLAYER)
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


def audit_options(sub: Parser) -> None:
    """``coplay audit``."""
    sub.add_argument("player", metavar="PLAYER", help=PLAYER)
    sub.option("--game GAME", f"{GAME} (default: that of the run named, else ipd)")
    sub.option("--rounds T", "rounds of an episode (default: the game's)", type=int)
    text = (
        "what to measure: best_response, scripted, steering, relabelled, disguised, policy_gradient, ppo, q_learning, language_model"
        " (default: all but language_model, which takes minutes)"
    )
    sub.option("--against LIST", text)
    text = (
        "of learners: seconds for all kinds together, e.g. 300s, or trials of each, e.g. 64 (default: 120s); on a cluster each kind has its share"
        " of the seconds"
    )
    sub.option("--budget BUDGET", text, default="120s")
    sub.option("--n-seeds N", "learners of each kind (default: 5)", type=int, default=5)
    text = "what learners of kind language_model start from: any name, directory or Hub id of a model (default: an embedded one)"
    sub.option("--exploiter-model MODEL", text)
    text = "games of each seating with scripted co-players, and of each learner after training (default: 40)"
    sub.option("--episodes N", text, type=int, default=40)
    text = "replies sampled at each information set of a player that tells no probabilities (default: 100)"
    sub.option("--samples N", text, type=int, default=100)
    sub.option("--seed N", "seed of the games and of the sampled replies (default: 0)", type=int, default=0)
    text = "sampling temperature of trained players that reply in text (default: as in their training)"
    sub.option("--temperature T", text, type=float)
    sub.option("--gate FILE", "thresholds, as TOML: exit status 2 if one is not met")
    sub.option("--baseline FILE", "an earlier audit.json: exit status 2 if a measure has become worse beyond noise")
    sub.option("--out DIR", "write audit.json, junit.xml and report.html there; it must be new or empty")
    sub.flag("--yes", "agree to what an endpoint will be asked, which is printed before")
    sub.executor_options()
    sub.flag("--json", "print audit.json")
    sub.flag("--quiet", "no progress")


def labels_options(sub: Parser) -> None:
    """``coplay labels``."""
    sub.option("--game GAME", "a game of two actions a seat: a name or a TOML file (default: ipd)", default="ipd")
    sub.option("--target P", "wanted probability of the first action (default: 0.5)", type=float)
    sub.option("--pairs LIST", "measure these pairs of labels instead of all, e.g. H/K,N/Y")
    sub.add_argument("--seat", choices=SEATS, default="column", help="whose labels (default: column)")
    sub.option("--model ID_OR_PATH", f"{MODEL} (default: tiny)", default="tiny")
    sub.flag("--four-bit", "quantise the model to 4 bits; needs the extra coplay[quantized]")
    formats, text = ("list", "bold_table", "table", "reversed"), "how the prompts give the payoffs (default: list)"
    sub.add_argument("--payoff-format", choices=formats, default="list", help=text)
    sub.add_argument("--spacing", choices=SPACINGS, default="paper", help=SPACING)
    sub.chat_options("the model's")
    sub.option("--top N", "how many pairs to show (default: 10)", type=int, default=10)
    sub.flag("--json", "print JSON")
    sub.option("--plot FILE", "write heat maps of all initial policies: .png, .pdf or .svg")


def probe_options(sub: Parser) -> None:
    """``coplay probe``."""
    sub.add_argument("model", metavar="MODEL", help=MODEL)
    text = "games of two actions that both seats have: names or TOML files (default: ipd ish icg)"
    sub.add_argument("--game", nargs="+", metavar="GAME", help=text)
    sub.option("--pairs LIST", "pairs of labels, each read in both orders, e.g. H/K,N/Y (default: six pairs)")
    sub.option("--adapter DIR", "read MODEL with this adapter, such as one that `coplay align` wrote")
    sub.option("--out DIR", "write probe.json, report.html and figures/ there; it must be new or empty")
    sub.chat_options("MODEL's")
    sub.flag("--four-bit", "quantise MODEL to 4 bits; needs the extra coplay[quantized]")
    sub.option("--threads N", "CPU threads (default: all cores)", type=int)
    sub.flag("--json", "print probe.json")
    sub.flag("--quiet", "no progress")
