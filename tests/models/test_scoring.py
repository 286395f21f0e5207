"""Scoring many prompts at once gives what the model says to each of them alone."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_models import (
    Bench,
    export_adapter,
    game_prompts,
    make_bench,
    plain_logits,
    shake,
    slot_states,
    write_checkpoint,
)
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from coplay.errors import UsageError
from coplay.models import fused_functions, fused_llama, scoring
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.packed_prompts import PackedPrompts
from coplay.models.scoring import Engine, Prompt, Scorer

per_family = settings(
    max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-4)


def check(bench: Bench, slots: Sequence[int], prompts: Sequence[Prompt], *, grad: bool = False) -> None:
    """Every row is what the model says to that prompt alone."""
    scores = bench.scorer.score(slots, prompts, grad=grad)
    assert scores.logits_RV.dtype == scores.hidden_RH.dtype == torch.float32
    assert len(scores.hidden_RH) == len(prompts)
    with torch.no_grad():
        for row, (slot, prompt) in enumerate(zip(slots, prompts, strict=True)):
            close(scores.logits_RV[row].detach(), plain_logits(bench.model, bench.bank, slot, prompt))


def random_prompts(rng: random.Random, *, shared: int, count: int, longest: int = 12) -> list[Prompt]:
    """Prompts of ragged lengths that begin alike."""
    prefix = tuple(rng.randrange(5, 300) for _ in range(shared))
    return [prefix + tuple(rng.randrange(5, 300) for _ in range(rng.randint(1, longest))) for _ in range(count)]


@per_family
@given(
    seed=st.integers(0, 10_000),
    shared=st.sampled_from([0, 3, 20]),
    count=st.integers(1, 7),
    repeats=st.integers(0, 4),
    grad=st.booleans(),
)
def test_a_batch_is_its_rows(bench: Bench, seed: int, shared: int, count: int, repeats: int, grad: bool) -> None:
    rng = random.Random(seed)
    prompts = random_prompts(rng, shared=shared, count=count)
    slots = [rng.choice([REFERENCE, 0, 1, 2]) for _ in prompts]
    pairs = list(zip(slots, prompts, strict=True))
    pairs += [rng.choice(pairs) for _ in range(repeats)]  # the same prompt under the same slot
    pairs += [(rng.choice([REFERENCE, 0, 1, 2]), rng.choice(prompts)) for _ in range(repeats)]  # or under another
    rng.shuffle(pairs)
    check(bench, [slot for slot, _ in pairs], [prompt for _, prompt in pairs], grad=grad)


def test_real_prompts_under_all_slots(bench: Bench, family: str) -> None:
    prompts = game_prompts(bench.loaded, family)
    slots = [slot for slot in (REFERENCE, 0, 1, 2) for _ in prompts]
    check(bench, slots, prompts * 4)
    check(bench, slots[::-1], prompts * 4, grad=True)


@pytest.mark.parametrize("slots", [[0, 0, 0], [0, 1, REFERENCE], [REFERENCE] * 3])
def test_prompts_equal_to_one_another(bench: Bench, slots: list[int]) -> None:
    (prompt,) = random_prompts(random.Random(1), shared=10, count=1)
    check(bench, slots, [prompt] * 3)


def test_one_prompt_may_be_the_beginning_of_another(bench: Bench) -> None:
    (long,) = random_prompts(random.Random(2), shared=30, count=1)
    check(bench, [0, 0, 1, 1], [long[:20], long, long[:21], long[:20]])


def test_a_prompt_of_one_token(bench: Bench) -> None:
    check(bench, [0, 1], [(7,), (7, 8, 9)])


@pytest.mark.parametrize("tokens", [1, 17, 60])
def test_chunks_make_no_difference(bench: Bench, monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    monkeypatch.setattr(scoring, "_TOKENS_PER_PASS", tokens)
    rng = random.Random(tokens)
    prompts = random_prompts(rng, shared=15, count=7)
    check(bench, [rng.choice([REFERENCE, 0, 2]) for _ in prompts], prompts)
    check(bench, [0] * 7, prompts, grad=True)


def test_equal_pairs_are_scored_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, int] = {}
    grid, ends = Scorer._score_grid, PackedPrompts.ends

    def of_grid(
        self: Scorer, rows: Mapping[int, Sequence[Prompt]], prefix: Prompt, *, grad: bool
    ) -> tuple[Tensor, Tensor]:
        seen.update({slot: len(own) for slot, own in rows.items()})
        return grid(self, rows, prefix, grad=grad)

    def of_ends(self: PackedPrompts, slot: int, prompts: Sequence[Prompt], prefix: Prompt, *, grad: bool) -> Tensor:
        seen[slot] = len(prompts)
        return ends(self, slot, prompts, prefix, grad=grad)

    monkeypatch.setattr(Scorer, "_score_grid", of_grid)
    monkeypatch.setattr(PackedPrompts, "ends", of_ends)
    a, b = random_prompts(random.Random(3), shared=12, count=2)
    bench.scorer.score([0, 1, 0, 0, 1, 1], [a, a, a, b, a, b])
    assert seen == {0: 2, 1: 2}


# --- What is kept between calls ---------------------------------------------------------------------------------------------


KEPT = [0, 0, 1, 1, REFERENCE, REFERENCE]
"""More rows than slots, so that the prefix is encoded apart."""


def test_a_kept_prefix_is_dropped_when_its_slot_changes(bench: Bench) -> None:
    prompts = random_prompts(random.Random(4), shared=20, count=2) * 3
    check(bench, KEPT, prompts)
    before = bench.scorer.score(KEPT, prompts).logits_RV
    kept = bench.scorer._prefixes if bench.scorer.packed is None else bench.scorer.packed._beginnings._known
    assert len(kept) >= 1
    shake(bench.bank, slots=[1], seed=99)
    check(bench, KEPT, prompts)
    after = bench.scorer.score(KEPT, prompts).logits_RV
    assert not torch.allclose(before[2:4], after[2:4], atol=1e-2)
    close(before[[0, 1, 4, 5]], after[[0, 1, 4, 5]])


def test_a_kept_prefix_is_dropped_when_a_checkpoint_or_an_adapter_is_loaded(bench: Bench, tmp_path: Path) -> None:
    prompts = random_prompts(random.Random(5), shared=20, count=2) * 3
    saved = slot_states(bench.bank)
    export_adapter(bench.bank, 2, tmp_path / "adapter", base_model="x")
    check(bench, KEPT, prompts)
    shake(bench.bank, seed=98)
    check(bench, KEPT, prompts)
    for slot, state in enumerate(saved):
        bench.bank.load_slot_state(slot, state)
    check(bench, KEPT, prompts)
    bench.bank.import_peft(0, tmp_path / "adapter")
    check(bench, KEPT, prompts)


def test_more_prefixes_than_are_kept(bench: Bench) -> None:
    groups = [random_prompts(random.Random(10 + i), shared=15, count=2) for i in range(12)]
    for prompts in [*groups, *groups[::-1]]:
        check(bench, [0, 0], prompts)


def test_a_prefix_kept_without_gradients_is_not_used_with_them(bench: Bench) -> None:
    prompts = random_prompts(random.Random(6), shared=20, count=3)
    bench.scorer.score([0, 0, 1], prompts)
    grads = gradients(bench, [0, 0, 1], prompts)
    check(bench, [0, 0, 1], prompts)
    for mine, theirs in zip(grads, plain_gradients(bench, [0, 0, 1], prompts), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3 * float(theirs.abs().max()))


# --- Gradients --------------------------------------------------------------------------------------------------------------


def loss(logits_RV: torch.Tensor) -> torch.Tensor:
    """Something that depends on every row differently."""
    weights = torch.arange(1.0, len(logits_RV) + 1)
    return (weights * torch.log_softmax(logits_RV, -1)[:, 9]).sum()


def gradients(bench: Bench, slots: Sequence[int], prompts: Sequence[Prompt]) -> list[torch.Tensor]:
    parameters = bench.bank.parameters()
    return list(torch.autograd.grad(loss(bench.scorer.score(slots, prompts, grad=True).logits_RV), parameters))


def plain_gradients(bench: Bench, slots: Sequence[int], prompts: Sequence[Prompt]) -> list[torch.Tensor]:
    logits = [plain_logits(bench.model, bench.bank, slot, p) for slot, p in zip(slots, prompts, strict=True)]
    return list(torch.autograd.grad(loss(torch.stack(logits)), bench.bank.parameters()))


@pytest.mark.parametrize("shared", [0, 20])
def test_gradients_are_those_of_the_plain_way(bench: Bench, shared: int) -> None:
    prompts = random_prompts(random.Random(shared), shared=shared, count=4)
    prompts += prompts[:2]  # duplicates must be paid for twice
    slots = [0, 1, REFERENCE, 1, 0, 2]
    for mine, theirs in zip(gradients(bench, slots, prompts), plain_gradients(bench, slots, prompts), strict=True):
        assert theirs.abs().max() > 1e-3
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3 * float(theirs.abs().max()))


@pytest.mark.parametrize("packed", [0, 10_000])
@pytest.mark.parametrize("distinct", [0, 10_000])
def test_all_ways_through_the_fused_decoder_give_the_same(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: int, distinct: int
) -> None:
    monkeypatch.setattr(fused_llama, "_MAX_PACKED_TOKENS", packed)
    monkeypatch.setattr(fused_llama, "_MIN_TOKENS_TO_DEDUPLICATE", distinct)
    for path in (checkpoints["llama"], write_checkpoint(tmp_path / "model", "llama_grouped", attention_bias=False)):
        bench = make_bench(path)
        assert isinstance(bench.scorer.decoder, fused_llama.FusedLlama)
        prompts = random_prompts(random.Random(3), shared=20, count=5)
        slots = [0, 1, REFERENCE, 1, 1]  # slots with one row, with several, and the base between them
        check(bench, slots, prompts)
        check(bench, slots, prompts, grad=True)
        for mine, theirs in zip(gradients(bench, slots, prompts), plain_gradients(bench, slots, prompts), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3 * float(theirs.abs().max()))


def test_its_own_gradients_are_those_of_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: fused_functions.rms_norm(x, 1e-6), x)
    assert torch.autograd.gradcheck(fused_functions.swiglu, x)
    with torch.no_grad():
        off = fused_functions.rms_norm(x, 1e-6), fused_functions.swiglu(x)
    assert torch.equal(off[0], fused_functions.rms_norm(x, 1e-6)) and torch.equal(off[1], fused_functions.swiglu(x))


def test_without_grad_nothing_is_recorded(bench: Bench) -> None:
    prompts = random_prompts(random.Random(7), shared=20, count=3)
    scores = bench.scorer.score([0, 1, 0], prompts)
    assert not scores.logits_RV.requires_grad and not scores.hidden_RH.requires_grad


def test_hidden_states_are_what_the_head_reads(bench: Bench) -> None:
    prompts = random_prompts(random.Random(8), shared=20, count=3)
    scores = bench.scorer.score([0, 1, REFERENCE], prompts)
    logits = bench.model.get_output_embeddings()(scores.hidden_RH)
    cap = getattr(bench.model.config, "final_logit_softcapping", None)
    close(scores.logits_RV, cap * torch.tanh(logits / cap) if cap else logits)


# --- Architectures with a mind of their own -----------------------------------------------------------------------------------


def test_gemmas_soft_cap_is_honoured(checkpoints: dict[str, Path]) -> None:
    bench = make_bench(checkpoints["gemma2"])
    scores = bench.scorer.score([0], [(5, 6, 7, 8)])
    assert float(scores.logits_RV.abs().max()) <= 3.0
    uncapped = bench.model.get_output_embeddings()(scores.hidden_RH)
    assert float(uncapped.abs().max()) > 6.0


def test_a_prefix_longer_than_the_sliding_window(tmp_path: Path) -> None:
    bench = make_bench(write_checkpoint(tmp_path / "model", "gemma2", sliding_window=8))
    prompts = random_prompts(random.Random(9), shared=30, count=4)
    check(bench, [0, 1, 0, REFERENCE], prompts)
    check(bench, [0, 1, 0, REFERENCE], prompts, grad=True)


class Changed(nn.Module):
    """A model that does something to its logits that no config field names."""

    def __init__(self, path: Path, dtype: torch.dtype, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = AutoModelForCausalLM.from_pretrained(path).to(dtype)
        self.change = change
        self.config, self.model, self.dtype = self.inner.config, self.inner.model, dtype
        self.get_decoder = self.inner.get_decoder
        self.get_output_embeddings = self.inner.get_output_embeddings
        self.get_input_embeddings = self.inner.get_input_embeddings

    def forward(self, **inputs: object) -> object:
        output = self.inner(**inputs)
        output.logits = self.change(output.logits)
        return output


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("factor", [0.5, 0.9, 16.0])
def test_scaled_logits_are_the_models_own(checkpoints: dict[str, Path], dtype: torch.dtype, factor: float) -> None:
    model = Changed(checkpoints["llama"], dtype, lambda logits: logits * factor)
    scorer = Scorer(model, AdapterBank(model, [SlotName("row", 0)], rank=1, alpha=1.0), Engine.TRANSFORMERS)
    assert scorer.rule.scale == pytest.approx(factor, rel=1e-2)
    ids = [(40, 41, 42, 43), (44, 45, 46)]
    wanted_RV = torch.stack([model(input_ids=torch.tensor([one])).logits[0, -1].float() for one in ids])
    off = (scorer.score([REFERENCE] * 2, ids).logits_RV - wanted_RV).square().mean().sqrt()
    assert float(off) < (1e-4 if dtype == torch.float32 else 0.05) * float(wanted_RV.std())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("change", [lambda x: x + 0.3 * x.abs(), lambda x: 5 * torch.tanh(x / 5), lambda x: x.flip(-1)])
def test_logits_computed_in_an_unknown_way_are_refused(
    checkpoints: dict[str, Path], dtype: torch.dtype, change: Callable[[Tensor], Tensor]
) -> None:
    model = Changed(checkpoints["llama"], dtype, change)
    bank = AdapterBank(model, [SlotName("row", 0)], rank=1, alpha=1.0)
    with pytest.raises(UsageError, match="Changed computes its logits in a way"):
        Scorer(model, bank)
