"""Engines are used where they agree with Transformers, at every length at which a config changes something, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_models import make_bench, slot_states, write_checkpoint
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma3TextConfig,
    GPT2Config,
    GraniteConfig,
    Lfm2Config,
    Llama4TextConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    Phi3Config,
    Qwen2Config,
    Qwen3_5TextConfig,
    Qwen3Config,
)

from coplay.errors import CoplayError, UsageError
from coplay.models import admission
from coplay.models.admission import admit, admitted_scorer
from coplay.models.admission_record import Admission, admission_key
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.comparison import Comparison
from coplay.models.conversations import generator_of
from coplay.models.final_hidden import ordinary_tokens
from coplay.models.loading import load_model
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.scoring import Engine, Scorer

SIZE = {
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 200,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}

LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0] * 4,
    "original_max_position_embeddings": 64,
}

KINDS: dict[str, tuple[Any, Engine]] = {
    "window of all layers": (MistralConfig(**SIZE, sliding_window=16), Engine.PACKED),
    "window of some layers": (
        Qwen2Config(**SIZE, use_sliding_window=True, sliding_window=16, max_window_layers=1),
        Engine.PACKED,
    ),
    "window named and not used": (Qwen2Config(**SIZE, use_sliding_window=False, sliding_window=16), Engine.PACKED),
    "two kinds of layers": (
        Gemma3TextConfig(**SIZE, head_dim=8, sliding_window=16, layer_types=["sliding_attention", "full_attention"]),
        Engine.TRANSFORMERS,
    ),
    "longer embeddings from some length on": (
        Phi3Config(**SIZE, original_max_position_embeddings=64, rope_parameters=LONG_ROPE),
        Engine.TOKENS,
    ),
    "stretched embeddings": (
        Qwen3Config(
            **SIZE,
            head_dim=8,
            rope_parameters={
                "rope_type": "yarn",
                "rope_theta": 1e4,
                "factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        ),
        Engine.PACKED,
    ),
    "learned positions": (
        GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=200, n_positions=64),
        Engine.TRANSFORMERS,
    ),
    "scaled logits": (GraniteConfig(**SIZE, logits_scaling=8.0, attention_multiplier=0.2), Engine.TRANSFORMERS),
    "other scaled logits": (CohereConfig(**SIZE, logit_scale=0.0625), Engine.TRANSFORMERS),
    "convolutions between attention": (Lfm2Config(**SIZE, layer_types=["conv", "full_attention"]), Engine.ROWS),
    "state space": (MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=200, state_size=8), Engine.ROWS),
    "linear attention": (
        Qwen3_5TextConfig(
            **{**SIZE, "num_hidden_layers": 4},
            head_dim=8,
            linear_num_value_heads=4,
            linear_num_key_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
        ),
        Engine.ROWS,
    ),
    "chunks": (
        Llama4TextConfig(**SIZE, attention_chunk_size=16, num_local_experts=2, head_dim=8, no_rope_layers=[1, 0]),
        Engine.TRANSFORMERS,
    ),
}
"""A config of each kind, and the fastest engine that computes it."""


def random_model(config: Any, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """A model whose attention matters: large weights, and scales of norms as they are."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    return model.to(dtype)


def bank_of(model: Any, *targets: str) -> AdapterBank:
    """A bank with one slot, if there are targets."""
    slots = [SlotName("row", 0)] if targets else []
    return AdapterBank(model, slots, rank=2, alpha=4.0, targets=targets)


def alone(model: Any, row: Sequence[int]) -> Tensor:
    """What Transformers makes of a row, log-probabilities [V]."""
    with torch.no_grad():
        logits: Tensor = model(input_ids=torch.tensor([list(row)]), use_cache=False).logits[0, -1]
    return torch.log_softmax(logits.float(), -1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_that_agrees_is_used_beyond_every_length_of_the_config(kind: str) -> None:
    config, expected = KINDS[kind]
    model = random_model(config)
    bank = bank_of(model)
    found = admit(model, bank)
    assert found.engine is expected, found
    scorer = Scorer(model, bank, found.engine)
    rows = [ordinary_tokens(model, tokens, seed=20) for tokens in (found.verified, found.verified // 2, 5)]
    rows.append((*rows[0][: found.verified - 3], *ordinary_tokens(model, 3, seed=21)))
    scores = torch.log_softmax(scorer.score([REFERENCE] * 4, rows).logits_RV, -1)
    for row, got in zip(rows, scores, strict=True):
        torch.testing.assert_close(got, alone(model, row), rtol=2e-3, atol=2e-3)
    # a reply that crosses the length: as it was sampled, as it is scored again, and as Transformers has it
    generator, prompts = generator_of(scorer, stop=()), [row[: len(row) - 2] for row in rows]
    draws = torch.rand(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    replies = generator.generate([REFERENCE] * 4, prompts, draws)
    again = generator.score([REFERENCE] * 4, prompts, [reply.tokens for reply in replies]).logprobs_N.tolist()
    wanted = [
        float(alone(model, (*prompt, *reply.tokens[:place]))[token])
        for prompt, reply in zip(prompts, replies, strict=True)
        for place, token in enumerate(reply.tokens)
    ]
    assert [value for reply in replies for value in reply.logprobs] == pytest.approx(wanted, abs=2e-3)
    assert again == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_engine_that_forgets_the_window_is_not_used(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    prepare = PackedDecoder.__init__

    def forgetful(self: PackedDecoder, model: Any) -> None:
        prepare(self, model)
        self.windows = [None] * len(self.windows)

    monkeypatch.setattr(PackedDecoder, "__init__", forgetful)
    model = random_model(MistralConfig(**SIZE, sliding_window=16), dtype=dtype)
    found = admit(model, bank_of(model, "q_proj", "v_proj"))
    packed, used = found.trials
    assert packed.engine is Engine.PACKED and not packed.agrees and "are off by" in packed.reason
    assert used.engine is found.engine is Engine.TRANSFORMERS and used.agrees


@hypothesis_settings(max_examples=12)
@given(
    family=st.sampled_from([MistralConfig, Qwen2Config, Qwen3Config, Gemma3TextConfig, LlamaConfig]),
    window=st.integers(2, 40),
    kinds=st.lists(st.sampled_from(["sliding_attention", "full_attention"]), min_size=2, max_size=2),
    heads=st.sampled_from([1, 2, 4]),
    tied=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_window_is_transformers_own(
    family: Any, window: int, kinds: list[str], heads: int, tied: bool, seed: int
) -> None:
    size = {**SIZE, "num_key_value_heads": heads, "head_dim": 8, "tie_word_embeddings": tied}
    size |= {"sliding_window": window, "use_sliding_window": True}
    if family in (Qwen2Config, Qwen3Config, Gemma3TextConfig):
        size["layer_types"] = kinds
    model = random_model(family(**size), seed=seed)
    bank = bank_of(model, "q_proj", "v_proj")
    found = admit(model, bank)
    scorer = Scorer(model, bank, found.engine)
    rows = [ordinary_tokens(model, tokens, seed=seed + 50) for tokens in (2 * window + 7, window, 3)]
    for row, logits in zip(rows, scorer.score([REFERENCE] * 3, rows).logits_RV, strict=True):
        torch.testing.assert_close(torch.log_softmax(logits, -1), alone(model, row), rtol=2e-3, atol=2e-3)


def test_rows_that_transformers_reads_differently_each_time_are_refused(tmp_path: Path) -> None:
    rope = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}
    path = write_checkpoint(tmp_path / "model", "llama", max_position_embeddings=32, rope_parameters=rope)
    loaded = load_model(str(path), device="cpu")
    scorer = admitted_scorer(loaded, bank_of(loaded.model))
    scorer.score([REFERENCE], [ordinary_tokens(loaded.model, 12)])
    with pytest.raises(CoplayError, match="cannot read 80 tokens: from 34 on, Transformers gives other logits"):
        scorer.score([REFERENCE], [ordinary_tokens(loaded.model, 80)])


def test_rows_longer_than_all_that_were_compared_are_compared_when_they_come(tmp_path: Path, cache: Path) -> None:
    loaded = load_model(str(write_checkpoint(tmp_path / "model", "qwen2")), device="cpu")
    bank = bank_of(loaded.model, "q_proj", "v_proj")
    scorer = admitted_scorer(loaded, bank)
    key = admission_key(loaded, bank)
    known = Admission.kept(key)
    assert known is not None and known.verified < 150
    kept = slot_states(bank)
    scorer.score([0], [ordinary_tokens(loaded.model, 150)])
    extended = Admission.kept(key)
    assert extended is not None and extended.verified >= 150
    assert all(torch.equal(a[name], b[name]) for a, b in zip(kept, slot_states(bank), strict=True) for name in a)


def test_a_longer_row_that_an_engine_reads_wrongly_ends_the_command_and_another_engine_is_used_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    loaded = load_model(str(write_checkpoint(tmp_path / "model", "qwen2")), device="cpu")
    bank = bank_of(loaded.model, "q_proj", "v_proj")
    scorer = admitted_scorer(loaded, bank)
    assert scorer.engine is Engine.PACKED
    positions = PackedDecoder.positions
    monkeypatch.setattr(PackedDecoder, "positions", lambda self, a, b: positions(self, a, b).clamp(max=100))
    row = ordinary_tokens(loaded.model, 150)
    with pytest.raises(
        CoplayError, match=r"read otherwise than by Transformers at \d+ tokens .* use the engine transformers"
    ):
        scorer.score([0], [row])
    again = admitted_scorer(loaded, bank)
    assert again.engine is Engine.TRANSFORMERS
    got = torch.log_softmax(again.score([0], [row]).logits_RV[0], -1)
    torch.testing.assert_close(got, alone(loaded.model, row), rtol=2e-3, atol=2e-3)


def test_rows_that_the_model_has_no_positions_for_are_refused_in_a_line(tmp_path: Path) -> None:
    model = random_model(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=200, n_positions=64))
    bench = make_bench(write_checkpoint(tmp_path / "model", "llama"))
    scorer = admitted_scorer(replace(bench.loaded, model=model, files=None), bank_of(model))
    assert len(scorer.score([REFERENCE], [ordinary_tokens(model, 64)]).logits_RV) == 1
    with pytest.raises(UsageError, match=r"cannot read 70 tokens \(index out of range.*Show less of the past"):
        scorer.score([REFERENCE], [ordinary_tokens(model, 70)])


def test_what_was_found_is_kept_by_checksum_and_a_change_of_any_file_is_compared_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    path = write_checkpoint(tmp_path / "model", "qwen2")
    compared: list[object] = []
    admitting = admit
    monkeypatch.setattr(
        admission, "admit", lambda *args, **options: compared.append(args) or admitting(*args, **options)
    )

    def load() -> Scorer:
        loaded = load_model(str(path), device="cpu")
        return admitted_scorer(loaded, bank_of(loaded.model, "q_proj"))

    first = load()
    assert load().engine is first.engine and len(compared) == 1
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-3}))
    load()
    assert len(compared) == 2
    for kept in (cache / "admitted").glob("*.json"):
        kept.write_text("{}")
    load()
    assert len(compared) == 3


def test_adapters_that_change_nothing_are_refused() -> None:
    model = random_model(LlamaConfig(**SIZE))
    with torch.no_grad():
        for layer in model.model.layers:
            layer.mlp.down_proj.weight.zero_()
    with pytest.raises(UsageError, match="adapters at gate_proj change nothing in LlamaForCausalLM"):
        admit(model, bank_of(model, "gate_proj"))


def test_slot_0_is_as_it_was_and_no_random_number_of_torch_was_used() -> None:
    model = random_model(LlamaConfig(**SIZE))
    bank = AdapterBank(model, [SlotName("row", i) for i in range(2)], rank=2, alpha=4.0)
    kept, versions, state = slot_states(bank), list(bank.versions), torch.get_rng_state()
    admit(model, bank)
    assert torch.equal(state, torch.get_rng_state()) and bank.versions == versions
    assert all(torch.equal(a[name], b[name]) for a, b in zip(kept, slot_states(bank), strict=True) for name in a)


def test_a_brief_comparison_still_finds_a_wrong_window(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(MistralConfig(**SIZE, sliding_window=16))
    comparison = Comparison(model, bank_of(model, "q_proj", "v_proj"), brief=True)
    found = comparison.of(Engine.PACKED, 40, slots=[0, REFERENCE], gradients=True)
    assert len(found) == 5 and all(one.agrees for one in found)
    prepare = PackedDecoder.__init__

    def forgetful(self: PackedDecoder, model: Any) -> None:
        prepare(self, model)
        self.windows = [None] * len(self.windows)

    monkeypatch.setattr(PackedDecoder, "__init__", forgetful)
    assert not all(one.agrees for one in comparison.of(Engine.PACKED, 40, slots=[0, REFERENCE]))


def test_another_attention_than_transformers_own_is_noted() -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 128}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    for window, attention, notes in ((0, "eager", 1), (8, "sdpa", 0)):
        model = AutoModelForCausalLM.from_config(MistralConfig(**sizes, **heads, sliding_window=window)).eval()
        found = admit(model, AdapterBank(model, [], rank=1, alpha=1.0, targets=()))
        assert found.attention == attention
        assert sum(one.startswith("attention: eager is used") for one in found.notes) == notes
