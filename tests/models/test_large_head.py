"""Log-probabilities under a head of many words: a few tokens at a time, with the gradients of the straightforward computation."""

from __future__ import annotations

import pytest
import torch
from small_models import Bench
from torch import Tensor, nn

from coplay.models import large_head, sampling
from coplay.models.generation import Generator
from coplay.models.large_head import Reading, is_large, token_scores

TOKENS, WIDTH, WORDS = 11, 8, 50


def straightforward(hidden_NH: Tensor, head: nn.Linear, tokens_N: Tensor, reading: Reading) -> tuple[Tensor, Tensor]:
    logits_NV = head(hidden_NH).float()
    if reading.softcap is not None:
        logits_NV = reading.softcap * torch.tanh(logits_NV / reading.softcap)
    logprobs_NV = torch.log_softmax(logits_NV / reading.temperature, -1)
    return logprobs_NV.gather(1, tokens_N[:, None])[:, 0], -(logprobs_NV.exp() * logprobs_NV).sum(-1)


def example(dtype: torch.dtype = torch.float32, tokens: int = TOKENS) -> tuple[Tensor, nn.Linear, Tensor]:
    torch.manual_seed(0)
    head = nn.Linear(WIDTH, WORDS, bias=False).to(dtype)
    return torch.randn(tokens, WIDTH, dtype=dtype), head, torch.randint(WORDS, (tokens,))


@pytest.mark.parametrize("rows", [1, 4, TOKENS, 100])
@pytest.mark.parametrize("softcap", [None, 1.5])
@pytest.mark.parametrize("trained", [False, True])
def test_values_and_gradients_are_those_of_the_whole(rows: int, softcap: float | None, trained: bool) -> None:
    hidden_NH, head, tokens_N = example()
    head.weight.requires_grad_(trained)
    weights = torch.randn(2, TOKENS)
    found = []
    for compute in (straightforward, token_scores):
        leaf, head.weight.grad = hidden_NH.clone().requires_grad_(), None
        scores = compute(leaf, head, tokens_N, Reading(0.8, softcap, rows))
        sum((one * weight).sum() for one, weight in zip(scores, weights, strict=True)).backward()  # type: ignore[union-attr]
        assert (head.weight.grad is not None) is trained
        found.append([*scores, leaf.grad, *([head.weight.grad] if trained else [])])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_gradients_are_those_of_differences() -> None:
    hidden_NH, head, tokens_N = example(torch.float64, tokens=3)

    def scores(hidden: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        head.weight = nn.Parameter(weight, requires_grad=False)
        found: tuple[Tensor, ...] = large_head._TokenScores.apply(hidden, weight, tokens_N, Reading(1.3, 2.0, 2))  # type: ignore[no-untyped-call]
        return found

    inputs = hidden_NH.requires_grad_(), head.weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(scores, inputs, eps=1e-3, atol=1e-3, rtol=1e-2)  # values are in single precision


@pytest.mark.parametrize("hidden_dtype", [torch.bfloat16, torch.float32])
def test_half_precision_is_as_good_as_the_whole(hidden_dtype: torch.dtype) -> None:
    hidden_NH, head, tokens_N = example(torch.bfloat16)
    found = []
    for compute, dtype in ((straightforward, torch.bfloat16), (token_scores, hidden_dtype)):
        leaf = hidden_NH.to(dtype).clone().requires_grad_()
        logprobs_N, entropies_N = compute(leaf, head, tokens_N, Reading(1.0, None, 4))
        assert logprobs_N.dtype == entropies_N.dtype == torch.float32
        (logprobs_N - 0.1 * entropies_N).sum().backward()
        assert leaf.grad is not None and leaf.grad.dtype == dtype
        found.append((logprobs_N, leaf.grad.float()))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2)


def test_no_tokens_are_no_scores() -> None:
    hidden_NH, head, tokens_N = example(tokens=0)
    assert [len(one) for one in token_scores(hidden_NH, head, tokens_N, Reading(1.0, None, 4))] == [0, 0]


def test_only_large_plain_heads_are_taken() -> None:
    assert is_large(nn.Linear(2, large_head.LARGE, bias=False))
    assert not is_large(nn.Linear(2, large_head.LARGE - 1, bias=False))
    assert not is_large(nn.Linear(2, large_head.LARGE))


def test_a_whole_model_scores_replies_the_same(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any architecture, a cap on its logits or not: log-probabilities, entropies and the adapters' gradients."""
    generator = Generator(bench.scorer, stop=())
    prompts, replies = [(5, 6, 7, 8), (9, 10)], [(11, 12, 13), (14,)]
    found = []
    for least in (large_head.LARGE, 1):
        monkeypatch.setattr(large_head, "LARGE", least)
        monkeypatch.setattr(sampling, "_LOGITS_PER_CHUNK", 2 * int(bench.scorer.head.weight.shape[0]))
        parameters = [one for pair in bench.bank.weights.values() for one in pair]
        for one in parameters:
            one.grad = None
        scores = generator.score([0, 1], prompts, replies, temperature=0.7, grad=True)
        (scores.logprobs_N.sum() + 0.5 * scores.entropies_N.sum()).backward()
        found.append([scores.logprobs_N, scores.entropies_N, *(one.grad for one in parameters)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
