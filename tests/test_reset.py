"""Learners that are put back to their beginning at the start of every trial."""

from pathlib import Path

import pytest
import torch
from run_files import latest_states
from safetensors.torch import load_file
from small_runs import QUIET, small

from coplay.errors import UsageError
from coplay.games.records import TrialResult
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build
from coplay.runs.state import TrainingState
from coplay.runs.train import resume, train

torch.set_num_threads(1)

RESET = "column.reset=trial"
Q = ["column.algorithm=q_learning", "column.initial=null", "column.q.epsilon_updates=9"]
LEARNERS = {
    "ppo": ("tabular", []),
    "group": ("tabular", ["column.algorithm=group", "column.group.learning_rate=0.05"]),
    "q_learning": ("tabular", [*Q, "column.update=round"]),
    "reinforce": ("tabular", ["column.algorithm=reinforce"]),
    "exact": ("tabular", ["column.algorithm=exact"]),
    "lola": ("tabular", ["column.algorithm=lola", "row.memory=last_round"]),
    "language model": ("language_model", ["rounds=3", "trials=3"]),
}

State = dict[str, torch.Tensor]


def config_of(name: str, *overrides: str) -> Config:
    learner, changes = LEARNERS[name]
    return small(learner, *changes, RESET, *overrides)


def everything(state: TrainingState, learner: str) -> State:
    """All that a learner has learnt under all seeds, copied."""
    return {
        f"{seed}/{key}": value.clone()
        for seed in state.config.seeds
        for key, value in state.learners[learner].state_dict(seed).items()
    }


def same(a: State, b: State) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_trial_begins_as_the_first_one_did(name: str) -> None:
    state = build(config_of(name, "seeds=[0,1]"))
    began = {learner: everything(state, learner) for learner in ("row", "column")}
    state.run_trial(0)
    assert not same(everything(state, "column"), began["column"])  # it does learn
    learnt = everything(state, "row")
    state._start_trial(1)
    assert same(everything(state, "column"), began["column"])
    assert same(everything(state, "row"), learnt) and not same(learnt, began["row"])  # the other learner is left alone


def test_what_a_reset_learner_plays_does_not_depend_on_earlier_trials() -> None:
    """Against a co-player that never changes, trial 5 on its own is trial 5 after five others."""
    config = config_of("ppo", "seats.row=tit_for_tat")
    lines = []
    for earlier in (range(5), range(0)):
        state = build(config)
        for trial in earlier:
            state.run_trial(trial)
        lines.append(state.run_trial(5).lines[0])
    assert lines[0] == lines[1]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_run_that_died_ends_as_if_it_had_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(name, "checkpoint_every=1", "workers=1")
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    run_trial = TrainingState.run_trial

    def stop(state: TrainingState, trial: int) -> TrialResult:
        if trial == config.trials - 1:
            raise KeyboardInterrupt
        return run_trial(state, trial)

    monkeypatch.setattr(TrainingState, "run_trial", stop)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "died", progress=QUIET)
    monkeypatch.undo()
    resume(tmp_path / "died", progress=QUIET)
    for file in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (tmp_path / "died" / file).read_bytes() == (whole / file).read_bytes(), file
    weights = f"checkpoints/{RunDirectory.open(whole).checkpoints()[-1].name}/state.safetensors"
    assert same(load_file(str(tmp_path / "died" / weights)), load_file(str(whole / weights)))


@pytest.mark.parametrize("name", ["ppo", pytest.param("language model", marks=pytest.mark.slow)])
def test_workers_reset_their_own_seeds(name: str, tmp_path: Path) -> None:
    """A run shared out over two processes is the two runs of its seeds."""
    together = config_of(name, "seeds=[0,1]", "workers=2", "threads=2", "trials=2")
    _, shared = latest_states(train(together, tmp_path / "two", progress=QUIET))
    assert set(shared) == {0, 1}
    for seed in (0, 1):
        single = config_of(name, f"seeds=[{seed}]", "workers=1", "trials=2")
        _, alone = latest_states(train(single, tmp_path / f"seed{seed}", progress=QUIET))
        assert set(alone) == {seed}
        assert same(shared[seed], alone[seed])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["column.update=never"], "column: reset=trial is for learners that learn within a trial"),
        (["column.update=trial"], "with update=trial nothing they learn would ever be played"),
    ],
)
def test_a_reset_without_anything_to_reset_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        with_overrides(small("tabular"), [RESET, *overrides])


def test_a_learner_that_gives_up_its_seat_takes_its_reset_with_it() -> None:
    config = with_overrides(small("tabular"), [RESET, "seats.column=tit_for_tat"])
    assert set(config.learners) == {"row"} and build(config).start == {}
