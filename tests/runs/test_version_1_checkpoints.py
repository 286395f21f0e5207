"""Checkpoints of version 1: runs that wrote them are resumed."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from run_files import read_lines
from safetensors.torch import load_file
from small_runs import QUIET

from coplay.errors import UsageError
from coplay.runs.config_input import parse_config
from coplay.runs.directory import RunDirectory
from coplay.runs.train import resume
from coplay.runs.version_1_checkpoints import translated_checkpoint

VERSION_1 = Path(__file__).parent / "version_1"


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A tabular run of two trials, written by version 1, after its first trial."""
    run = tmp_path / "run"
    shutil.copytree(VERSION_1 / "run", run)
    return run


def test_a_run_is_resumed_and_ends_as_version_1_ended_it(interrupted: Path) -> None:
    uninterrupted = read_lines(interrupted / "metrics.jsonl")
    resume(interrupted, progress=QUIET)
    resumed = read_lines(interrupted / "metrics.jsonl")
    assert [(line["step"], line["seed"]) for line in resumed] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    for ours, theirs in zip(resumed, uninterrupted, strict=True):
        shared = {
            key: value for key, value in ours.items() if not key.startswith("clipped_first/")
        }  # newer than version 1
        assert shared == pytest.approx(theirs, rel=1e-4, abs=1e-6)
    assert uninterrupted[0] != uninterrupted[2] and (interrupted / "eval.json").exists()


def test_a_checkpoint_goes_where_each_seed_and_learner_has_it_today(interrupted: Path) -> None:
    run = RunDirectory.open(interrupted)
    tensors = load_file(str(run.checkpoints()[0] / "state.safetensors"))
    saved = run.load_checkpoint()
    assert saved is not None and saved.step == 1
    states = run.states(saved)
    assert list(states) == [0, 1]
    for seed, state in states.items():
        assert torch.equal(state["row/policy.theta"], tensors["row.policy"][seed])
        assert torch.equal(state["column/progress"], tensors["column.seed_state"][seed])
        assert torch.equal(state["column/head_adam.first"], tensors["column.head_adam.first"][seed])


@pytest.mark.parametrize("seeds", [[0, 1, 2], [0]])
def test_a_checkpoint_of_other_seeds_is_refused(seeds: list[int], interrupted: Path) -> None:
    data = json.loads((interrupted / "config.json").read_text())
    (interrupted / "config.json").write_text(json.dumps(data | {"seeds": seeds}))
    before = {name: (interrupted / name).read_bytes() for name in ("config.json", "metrics.jsonl")}
    with pytest.raises(UsageError, match=r"does not fit the run's checkpoint, .* is of 2 seeds or adapters"):
        resume(interrupted, progress=QUIET)
    assert {name: (interrupted / name).read_bytes() for name in before} == before


def test_adapters_of_all_seeds_and_past_selves_are_found_in_the_bank() -> None:
    earlier = json.loads((VERSION_1 / "text.json").read_text())
    config = parse_config(earlier | {"past_selves": {"share": 0.5, "every": 1, "kept": 2}})
    n = len(config.seeds)
    tensors = {"bank.q.lora_A": torch.arange(3 * n), "learner.adam.steps": torch.arange(3 * n) + 100}
    states = translated_checkpoint(tensors, config)
    for position, seed in enumerate(config.seeds):
        assert {key: int(value) for key, value in states[seed].items()} == {
            "learner/policy.q.lora_A": position,
            "past-0/q.lora_A": n + position,
            "past-1/q.lora_A": 2 * n + position,
            "learner/adam.steps": 100 + position,
        }
