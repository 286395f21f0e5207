"""What coplay makes, at the smallest size: a directory of every kind, for attacks to damage and to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module

from coplay.files.kinds import Owner

SIZES = ("games=2", "episodes=2", "rounds=4", "eval_games=5", "checkpoint_every=2", "threads=1")
TABULAR = ("shapellm/ipd", "--learner", "tabular", "--seeds", "0,1", *SIZES)
MODEL = ("shapellm/ipd", "--seeds", "0,1", "trials=2", *SIZES, "eval_games=2", "checkpoint_every=1")
TEXT_SIZES = ("rounds=2", "games=2", "group_size=2", "eval_games=2", "checkpoint_every=1", "threads=1")
SAFETY = (
    *("sepo/ipd-8", "--learner", "tabular", "--seeds", "0,1", "games=7", "group_size=1", "eval_games=2"),
    *("checkpoint_every=1", "held_out_games=1", "select=held_out", "threads=1"),
)
Q = "--quiet"


@dataclass(frozen=True)
class Product:
    """One directory, called ``it``, and what is done with it."""

    name: str
    """What attacks call it."""
    owner: Owner
    """Its kind of directory."""
    makes: tuple[tuple[str, ...], ...]
    """The commands that make it, in a directory where ``it`` is not yet."""
    resumes: tuple[tuple[str, ...], ...]
    """The commands that complete it."""
    reads: tuple[tuple[str, ...], ...]
    """The commands that read it or are run on it again when it is complete."""
    writes: bool = True
    """Whether it is made by coplay alone, without a hand that moved its files."""


_LISTS = (("list", "runs", "--runs-in", ".", "--json"), ("list", "claims", "--runs-in", ".", "--json"))
_RESUME = ("train", "--resume", "it", Q)


def _run(name: str, train: tuple[str, ...], *players: str) -> Product:
    reads = (
        _RESUME,
        ("report", "it"),
        ("view", "it", "--json"),
        ("eval", "it", "--episodes", "2", "--json"),
        ("eval", *players, "--episodes", "2", "--rounds", "2", "--json"),
        _LISTS[0],
    )
    return Product(name, "run", ((*train, "--out", "it", Q),), (_RESUME,), reads)


def _made_again(name: str, owner: Owner, *makes: tuple[str, ...]) -> Product:
    """A product that the same commands complete."""
    return Product(name, owner, makes, makes, (*makes, ("report", "it"), *_LISTS))


_ALIGN = ("align", "tiny", "--to", "tiny-second", "--prompts", "8", "--epochs", "1", "--threads", "1", "--out", "it", Q)
_ALIGNED = ("train", *MODEL, "adapter.init_adapter=it", "--out", "run", Q)
_SHAPE = ("adapter.rank=2", "adapter.alpha=32", "adapter.targets=q_proj,v_proj")
_DEMONSTRATE = (
    "demonstrate",
    "ipd-8",
    "--examples",
    "8",
    "--opponents",
    "tit_for_tat",
    "--memory",
    "last_round",
    "--out",
)
_SFT = ("sft", "--threads", "1", "epochs=1", *_SHAPE, Q)
_TEXT = ("train", "adalign/ipd-ab", "--model", "tiny", "--seeds", "0", "trials=2", *TEXT_SIZES)
_SWEEP = ("sweep", *TABULAR, "trials=2", "--over", "row.ppo.clip=0.1,0.2", "--out", "it", Q)
_REPRODUCE = ("reproduce", "--game", "ipd-ab", "--n-seeds", "1", "--trials", "1", "--out", "it", Q)
_TABLE = (
    "reproduce",
    "shapellm/table15",
    "--game",
    "ipd",
    "--learner",
    "tabular",
    "--n-seeds",
    "2",
    "--trials",
    "2",
    "--out",
    "it",
    Q,
)

_PROBE = ("probe", "tiny", "--game", "ipd", "--pairs", "C/D", "--threads", "1", Q, "--out", "it")

_AUDIT = ("audit", "tit_for_tat", "--rounds", "2", "--against", "scripted", "--episodes", "2", Q)

_PLAYERS = ("tit_for_tat", "random:0.6", "always_defect", "uniform", "--game", "ipd-3:talk=0+mediator")
_RECORD = ("eval", *_PLAYERS, "--episodes", "40", "--rounds", "3", "--record", "it", "--json")
"""Forty games are written in three parts."""
_FIT = ("fit-simulator", "it", "--out", "it/simulator.json")
_SIMULATED = tuple(f"simulator:it/simulator.json@{name}" for name in _PLAYERS[:3])

PRODUCTS = {
    product.name: product
    for product in (
        _run("tabular", ("train", *TABULAR, "trials=4"), "it:row", "tit_for_tat"),
        _run("model", ("train", *MODEL), "it:row", "tit_for_tat"),
        _run(
            "text",
            _TEXT,
            "it:learner",
            "always_cooperate",
        ),
        _run("safety", ("train", *SAFETY, "trials=2"), "it:learner", "always_defect"),
        _run("workers", ("train", *TABULAR, "trials=4", "workers=2"), "it:row", "tit_for_tat"),
        _made_again("sweep", "sweep", _SWEEP),
        _made_again("table", "experiment", _TABLE),
        _made_again(
            "paper",
            "experiment",
            ("reproduce", "adalign/figure3", *_REPRODUCE[1:]),
            ("reproduce", "adalign/figure10", *_REPRODUCE[1:]),
        ),
        Product(
            "published-paper",
            "experiment",
            (("reproduce", "adalign/figure10", *_REPRODUCE[1:]),),
            (),
            (("report", "it"),),
            writes=False,
        ),
        _made_again("policies", "experiment", ("reproduce", "shapellm/figure10", "--out", "it", Q)),
        Product("alignment", "alignment", (_ALIGN,), (_ALIGN,), (_ALIGNED,)),
        Product(
            "demonstrations",
            "demonstrations",
            ((*_DEMONSTRATE, "it"),),
            ((*_DEMONSTRATE, "it"),),
            ((*_SFT, "--data", "it", "--out", "tuned"),),
        ),
        Product(
            "sft",
            "sft",
            ((*_DEMONSTRATE, "../data"), (*_SFT, "--data", "../data", "--out", "it")),
            ((*_SFT, "--data", "../data", "--out", "it"),),
            ((*_TEXT, *_SHAPE, "adapter.init_adapter=it", "--out", "run", Q),),
        ),
        Product("probe", "probe", (_PROBE,), (_PROBE,), (("report", "it"),)),
        Product("published-probe", "probe", (_PROBE,), (), (("report", "it"),), writes=False),
        Product(
            "audit",
            "audit",
            ((*_AUDIT, "--out", "it"),),
            ((*_AUDIT, "--out", "it"),),
            ((*_AUDIT, "--baseline", "it", "--json"),),
        ),
        Product("recording", "recording", (_RECORD,), (_RECORD,), (_RECORD, (*_FIT[:-1], "simulator.json", "--json"))),
        Product(
            "simulator",
            "recording",
            (_RECORD, _FIT),
            (_RECORD,),
            (("eval", *_SIMULATED, *_PLAYERS[3:], "--episodes", "2", "--json"),),
        ),
        Product("published-games", "recording", (_RECORD,), (), ((*_FIT[:-1], "simulator.json"),), writes=False),
        Product(
            "published",
            "run",
            (("train", *TABULAR, "trials=4", "--out", "it", Q),),
            (),
            (("report", "it"), _LISTS[0]),
            writes=False,
        ),
    )
}
"""All of them, by name."""

MAKES = tuple(
    f"make {name}" for name in ("tabular", "model", "sweep", "table", "alignment", "demonstrations", "sft", "recording")
)
"""The attacks' names for making those that differ in how they write."""


def make_small() -> None:
    """Have reproductions of this process take seconds: small games, one pass of alignment, two pairs of labels.

    It is called in forks only, whose functions are their own.
    """
    import coplay.learners.alignment as alignment
    from coplay.experiments.labels import label_pairs
    from coplay.runs.config_input import with_overrides

    modules = ("request", "initial_policies", "align")
    request, first, align = (import_module(f"coplay.experiments.{name}") for name in modules)
    make, measure = request.make_config, first.measure
    sizes = (*TEXT_SIZES, "episodes=1")

    def small_config(*words: object, **more: object) -> object:
        config = make(*words, **more)
        text = any(learner.group for learner in config.learners.values())
        return with_overrides(config, [one for one in sizes if text or not one.startswith("group_size")])

    def few_labels(loaded: object, game: object, **more: object) -> object:
        seat = str(more["seat"])
        pairs = [game.labels[seat], *label_pairs(game, seat)[:1]]  # type: ignore[attr-defined,arg-type]
        return measure(loaded, game, **{**more, "pairs": pairs})

    vars(request)["make_config"], vars(first)["measure"] = small_config, few_labels
    vars(align)["Request"] = partial(align.Request, prompts=20)
    alignment.Schedule = partial(alignment.Schedule, epochs=1)  # type: ignore[misc,assignment]
