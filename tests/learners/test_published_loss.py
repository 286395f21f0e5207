"""SEPO's loss: PPO's clip on whole replies, the one-sided KL, advantages divided by a deviation, several steps on the same games."""

import pytest
import torch
from test_group_learner import games, make_learner

from coplay.learners.group_credit import DELTA, scaled_to_group
from coplay.learners.group_gradient import advantages_of, group_loss
from coplay.learners.losses import one_sided_kl
from coplay.learners.settings import GroupGradient

torch.set_num_threads(1)


def test_advantages_of_a_round_by_hand() -> None:
    rewards_BST = torch.tensor([[[1.0, 4.0]], [[3.0, 4.0]], [[0.0, 1.0]], [[0.0, 2.0]]], dtype=torch.float64)
    groups_B = torch.tensor([0, 0, 1, 1])
    found = advantages_of(rewards_BST, groups_B, GroupGradient(normalise="round", discount=0.0))[:, 0]
    expected = [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_advantages_of_an_episode_are_the_same_in_all_its_rounds() -> None:
    rewards_BST = torch.tensor([[[1.0, 4.0]], [[3.0, 4.0]]], dtype=torch.float64)
    found = advantages_of(rewards_BST, torch.tensor([0, 0]), GroupGradient(normalise="episode"))[:, 0]
    torch.testing.assert_close(found, torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=torch.float64), atol=1e-6, rtol=0)


def test_a_group_without_differences_has_no_signal() -> None:
    advantages_BST = torch.full((3, 1, 2), 5.0)
    assert scaled_to_group(advantages_BST, torch.zeros(3)).abs().max() == 0
    assert DELTA == 1e-8


def test_the_one_sided_kl_leaves_alone_what_has_become_less_likely() -> None:
    logprobs = torch.tensor([-1.0, -3.0], requires_grad=True)
    reference = torch.tensor([-2.0, -2.0])
    assert one_sided_kl(logprobs, reference).tolist() == [1.0, 0.0]
    (gradient,) = torch.autograd.grad(one_sided_kl(logprobs, reference).sum(), logprobs)
    assert gradient.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("new", "credit", "slope"), [(0.0, 1.0, -1.0), (1.0, 1.0, 0.0), (1.0, -1.0, 1.0), (-1.0, -1.0, 0.0)]
)
def test_the_clip_stops_what_has_moved_far_enough(new: float, credit: float, slope: float) -> None:
    """By hand: the derivative of -A rho by log pi is -A rho within the clip, and 0 beyond it on the side that A pushes to."""
    old = torch.tensor([-2.0])
    logprobs = (old + new).requires_grad_()
    settings = GroupGradient(clip=0.2)
    loss = group_loss(logprobs, old, torch.tensor([credit]), torch.zeros(1), None, settings)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    torch.testing.assert_close(gradient, torch.tensor([slope * float(torch.tensor(new).exp())]))


def test_one_step_with_a_clip_is_one_without_it() -> None:
    """At the policy that played all ratios are 1. Replies have one token each, so sums over tokens and over replies are the same."""
    steps = []
    for options in ({}, {"clip": 0.2}):
        learner = make_learner([0], **options)
        learner.policy.max_tokens = 1  # type: ignore[attr-defined]
        learner.collect(games(learner, 0, 1))
        learner.update((0,))
        steps.append(learner.state_dict(0))
    for name, tensor in steps[0].items():
        torch.testing.assert_close(tensor, steps[1][name], atol=1e-5, rtol=1e-3)


def test_an_update_takes_as_many_steps_as_epochs_until_the_policy_has_moved() -> None:
    counts = []
    for options in ({"epochs": 3, "clip": 0.2}, {"epochs": 3, "clip": 0.2, "epochs_kl": 1e-9}, {"epochs": 1}):
        learner = make_learner([0], **options)
        learner.collect(games(learner, 0, 1))
        learner.update((0,))
        counts.append(int(learner.adam.steps_P[0]))
    assert counts == [3, 1, 1]
