"""Losses, row by row, against the formulas of the papers written with plain numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coplay.learners.losses import (
    clipped_policy_loss,
    clipped_value_loss,
    cosine_schedule,
    linear_schedule,
    lr_factor,
    sparse_target_kl,
)
from coplay.models.entropy import restricted_entropy

numbers = st.floats(-3, 3, width=32)
triples = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=10)
clips = st.sampled_from([1e-4, 0.1, 0.2])


def columns(rows: list[tuple[float, ...]]) -> list[torch.Tensor]:
    return [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)]


@given(triples, clips)
def test_policy_loss_is_the_clipped_surrogate(rows: list[tuple[float, float, float]], clip: float) -> None:
    logprobs, old, advantages = columns(rows)
    expected = []
    for new_one, old_one, advantage in rows:
        ratio = math.exp(new_one) / math.exp(old_one)
        clipped = 1 - clip if ratio < 1 - clip else 1 + clip if ratio > 1 + clip else ratio
        expected.append(-min(ratio * advantage, clipped * advantage))
    got = clipped_policy_loss(logprobs, old, advantages, clip=clip)
    assert got.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(triples, clips)
def test_policy_gradient_is_zero_outside_the_clip_and_only_there(
    rows: list[tuple[float, float, float]], clip: float
) -> None:
    logprobs, old, advantages = columns(rows)
    logprobs.requires_grad_(True)
    clipped_policy_loss(logprobs, old, advantages, clip=clip).sum().backward()
    assert logprobs.grad is not None
    for (new_one, old_one, advantage), slope in zip(rows, logprobs.grad.tolist(), strict=True):
        ratio = math.exp(new_one - old_one)
        if any(math.isclose(ratio, edge, rel_tol=1e-6) for edge in (1 - clip, 1 + clip)):
            continue  # at the corner any subgradient will do
        outside = ratio > 1 + clip if advantage > 0 else ratio < 1 - clip
        assert slope == pytest.approx(0.0 if outside else -advantage * ratio, rel=1e-6, abs=1e-12)


@given(triples, clips)
def test_value_loss_takes_the_worse_of_clipped_and_free(rows: list[tuple[float, float, float]], clip: float) -> None:
    values, old, returns = columns(rows)
    expected = []
    for value, before, target in rows:
        near = min(max(value, before - clip), before + clip)
        expected.append(max((value - target) ** 2, (near - target) ** 2) / 2)
    assert clipped_value_loss(values, old, returns, clip=clip).tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_value_gradient_is_zero_once_the_value_has_moved_far_enough_towards_its_target() -> None:
    values = torch.tensor([0.5, 0.1, -0.5], requires_grad=True)
    clipped_value_loss(values, torch.zeros(3), torch.ones(3), clip=0.2).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == pytest.approx([0.0, 0.1 - 1.0, -0.5 - 1.0])


@given(st.lists(st.lists(st.floats(-20, 20), min_size=3, max_size=3), min_size=1, max_size=6))
def test_restricted_entropy_is_minus_sum_p_log_p(rows: list[list[float]]) -> None:
    expected = []
    for logits in rows:
        weights = [math.exp(logit - max(logits)) for logit in logits]
        probs = [weight / sum(weights) for weight in weights]
        expected.append(-sum(p * math.log(p) for p in probs if p > 0))
    got = restricted_entropy(torch.tensor(rows, dtype=torch.float64))
    assert got.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_restricted_entropy_of_two_equals_is_log_two_whatever_the_rest_of_the_vocabulary_holds() -> None:
    logits = torch.tensor([[3.0, 3.0, 50.0], [-2.0, -2.0, -9.0]])
    assert restricted_entropy(logits[:, :2]).tolist() == pytest.approx([math.log(2)] * 2)


def test_the_schedule_is_a_line_and_then_flat() -> None:
    assert [linear_schedule(1.0, 0.2, step=s, steps=4) for s in range(6)] == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0.2])
    assert [linear_schedule(0.0, 0.5, step=s, steps=2) for s in range(4)] == pytest.approx([0, 0.25, 0.5, 0.5])
    assert linear_schedule(1.0, 0.3, step=0, steps=0) == 0.3
    late = [linear_schedule(0.0, 0.5, step=s, steps=2, delay=3) for s in range(7)]
    assert late == pytest.approx([0, 0, 0, 0, 0.25, 0.5, 0.5])
    assert [linear_schedule(0.0, 0.5, step=s, steps=0, delay=2) for s in range(4)] == [0.0, 0.0, 0.5, 0.5]


def test_the_cosine_rises_in_a_line_and_falls_to_nothing() -> None:
    rates = [cosine_schedule(2.0, step=step, steps=10, warmup=0.2) for step in range(11)]
    assert rates[:3] == pytest.approx([1.0, 2.0, 2.0])
    assert rates[6] == pytest.approx(1.0)
    assert rates[10] == pytest.approx(0.0)
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert cosine_schedule(2.0, step=0, steps=1, warmup=0.0) == 2.0


@given(st.lists(numbers, min_size=4, max_size=9), st.floats(0, 1))
def test_sparse_kl_is_the_kl_divergence_over_the_whole_vocabulary(logits: list[float], first: float) -> None:
    replies, target = [2, 0], [first, 1 - first]
    whole = [0.0] * len(logits)
    for reply, probability in zip(replies, target, strict=True):
        whole[reply] = probability
    norm = sum(math.exp(x) for x in logits)
    expected = sum(t * math.log(t / (math.exp(x) / norm)) for t, x in zip(whole, logits, strict=True) if t > 0)
    row = torch.tensor([logits], dtype=torch.float64)
    got = sparse_target_kl(row, torch.tensor([replies]), torch.tensor([target], dtype=torch.float64))
    assert got.tolist() == pytest.approx([expected], rel=1e-9, abs=1e-9)
    assert got.item() >= -1e-9


def test_sparse_kl_pushes_every_other_token_down() -> None:
    logits = torch.zeros(1, 5, dtype=torch.float64, requires_grad=True)
    sparse_target_kl(logits, torch.tensor([[1, 3]]), torch.tensor([[1.0, 0.0]], dtype=torch.float64)).sum().backward()
    assert logits.grad is not None  # softmax minus target
    assert logits.grad[0].tolist() == pytest.approx([0.2, -0.8, 0.2, 0.2, 0.2])


def test_the_learning_rate_rises_and_falls_in_straight_lines() -> None:
    factors = [lr_factor(step, warmup=4, decay=2, end=0.2) for step in range(1, 9)]
    assert factors == pytest.approx([0.25, 0.5, 0.75, 1.0, 0.6, 0.2, 0.2, 0.2])
    assert [lr_factor(step, warmup=0, decay=0, end=1.0) for step in (1, 2, 100)] == [1.0, 1.0, 1.0]
