"""Training: trials of episodes, one after the other. The loop reads top to bottom: train, log, save."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from coplay.building import build_any
from coplay.errors import CoplayError, Stopped, UsageError
from coplay.progress import Progress
from coplay.rounds.config import AnyConfig
from coplay.runs import RunDirectory, locked, refuse_existing, write_json
from coplay.self_contained import self_contained
from coplay.workers import crew_for

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.building import AnyArena

SHOWN_TRIALS = 5
"""Trials, evenly spread from first to last, of which complete games are kept for reading."""


class Interrupted(CoplayError):
    """Ctrl-C: the run was saved and can be resumed. The command line exits with 130."""


def train(config: AnyConfig, out: Path, *, progress: Progress | None = None) -> RunDirectory:
    """Train from the beginning into a new run directory.

    Raises:
        UsageError: for anything wrong with the config or the directory, before anything is written.
        Interrupted: on Ctrl-C, after saving.
    """
    refuse_existing(out)
    config = self_contained(config)
    arena = build_any(config)
    run = RunDirectory.create(out, config)
    with locked(run.path):
        _run(arena, run, first_trial=0, progress=progress or Progress())
    return run


def resume(path: Path, *, checkpoint: str | None = None, progress: Progress | None = None) -> RunDirectory:
    """Go on with a run from its latest checkpoint, or the one of that name; the files end as if it had never stopped.

    Raises:
        DamagedCheckpoint: if the checkpoint is damaged, naming the latest good one.
        UsageError: if it is one of other players than the config describes.
    """
    run = RunDirectory.open(path)
    with locked(run.path):
        saved = run.load_checkpoint(checkpoint)
        arena = build_any(run.config)
        step = 0
        if saved is not None:
            step, tensors = saved
            _restore(arena, tensors, of=run)
        run.cut_back(step)
        _run(arena, run, first_trial=step, progress=progress or Progress())
    return run


def train_or_resume(config: AnyConfig, path: Path, *, again: str, progress: Progress) -> None:
    """Train one run of several, or go on with it where it stopped; what is finished is left alone.

    Args:
        config: the run.
        path: its directory.
        again: what to add to the same command to go on after an interrupt, e.g. ``--out DIR``.
        progress: shows how far it is.

    Raises:
        Interrupted: on Ctrl-C, after saving.
    """
    if (path / "eval.json").exists():
        return
    try:
        if (path / "config.json").exists():
            resume(path, progress=progress)
        else:
            train(config, path, progress=progress)
    except Interrupted:
        raise Interrupted(f"saved; the same command with {again} goes on where it stopped") from None


def trained(path: Path) -> AnyArena:
    """The arena of a run as its latest checkpoint left it; raises UsageError if there is none."""
    run = RunDirectory.open(path)
    saved = run.load_checkpoint()
    if saved is None:
        raise UsageError(f"{path} has no checkpoint yet")
    arena = build_any(run.config)
    _restore(arena, saved[1], of=run)
    return arena


def _restore(arena: AnyArena, tensors: Mapping[str, Tensor], *, of: RunDirectory) -> None:
    """Put a checkpoint's tensors into an arena, if they are of its players: somebody may have edited the config."""
    expected = arena.tensors()
    for name in sorted(expected.keys() | tensors.keys()):
        wanted, found = (list(state[name].shape) if name in state else "none" for state in (expected, tensors))
        if wanted != found:
            raise UsageError(
                f"{of.path / 'config.json'} does not fit the run's checkpoint: {name!r} is {wanted} in the one and {found} in the other."
                " Other seeds, players, adapters or past selves are another run: put the file back, or train anew."
            )
    arena.load_tensors(tensors)


def _run(arena: AnyArena, run: RunDirectory, *, first_trial: int, progress: Progress) -> None:
    try:
        _trials(arena, run, first_trial=first_trial, progress=progress)
        finish(arena, run)
    except Stopped as stopped:
        raise type(stopped)(f"{stopped}; go on with: coplay train --resume {run.path}") from None


def _trials(arena: AnyArena, run: RunDirectory, *, first_trial: int, progress: Progress) -> None:
    config = arena.config
    shown = shown_trials(config.trials)
    with (
        _Interrupt() as interrupt,
        crew_for(arena, first_trial=first_trial) as crew,
        progress.running(config.trials, done=first_trial),
    ):
        for trial in range(first_trial, config.trials):
            lines, games = crew.run_trial(trial)
            step = trial + 1
            run.append("metrics.jsonl", [{"step": step, "seed": seed, **line} for seed, line in lines.items()])
            if step in shown:
                run.append("episodes.jsonl", games)
            if step == config.trials or interrupt.asked or step % config.checkpoint_every == 0:
                run.save_checkpoint(step, crew.tensors())
            progress.show(step, config.trials, lines)
            if interrupt.asked:
                raise Interrupted(f"saved after trial {step}; go on with: coplay train --resume {run.path}")
    if not run.checkpoints():
        run.save_checkpoint(config.trials, arena.tensors())


def finish(arena: AnyArena, run: RunDirectory) -> None:
    """After the last trial: evaluate the trained pairs, export the adapters."""
    for learner in arena.learners.values():
        learner.forget()
    if not (run.path / "eval.json").exists():
        _evaluate(arena, run.path / "eval.json", rounds=arena.config.rounds)
    if arena.bank is not None:
        for slot, name in enumerate(arena.bank.slots):
            if name.learner not in arena.learners:  # the reference policy
                continue
            directory = run.path / "adapters" / f"{name.learner}-seed{name.seed}"
            arena.bank.export_peft(slot, directory, base_model=arena.config.model)


def evaluate_lengths(path: Path, lengths: Sequence[int]) -> None:
    """Let a finished run's pairs play games of other lengths too, into ``eval-T<rounds>.json``; what is there is kept."""
    missing = {rounds: path / f"eval-T{rounds}.json" for rounds in lengths}
    missing = {rounds: file for rounds, file in missing.items() if not file.exists()}
    if missing:
        arena = trained(path)
        for rounds, file in missing.items():
            _evaluate(arena, file, rounds=rounds)


def _evaluate(arena: AnyArena, file: Path, *, rounds: int) -> None:
    write_json(file, arena.evaluate(rounds=rounds, episodes=arena.config.eval_games))


def shown_trials(trials: int) -> set[int]:
    """The trials, from 1, of which complete games are kept: the first, the last and some evenly spread between."""
    if trials <= SHOWN_TRIALS:
        return set(range(1, trials + 1))
    return {1 + round(i * (trials - 1) / (SHOWN_TRIALS - 1)) for i in range(SHOWN_TRIALS)}


class _Interrupt:
    """Turns the first Ctrl-C into a wish to stop after this trial; the second one stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> _Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
