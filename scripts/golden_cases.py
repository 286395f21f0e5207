"""The small runs that a refactoring must not change, in the words of the time before it (``golden_words.py`` has the new ones).

A case is a command, run in a directory of its own; what other cases made lies beside it, so a run is ``../NAME/run``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

RUN = "run"
"""Where in its directory a case of ``train`` writes."""

THEM = "them.toml"
"""Where a case finds the settings of an endpoint, if it has one."""


@dataclass(frozen=True)
class Case:
    """One command, and what it is to show."""

    name: str
    """How it is called."""
    command: tuple[str, ...]
    """The words after ``coplay``."""
    needs: tuple[str, ...] = ()
    """Cases whose runs it reads."""
    occurs: tuple[str, ...] = ()
    """Metrics that must be above 0 somewhere, or else the case does not show what it is there for."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that it reads: name to text."""
    endpoint: bool = False
    """Whether an endpoint is served to it."""


MATRIX = "seeds=0,1 trials=3 episodes=2 rounds=5 games=2 eval_games=4 threads=1"
"""A small run of a matrix game."""

RATES = """
    row.ppo.learning_rate=3e-3 row.ppo.warmup_updates=2 row.ppo.minibatch=8 row.ppo.epochs=2
    column.ppo.warmup_updates=2 column.ppo.decay_updates=3 column.ppo.minibatch=4
"""
"""So that the embedded model moves in three trials, in several steps an update, through all of a schedule."""

OPTIONS = """
    row.ppo.gae_chain=episode row.ppo.score_normalisation=true row.ppo.entropy_initial=0.1 row.ppo.entropy_updates=2
    row.ppo.minibatch=8 row.ppo.gamma=0.9 column.ppo.value_gradient=trunk column.ppo.max_grad_norm=0.5
"""
"""Settings of PPO that no recipe has on tables."""

ROUNDS = "seeds=0,1 trials=3 rounds=4 games=4 group_size=2 eval_games=4 threads=1"
"""A small run of a game with text."""

PAST = "past_selves.share=0.6 past_selves.every=1 past_selves.kept=2"
"""So that past selves are met often, and thrown away."""

SPEECH = "temperature=2.5"
"""At which the embedded model often says what cannot be read."""

PASS = """
name = "pass"
actions = [["left", "middle", "right"], ["left", "right"]]
labels = [["L", "M", "R"], ["L", "R"]]
payoffs = [[[-1, 1], [1, -1]], [[0.5, -0.5], [0.25, -0.25]], [[1, -1], [-1, 1]]]
null_payoff = -3
"""
"""A game of three actions against two."""


class _More(TypedDict, total=False):
    """What some cases have besides a command."""

    needs: tuple[str, ...]
    occurs: tuple[str, ...]
    files: Mapping[str, str]
    endpoint: bool


def _train(name: str, recipe: str, *settings: str, **more: Unpack[_More]) -> Case:
    """A training run."""
    words = " ".join(settings).split()
    return Case(name, ("train", recipe, *words, "--quiet", "--out", RUN), **more)


def _matrix(name: str, *settings: str, recipe: str = "shapellm/ipd", **more: Unpack[_More]) -> Case:
    """A run of a matrix game between language models."""
    return _train(name, recipe, MATRIX, RATES, *settings, **more)


def _tables(name: str, *settings: str, **more: Unpack[_More]) -> Case:
    """A run of a matrix game between tables."""
    return _train(name, "shapellm/ipd", MATRIX, "--learner tabular", *settings, **more)


def _rounds(name: str, recipe: str, *settings: str, **more: Unpack[_More]) -> Case:
    """A run of a game with text."""
    return _train(name, f"adalign/{recipe}", ROUNDS, *settings, **more)


def _eval(name: str, players: str, options: str = "", needs: tuple[str, ...] = ()) -> Case:
    """A meeting."""
    return Case(name, ("eval", *players.split(), *options.split(), "--json"), needs)


_MATRIX_GAMES = (
    _matrix("ppo-model"),
    _tables("ppo-tables", OPTIONS),
    _matrix("memory-model", "row.memory=transcript column.memory=episode_counts"),
    _tables("memory-tables", "column.memory=trial_counts row.memory=episode_counts"),
    _matrix("reset", "column.reset=trial"),
    _matrix("illegal", "--model tiny-second", occurs=("illegal/row", "illegal/column", "state/I")),
    _tables(
        "q-learning",
        "column.algorithm=q_learning column.update=round column.initial=null column.q.epsilon_initial=0.5",
        "column.q.epsilon_final=0.1 column.q.epsilon_updates=10",
        "row.algorithm=q_learning row.initial=null row.memory=none row.q.endless=true",
    ),
    _tables(
        "reinforce",
        "row.algorithm=reinforce row.reinforce.return_chain=episode",
        "column.algorithm=reinforce column.reinforce.baseline=none column.reinforce.discount=0.9",
    ),
    _tables("exact", "column.algorithm=exact column.exact.horizon=episode"),
    _tables("lola", "row.algorithm=lola row.memory=last_round column.algorithm=exact"),
    _matrix("workers", "seeds=0,1,2 workers=2"),
    _matrix("chance", "column.player=random:0.7"),
    _matrix(
        "three-actions", "game=pass.toml column.learner=tabular column.ppo.head_learning_rate=0.05", files={"pass.toml": PASS}
    ),
)  # fmt: skip
"""Every way to learn, to remember and to reply in matrix games."""

_SELF_PLAY = tuple(
    case
    for game in ("ipd-ab", "split-no-comm", "trust-and-split")
    for case in (
        _rounds(f"{game}-grpo", f"{game}-grpo"),
        _rounds(f"{game}-alignment", game, PAST, occurs=("reward/co_player",)),
    )
)
"""The games with text, with either method."""

_CO_PLAYERS = (
    _rounds("frozen", "ipd-ab-exploiter", "co_player=../ipd-ab-grpo/run", needs=("ipd-ab-grpo",)),
    _rounds("scripted", "trust-and-split-exploiter", "co_player=defect_once"),
    _rounds("retries", "split-no-comm-sum", SPEECH, "retries=2", occurs=("retried/alice", "illegal/alice")),
    _rounds("text-workers", "ipd-ab", PAST, "seeds=0,1,2 workers=2", occurs=("reward/co_player",)),
    _rounds(
        "endpoint",
        "trust-and-split-exploiter",
        f"co_player={THEM} retries=1 trials=2 rounds=3 eval_games=2",
        occurs=("illegal/alice", "illegal/bob"),
        endpoint=True,
    ),
)
"""Who else can sit across from a learner with words, and what can go wrong."""

_MEETINGS = (
    _eval("eval-scripted", "tit_for_tat random:0.7", "--game icg --episodes 20 --seed 3"),
    _eval("eval-run", "../ppo-model/run", "--rounds 4 --episodes 5", ("ppo-model",)),
    _eval("eval-run-scripted", "random:0.3 ../ppo-model/run:column:1", "--episodes 20", ("ppo-model",)),
    _eval("eval-tables", "../ppo-tables/run:row ../ppo-tables/run:column:1", "--episodes 20", ("ppo-tables",)),
    _eval(
        "eval-text-matrix",
        "../ipd-ab-grpo/run reciprocate ../ipd-ab-alignment/run",
        "--game ipd-ab --matrix --rounds 3 --episodes 3",
        ("ipd-ab-grpo", "ipd-ab-alignment"),
    ),
    _eval("eval-text-scripted", "defect_once reciprocate", "--game trust-and-split --episodes 10"),
)
"""Who meets whom after training."""

CASES: tuple[Case, ...] = (*_MATRIX_GAMES, *_SELF_PLAY, *_CO_PLAYERS, *_MEETINGS)
"""All of them; a case comes after those that it needs."""


def chosen(names: Collection[str]) -> list[Case]:
    """The cases of these names and those that they need; all of them for no names."""
    wanted = set(names)
    for case in reversed(CASES):
        if case.name in wanted:
            wanted.update(case.needs)
    return [case for case in CASES if not names or case.name in wanted]
