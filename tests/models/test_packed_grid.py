"""All slots in one pass, as on a GPU: the same logits and gradients as slot by slot and as the model's own."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from small_models import Bench, make_bench, plain_logits, shake
from test_scoring import random_prompts
from torch import Tensor

from coplay.models.bank import REFERENCE
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.packed_grid import PackedGrid
from coplay.models.scoring import Prompt, Scorer

PACKED = ("gemma2", "qwen2", "qwen3")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


@pytest.fixture(params=PACKED)
def grid(checkpoints: dict[str, Path], request: pytest.FixtureRequest) -> Bench:
    """A model that computes all slots together, wherever it is."""
    bench = make_bench(checkpoints[request.param])
    bench.scorer.shares_passes = True
    assert isinstance(bench.scorer.decoder, PackedGrid)
    return bench


def some_rows(seed: int, *, shared: int) -> tuple[list[int], list[Prompt]]:
    """Slots with different numbers of different prompts, some of them twice."""
    rng = random.Random(seed)
    prompts = random_prompts(rng, shared=shared, count=5)
    pairs = [(slot, prompt) for slot, own in ((REFERENCE, 2), (0, 5), (2, 3)) for prompt in rng.sample(prompts, own)]
    pairs += rng.sample(pairs, 3)
    rng.shuffle(pairs)
    return [slot for slot, _ in pairs], [prompt for _, prompt in pairs]


def gradients(bench: Bench, logits_RV: Tensor) -> tuple[Tensor, ...]:
    weights_R = torch.linspace(-1.0, 1.0, len(logits_RV), device=logits_RV.device)
    loss = (weights_R * logits_RV.log_softmax(-1)[:, 9]).sum()
    return torch.autograd.grad(loss, bench.bank.parameters())


def slot_by_slot(bench: Bench, slots: Sequence[int], prompts: Sequence[Prompt]) -> Tensor:
    bench.scorer.shares_passes = False
    try:
        return bench.scorer.score(slots, prompts, grad=True).logits_RV
    finally:
        bench.scorer.shares_passes = True


@pytest.mark.parametrize("shared", [0, 3, 20])
def test_one_pass_of_all_slots_is_the_models_own(grid: Bench, shared: int) -> None:
    for seed in (1, 2, 1):  # the last batch's beginning has been read before
        slots, prompts = some_rows(seed, shared=shared)
        expected = torch.stack([plain_logits(grid.model, grid.bank, s, p) for s, p in zip(slots, prompts, strict=True)])
        got = grid.scorer.score(slots, prompts)
        torch.testing.assert_close(got.logits_RV, expected.detach(), rtol=2e-4, atol=2e-4)
        got = grid.scorer.score(slots, prompts, grad=True)
        torch.testing.assert_close(got.logits_RV, expected, rtol=2e-4, atol=2e-4)
        own, theirs, apart = (
            gradients(grid, logits_RV) for logits_RV in (got.logits_RV, expected, slot_by_slot(grid, slots, prompts))
        )
        for a, b, c in zip(own, theirs, apart, strict=True):
            assert b.abs().max() > 1e-4
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))
            torch.testing.assert_close(a, c, rtol=1e-3, atol=1e-3 * float(b.abs().max()))


def test_a_kept_beginning_is_dropped_when_its_slot_changes(grid: Bench) -> None:
    slots, prompts = some_rows(5, shared=20)
    before = grid.scorer.score(slots, prompts).logits_RV
    shake(grid.bank, slots=[2], seed=7)
    after = grid.scorer.score(slots, prompts).logits_RV
    changed = torch.tensor([slot == 2 for slot in slots])
    torch.testing.assert_close(before[~changed], after[~changed], rtol=2e-4, atol=2e-4)
    assert not torch.allclose(before[changed], after[changed], atol=1e-2)


def test_hidden_states_at_places_are_those_of_rows_alone(grid: Bench) -> None:
    rng = random.Random(8)
    ids_NL = torch.tensor([[rng.randrange(5, 300) for _ in range(9)] for _ in range(3)])
    places_NK = torch.tensor([[0, 8], [3, 4], [7, 7]])
    with torch.no_grad(), grid.bank.route([1]):
        got_NKH = grid.scorer.decoder.hidden_at(ids_NL, places_NK)
        for ids_L, places_K, got_KH in zip(ids_NL, places_NK, got_NKH, strict=True):
            own_LH = grid.model.get_decoder()(input_ids=ids_L[None], use_cache=False).last_hidden_state[0]
            torch.testing.assert_close(got_KH, own_LH[places_K], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_decides_how_slots_are_read(checkpoints: dict[str, Path], device: str) -> None:
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.models.loading import load_model

    model = load_model(str(checkpoints["qwen3"]), device=device).model
    scorer = Scorer(model, AdapterBank(model, [SlotName("row", 0)], rank=2, alpha=4.0))
    assert PackedDecoder.supports(model)
    assert scorer.shares_passes == (device == "cuda")
