"""Slot by slot, SlotAdam is torch.optim.Adam."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from coplay.models.optimiser import SlotAdam

SLOTS = 3
SHAPES = [(SLOTS, 2, 4), (SLOTS, 5)]
RATES = [0.1, 0.01, 0.5]

Parameters = list[nn.Parameter]
occasions = st.lists(st.sets(st.integers(0, SLOTS - 1), min_size=1).map(sorted), min_size=1, max_size=8)
"""Which slots step, time after time."""


def fresh(seed: int = 0) -> Parameters:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def gradients(time: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1000 + time)
    scale = 10.0 ** (time % 4 - 2)
    return [torch.randn(shape, generator=generator) * scale for shape in SHAPES]


def run(adam: SlotAdam, schedule: list[list[int]], *, start: int = 0) -> None:
    for time, slots in enumerate(schedule, start):
        adam.zero_grad()
        for parameter, gradient in zip(adam.parameters, gradients(time), strict=True):
            parameter.grad = gradient
        adam.step(slots)


def alone(slot: int, schedule: list[list[int]], **options: object) -> list[Tensor]:
    """What torch.optim.Adam makes of this slot's parameters and gradients alone."""
    own = [nn.Parameter(parameter.detach()[slot].clone()) for parameter in fresh()]
    adam = torch.optim.Adam(own, lr=RATES[slot], **options)  # type: ignore[arg-type]
    for time, slots in enumerate(schedule):
        if slot in slots:
            for parameter, gradient in zip(own, gradients(time), strict=True):
                parameter.grad = gradient[slot]
            adam.step()
    return [parameter.detach() for parameter in own]


@pytest.mark.parametrize("options", [{}, {"betas": (0.8, 0.99), "eps": 1e-4}])
@given(schedule=occasions)
def test_every_slot_steps_as_if_it_had_an_adam_of_its_own(
    options: dict[str, object], schedule: list[list[int]]
) -> None:
    adam = SlotAdam(fresh(), RATES, **options)  # type: ignore[arg-type]
    run(adam, schedule)
    for slot in range(SLOTS):
        for mine, theirs in zip(adam.parameters, alone(slot, schedule, **options), strict=True):
            torch.testing.assert_close(mine.detach()[slot], theirs, rtol=1e-5, atol=1e-6)


@given(schedule=occasions)
def test_slots_that_do_not_step_stay_bit_for_bit(schedule: list[list[int]]) -> None:
    adam = SlotAdam(fresh(), RATES)
    run(adam, schedule)
    for slot in set(range(SLOTS)) - {slot for slots in schedule for slot in slots}:
        for mine, before in zip(adam.parameters, fresh(), strict=True):
            assert torch.equal(mine[slot], before[slot])


def test_slots_have_rates_of_their_own() -> None:
    adam = SlotAdam(fresh(), [0.0, 0.2, 0.3])
    run(adam, [[0, 1, 2]])
    # Adam's first step is lr * sign(g).
    for mine, before, gradient in zip(adam.parameters, fresh(), gradients(0), strict=True):
        rates = torch.tensor([0.0, 0.2, 0.3]).view(-1, *[1] * (before.dim() - 1))
        torch.testing.assert_close(mine.detach(), before - rates * gradient.sign(), rtol=1e-4, atol=1e-5)


@given(schedule=occasions, cut=st.integers(0, 8))
def test_a_saved_state_goes_on_exactly(schedule: list[list[int]], cut: int) -> None:
    before, after = schedule[:cut], schedule[cut:]
    straight = SlotAdam(fresh(), RATES)
    run(straight, schedule)

    first = SlotAdam(fresh(), RATES)
    run(first, before)
    saved = first.state_dict()
    weights = [parameter.detach().clone() for parameter in first.parameters]
    run(first, [[0, 1, 2]], start=99)  # what happens afterwards must not reach into what was saved

    second = SlotAdam([nn.Parameter(w) for w in weights], RATES)
    second.load_state_dict(saved)
    run(second, after, start=len(before))
    for a, b in zip(straight.parameters, second.parameters, strict=True):
        assert torch.equal(a, b)


def test_zero_grad_forgets() -> None:
    adam = SlotAdam(fresh(), RATES)
    run(adam, [[0]])
    adam.zero_grad()
    assert all(parameter.grad is None for parameter in adam.parameters)


@given(longest=st.floats(0.01, 100.0))
def test_a_slots_gradient_is_cut_to_length_as_torch_would_cut_it_alone(longest: float) -> None:
    adam = SlotAdam(fresh(), RATES)
    for parameter, gradient in zip(adam.parameters, gradients(3), strict=True):
        parameter.grad = gradient.clone()
    adam.clip_grad_norm(longest)
    for slot in range(SLOTS):
        own = [nn.Parameter(torch.zeros(shape[1:])) for shape in SHAPES]
        for parameter, gradient in zip(own, gradients(3), strict=True):
            parameter.grad = gradient[slot].clone()
        nn.utils.clip_grad_norm_(own, longest)
        for mine, alone_ in zip(adam.parameters, own, strict=True):
            assert mine.grad is not None and alone_.grad is not None
            torch.testing.assert_close(mine.grad[slot], alone_.grad)


def test_slots_without_gradients_have_nothing_to_cut() -> None:
    adam = SlotAdam(fresh(), RATES)
    adam.zero_grad()
    adam.clip_grad_norm(1.0)
    assert all(parameter.grad is None for parameter in adam.parameters)
