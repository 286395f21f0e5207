"""Runs of architectures with the packed pass: what is kept of prompts decides how batches are cut, and a resumed run has kept nothing."""

from pathlib import Path

import pytest
import torch
from interruptions import died_at, same_ending
from small_models import write_checkpoint
from small_runs import QUIET, small
from small_text_runs import small_text

from coplay.runs.factory import build
from coplay.runs.train import resume, train

torch.set_num_threads(1)


@pytest.mark.parametrize("kind", ["one token", "last layer", "text", "text, last layer"])
def test_a_resumed_run_equals_an_uninterrupted_one(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = str(write_checkpoint(tmp_path / "model", "qwen2", max_position_embeddings=4096))
    made = [f"model={model}", "trials=3", "checkpoint_every=1", "workers=1"]
    layers = ["adapter.top_layers=1"] if kind.endswith("last layer") else []
    text = ["past_selves.probability=0.5", "past_selves.snapshot_interval=1", "learner.max_tokens=6"]
    config = (
        small_text("ipd-ab", *made, *text, *layers)
        if kind.startswith("text")
        else small("language_model", *made, *layers)
    )
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    run = died_at(2, tmp_path / "run", monkeypatch, config)
    resume(run, progress=QUIET)
    same_ending(run, whole)


def test_learners_that_step_together_learn_what_each_learns_alone(tmp_path: Path) -> None:
    model = str(write_checkpoint(tmp_path / "model", "qwen2", max_position_embeddings=4096))
    config = small("language_model", f"model={model}", "trials=2", "workers=1", "seeds=[0,1,2]")
    ends = []
    for together in (False, True):
        state = build(config)
        assert state.bank is not None
        for learner in state.learners.values():
            learner.policy.scorer.shares_passes = together
            assert learner.policy.shares_passes == together
        lines = [state.run_trial(trial).lines for trial in range(2)]
        rewards = [{seed: line["reward/row"] for seed, line in found.items()} for found in lines]
        ends.append((rewards, [weight.detach().clone() for weight in state.bank.parameters()]))
    assert ends[0][0] == ends[1][0]
    for apart, joint in zip(ends[0][1], ends[1][1], strict=True):
        torch.testing.assert_close(joint, apart, rtol=1e-3, atol=1e-5)
