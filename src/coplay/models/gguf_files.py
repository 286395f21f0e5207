"""From a GGUF file of a Llama or a Qwen2 to a Hugging Face directory: safetensors, config, tokenizer, generation config.

The weights are the dequantised values, in float32: a block of Q4_1 is ``d * q + m`` with 16-bit d and m, which 16 bits do not hold.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coplay.errors import CoplayError, missing_extra

if TYPE_CHECKING:
    from gguf import GGUFReader
    from gguf.gguf_reader import ReaderTensor
    from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerFast

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

_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
"""Tensors outside the layers."""

OUTPUT = "output.weight"
"""The output matrix. A file without one means that of the embedding."""

KIND_FIELDS = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre")
"""The fields that say what kind of model a file holds."""

_LONGEST_REASON = 200
"""Letters that are shown of the library's error."""

_CONTROL, _USER_DEFINED = 3, 4
"""GGUF's types of tokens that the text is cut at: marks of the format, which are never text, and words of their own."""

_NORMAL, _UNUSED = 1, 5
"""GGUF's types of pieces of text, and of tokens that fill the vocabulary up."""

_AT_ONCE = 2**24
"""Weights that are dequantised at a time: the library takes several times their memory on the way."""


@dataclass(frozen=True)
class Kind:
    """What differs between the kinds of model that can be converted."""

    config: Callable[[GGUFReader], PreTrainedConfig]
    """What the file's numbers are in Hugging Face's words."""
    tokenizer: Callable[[GGUFReader], PreTrainedTokenizerFast]
    """The file's vocabulary with the kind's way of cutting text."""
    ends: tuple[str, ...] = ()
    """Tokens that end a reply besides the file's own."""
    rotated: bool = False
    """Whether the rows of queries and keys are in another order than Hugging Face's."""


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
        source: the file: of one of the :data:`KINDS`.
        to: an existing directory.

    Raises:
        CoplayError: if the file holds another kind of model or is damaged, or the model cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with _damage_told(source):
        reader = gguf_package().GGUFReader(str(source))
        kind = tuple(_field(reader, key) for key in KIND_FIELDS)
        found = KINDS.get(kind)
        if found is None:
            known = " or ".join(map(", ".join, KINDS))
            raise CoplayError(
                f"{source}: only models of the kind {known} can be converted; this is {', '.join(map(str, kind))}"
            )
        config, tokenizer = found.config(reader), found.tokenizer(reader)
        generation = _generation_config(config, tokenizer, found.ends)
        tensors = _tensors(reader, config, rotated=found.rotated)
    config.save_pretrained(to)
    weights = to / "model.safetensors"
    try:
        save_file(tensors, str(weights), metadata={"format": "pt"})
    except SafetensorError as error:  # it tells of a full disk in words of its own
        raise CoplayError(f"{weights} could not be written: {' '.join(str(error).split())}") from None
    shutil.copymode(to / "config.json", weights)  # the library makes it readable for the user alone
    generation.save_pretrained(to)
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


def _common(reader: GGUFReader, architecture: str) -> dict[str, Any]:
    """What the configs of all kinds have."""
    return {
        "vocab_size": len(_field(reader, "tokenizer.ggml.tokens")),
        "hidden_size": _field(reader, f"{architecture}.embedding_length"),
        "intermediate_size": _field(reader, f"{architecture}.feed_forward_length"),
        "num_hidden_layers": _field(reader, f"{architecture}.block_count"),
        "num_attention_heads": _field(reader, f"{architecture}.attention.head_count"),
        "num_key_value_heads": _field(reader, f"{architecture}.attention.head_count_kv"),
        "max_position_embeddings": _field(reader, f"{architecture}.context_length"),
        "rms_norm_eps": round(_field(reader, f"{architecture}.attention.layer_norm_rms_epsilon"), 12),
        "rope_parameters": {"rope_type": "default", "rope_theta": _field(reader, f"{architecture}.rope.freq_base")},
        "tie_word_embeddings": all(tensor.name != OUTPUT for tensor in reader.tensors),
        "bos_token_id": _field(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _field(reader, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": _field(reader, "tokenizer.ggml.padding_token_id"),
        "dtype": "float32",
    }


def _llama_config(reader: GGUFReader) -> PreTrainedConfig:
    from transformers import LlamaConfig

    common = _common(reader, "llama")
    width = common["hidden_size"] // common["num_attention_heads"]
    return LlamaConfig(architectures=["LlamaForCausalLM"], head_dim=width, **common)


def _qwen2_config(reader: GGUFReader) -> PreTrainedConfig:
    from transformers import Qwen2Config

    return Qwen2Config(architectures=["Qwen2ForCausalLM"], **_common(reader, "qwen2"))


def _generation_config(
    config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, ends: tuple[str, ...]
) -> GenerationConfig:
    """What begins, ends and fills up replies; how to sample is the caller's."""
    from transformers import GenerationConfig

    also = [number for number in map(tokenizer.get_vocab().get, ends) if number not in (None, config.eos_token_id)]
    return GenerationConfig(
        bos_token_id=config.bos_token_id,
        eos_token_id=[config.eos_token_id, *also] if also else config.eos_token_id,
        pad_token_id=config.pad_token_id,
    )


def _tensors(reader: GGUFReader, config: PreTrainedConfig, *, rotated: bool) -> dict[str, npt.NDArray[np.float32]]:
    """The dequantised weights by Hugging Face's names."""
    found = {}
    for tensor in reader.tensors:
        weight = _dequantised(tensor)
        if rotated and ".attn_q." in tensor.name:
            weight = _rotated_halves(weight, config.num_attention_heads)
        elif rotated and ".attn_k." in tensor.name:
            weight = _rotated_halves(weight, config.num_key_value_heads)
        found[_name(tensor.name)] = np.ascontiguousarray(weight)
    return found


def _dequantised(tensor: ReaderTensor) -> npt.NDArray[np.float32]:
    """A tensor's values, some rows at a time."""
    dequantize = gguf_package().dequantize
    if tensor.data.ndim < 2:
        return np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    width, rows = (int(size) for size in tensor.shape[:2])  # in GGUF's order, the innermost first
    step = max(1, _AT_ONCE // width)
    weight = np.empty((rows, width), dtype=np.float32)
    for i in range(0, rows, step):
        weight[i : i + step] = dequantize(tensor.data[i : i + step], tensor.tensor_type)
    return weight


def _name(name: str) -> str:
    """``blk.3.attn_q.weight`` as ``model.layers.3.self_attn.q_proj.weight``."""
    match name.split("."):
        case ["blk", layer, part, "weight" | "bias" as which] if part in _LAYER:
            return f"model.layers.{layer}.{_LAYER[part]}.{which}"
        case [part, "weight"] if part in _OUTSIDE:
            return f"{_OUTSIDE[part]}.weight"
    raise CoplayError(f"the GGUF file holds a tensor that is not known here: {name}")


def _rotated_halves(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """A head's rows in Hugging Face's order: the rotary embedding turns row i with row i + width / 2; in GGUF, row 2i with row 2i + 1."""
    rows, width = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def _smollm_tokenizer(reader: GGUFReader) -> PreTrainedTokenizerFast:
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


def _qwen2_tokenizer(reader: GGUFReader) -> PreTrainedTokenizerFast:
    """Byte-level BPE as the library's class for Qwen2 cuts text, with the file's vocabulary."""
    from tokenizers import AddedToken
    from transformers import Qwen2Tokenizer

    tokens: list[str] = _field(reader, "tokenizer.ggml.tokens")
    kinds = _field(reader, "tokenizer.ggml.token_type")
    merges = [tuple(merge.split(" ")) for merge in _field(reader, "tokenizer.ggml.merges")]
    listed = list(zip(tokens, kinds, strict=True))
    tokenizer = Qwen2Tokenizer(
        vocab={token: i for i, (token, kind) in enumerate(listed) if kind == _NORMAL},
        merges=merges,
        unk_token=None,
        bos_token=None,
        eos_token=None,
        pad_token=None,
        chat_template=_field(reader, "tokenizer.chat_template"),
        model_max_length=_field(reader, "qwen2.context_length"),
        clean_up_tokenization_spaces=False,
    )
    marks = [(token, kind) for token, kind in listed if kind in (_CONTROL, _USER_DEFINED)]
    tokenizer.add_tokens([AddedToken(token, special=kind == _CONTROL, normalized=False) for token, kind in marks])
    tokenizer.add_special_tokens({"extra_special_tokens": [token for token, kind in marks if kind == _CONTROL]})
    tokenizer.eos_token = tokens[_field(reader, "tokenizer.ggml.eos_token_id")]
    tokenizer.pad_token = tokens[_field(reader, "tokenizer.ggml.padding_token_id")]
    numbers = tokenizer.get_vocab()
    moved = [token for i, (token, kind) in enumerate(listed) if kind != _UNUSED and numbers.get(token) != i]
    if moved:
        raise CoplayError(
            f"the GGUF file's vocabulary does not fit its kind: the token {moved[0]!r} has another number"
        )
    return tokenizer


KINDS = {
    ("llama", "gpt2", "smollm"): Kind(_llama_config, _smollm_tokenizer, rotated=True),
    ("qwen2", "gpt2", "qwen2"): Kind(_qwen2_config, _qwen2_tokenizer, ends=("<|endoftext|>",)),
}
"""What can be converted, by the fields of :data:`KIND_FIELDS`."""
