"""What is found out about a model by trying it, whatever its config calls it: caps of logits, its decoder, the width of its head, the rows it has positions for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import make_bench, write_checkpoint
from transformers import (
    AutoModelForCausalLM,
    CamembertConfig,
    Gemma2Config,
    LlamaConfig,
    ModernBertDecoderConfig,
    OPTConfig,
    RecurrentGemmaConfig,
    xLSTMConfig,
)

from coplay.errors import UsageError
from coplay.models.admission import admitted_scorer
from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.final_hidden import FinalHidden, head_of, ordinary_tokens
from coplay.models.logit_rule import logit_rule
from coplay.models.scoring import Scorer

SIZE = {
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 200,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
RECURRENT = {**SIZE, "num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 16}
XLSTM = {"hidden_size": 32, "embedding_dim": 32, "num_blocks": 2, "num_heads": 4, "vocab_size": 200}


def random_model(config: Any) -> Any:
    """A model whose logits are large enough for a cap to matter."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    return model


def bare(model: Any) -> AdapterBank:
    """A bank without adapters."""
    return AdapterBank(model, [], rank=1, alpha=1.0, targets=())


@pytest.mark.parametrize(
    ("config", "cap"),
    [
        (Gemma2Config(**SIZE, num_key_value_heads=2, head_dim=8, final_logit_softcapping=7.0), 7.0),
        (RecurrentGemmaConfig(**RECURRENT, logits_soft_cap=7.0), 7.0),
        (xLSTMConfig(**XLSTM, output_logit_soft_cap=7.0), 7.0),
        (LlamaConfig(**SIZE), None),
    ],
)
@pytest.mark.parametrize(("size", "dtype"), [(0.2, torch.float32), (1.5, torch.bfloat16), (9.0, torch.float32)])
def test_a_cap_is_found_whatever_a_config_calls_it_and_where_logits_hardly_show_it(
    config: Any, cap: float | None, size: float, dtype: torch.dtype
) -> None:
    model = random_model(config)
    with torch.no_grad():
        hidden_1LH, _ = FinalHidden(model).with_logits(torch.tensor([ordinary_tokens(model, 9)]))
        head_of(model).weight.mul_(size / head_of(model)(hidden_1LH).std())
    rule = logit_rule(model.to(dtype), FinalHidden(model))
    assert (rule.softcap, rule.scale) == (cap, 1.0)


def test_a_rule_that_no_number_of_the_config_makes_is_refused() -> None:
    model = random_model(LlamaConfig(**SIZE))
    forward = model.forward

    def other(*args: Any, **options: Any) -> Any:
        output = forward(*args, **options)
        output.logits = output.logits.abs()
        return output

    model.forward = other
    with pytest.raises(UsageError, match=r"computes its logits in a way coplay does not know: they differ .* by"):
        logit_rule(model, FinalHidden(model))


def test_a_head_that_is_called_decoder_is_none() -> None:
    model = random_model(ModernBertDecoderConfig(**SIZE, local_attention=8))
    assert model.get_decoder() is head_of(model)
    final, ids_1L = FinalHidden(model), torch.tensor([ordinary_tokens(model, 9)])
    assert not final.by_decoder
    with torch.no_grad():
        torch.testing.assert_close(head_of(model)(final(input_ids=ids_1L)), model(input_ids=ids_1L).logits)


def test_value_heads_are_as_wide_as_what_the_head_reads() -> None:
    sizes = {"ffn_dim": 40, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 200}
    model = random_model(OPTConfig(**sizes, hidden_size=32, word_embed_proj_dim=16, max_position_embeddings=64))
    scorer = Scorer(model, bare(model))
    scores = scorer.score([REFERENCE], [ordinary_tokens(model, 5)])
    assert scores.hidden_RH.shape == (1, scorer.width) == (1, 16)


def test_rows_are_read_up_to_the_last_position_of_a_model_that_counts_from_two_on(tmp_path: Path, cache: Path) -> None:
    model = random_model(CamembertConfig(**{**SIZE, "pad_token_id": 1, "is_decoder": True}))
    loaded = make_bench(write_checkpoint(tmp_path / "model", "llama")).loaded
    scorer = admitted_scorer(replace(loaded, model=model, files=None), bare(model))
    row = ordinary_tokens(model, 62)
    with torch.no_grad():
        wanted_V = model(input_ids=torch.tensor([row]), use_cache=False).logits[0, -1]
    torch.testing.assert_close(scorer.score([REFERENCE], [row]).logits_RV[0], wanted_V, rtol=2e-3, atol=2e-3)
    with pytest.raises(UsageError, match="cannot read 63 tokens"):
        scorer.score([REFERENCE], [ordinary_tokens(model, 63)])
