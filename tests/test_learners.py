"""Every algorithm in a run: seeds together are seeds alone, and a run that died ends as one that did not."""

from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import latest_states, read_json, read_lines
from safetensors.torch import load_file
from small_runs import QUIET, small

from coplay.games.records import TrialResult
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build
from coplay.runs.restore import restored
from coplay.runs.state import TrainingState
from coplay.runs.train import resume, train

torch.set_num_threads(1)

PAIRS = {
    "q_learning, round by round": ["column.algorithm=q_learning", "column.initial=null", "column.update=round"],
    "q_learning, exploring less and less": [
        "column.algorithm=q_learning",
        "column.initial=null",
        "column.q.epsilon_initial=0.9",
        "column.q.epsilon_updates=6",
    ],
    "reinforce": ["column.algorithm=reinforce"],
    "reinforce as a shaper": ["row.algorithm=reinforce", "column.algorithm=exact"],
    "exact against counts": ["column.algorithm=exact"],
    "lola against ppo": ["column.algorithm=lola", "row.memory=last_round"],
    "lola against lola": ["column.algorithm=lola", "row.algorithm=lola", "row.memory=last_round"],
    "group gradient against ppo": ["column.algorithm=group", "column.group.learning_rate=0.05"],
    "advantage alignment as a shaper": [
        "row.algorithm=group",
        "row.group.learning_rate=0.05",
        "row.group.method=advantage_alignment",
    ],
}
"""What is changed in the tabular shaping run."""
MARKS = {
    "q_learning": "td_error",
    "reinforce": "gradient",
    "exact": "value",
    "lola": "value",
    "ppo": "kl",
    "group": "grad_norm",
}
"""A metric that each algorithm writes."""


def pair(name: str, *overrides: str) -> Config:
    return small("tabular", *PAIRS[name], *overrides)


@pytest.mark.parametrize("name", PAIRS)
def test_a_run_that_died_ends_as_if_it_had_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(pair(name), tmp_path / "whole", progress=QUIET).path
    run_trial = TrainingState.run_trial

    def stop(state: TrainingState, trial: int) -> TrialResult:
        if trial == 3:
            raise KeyboardInterrupt
        return run_trial(state, trial)

    monkeypatch.setattr(TrainingState, "run_trial", stop)
    with pytest.raises(KeyboardInterrupt):
        train(pair(name), tmp_path / "died", progress=QUIET)
    monkeypatch.undo()
    resume(tmp_path / "died", progress=QUIET)
    for file in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (tmp_path / "died" / file).read_bytes() == (whole / file).read_bytes(), file
    weights = f"checkpoints/{RunDirectory.open(whole).checkpoints()[-1].name}/state.safetensors"
    mine, theirs = (load_file(str(path / weights)) for path in (tmp_path / "died", whole))
    assert set(mine) == set(theirs)
    assert all(torch.equal(mine[key], theirs[key]) for key in theirs)
    _, saved = latest_states(RunDirectory.open(whole))
    read_back = restored(whole)
    for seed, own in saved.items():
        found = read_back.state_dict(seed)
        assert found.keys() == own.keys() and all(torch.equal(found[key], own[key]) for key in own)
    for learner, settings in pair(name).learners.items():
        assert f"{MARKS[settings.algorithm]}/{learner}" in read_lines(whole / "metrics.jsonl")[-1]
    assert read_json(whole / "eval.json")["seats"]["column"]["illegal"]["mean"] == 0


@pytest.mark.parametrize("name", PAIRS)
def test_seeds_together_equal_seeds_alone(name: str) -> None:
    def learnt(seeds: str) -> dict[int, tuple[list[Any], dict[str, torch.Tensor]]]:
        state = build(pair(name, f"seeds={seeds}"))
        lines = [state.run_trial(trial).lines for trial in range(3)]
        return {seed: ([line[seed] for line in lines], state.state_dict(seed)) for seed in state.config.seeds}

    together = learnt("[0,1]")
    for seed in (0, 1):
        lines, alone = learnt(f"[{seed}]")[seed]
        for one, other in zip(lines, together[seed][0], strict=True):
            assert one == pytest.approx(other, abs=1e-4)
        assert alone.keys() == together[seed][1].keys()
        for key, value in alone.items():
            torch.testing.assert_close(value, together[seed][1][key], rtol=1e-4, atol=1e-5)
        for learner in ("row", "column"):
            tables = [key for key in alone if key.startswith(f"{learner}/") and key.endswith(("theta", "values"))]
            assert len(tables) == 1 and (alone[tables[0]] != 0).any()  # something was learnt


def test_learners_that_look_at_each_other_move_at_once() -> None:
    """Two exact learners in mirrored seats of a symmetric game stay mirror images; one after the other they would not."""
    config = small(
        "tabular", "row.memory=last_round", "row.update=episode", "row.algorithm=lola", "column.algorithm=lola"
    )
    state = build(with_values(config, {"row.initial": config.learners["column"].initial}))
    for trial in range(3):
        state.run_trial(trial)
    mine, theirs = (state.learners[name].player.theta.detach() for name in ("row", "column"))
    assert torch.equal(mine, theirs)
    assert (mine != 0).any()


@pytest.mark.parametrize("algorithm", ["lola", "q_learning"])
def test_a_language_model_may_face_any_of_them(algorithm: str) -> None:
    """The exact learner reads the language model's five prompts; the shaper's counts are another matter."""
    config = small(
        "language_model",
        "row.memory=last_round",
        "column.policy=tabular",
        f"column.algorithm={algorithm}",
        "trials=1",
    )
    state = build(config)
    lines, _ = state.run_trial(0)
    assert {"kl/row", f"{MARKS[algorithm]}/column"} <= set(lines[0])
    assert state.bank is not None
    assert [slot.learner for slot in state.bank.slots] == ["row"]


def test_a_game_of_other_sizes() -> None:
    """Rock, paper, scissors: three actions a seat, ten lines a table."""
    rps = {
        "name": "rps",
        "actions": ["rock", "paper", "scissors"],
        "payoffs": [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    }
    for algorithm in ("q_learning", "reinforce", "exact", "lola", "group"):
        overrides = ["row.initial=null", "column.initial=null", f"column.algorithm={algorithm}"]
        state = build(with_values(small("tabular", *overrides), {"game": rps}))
        before = state.learners["column"].state_dict(0)
        lines, _ = state.run_trial(0)
        assert lines[0]["illegal/column"] == 0
        after = state.learners["column"].state_dict(0)
        assert any(not torch.equal(after[key], before[key]) for key in before)
