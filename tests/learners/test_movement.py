"""A learner that does not move is refused, whatever it learns with; one that rightly stays where it is, is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from combinations import EVERY, Combination, q_learning
from ppo_cases import BUSY, episodes_of, make_learner, tabular_policy
from small_policies import episode_of, with_payoffs
from torch import nn

from coplay.errors import Unmoved
from coplay.learners.movement import Movement
from coplay.learners.tabular import SoftmaxLearner
from coplay.models.optimiser import SlotAdam

torch.set_num_threads(1)

GRADIENTS = [name for name in EVERY if name != "Q-learning"]
ADAM = [name for name in GRADIENTS if name not in ("REINFORCE", "exact", "LOLA")]


def trained(combination: Combination, spoil: Callable[[Any], object], *numbers: int) -> Any:
    """Two seeds learn from their games, after something has been done to the learner."""
    learner = combination.make([7, 3])
    spoil(learner)
    combination.learn(learner, [7, 3], *(numbers or (0, 1, 2)))
    return learner


def parameters(learner: Any) -> list[nn.Parameter]:
    found: list[nn.Parameter] = learner.player.parameters()
    return found


# --- What must be refused ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRADIENTS)
def test_frozen_parameters(name: str) -> None:
    def freeze(learner: Any) -> None:
        for parameter in parameters(learner):
            parameter.requires_grad_(False)

    with pytest.raises(Unmoved, match=r"^learner 'learner' \(seed 7\) cannot move: .*requires_grad=False") as refused:
        trained(EVERY[name], freeze)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", [name for name in GRADIENTS if "one token" in name or "text" in name])
def test_one_frozen_tensor_of_several(name: str) -> None:
    with pytest.raises(Unmoved, match=r"no gradient reaches 1 of the \d+ tensors of its policy"):
        trained(EVERY[name], lambda learner: parameters(learner)[-1].requires_grad_(False))


@pytest.mark.parametrize("name", ADAM)
def test_an_optimiser_that_does_not_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotAdam, "_step", lambda self, slots, grad, scale: None)
    with pytest.raises(Unmoved, match=r"has not moved: an optimiser step at learning rate 0\.003 left its"):
        trained(EVERY[name], lambda learner: None)


@pytest.mark.parametrize("name", ADAM)
def test_an_optimiser_of_copies(name: str) -> None:
    def spoil(learner: Any) -> None:
        adam = learner.policy_adam if hasattr(learner, "policy_adam") else learner.adam
        own, adam.parameters = adam.parameters, [nn.Parameter(one.detach().clone()) for one in adam.parameters]
        for copy, parameter in zip(adam.parameters, own, strict=True):
            parameter.register_post_accumulate_grad_hook(lambda p, copy=copy: setattr(copy, "grad", p.grad))

    with pytest.raises(Unmoved, match="has not moved"):
        trained(EVERY[name], spoil)


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name not in ADAM])
def test_a_table_that_is_not_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SoftmaxLearner, "climb", lambda self, gradient, rate: [{"gradient": 1.0}] * len(gradient))
    with pytest.raises(
        Unmoved, match=r"has not moved: an optimiser step at learning rate 0\.0?5 left its policy as it was"
    ):
        trained(EVERY[name], lambda learner: None)


def test_a_table_of_values_that_hands_out_copies() -> None:
    class Copies(np.ndarray):
        def __getitem__(self, key: Any) -> Any:
            return np.asarray(super().__getitem__(key)).copy()

    learner = q_learning([7])
    learner.table.values = learner.table.values.view(Copies)
    with pytest.raises(Unmoved, match=r"^learner 'learner' \(seed 7\) has not moved: a value that was \S+ away"):
        EVERY["Q-learning"].learn(learner, [7], 0)


def test_value_heads() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.heads.weights.requires_grad_(False)
    learner.collect(episodes_of(learner))
    with pytest.raises(Unmoved, match="no gradient reaches 1 of the 1 tensors of its value head"):
        learner.update((0,))


@pytest.mark.parametrize("name", [name for name in GRADIENTS if "one token" in name or "text" in name])
def test_adapters_of_which_both_halves_are_zero(name: str) -> None:
    """Their gradients exist, are finite and will be zero for ever."""

    def zero(learner: Any) -> None:
        with torch.no_grad():
            for parameter in parameters(learner):
                parameter.zero_()

    with pytest.raises(Unmoved, match="the gradient of its policy is zero, whatever it is credited with"):
        trained(EVERY[name], zero)


# --- What must not ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_equal_payoffs_are_no_reason(name: str) -> None:
    combination = EVERY[name]
    learner = combination.make([7])
    for number in range(3):
        episodes = combination.episodes(learner, [7], number)
        learner.collect(with_payoffs(episodes, 0.0) if "row" in episodes[0].turns else episodes)
        learner.update((number,))


@pytest.mark.parametrize(
    "name", [name for name in GRADIENTS if "table" in name or name in ("REINFORCE", "exact", "LOLA")]
)
def test_a_certain_policy_is_no_reason(name: str) -> None:
    """Every reply has probability 1 in single precision, and some gradients underflow to zero."""

    def certain(learner: Any) -> None:
        with torch.no_grad():
            for parameter in parameters(learner):
                parameter[..., 0] = 200.0

    trained(EVERY[name], certain)


def test_credits_that_cancel_are_no_reason() -> None:
    """Two equal replies to the same prompt, credited with opposite numbers: the gradient is zero, and the policy can learn."""
    combination = EVERY["group, table"]
    learner = combination.make([0])
    learner.settings = learner.settings.model_copy(update={"method": "grpo", "kl_coef": 0.0})
    games = [
        episode_of([("cooperate", theirs)], own=("row",), game=game)
        for game, theirs in enumerate(("cooperate", "defect"))
    ]
    before = parameters(learner)[0].detach().clone()
    learner.collect(games)
    learner.update((0,))
    assert torch.equal(parameters(learner)[0], before)
    assert learner.moving.waiting == {0}
    combination.learn(learner, [0], 1)
    assert learner.moving.waiting == set()


def test_a_rate_of_zero_a_step_below_the_spacing_of_numbers_and_a_gradient_that_is_not_finite_are_no_reason() -> None:
    for rate, gradient in ((0.0, 1.0), (1e-12, 1.0), (1.0, float("nan")), (1.0, 0.0)):
        parameter = nn.Parameter(torch.ones(1, 3))
        moving = Movement("policy", [parameter], {0: "learner 'x' (seed 0)"})
        parameter.grad = torch.full((1, 3), gradient)
        with moving.step([0], rate=rate):
            pass
        assert moving.waiting == {0}
    with pytest.raises(Unmoved, match="has not moved"), moving.step([0], rate=1e-3, gradients=[torch.ones(1, 3)]):
        pass
    with moving.step([0], rate=1e-3, gradients=[torch.ones(1, 3)]), torch.no_grad():
        parameter[0, 1] += 1e-3
    assert moving.waiting == set()


@pytest.mark.parametrize(
    "numbers", [(1e-33, 1e-30, 1e-30), (1e-30, 1e-30, 1.0), (1e-3, 1e20, 1e-30), (1e-300, 1e-8, 1.0)]
)
def test_steps_that_vanish_in_single_precision_are_no_reason(numbers: tuple[float, float, float]) -> None:
    """Of numbers that are 0, such as one half of an adapter at its beginning."""
    rate, eps, gradient = numbers
    parameter = nn.Parameter(torch.zeros(1, 3))
    moving, adam = Movement("policy", [parameter], {0: "learner 'x' (seed 0)"}), SlotAdam([parameter], [rate], eps=eps)
    parameter.grad = torch.full((1, 3), gradient)
    assert moving.adam_step(adam, [0]) == []


@pytest.mark.parametrize("name", EVERY)
def test_seeds_that_learn_are_seen_to_move(name: str) -> None:
    learner = trained(EVERY[name], lambda learner: None)
    waiting = learner._waiting if name == "Q-learning" else learner.moving.waiting
    assert waiting == set()
