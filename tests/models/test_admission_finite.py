"""Models and engines whose logits are not finite from some length on, and lengths from which on a model chooses its keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import make_bench, write_checkpoint
from transformers import AutoModelForCausalLM, DeepseekV32Config, GPT2Config

from coplay.errors import UsageError
from coplay.models.admission import admit, admitted_scorer
from coplay.models.admission_record import Admission, admission_key
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.final_hidden import ordinary_tokens
from coplay.models.loading import load_model
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.scoring import Engine


def random_model(config: Any) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def bank_of(model: Any, *targets: str) -> AdapterBank:
    return AdapterBank(model, [SlotName("row", 0)] if targets else [], rank=2, alpha=4.0, targets=targets)


def test_a_length_from_which_on_keys_are_chosen_is_compared_when_the_model_is_loaded() -> None:
    latent = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
    experts = {
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 8,
    }
    chosen = {"index_topk": 60, "index_n_heads": 2, "index_head_dim": 16}
    size = {
        "hidden_size": 32,
        "num_key_value_heads": 4,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "intermediate_size": 40,
        "num_attention_heads": 4,
        "vocab_size": 200,
        "num_hidden_layers": 1,
    }
    model = random_model(DeepseekV32Config(**size, **latent, **experts, **chosen))
    assert admit(model, bank_of(model)).verified > 60


def test_rows_behind_which_the_model_has_no_finite_logits_are_refused_in_a_line(tmp_path: Path) -> None:
    model = random_model(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=200, n_positions=64))
    with torch.no_grad():
        model.transformer.wpe.weight[40:] = float("nan")
    bench = make_bench(write_checkpoint(tmp_path / "model", "llama"))
    scorer = admitted_scorer(replace(bench.loaded, model=model, files=None), bank_of(model))
    assert len(scorer.score([REFERENCE], [ordinary_tokens(model, 12)]).logits_RV) == 1
    with pytest.raises(
        UsageError, match=r"cannot read 50 tokens \(its logits are not finite\)\. Show less of the past"
    ):
        scorer.score([REFERENCE], [ordinary_tokens(model, 50)])


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_an_engine_that_gives_no_finite_numbers_is_not_used_and_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, number: float
) -> None:
    packed = PackedDecoder.forward
    monkeypatch.setattr(PackedDecoder, "forward", lambda *args, **options: packed(*args, **options) * number)
    loaded = load_model(str(write_checkpoint(tmp_path / "model", "qwen2")), device="cpu")
    bank = bank_of(loaded.model, "q_proj")
    assert admitted_scorer(loaded, bank).engine is Engine.TRANSFORMERS
    known = Admission.kept(admission_key(loaded, bank))
    assert known is not None and known.trials[0].engine is Engine.PACKED and not known.trials[0].agrees
    assert "no finite number" in known.trials[0].reason
