"""Training: trials of episodes, one after the other. The loop reads top to bottom: train, log, save."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import AllDiverged, Interrupted, Stopped, Unmoved
from coplay.evaluation.tables import diverged_lines
from coplay.files.lock import locked
from coplay.files.writing import json_text
from coplay.learners.base import DIVERGED
from coplay.runs.checkpoints import Checkpoint
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory, is_finished, is_taken, refuse_existing, refuse_no_run
from coplay.runs.executors import executor_for
from coplay.runs.factory import build
from coplay.runs.first_prompts import first_prompts, refuse_other_prompts
from coplay.runs.held_out import summaries
from coplay.runs.references import freeze_references
from coplay.runs.restore import restore, restored
from coplay.runs.shown import shown_trials
from coplay.terminal.interrupt import Interrupt
from coplay.terminal.progress import Progress
from coplay.tracking.sink import Sink, Sinks, TrackedRun, tracked

if TYPE_CHECKING:
    from coplay.runs.settings import Setting
    from coplay.runs.state import TrainingState


def train(
    config: Config,
    out: Path,
    *,
    progress: Progress | None = None,
    sinks: Sequence[Sink] = (),
) -> RunDirectory:
    """Train from the beginning into a new run directory.

    Args:
        config: the run.
        out: its directory.
        progress: shows how far it is.
        sinks: trackers that are told of each trial; one that fails is left out.

    Raises:
        UsageError: for anything wrong with the config or the directory, before anything is written.
        Interrupted: on Ctrl-C, after saving.
    """
    refuse_existing(out)
    config = freeze_references(config)
    state = build(config)
    run = RunDirectory.create(out, config, prompts=first_prompts(config, state.game, state.loaded))
    with locked(run.path):
        _run(state, run, first_trial=0, progress=progress or Progress(), sinks=sinks)
    return run


def resume(
    path: Path, *, checkpoint: str | None = None, progress: Progress | None = None, sinks: Sequence[Sink] = ()
) -> RunDirectory:
    """Resume a run from its latest checkpoint, or the one of that name; the files end as if it had never stopped.

    Args:
        path: the run directory.
        checkpoint: the checkpoint's name; by default the latest.
        progress: shows how far it is.
        sinks: as for :func:`train`.

    Raises:
        DamagedCheckpoint: if the checkpoint is damaged, naming the latest good one.
        UsageError: if it is one of other players than the config describes, or its models would read other prompts than when it began.
    """
    refuse_no_run(path)
    saved: Checkpoint | None
    with locked(path):
        if checkpoint is not None:  # whatever has become of the manifest
            run, saved = RunDirectory.at_checkpoint(path, checkpoint)
        else:
            run = RunDirectory.open(path)
            saved = run.load_checkpoint()
            if run.is_finished:
                run.store.check()
                return run
        state = build(run.config)
        refuse_other_prompts(run, state)
        if saved is not None:
            restore(state, run.states(saved), of=run)
        run.return_to(saved)
        first_trial = 0 if saved is None else saved.step
        _run(state, run, first_trial=first_trial, progress=progress or Progress(), sinks=sinks)
    return run


def train_or_resume(config: Config, path: Path, *, again: str, progress: Progress) -> list[str]:
    """Train one run of several, or resume it where it stopped; what is finished is left alone.

    Args:
        config: the run.
        path: its directory.
        again: what to add to the same command to resume after an interrupt, e.g. ``--out DIR``.
        progress: shows how far it is.

    Returns:
        A line for each seed that has diverged, or one for all.

    Raises:
        Interrupted: on Ctrl-C, after saving.
    """
    try:
        if is_finished(path):
            with locked(path):
                RunDirectory.open(path).store.check()
        elif is_taken(path):
            resume(path, progress=progress)
        else:
            train(config, path, progress=progress)
    except Interrupted:
        raise Interrupted(f"saved; the same command with {again} resumes it") from None
    except AllDiverged as error:
        return [f"{path}: {error}"]
    return [f"{path}: {line}" for line in diverged_lines(RunDirectory.open(path).evaluation())]


def _run(
    state: TrainingState, run: RunDirectory, *, first_trial: int, progress: Progress, sinks: Sequence[Sink]
) -> None:
    told = TrackedRun(run.path, run.config.model_dump(mode="json"), run.config.seeds, first_trial)
    try:
        with tracked(sinks, told) as tracking:
            _trials(state, run, first_trial=first_trial, progress=progress, tracking=tracking)
            finish(state, run)
    except Stopped as stopped:
        raise type(stopped)(f"{stopped}; resume it with: coplay train --resume {run.path}") from None
    except Unmoved as unmoved:
        run.store.commit(failed=str(unmoved))
        raise Unmoved(f"{unmoved}. {run.path} is not finished") from None


def _trials(state: TrainingState, run: RunDirectory, *, first_trial: int, progress: Progress, tracking: Sinks) -> None:
    config = state.config
    shown = shown_trials(config.trials)
    with (
        Interrupt() as interrupt,
        executor_for(state, first_trial=first_trial) as executor,
        progress.running(config.trials, done=first_trial),
    ):
        alive = state.alive
        for trial in range(first_trial, config.trials):
            if not alive:
                break
            lines, episodes = executor.run_trial(trial)
            step = trial + 1
            alive = [seed for seed, line in lines.items() if DIVERGED not in line]
            records = [{"step": step, "seed": seed, **line} for seed, line in lines.items()]
            run.append("metrics.jsonl", records)
            if step in shown:
                run.append("episodes.jsonl", episodes)
            if step == config.trials or interrupt.asked or not alive or step % config.checkpoint_every == 0:
                run.save_checkpoint(step, executor.state_dicts())
            tracking.record(records)
            progress.show(step, config.trials, {seed: lines[seed] for seed in alive})
            if interrupt.asked:
                raise Interrupted(f"saved after trial {step}; resume it with: coplay train --resume {run.path}")
    if not run.checkpoints():
        run.save_checkpoint(config.trials, {seed: state.state_dict(seed) for seed in config.seeds})


def finish(state: TrainingState, run: RunDirectory) -> None:
    """After the last trial: evaluate the trained pairs, export the adapters, and commit that the run is finished."""
    state.clear_cache()
    if state.held_out is not None and state.alive:
        run.store.write("safety.json", json_text(summaries(state.held_out, state.alive)))
    run.store.write("eval.json", _evaluated(state, state.config.rounds))
    if state.bank is not None:
        for slot, name in enumerate(state.bank.slots):
            if name.learner not in state.learners or name.seed not in state.alive:
                continue  # the reference policy, or a seed that has diverged
            for file, content in state.bank.peft_files(slot, base_model=state.config.model).items():
                run.store.write(f"adapters/{name.learner}-seed{name.seed}/{file}", content)
    run.store.commit(finished=True)


def evaluate_in(path: Path, settings: Sequence[Setting]) -> None:
    """Evaluate a finished run in other settings too, a file each; what is there is kept.

    Raises:
        UsageError: for a setting in which what was trained cannot play.
    """
    run = RunDirectory.open(path)
    missing = [setting for setting in settings if not run.store.has(setting.file)]
    if not missing:
        return
    with locked(path):
        for changes, alike in groupby(missing, key=lambda setting: setting.changes):
            state = restored(path, changes)
            for setting in alike:
                run.store.write(setting.file, _evaluated(state, setting.rounds or state.config.rounds))
        run.store.commit()


def _evaluated(state: TrainingState, rounds: int) -> str:
    return json_text(state.evaluate(rounds=rounds, episodes=state.config.eval_games))
