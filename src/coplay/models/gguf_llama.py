"""From a GGUF file of the Llama architecture to a Hugging Face directory: safetensors, config, tokenizer, generation config.

The weights are the dequantised values, in float32: a block of Q4_1 is ``d * q + m`` with 16-bit d and m, which 16 bits do not hold.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coplay.errors import CoplayError, missing_extra

if TYPE_CHECKING:
    from gguf import GGUFReader
    from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""A layer's tensors: GGUF's name, and Hugging Face's."""

_OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm"}
"""Tensors outside the layers. There is no output matrix: it is that of the embedding."""

KIND = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre")
"""The fields that say what kind of model a file holds."""

_LONGEST_REASON = 200
"""Letters that are shown of the library's error."""

_CONTROL = 3
"""GGUF's type of tokens that are marks of the format and never text."""


def gguf_package() -> ModuleType:
    """The package ``gguf``; raises UsageError with its install line if it is not installed."""
    try:
        import gguf
    except ImportError:
        raise missing_extra("gguf", "smollm2") from None
    return gguf


def convert(source: Path, to: Path) -> None:
    """Write the model of a GGUF file as a Hugging Face directory.

    Args:
        source: the file: a Llama with tied embeddings and SmolLM's tokenizer.
        to: an existing directory.

    Raises:
        CoplayError: if the file holds another kind of model or is damaged, or the model cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with _damage_told(source):
        reader = gguf_package().GGUFReader(str(source))
        kind = tuple(_field(reader, key) for key in KIND)
        if kind != ("llama", "gpt2", "smollm"):
            raise CoplayError(
                f"{source}: only models of the kind llama, gpt2, smollm can be converted; this is {', '.join(kind)}"
            )
        config, tokenizer = _config(reader), _tokenizer(reader)
        tensors = _tensors(reader, config)
    config.save_pretrained(to)
    weights = to / "model.safetensors"
    try:
        save_file(tensors, str(weights), metadata={"format": "pt"})
    except SafetensorError as error:  # it tells of a full disk in words of its own
        raise CoplayError(f"{weights} could not be written: {' '.join(str(error).split())}") from None
    shutil.copymode(to / "config.json", weights)  # the library makes it readable for the user alone
    _generation_config(config).save_pretrained(to)
    tokenizer.save_pretrained(to)


@contextlib.contextmanager
def _damage_told(source: Path) -> Iterator[None]:
    """What the library says of a damaged file, which may be any error, becomes a line."""
    try:
        yield
    except CoplayError:
        raise
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_REASON]
        raise CoplayError(f"{source.name} is damaged or no GGUF file ({told})") from None


def _field(reader: GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    if field is None:
        raise CoplayError(f"the GGUF file has no field {key}")
    return field.contents()


def _config(reader: GGUFReader) -> LlamaConfig:
    from transformers import LlamaConfig

    heads = _field(reader, "llama.attention.head_count")
    width = _field(reader, "llama.embedding_length")
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=len(_field(reader, "tokenizer.ggml.tokens")),
        hidden_size=width,
        intermediate_size=_field(reader, "llama.feed_forward_length"),
        num_hidden_layers=_field(reader, "llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=_field(reader, "llama.attention.head_count_kv"),
        head_dim=width // heads,
        max_position_embeddings=_field(reader, "llama.context_length"),
        rms_norm_eps=round(_field(reader, "llama.attention.layer_norm_rms_epsilon"), 12),
        rope_parameters={"rope_type": "default", "rope_theta": _field(reader, "llama.rope.freq_base")},
        tie_word_embeddings=True,
        bos_token_id=_field(reader, "tokenizer.ggml.bos_token_id"),
        eos_token_id=_field(reader, "tokenizer.ggml.eos_token_id"),
        pad_token_id=_field(reader, "tokenizer.ggml.padding_token_id"),
        dtype="float32",
    )


def _generation_config(config: LlamaConfig) -> GenerationConfig:
    from transformers import GenerationConfig

    return GenerationConfig(
        bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id
    )


def _tensors(reader: GGUFReader, config: LlamaConfig) -> dict[str, npt.NDArray[np.float32]]:
    """The dequantised weights by Hugging Face's names."""
    dequantize = gguf_package().dequantize
    found = {}
    for tensor in reader.tensors:
        weight = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        if ".attn_q." in tensor.name:
            weight = _rotated_halves(weight, config.num_attention_heads)
        elif ".attn_k." in tensor.name:
            weight = _rotated_halves(weight, config.num_key_value_heads)
        found[_name(tensor.name)] = np.ascontiguousarray(weight)
    return found


def _name(name: str) -> str:
    """``blk.3.attn_q.weight`` as ``model.layers.3.self_attn.q_proj.weight``."""
    match name.split("."):
        case ["blk", layer, part, "weight"] if part in _LAYER:
            return f"model.layers.{layer}.{_LAYER[part]}.weight"
        case [part, "weight"] if part in _OUTSIDE:
            return f"model.{_OUTSIDE[part]}.weight"
    raise CoplayError(f"the GGUF file holds a tensor that is not known here: {name}")


def _rotated_halves(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """A head's rows in Hugging Face's order: the rotary embedding turns row i with row i + width / 2; in GGUF, row 2i with row 2i + 1."""
    rows, width = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def _tokenizer(reader: GGUFReader) -> PreTrainedTokenizerFast:
    """Byte-level BPE with SmolLM's way of cutting text: digits stand alone."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens: list[str] = _field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in _field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = _field(reader, "tokenizer.ggml.token_type")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=tokens[_field(reader, "tokenizer.ggml.bos_token_id")],
        eos_token=tokens[_field(reader, "tokenizer.ggml.eos_token_id")],
        unk_token=tokens[_field(reader, "tokenizer.ggml.unknown_token_id")],
        pad_token=tokens[_field(reader, "tokenizer.ggml.padding_token_id")],
        extra_special_tokens=[token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL],
        chat_template=_field(reader, "tokenizer.chat_template"),
        model_max_length=_field(reader, "llama.context_length"),
        clean_up_tokenization_spaces=False,
    )
