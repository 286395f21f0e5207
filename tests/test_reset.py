"""Learners that are put back to their beginning at the start of every trial."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import small

from coplay import trial as trials
from coplay import workers
from coplay.runs.directory.state import build
from coplay.runs.directory.config import Config
from coplay.runs.directory.config_input import overridden
from coplay.errors import UsageError
from coplay.play.loop.loop import Table
from coplay.progress import Progress
from coplay.runs.directory.directory import RunDirectory
from coplay.runs.directory.train import resume, train
from coplay.runs.directory.trial import run_trial

torch.set_num_threads(1)

QUIET = Progress(quiet=True)
RESET = "column.reset=trial"
Q = ["column.algorithm=q_learning", "column.initial=null", "column.q.epsilon_updates=9"]
LEARNERS = {
    "ppo": ("tabular", []),
    "q_learning": ("tabular", [*Q, "column.update=round"]),
    "reinforce": ("tabular", ["column.algorithm=reinforce"]),
    "exact": ("tabular", ["column.algorithm=exact"]),
    "lola": ("tabular", ["column.algorithm=lola", "row.memory=last_round"]),
    "language model": ("language_model", ["rounds=3", "trials=3"]),
}


def config_of(name: str, *overrides: str) -> Config:
    learner, changes = LEARNERS[name]
    return small(learner, *changes, RESET, *overrides)


def everything(arena: Any, seat: str) -> dict[str, torch.Tensor]:
    """All that a seat's learner has learnt, copied."""
    return {key: value.clone() for key, value in arena._tensors_of(seat).items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return set(a) == set(b) and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_trial_begins_as_the_first_one_did(name: str) -> None:
    config = config_of(name, "seeds=[0,1]")
    arena = build(config)
    tables = [Table(arena.game, seed, index) for seed in config.seeds for index in range(config.games)]
    began = {seat: everything(arena, seat) for seat in ("row", "column")}
    run_trial(arena, tables, 0)
    assert not same(everything(arena, "column"), began["column"])  # it does learn
    learnt = everything(arena, "row")
    arena.start_trial()
    assert same(everything(arena, "column"), began["column"])
    assert same(everything(arena, "row"), learnt) and not same(learnt, began["row"])  # the other seat is left alone


def test_what_a_reset_learner_plays_does_not_depend_on_earlier_trials() -> None:
    """Against a co-player that never changes, trial 5 on its own is trial 5 after five others."""
    config = config_of("ppo", "row.player=tit_for_tat")
    lines = []
    for earlier in (range(5), range(0)):
        arena = build(config)
        tables = [Table(arena.game, 0, index) for index in range(config.games)]
        for trial in earlier:
            run_trial(arena, tables, trial)
        lines.append(run_trial(arena, tables, 5).lines[0])
    assert lines[0] == lines[1]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_run_that_died_ends_as_if_it_had_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(name, "checkpoint_every=1", "workers=1")
    whole = train(config, tmp_path / "whole", progress=QUIET).path

    def stop(arena: Any, tables: Any, trial: int) -> Any:
        if trial == config.trials - 1:
            raise KeyboardInterrupt
        return run_trial(arena, tables, trial)

    monkeypatch.setattr(trials, "run_trial", stop)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "died", progress=QUIET)
    monkeypatch.undo()
    resume(tmp_path / "died", progress=QUIET)
    for file in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (tmp_path / "died" / file).read_bytes() == (whole / file).read_bytes(), file
    state = f"checkpoints/{RunDirectory(whole).checkpoints()[-1].name}/state.safetensors"
    assert same(load_file(str(tmp_path / "died" / state)), load_file(str(whole / state)))


@pytest.mark.parametrize("name", ["ppo", "language model"])
def test_workers_reset_their_own_seeds(name: str, tmp_path: Path) -> None:
    """A run shared out over two processes is the two runs of its seeds."""
    shared = train(
        config_of(name, "seeds=[0,1]", "workers=2", "threads=2", "trials=2"), tmp_path / "two", progress=QUIET
    )
    states = []
    for seed in (0, 1):
        alone = train(
            config_of(name, f"seeds=[{seed}]", "workers=1", "trials=2"), tmp_path / f"seed{seed}", progress=QUIET
        )
        states.append(alone.load_checkpoint())
    together = shared.load_checkpoint()
    assert together is not None and states[0] is not None and states[1] is not None
    parts = workers.split(together[1], [1, 1])
    for part, state in zip(parts, states, strict=True):
        assert same(part, state[1])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["column.player=tit_for_tat"], "column: player=tit_for_tat does not learn, so there is nothing to reset"),
        (["column.update=never"], "column: reset=trial is for learners that learn within a trial"),
        (["column.update=trial"], "with update=trial nothing they learn would ever be played"),
    ],
)
def test_a_reset_without_anything_to_reset_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        overridden(small("tabular"), [RESET, *overrides])
