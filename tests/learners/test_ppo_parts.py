"""An optimiser step of PPO in several passes: the gradients of its parts add up to those of the whole."""

import pytest
import torch
from ppo_cases import BUSY, SHARING, episodes_of, make_learner, tabular_policy
from small_policies import IPD, RandomPlayer, WordPolicy, play
from torch import Tensor

from coplay.games.memory import Memory
from coplay.learners.ppo import PPOLearner
from coplay.players.policy import Policy
from coplay.players.tabular import TabularPolicy


def learnt(policy: Policy, seeds: list[int], **changes: object) -> tuple[list[Tensor], list[object]]:
    """Weights and figures after two updates on the same games."""
    learner = make_learner(policy, BUSY.model_copy(update=changes), seeds=seeds)
    metrics: list[object] = []
    for trial in range(2):
        them = RandomPlayer(0.7, 0.1)
        learner.collect(play(learner, them, games=2, rounds=6, episodes=2, seeds=seeds, rng_path=("t", trial)))
        metrics += [value for line in learner.update((trial,)).values() for value in line.values()]
    return [learner.policy.parameters()[0].detach().clone(), learner.heads.weights.detach().clone()], metrics


def policy_of(kind: str, slots: int) -> Policy:
    torch.manual_seed(0)
    if kind == "words":
        return WordPolicy(slots=slots)
    memory = Memory.TRIAL_COUNTS if kind == "counts" else Memory.LAST_ROUND
    return TabularPolicy("naive", IPD, "row", memory, slots=slots, sharing=SHARING)


@pytest.mark.parametrize("kind", ["table", "counts", "words"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("max_grad_norm", [None, 0.1])
def test_parts_are_learnt_as_the_whole(kind: str, size: int, max_grad_norm: float | None) -> None:
    seeds = [4, 1]
    whole, figures = learnt(policy_of(kind, 2), seeds, max_grad_norm=max_grad_norm)
    parts, of_parts = learnt(policy_of(kind, 2), seeds, max_grad_norm=max_grad_norm, microbatch_size=size)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert of_parts == pytest.approx(figures, rel=1e-4, abs=1e-5)


def passes_of(learner: PPOLearner) -> list[int]:
    """How many rows each pass of an update's first epoch has."""
    sizes: list[int] = []
    scores = learner.passes.scores

    def counted(slots, batch, R):  # type: ignore[no-untyped-def]
        sizes.append(
            len({(batch.seeds_R[row].item(), learner.policy.reply_key(batch.turns[row])) for row in R.tolist()})
        )
        return scores(slots, batch, R)

    learner.passes.scores = counted  # type: ignore[method-assign]
    learner.collect(episodes_of(learner, rounds=6))
    learner.update((0,))
    return sizes


def test_no_pass_has_more_different_replies_than_are_allowed() -> None:
    assert max(passes_of(make_learner(tabular_policy(), BUSY))) > 2
    sizes = passes_of(make_learner(tabular_policy(), BUSY.model_copy(update={"microbatch_size": 2})))
    assert max(sizes) == 2 and len(sizes) > BUSY.epochs


def test_a_seed_whose_loss_is_not_finite_spoils_no_other() -> None:
    def run(*, size: int | None, bad: bool) -> Tensor:
        seeds = [0, 1]
        policy = tabular_policy(slots=2)
        learner = make_learner(
            policy, BUSY.model_copy(update={"microbatch_size": size, "score_scaling": False}), seeds=seeds
        )
        learner.collect(episodes_of(learner, rounds=6, seeds=seeds))
        if bad:
            learner._collected[0] = {
                key: [step._replace(score=float("nan")) for step in steps]
                for key, steps in learner._collected[0].items()
            }
        metrics = learner.update((0,))
        assert ("diverged" in metrics[0]) == bad and "diverged" not in metrics[1]
        return learner.policy.parameters()[0].detach()[1].clone()

    torch.testing.assert_close(run(size=2, bad=True), run(size=None, bad=False), rtol=1e-5, atol=1e-6)
