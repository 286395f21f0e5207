"""Recorded passes: what the passes themselves compute, with the weights of the moment, whatever else is going on.

On a GPU they are recorded. Elsewhere stand-ins run them, which share one memory as graphs do: the last pass's backward pass is the only one there is.
"""

import gc
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from small_models import ALPHA, RANK, Bench, shake
from test_packed_grid import DEVICES, PACKED, gradients, some_rows
from torch import Tensor, nn

from coplay.models import graphed_grid
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.graphed_grid import GraphedGrid, padded_rows
from coplay.models.known import Precision
from coplay.models.loading import load_model
from coplay.models.packed_grid import PackedGrid
from coplay.models.scoring import Prompt, Scorer

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class ReadsNow:
    """Stands for a pass that is recorded without gradients."""

    def __init__(self, run: graphed_grid.Pass, *_: object) -> None:
        self.run = run

    def __call__(self, inputs: Sequence[Tensor]) -> Tensor:
        with torch.no_grad():
            return self.run(inputs)


class LearnsNow:
    """Stands for one with gradients."""

    last: Tensor
    """What the last forward pass of all returned, with its gradients."""

    def __init__(
        self, run: graphed_grid.Pass, _: object, inputs: Sequence[Tensor], weights: Sequence[nn.Parameter], *__: object
    ) -> None:
        self.run, self.inputs, self.weights = run, [one.clone() for one in inputs], weights

    def run_forward(self) -> Tensor:
        with torch.enable_grad():
            LearnsNow.last = self.run(self.inputs)
        return LearnsNow.last.detach().clone()

    def run_backward(self, by_hidden_RH: Tensor) -> list[Tensor | None]:
        return list(torch.autograd.grad(LearnsNow.last, self.weights, by_hidden_RH, allow_unused=True))


def make(path: Path, device: str, *, precision: Precision = Precision.FLOAT32) -> Bench:
    loaded = load_model(str(path), device=device, precision=precision)
    bank = AdapterBank(loaded.model, [SlotName("row", i) for i in range(3)], rank=RANK, alpha=ALPHA)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, B in bank.weights.values():
            B.copy_(torch.randn(B.shape, generator=generator) * 0.02)
    return Bench(path, loaded, bank, Scorer(loaded.model, bank))


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=PACKED)
def graphed(
    checkpoints: dict[str, Path], request: pytest.FixtureRequest, device: str, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    if device == "cuda":
        bench = make(checkpoints[request.param], device)
        assert isinstance(bench.scorer.decoder, GraphedGrid)
        return bench
    monkeypatch.setattr(graphed_grid, "_ReadingPass", ReadsNow)
    monkeypatch.setattr(graphed_grid, "_LearningPass", LearnsNow)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
    bench = make(checkpoints[request.param], device)
    assert bench.scorer.packed is not None
    bench.scorer.shares_passes = True
    bench.scorer.decoder = GraphedGrid(bench.scorer.packed.decoder, bench.bank)
    return bench


def unrecorded(bench: Bench, slots: list[int], prompts: list[Prompt], *, grad: bool = False) -> Tensor:
    kept = bench.scorer.decoder
    assert bench.scorer.packed is not None
    bench.scorer.decoder = PackedGrid(bench.scorer.packed.decoder)
    bench.scorer._prefixes.clear()
    try:
        return bench.scorer.score(slots, prompts, grad=grad).logits_RV
    finally:
        bench.scorer.decoder = kept


def same(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * max(1.0, float(b.abs().max())))


@pytest.mark.parametrize("shared", [0, 20, 40])
def test_replays_are_the_passes(graphed: Bench, shared: int) -> None:
    for seed in (1, 2, 1, 3, 1):
        slots, prompts = some_rows(seed, shared=shared)
        same(graphed.scorer.score(slots, prompts).logits_RV, unrecorded(graphed, slots, prompts))
        got = graphed.scorer.score(slots, prompts, grad=True).logits_RV
        expected = unrecorded(graphed, slots, prompts, grad=True)
        same(got.detach(), expected.detach())
        for a, b in zip(gradients(graphed, got), gradients(graphed, expected), strict=True):
            assert b.abs().max() > 1e-4
            torch.testing.assert_close(a, b, rtol=2e-3, atol=2e-3 * float(b.abs().max()))
        step = [slot for slot in (0, 2) if random.Random(seed).random() < 0.7]
        for name, weights in graphed.bank.weights.items():  # the next replay sees other weights, in the same place
            with torch.no_grad():
                for slot in step:
                    weights[1][slot].mul_(0.9).add_(0.001 * (len(name) % 3))
        graphed.bank.bump_version(step)


def test_two_passes_may_wait_for_their_backward_passes(graphed: Bench) -> None:
    first, second = some_rows(4, shared=20), some_rows(5, shared=20)
    graphed.scorer.score(*first, grad=True)  # recorded, and nobody waits for it
    gc.collect()
    a = graphed.scorer.score(*first, grad=True).logits_RV
    b = graphed.scorer.score(*second, grad=True).logits_RV
    both = [*gradients(graphed, b), *gradients(graphed, a)]
    alone = [
        *gradients(graphed, unrecorded(graphed, *second, grad=True)),
        *gradients(graphed, unrecorded(graphed, *first, grad=True)),
    ]
    for mine, theirs in zip(both, alone, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-3, atol=2e-3 * float(theirs.abs().max()))


def test_gradients_add_up_over_passes(graphed: Bench) -> None:
    rows = [some_rows(seed, shared=20) for seed in (6, 6, 7)]
    for slots, prompts in rows:
        graphed.scorer.score(slots, prompts, grad=True).logits_RV.log_softmax(-1)[:, 9].sum().backward()
    mine = [parameter.grad for parameter in graphed.bank.parameters()]
    for parameter in graphed.bank.parameters():
        parameter.grad = None
    for slots, prompts in rows:
        unrecorded(graphed, slots, prompts, grad=True).log_softmax(-1)[:, 9].sum().backward()
    for got, parameter in zip(mine, graphed.bank.parameters(), strict=True):
        assert got is not None and parameter.grad is not None
        torch.testing.assert_close(got, parameter.grad, rtol=2e-3, atol=2e-3 * float(parameter.grad.abs().max()))


def test_a_dropped_pass_makes_nobody_wait(graphed: Bench) -> None:
    decoder = graphed.scorer.decoder
    assert isinstance(decoder, GraphedGrid)
    for seed in (8, 9, 8, 9):
        scores = graphed.scorer.score(*some_rows(seed, shared=20), grad=True)
        assert len(decoder._waiting) == 1
        del scores
        gc.collect()
        assert len(decoder._waiting) == 0


@needs_gpu
def test_16_bits_are_near_32(checkpoints: dict[str, Path]) -> None:
    slots, prompts = some_rows(10, shared=20)
    exact = make(checkpoints["qwen3"], "cuda").scorer.score(slots, prompts).logits_RV
    rounded = make(checkpoints["qwen3"], "cuda", precision=Precision.BFLOAT16).scorer.score(slots, prompts).logits_RV
    assert (exact - rounded).square().mean().sqrt() < 0.1 * exact.std()


def test_rows_are_padded_to_few_numbers() -> None:
    assert [padded_rows(n) for n in (1, 3, 4, 5, 6, 9, 16, 17, 24, 25)] == [1, 3, 4, 6, 6, 10, 16, 24, 24, 32]
    assert all(n <= padded_rows(n) < 1.5 * n + 1 for n in range(1, 200))


def test_a_cpu_records_nothing(checkpoints: dict[str, Path]) -> None:
    loaded = load_model(str(checkpoints["qwen3"]), device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", 0)], rank=RANK, alpha=ALPHA)
    shake(bank)
    assert not isinstance(Scorer(loaded.model, bank).decoder, GraphedGrid)
