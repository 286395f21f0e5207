"""Slot by slot, SlotAdam is torch.optim.AdamW."""

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
schedules = st.lists(st.sets(st.integers(0, SLOTS - 1), min_size=1).map(sorted), min_size=1, max_size=8)
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
    """What torch.optim.AdamW makes of this slot's parameters and gradients alone."""
    own = [nn.Parameter(parameter.detach()[slot].clone()) for parameter in fresh()]
    adam = torch.optim.AdamW(own, lr=RATES[slot], **{"weight_decay": 0.0, **options})  # type: ignore[arg-type]
    for time, slots in enumerate(schedule):
        if slot in slots:
            for parameter, gradient in zip(own, gradients(time), strict=True):
                parameter.grad = gradient[slot]
            adam.step()
    return [parameter.detach() for parameter in own]


@pytest.mark.parametrize("options", [{}, {"betas": (0.8, 0.99), "eps": 1e-4}, {"weight_decay": 0.3}])
@given(schedule=schedules)
def test_every_slot_steps_as_if_it_had_an_adam_of_its_own(
    options: dict[str, object], schedule: list[list[int]]
) -> None:
    adam = SlotAdam(fresh(), RATES, **options)  # type: ignore[arg-type]
    run(adam, schedule)
    for slot in range(SLOTS):
        for mine, theirs in zip(adam.parameters, alone(slot, schedule, **options), strict=True):
            torch.testing.assert_close(mine.detach()[slot], theirs, rtol=1e-5, atol=1e-6)


@given(schedule=schedules)
def test_slots_that_do_not_step_stay_bit_for_bit(schedule: list[list[int]]) -> None:
    adam = SlotAdam(fresh(), RATES, weight_decay=0.3)
    run(adam, schedule)
    for slot in set(range(SLOTS)) - {slot for slots in schedule for slot in slots}:
        for mine, before in zip(adam.parameters, fresh(), strict=True):
            assert torch.equal(mine[slot], before[slot])


def test_weights_shrink_where_there_is_no_gradient() -> None:
    adam = SlotAdam(fresh(), RATES, weight_decay=0.3)
    adam.step([0, 2], scale=0.5)
    for mine, before in zip(adam.parameters, fresh(), strict=True):
        kept = torch.tensor([1 - 0.1 * 0.5 * 0.3, 1.0, 1 - 0.5 * 0.5 * 0.3]).view(-1, *[1] * (before.dim() - 1))
        torch.testing.assert_close(mine.detach(), before * kept)


def test_slots_have_rates_of_their_own() -> None:
    adam = SlotAdam(fresh(), [0.0, 0.2, 0.3])
    run(adam, [[0, 1, 2]])
    # Adam's first step is lr * sign(g).
    for mine, before, gradient in zip(adam.parameters, fresh(), gradients(0), strict=True):
        rates = torch.tensor([0.0, 0.2, 0.3]).view(-1, *[1] * (before.dim() - 1))
        torch.testing.assert_close(mine.detach(), before - rates * gradient.sign(), rtol=1e-4, atol=1e-5)


@given(schedule=schedules, cut=st.integers(0, 8))
def test_a_saved_state_resumes_exactly(schedule: list[list[int]], cut: int) -> None:
    before, after = schedule[:cut], schedule[cut:]
    straight = SlotAdam(fresh(), RATES)
    run(straight, schedule)

    first = SlotAdam(fresh(), RATES)
    run(first, before)
    saved = [first.slot_state(slot) for slot in range(SLOTS)]
    weights = [parameter.detach().clone() for parameter in first.parameters]
    run(first, [[0, 1, 2]], start=99)  # what happens afterwards must not reach into what was saved

    second = SlotAdam([nn.Parameter(w) for w in weights], RATES)
    for slot, state in enumerate(saved):
        second.load_slot_state(slot, state)
    run(second, after, start=len(before))
    for a, b in zip(straight.parameters, second.parameters, strict=True):
        assert torch.equal(a, b)


def test_loading_a_slots_state_leaves_the_others_alone() -> None:
    adam, other = SlotAdam(fresh(), RATES), SlotAdam(fresh(), RATES)
    run(adam, [[0, 1, 2], [1]])
    run(other, [[0, 1, 2], [0, 2], [0, 1]])
    before = [adam.slot_state(slot) for slot in range(SLOTS)]
    adam.load_slot_state(1, other.slot_state(1))
    expected = [before[0], other.slot_state(1), before[2]]
    for slot in range(SLOTS):
        state = adam.slot_state(slot)
        assert state.keys() == expected[slot].keys()
        assert all(torch.equal(state[key], expected[slot][key]) for key in state)


def test_slots_behind_the_last_rate_cost_no_moments_and_never_move() -> None:
    parameters = fresh()
    adam = SlotAdam(parameters, RATES[:2])
    run(adam, [[0, 1]])
    assert adam.first_PD.shape == adam.second_PD.shape == (2, 2 * 4 + 5) and adam.steps_P.shape == (2,)
    for mine, before in zip(parameters, fresh(), strict=True):
        assert torch.equal(mine[2], before[2]) and not torch.equal(mine[:2], before[:2])


def test_zero_grad_discards_gradients() -> None:
    adam = SlotAdam(fresh(), RATES)
    run(adam, [[0]])
    adam.zero_grad()
    assert all(parameter.grad is None for parameter in adam.parameters)


@given(longest=st.floats(0.01, 100.0))
def test_a_slots_gradient_is_cut_to_length_as_torch_would_cut_it_alone(longest: float) -> None:
    adam = SlotAdam(fresh(), RATES)
    for parameter, gradient in zip(adam.parameters, gradients(3), strict=True):
        parameter.grad = gradient.clone()
    norms_P = adam.clip_grad_norm(longest)
    assert norms_P.shape == (SLOTS,)
    for slot in range(SLOTS):
        own = [nn.Parameter(torch.zeros(shape[1:])) for shape in SHAPES]
        for parameter, gradient in zip(own, gradients(3), strict=True):
            parameter.grad = gradient[slot].clone()
        assert float(norms_P[slot]) == pytest.approx(float(nn.utils.clip_grad_norm_(own, longest)), rel=1e-5)
        for mine, alone_ in zip(adam.parameters, own, strict=True):
            assert mine.grad is not None and alone_.grad is not None
            torch.testing.assert_close(mine.grad[slot], alone_.grad)


def test_slots_without_gradients_have_nothing_to_cut() -> None:
    adam = SlotAdam(fresh(), RATES)
    adam.zero_grad()
    adam.clip_grad_norm(1.0)
    assert all(parameter.grad is None for parameter in adam.parameters)


def test_all_slots_at_once_step_to_the_bit_as_in_any_other_order() -> None:
    """All slots in order are stepped in place, others are copied out and back."""
    together, apart = SlotAdam(fresh(), RATES), SlotAdam(fresh(), RATES)
    run(together, [[0, 1, 2]] * 5)
    run(apart, [[2, 0, 1]] * 5)
    for one, other in zip(together.parameters, apart.parameters, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(together.first_PD, apart.first_PD) and torch.equal(together.second_PD, apart.second_PD)
