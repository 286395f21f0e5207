"""A small random Qwen2 as a GGUF file, written with the ``gguf`` package: biases, marks after the text's tokens, tokens that fill up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake_smollm2 import NAMES, TEMPLATE
from tokenizers import pre_tokenizers
from transformers import Qwen2Config, Qwen2ForCausalLM

MERGES = ["Ġ Ġ", "Ċ Ċ", "o u", "Ġ t", "Ġt h", "1 2", "Ã ©"]

TEXT = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]

CONTROL, WORDS, UNUSED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<tool_call>", "</tool_call>"], ["[PAD268]"]

KINDS = [(token, kind) for kind, tokens in ((1, TEXT), (3, CONTROL), (4, WORDS), (5, UNUSED)) for token in tokens]
"""The vocabulary: each token with GGUF's type."""

NUMBERS = {token: i for i, (token, _) in enumerate(KINDS)}


def small_qwen2(*, tied: bool) -> Qwen2ForCausalLM:
    """Grouped heads, rows of 32 numbers, as a block of Q8_0 has, and biases that are not zero."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(KINDS),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=tied,
        initializer_range=0.4,
    )
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(".bias"):
                weight.normal_(0.0, 0.5)
    return model


def write_qwen2(
    path: Path, model: Qwen2ForCausalLM, *, quantised: str = "", kinds: list[tuple[str, int]] = KINDS
) -> None:
    """The model as a GGUF file; weights whose name holds ``quantised`` as Q8_0, all others as they are."""
    gguf = pytest.importorskip("gguf")
    config: Any = model.config
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([token for token, _ in kinds])
    writer.add_token_types([kind for _, kind in kinds])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(NUMBERS["<|endoftext|>"])
    writer.add_eos_token_id(NUMBERS["<|im_end|>"])
    writer.add_pad_token_id(NUMBERS["<|endoftext|>"])
    writer.add_chat_template(TEMPLATE)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            if config.tie_word_embeddings:
                continue
            target = "output.weight"
        else:
            *before, part, which = name.removeprefix("model.").split(".")
            target = f"blk.{before[1]}.{NAMES[part]}.{which}" if before else f"{NAMES[part]}.{which}"
        array = np.ascontiguousarray(weight.numpy())
        if quantised and quantised in target and array.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(target, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(target, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
