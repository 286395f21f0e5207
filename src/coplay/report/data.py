"""Reading run directories. A report uses nothing but their files.

A run that is still being written, or was cut off, is readable: the last line of a ``.jsonl`` file may be incomplete, and the
evaluation and the games may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coplay.report.values import Record, at, is_number, items, section
from coplay.runs.directory import RunDirectory
from coplay.runs.divergence import diverged_in
from coplay.statistics import Interval, mean_ci95

ILLEGAL = "I"
"""The state of a round in which a reply was illegal."""


@dataclass(frozen=True)
class Series:
    """One metric over training, a row for each seed."""

    steps: npt.NDArray[np.int64]
    """The N steps at which any seed was measured, ascending."""
    values: npt.NDArray[np.float64]
    """Of shape [P, N], a row a seed; NaN where a seed has no value."""
    seeds: tuple[int, ...]
    """The P seeds, in the order of the rows."""

    @property
    def empty(self) -> bool:
        """Whether no seed has a single value."""
        return not np.isfinite(self.values).any()

    @property
    def measured(self) -> Series:
        """The steps alone at which any seed has a value, of a metric that is measured now and then."""
        known = np.isfinite(self.values).any(axis=0)
        return Series(self.steps[known], self.values[:, known], self.seeds)

    def band(self) -> Band:
        """Mean and 95% t-interval over the seeds that have a value, step by step."""
        mean, half = np.full(len(self.steps), np.nan), np.full(len(self.steps), np.nan)
        for i, column in enumerate(self.values.T):
            interval = interval_of(column.tolist())
            if interval is not None:
                mean[i] = interval.mean
                half[i] = math.nan if interval.half_width is None else interval.half_width
        return Band(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Band:
    """A mean line and its interval, one entry a step; NaN where unknown."""

    mean: npt.NDArray[np.float64]
    """Mean over seeds."""
    low: npt.NDArray[np.float64]
    """Lower end of the 95% interval; NaN for a single seed."""
    high: npt.NDArray[np.float64]
    """Upper end of the 95% interval; NaN for a single seed."""


@dataclass
class RunData:
    """Everything in a run directory that a reader looks at."""

    path: Path
    """The directory."""
    config: Record
    """``config.json``: the resolved config."""
    env: Record
    """``env.json``: versions, device, git state; empty if missing."""
    metrics: Sequence[Record]
    """``metrics.jsonl``: one record for each (step, seed)."""
    episodes: Sequence[Record]
    """``episodes.jsonl``: complete games, a sample; empty if missing."""
    eval: Record | None
    """``eval.json``: the evaluation after training, if there was one."""
    safety: Record | None = None
    """``safety.json``: held-out games against all pools after training, if there were any."""

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], Record]:
        """The metrics by (step, seed); of two records for one place, as after a resume, the later one counts."""
        return {
            (int(step), int(seed)): record
            for record in self.metrics
            if is_number(step := record.get("step")) and is_number(seed := record.get("seed"))
        }

    @property
    def diverged(self) -> Record:
        """What became of the seeds that diverged, by seed: as evaluated or, without an evaluation, as trained."""
        if self.eval is not None:
            return section(self.eval, "diverged")
        return diverged_in(self.metrics)

    @property
    def model(self) -> str:
        """Name of the model that the learners train; ``tabular`` or ``network`` if the learners are such."""
        return model_of(self.config)

    @property
    def roaming(self) -> tuple[str, ...]:
        """The learners that change seats, or sit in several: their rewards are reported by learner, not by seat."""
        if self.config.get("rotate_seats"):
            return tuple(learners_of(self.config))
        return tuple(
            name for name in learners_of(self.config) if sum(name in who for who in seated(self.config).values()) > 1
        )

    @property
    def game(self) -> str:
        """Name of the game."""
        game = self.config.get("game")
        return str((game.get("name") if isinstance(game, Mapping) else game) or "unnamed")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, as configured; those found in the metrics if the config does not say."""
        configured = tuple(int(seed) for seed in items(self.config.get("seeds")) if is_number(seed))
        return configured or tuple(sorted({seed for _, seed in self._by_place}))

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats, in the config's order."""
        named = (key.removeprefix("reward/") for key in self.metric_names() if key.startswith("reward/"))
        return tuple(seated(self.config)) or tuple(named)

    @property
    def reward_lines(self) -> tuple[tuple[str, str], ...]:
        """The metrics that show the rewards in training, each with the label of its line.

        One a seat; but where learners change seats, one a learner and, where others sit across from them, one of the co-players.
        """
        if not self.roaming:
            return tuple((f"reward/{seat}", seat_label(self, seat)) for seat in self.seats)
        others = {one for who in seated(self.config).values() for one in who if one not in learners_of(self.config)}
        across = " or ".join(sorted(_player_name(one) for one in others)) if others else "past selves"
        lines = (*((f"reward/{name}", name) for name in self.roaming), ("reward/co_player", across))
        return tuple((metric, label) for metric, label in lines if not self.series(metric).empty) or lines[:1]

    @property
    def states(self) -> tuple[str, ...]:
        """The joint actions that occurred, in file order, with the illegal one last."""
        trained = [key.removeprefix("state/") for key in self.metric_names() if key.startswith("state/")]
        return _illegal_last([*trained, *section(self.eval, "states")])

    @property
    def last_step(self) -> int:
        """The last step reached by any seed; 0 before training."""
        return max((step for step, _ in self._by_place), default=0)

    @property
    def planned_steps(self) -> int | None:
        """How many trials the config asks for, if it says."""
        trials = self.config.get("trials")
        return trials if isinstance(trials, int) else None

    def role(self, seat: str) -> str:
        """The role of a seat in words, such as ``shaper`` or ``tit for tat``; empty if the config does not say."""
        return str(at(self.eval, "seats", seat, "player") or "") if self.roaming else role_of(self.config, seat)

    def metric_names(self) -> list[str]:
        """Every metric recorded, in the order of first appearance."""
        keys = dict.fromkeys(key for record in self.metrics for key in record)
        return [key for key in keys if key not in ("version", "step", "seed", "time")]

    def series(self, metric: str) -> Series:
        """A metric over training: its steps and a row of values for each seed."""
        steps = sorted({step for step, _ in self._by_place})
        seeds = self.seeds or (0,)
        values = np.full((len(seeds), len(steps)), np.nan)
        column = {step: i for i, step in enumerate(steps)}
        row = {seed: i for i, seed in enumerate(seeds)}
        for (step, seed), record in self._by_place.items():
            value = record.get(metric)
            if seed in row and is_number(value):
                values[row[seed], column[step]] = value
        return Series(np.array(steps, dtype=np.int64), values, seeds)


@dataclass(frozen=True)
class Arm:
    """One arm of an experiment, with its run."""

    name: str
    """Identifier, as tables use it: ``baseline``, ``shaper``."""
    label: str
    """What a reader is shown: ``Baseline``, ``Shaper``."""
    run: RunData
    """Its run directory."""
    recipe_trials: int | None = None
    """How many trials the recipe has, which the run may have been given fewer of; None if that is not known."""


def learners_of(config: Record) -> dict[str, Record]:
    """The learners of a config by name."""
    return {name: one for name, one in section(config, "learners").items() if isinstance(one, Mapping)}


def seated(config: Record) -> dict[str, list[str]]:
    """Who may sit in each seat, by name."""
    seats = section(config, "seats").items()
    return {seat: [str(one) for one in items(who)] for seat, who in seats if isinstance(who, list | tuple)}


def model_of(config: Record) -> str:
    """Name of the model that the learners train; ``tabular`` or ``network`` if they are such, ``scripted`` if nobody learns."""
    policies = {str(learner.get("policy")) for learner in learners_of(config).values()}
    if config.get("learners") == {}:
        return "scripted"
    if policies and policies <= {"tabular", "network"}:
        return " and ".join(sorted(policies))
    return str(config.get("model") or "unnamed")


def role_of(config: Record, seat: str) -> str:
    """Who sits in a seat, in words: a learner's role, or a player without its path; empty if the config does not say."""
    learners = learners_of(config)
    roles = [str(at(learners, one, "role") or _player_name(one)) for one in seated(config).get(seat, ())]
    return " or ".join(roles).replace("_", " ")


def _player_name(who: str) -> str:
    """A player as a reader is shown it: a run or an endpoint without its path."""
    return "co-player" if "/" in who or who.endswith(".toml") else who.replace("_", " ")


def same_game(arm: Arm, arms: Sequence[Arm]) -> list[Arm]:
    """Those of the arms that play the arm's game: they have its states and payoffs."""
    return [other for other in arms if other.run.game == arm.run.game]


def states_of(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Every state of any arm, the illegal one last; a state's place is its colour."""
    return _illegal_last(name for arm in arms for name in arm.run.states)


def _illegal_last(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(names), key=lambda name: name == ILLEGAL))


def state_index(name: str, states: Sequence[str]) -> int | None:
    """The colour index of a state; None for the illegal one and for one that is not listed."""
    return None if name == ILLEGAL or name not in states else list(states).index(name)


def seat_label(run: RunData, seat: str) -> str:
    """A seat with its role, as a reader is shown it: ``row (shaper)``."""
    role = run.role(seat)
    return f"{seat} ({role})" if role else seat


def load_run(path: str | Path, *, games: bool = True) -> RunData:
    """Read a run directory.

    Args:
        path: the directory.
        games: whether to read the recorded games too, which are most of its bytes.

    Raises:
        UsageError: if it is not a run directory, was written by a newer coplay, or a file is damaged, naming file and line.
    """
    run = RunDirectory.open(Path(path))
    return RunData(
        path=run.path,
        config=run.raw_config,
        env=run.store.read_object("env.json") if run.store.has("env.json") else {},
        metrics=run.metrics(),
        episodes=run.episodes() if games else (),
        eval=run.store.read_object("eval.json") if run.store.has("eval.json") else None,
        safety=run.store.read_object("safety.json") if run.store.has("safety.json") else None,
    )


def interval_of(values: Sequence[float | None]) -> Interval | None:
    """Mean and 95% t-interval of the finite values among these; None if there are none."""
    finite = [float(v) for v in values if v is not None and math.isfinite(v)]
    return mean_ci95(finite) if finite else None
