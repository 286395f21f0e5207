"""Probability ratios start at 1, in every precision and however replies were sampled; what the metric says of it is true."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from combinations import IPD, group, self_play
from ppo_cases import BUSY, make_learner
from small_policies import RandomPlayer, WordPolicy, play
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from small_models import write_checkpoint

import coplay.learners.group_learner
import coplay.learners.ppo
from coplay.learners.ratios import NARROW, NARROW_IN_16_BITS, off_by, scores_anew
from coplay.models.known import Precision
from coplay.models.scoring import Scores
from coplay.players.choice import Key
from coplay.recipes import make_config
from coplay.runs.factory import build

torch.set_num_threads(1)

NARROW_RECIPES = ("ipd", "ipd-opponent-25", "ipd-state-only", "ipd-episode-only", "ipd-table-format")
SIZES: dict[str, Any] = {
    "games": 3, "rounds": 5, "episodes": 2, "seeds": (0, 1), "trials": 2, "threads": 1, "workers": 1, "four_bit": False,
}  # fmt: skip


class Rounded(WordPolicy):
    """Words whose passes without gradients are off by noise, as another kind of pass in 16 bits is."""

    def __init__(self, noise: float, *, slots: int = 1, precision: torch.dtype | None = torch.bfloat16) -> None:
        super().__init__(slots=slots)
        self.noise = noise
        if precision is not None:
            self.precision = precision

    def score(self, slots: Sequence[int], keys: Sequence[Key], *, grad: bool = False) -> Scores:
        scores = super().score(slots, keys, grad=grad)
        if grad:
            return scores
        wave = torch.sin(torch.arange(scores.logits_RV.numel(), dtype=torch.float32) * 7.0).view_as(scores.logits_RV)
        return Scores(scores.logits_RV + self.noise * wave, scores.hidden_RH)


def first_update(
    policy: WordPolicy, *, clip: float, trusting: pytest.MonkeyPatch | None = None, **settings: Any
) -> Any:
    """The metrics of PPO's first update of two seeds, perhaps with the recorded log-probabilities as they are."""
    if trusting is not None:
        trusting.setattr(coplay.learners.ppo, "scores_anew", lambda policy, clip: False)
        trusting.setattr(coplay.learners.ppo, "SHARE", float("inf"))
    learner = make_learner(policy, BUSY.model_copy(update={"clip": clip, **settings}), seeds=(0, 1))
    learner.collect(play(learner, RandomPlayer(0.6, illegal=0.1), games=3, rounds=6, seeds=(0, 1)))
    return learner, learner.update((0,))


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32, None])
@pytest.mark.parametrize(("noise", "clip"), [(0.05, 1e-4), (0.05, 0.02), (3e-4, 1e-4), (0.5, 0.2)])
def test_ppo_starts_at_1_whatever_the_engine_that_sampled(
    noise: float, clip: float, precision: torch.dtype | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, metrics = first_update(Rounded(noise, slots=2, precision=precision), clip=clip)
    assert [metrics[seed]["clipped_first"] for seed in (0, 1)] == [0.0, 0.0]
    _, before = first_update(Rounded(noise, slots=2, precision=precision), clip=clip, trusting=monkeypatch)
    assert max(before[seed]["clipped_first"] for seed in (0, 1)) > 0.2  # the test can fail


def test_every_minibatch_of_the_first_epoch_starts_from_the_parameters_before_the_update() -> None:
    """With a rate of nearly 0 no ratio of any minibatch leaves 1; with a usual one, those of later minibatches do."""
    for rate, some in ((1e-12, False), (0.05, True)):
        _, metrics = first_update(
            Rounded(0.05, slots=2), clip=1e-4, learning_rate=rate, head_learning_rate=0.01, minibatch=4, epochs=1
        )
        assert all(metrics[seed]["clipped_first"] == 0.0 for seed in (0, 1))
        assert all((metrics[seed]["clipped"] > 0.0) == some for seed in (0, 1))


def test_the_update_is_that_of_an_engine_without_noise() -> None:
    """One seed's games, sampled with noise or without: what is learnt from them is the same, to the bit, but for the KL penalty."""
    states = []
    for noise in (0.0, 0.01):
        policy = Rounded(noise, slots=2)
        learner = make_learner(policy, BUSY.model_copy(update={"kl_coef": 0.0, "clip": 0.1}), seeds=(0, 1))
        sampled = make_learner(Rounded(0.01, slots=2), BUSY, seeds=(0, 1))
        with torch.no_grad():
            sampled.heads.weights.copy_(learner.heads.weights)
        learner.collect(play(sampled, RandomPlayer(0.6), games=3, rounds=6, seeds=(0, 1)))
        learner.update((0,))
        states.append(policy.theta.detach().clone())
    assert torch.equal(states[0], states[1])


@pytest.mark.parametrize("epochs", [1, 3])
def test_group_gradients_with_a_clip(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def update() -> Any:
        learner = group(Rounded(0.05, slots=2), [0, 1], IPD, clip=1e-3, epochs=epochs, method="grpo")
        learner.collect(self_play(learner, [0, 1], 0))
        return learner.update((0,))

    assert [metrics["clipped_first"] for metrics in update().values()] == [0.0, 0.0]
    monkeypatch.setattr(coplay.learners.group_learner, "scores_anew", lambda policy, clip: False)
    monkeypatch.setattr(coplay.learners.group_learner, "SHARE", float("inf"))
    assert max(metrics["clipped_first"] for metrics in update().values()) > 0.2


def test_without_a_clip_importance_weights_keep_what_was_recorded() -> None:
    learner = group(Rounded(0.05, slots=1), [0], IPD, method="grpo")
    learner.collect(self_play(learner, [0], 0))
    assert "clipped_first" not in learner.update((0,))[0]


def test_the_rule() -> None:
    class Policy:
        precision = torch.float32

    def anew(precision: torch.dtype | None, clip: float) -> bool:
        policy: Any = object() if precision is None else Policy()
        if precision is not None:
            policy.precision = precision
        return scores_anew(policy, clip)

    assert anew(torch.bfloat16, 0.05) and anew(torch.bfloat16, 1e-4) and anew(torch.float32, 1e-4)
    assert not anew(torch.float32, 0.2) and not anew(torch.float32, NARROW)
    assert not anew(torch.bfloat16, 0.2) and not anew(torch.bfloat16, NARROW_IN_16_BITS)  # measured
    assert not anew(None, 1e-4)  # tables: measured
    off: Tensor = off_by(torch.tensor([0.0, -1.0]), torch.tensor([0.0, -1.1]))
    torch.testing.assert_close(off, torch.tensor([0.0, 0.1051709]))


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16])
@pytest.mark.parametrize("family", ["gemma2", "qwen2", "llama"])
def test_the_narrow_recipes_at_paper_scale(family: str, precision: Precision, tmp_path: Path) -> None:
    model = str(write_checkpoint(tmp_path / family, family))
    for recipe in NARROW_RECIPES:
        paper = make_config(f"shapellm/{recipe}", scale="paper")
        assert paper.learners["row"].ppo.clip <= 1e-4
        state = build(paper.model_copy(update={**SIZES, "model": model, "precision": precision}))
        for trial in range(2):
            for line in state.run_trial(trial).lines.values():
                assert line["clipped_first/row"] == line["clipped_first/column"] == 0.0
        assert all(learner.moving.waiting == set() for learner in state.learners.values())
