"""How long a run will take, from trials of it that are measured: they are trained in memory, as the run would train them, and nothing is written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from coplay.errors import CoplayError, UsageError
from coplay.models.known import EMBEDDED
from coplay.runs.checks import language_models
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.estimate import asks_endpoints
from coplay.runs.executors import Executor, executor_for
from coplay.runs.factory import build
from coplay.text.rendering import counted

if TYPE_CHECKING:
    from coplay.runs.state import TrainingState

WARM_UP, MEASURED = 1, 3
"""Trials that are not counted, since caches and processes are new, and trials that are, if they are short."""

LONG = 20.0
"""Seconds after which no further trial is begun; what a smaller trial says is then enough."""

EVALUATED = 10
"""Games of each seed of an evaluation that is measured."""


@dataclass(frozen=True)
class Hours:
    """What was measured, in seconds."""

    config: Config
    """The run."""
    loading: float
    """Reading the model, once."""
    trials: tuple[float, ...]
    """Each trial that was measured, all seeds together; of a smaller one scaled up."""
    share: float
    """How much of a trial was measured: the share of its games and episodes."""
    checkpoint: float
    """What a checkpoint's held-out games take."""
    evaluation: float
    """The evaluation after training."""
    processes: int
    """Processes that trained."""

    def seconds(self, *, first_trial: int = 0) -> tuple[float, float]:
        """What is left of the run, by the shortest and by the longest trial.

        Args:
            first_trial: trials that were trained before.
        """
        config = self.config
        left = config.trials - first_trial
        checkpoints = config.trials // config.checkpoint_every - first_trial // config.checkpoint_every
        other = self.loading + checkpoints * self.checkpoint + self.evaluation
        return left * min(self.trials) + other, left * max(self.trials) + other

    def alike(self, config: Config) -> Hours:
        """What another run takes that plays as many rounds a second."""
        ratio = _rounds(config) / _rounds(self.config)
        evaluated = config.eval_games * config.rounds * len(config.seeds)
        own = self.config.eval_games * self.config.rounds * len(self.config.seeds)
        return replace(
            self,
            config=config,
            trials=tuple(one * ratio for one in self.trials),
            evaluation=self.evaluation * evaluated / own,
        )


def _rounds(config: Config) -> int:
    """Rounds of play of a trial, of all seeds."""
    return config.games * config.episodes * config.rounds * len(config.seeds)


def measured_hours(config: Config) -> Hours:
    """Measure a few trials of a run, and a part of its evaluation.

    Of a model that does not come with the package, a smaller trial is measured first: one episode, and one group of games if groups are alike. Where
    the whole trial would take long by that, its time is the smaller one's, scaled by games and episodes.

    Raises:
        UsageError: for a run that asks endpoints, which cost money; or for anything that is wrong with the config.
    """
    if asks_endpoints(config):
        raise UsageError("--measure would ask endpoints; their time is not ours to measure, and they cost money")
    smaller = _smaller(config) if language_models(config) and config.model not in EMBEDDED else config
    share = smaller.games * smaller.episodes / (config.games * config.episodes)
    measured = _measured(smaller)
    if share < 1 and measured.trials[-1] / share <= LONG:
        measured, share = _measured(config), 1.0
    scaled = tuple(one / share for one in measured.trials)
    return Hours(config, measured.loading, scaled, share, measured.checkpoint, measured.evaluation, measured.processes)


def _smaller(config: Config) -> Config:
    """The run with trials of one episode, and of one group of games where co-players do not take turns."""
    changes: dict[str, object] = {"episodes": 1}
    if config.group_size is not None and not config.in_turn and not config.rotate_seats:
        changes["games"] = min(config.games, config.group_size)
    return with_values(config, changes)


def _measured(config: Config) -> Hours:
    started = time.monotonic()
    state = build(config)
    with executor_for(state) as executor:
        loading = time.monotonic() - started
        trials = _trials(executor, config)
        checkpoint = _checkpoint(executor, config, min(trials))
        processes = len(getattr(executor, "workers", [None]))
    return Hours(config, loading, tuple(trials), 1.0, checkpoint, _evaluation(state), processes)


def _trials(executor: Executor, config: Config) -> list[float]:
    """The first trials but those at which something else is due; the first one of all counts only if it is long."""
    begun, found = time.monotonic(), []
    for number in range(WARM_UP + MEASURED):
        found.append(_seconds(partial(executor.run_trial, number)))
        if time.monotonic() - begun > LONG or number + 1 >= config.trials:
            break
    return found[WARM_UP:] or found


def _checkpoint(executor: Executor, config: Config, trial: float) -> float:
    """What a trial with held-out games takes besides the trial."""
    if not config.held_out_games or config.checkpoint_every > config.trials:
        return 0.0
    due = config.checkpoint_every - 1
    return max(0.0, _seconds(lambda: executor.run_trial(due)) - trial)


def _evaluation(state: TrainingState) -> float:
    """The evaluation, from a few of its games."""
    config, games = state.config, min(EVALUATED, state.config.eval_games)
    try:
        seconds = _seconds(lambda: state.evaluate(rounds=config.rounds, episodes=games))
    except CoplayError:  # all seeds have diverged, and nobody can play
        return 0.0
    return seconds * config.eval_games / games


def _seconds(run: Callable[[], object]) -> float:
    started = time.monotonic()
    run()
    return time.monotonic() - started


def hours_lines(hours: Hours) -> list[str]:
    """What was measured, for a reader."""
    from coplay.models.threads import available_threads

    config, number = hours.config, len(hours.trials)
    threads = config.threads or available_threads()
    where = f"{counted(hours.processes, 'process')}, {counted(threads, 'thread')}"
    what = (
        counted(number, "trial") if hours.share == 1 else f"{hours.share:.2g} of a trial, scaled by games and episodes"
    )
    seeds = f"all {len(config.seeds)} seeds together" if len(config.seeds) > 1 else "one seed"
    lines = [
        f"--- time, measured on {what} on this machine ({where}) ---",
        f"a trial: {_range([min(hours.trials), max(hours.trials)])} ({seeds}); loading {words_of(hours.loading)},"
        f" evaluation {words_of(hours.evaluation)}",
        f"the run of {counted(config.trials, 'trial')}: {_range(hours.seconds())}",
    ]
    if len(config.seeds) > 1:
        lines[-1] += f", {words_of(max(hours.seconds()) / len(config.seeds))} a seed"
    return [*lines, note] if (note := load_note().strip()) else lines


def load_note() -> str:
    """That other programs keep this machine busy, if they do; else nothing."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < 1.5 * cores:
        return ""
    return f" Other programs keep this machine busy (load {load:.1f} on {counted(cores, 'core')}): without them it is faster."


def _range(ends: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(map(words_of, ends)))


def words_of(seconds: float) -> str:
    """A time for a reader: ``12 s``, ``3.5 minutes``, ``1.2 hours``."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} minutes" if seconds < 5_940 else f"{seconds / 3600:,.1f} hours"
