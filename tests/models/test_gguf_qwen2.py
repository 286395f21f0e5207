"""A GGUF file of a Qwen2 becomes what Transformers reads out of it, with the tokenizer of Transformers' own class."""

import json
import unicodedata
from pathlib import Path

import pytest
import torch
from fake_qwen2 import CONTROL, KINDS, NUMBERS, TEXT, UNUSED, WORDS, small_qwen2, write_qwen2
from fake_smollm2 import TEMPLATE, left
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from coplay.errors import CoplayError
from coplay.models import gguf_files
from coplay.models.gguf_files import convert
from coplay.models.loading import encode, load_model
from coplay.text.chat import ChatFormat

pytest.importorskip("gguf")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted model, with the file that it is from beside it."""
    directory = tmp_path_factory.mktemp("qwen2")
    write_qwen2(directory / "q.gguf", small_qwen2(tied=False), quantised="ffn")
    convert(directory / "q.gguf", directory)
    return directory


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("at_once", [64, 2**24], ids=["a row at a time", "all at once"])
def test_weights_and_logits_are_those_that_transformers_reads(
    tied: bool, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("accelerate")
    monkeypatch.setattr(gguf_files, "_AT_ONCE", at_once)
    write_qwen2(tmp_path / "q.gguf", small_qwen2(tied=tied), quantised="ffn")
    convert(tmp_path / "q.gguf", tmp_path)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="q.gguf", dtype=torch.float32)
    ours, wanted = load_file(tmp_path / "model.safetensors"), theirs.state_dict()
    assert wanted.keys() - ours.keys() == ({"lm_head.weight"} if tied else set())
    assert all(torch.equal(ours[name], wanted[name]) for name in ours)
    assert any(name.endswith("q_proj.bias") and bool(ours[name].abs().max() > 0.1) for name in ours)
    ids = torch.arange(60)[None]
    with torch.no_grad():
        assert torch.equal(load_model(str(tmp_path), device="cpu").model(ids).logits, theirs(ids).logits)


def test_without_quantisation_it_is_the_model_that_was_written(tmp_path: Path) -> None:
    original = small_qwen2(tied=False)
    write_qwen2(tmp_path / "q.gguf", original)
    convert(tmp_path / "q.gguf", tmp_path)
    ids = torch.arange(60)[None]
    with torch.no_grad():
        assert torch.equal(load_model(str(tmp_path), device="cpu").model(ids).logits, original(ids).logits)


def test_the_directory_is_a_models(made: Path) -> None:
    loaded = load_model(str(made), device="cpu")
    assert type(loaded.model).__name__ == "Qwen2ForCausalLM" and loaded.chat.format is ChatFormat.TEMPLATE
    assert loaded.tokenizer.chat_template == TEMPLATE
    config = json.loads((made / "config.json").read_text(encoding="utf-8"))
    assert config["tie_word_embeddings"] is False and config["rms_norm_eps"] == 1e-6
    ends = {NUMBERS["<|im_end|>"], NUMBERS["<|endoftext|>"]}
    generation = json.loads((made / "generation_config.json").read_text(encoding="utf-8"))
    assert set(generation["eos_token_id"]) == ends and generation["eos_token_id"][0] == NUMBERS["<|im_end|>"]
    assert ends <= loaded.chat.stop and loaded.chat.closing == (NUMBERS["<|im_end|>"],)


def test_every_token_has_its_number(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made)
    numbers = tokenizer.get_vocab()
    assert {token: numbers[token] for token in (*TEXT, *CONTROL, *WORDS)} == {
        token: number for token, number in NUMBERS.items() if token not in UNUSED
    }
    assert not set(UNUSED) & set(numbers)
    assert [encode(tokenizer, mark) for mark in (*CONTROL, *WORDS)] == [(NUMBERS[mark],) for mark in (*CONTROL, *WORDS)]
    assert set(tokenizer.all_special_tokens) == set(CONTROL)
    assert tokenizer.decode([NUMBERS["<tool_call>"], NUMBERS["<|im_end|>"]], skip_special_tokens=True) == "<tool_call>"


@pytest.fixture(scope="module")
def both(made: Path) -> tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]:
    """Our tokenizer, and what Transformers makes of the file."""
    return AutoTokenizer.from_pretrained(made), AutoTokenizer.from_pretrained(made, gguf_file="q.gguf")


PIECES = st.sampled_from(
    ["C", "D", " the", "  ", "\n\n", "12", " 3.5", "don't", "é", "e\u0301", "½", "🙂", *CONTROL, *WORDS]
)


@given(text=st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=8).map("".join))
def test_text_is_cut_as_transformers_cuts_it(
    both: tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase], text: str
) -> None:
    """Of text in the composed form; the file does not say that the model's tokenizer composes it first, which that of the class does."""
    ours, theirs = both
    assert ours(text)["input_ids"] == theirs(unicodedata.normalize("NFC", text))["input_ids"]


def test_composed_and_decomposed_letters_are_the_same(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made)
    assert encode(tokenizer, "e\u0301") == encode(tokenizer, "é") == (NUMBERS["Ã©"],)


def test_digits_stand_alone(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made)
    assert tokenizer.convert_ids_to_tokens(list(encode(tokenizer, "  12"))) == ["Ġ", "Ġ", "1", "2"]


def test_a_vocabulary_in_another_order_is_refused(tmp_path: Path) -> None:
    """Marks before text: their numbers cannot be kept, and other numbers would be other tokens."""
    marks_first = [*KINDS[len(TEXT) :], *KINDS[: len(TEXT)]]
    write_qwen2(tmp_path / "q.gguf", small_qwen2(tied=True), kinds=marks_first)
    (tmp_path / "to").mkdir()
    with pytest.raises(CoplayError, match=r"the token .* has another number") as caught:
        convert(tmp_path / "q.gguf", tmp_path / "to")
    assert "\n" not in str(caught.value) and left(tmp_path / "to") == []
