"""Prompts are encoded whole and unpadded, as the tokenizer's own call does it, whatever state a tokenizer was saved with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_models import QWEN_TEMPLATE, small_tokenizer, write_checkpoint
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizerFast

from coplay.errors import UsageError
from coplay.models.encoding import PromptEncoder
from coplay.models.loading import backend_agrees, encode, encode_all, load_tokenizer, persisted_state
from coplay.models.model_check import check_model

TEXTS = [
    "Reply with C or D.",
    "<|im_start|>user\nEach player gets 3 points.<|im_end|>\n<|im_start|>assistant\n",
    "A",
    "word " * 300,
    "digits 1234567890 and\ttabs\n\n",
]


def called(tokenizer: Any, texts: list[str]) -> list[tuple[int, ...]]:
    """By the tokenizer's own call."""
    found = tokenizer(texts, add_special_tokens=False, padding=False, truncation=False, verbose=False)["input_ids"]
    return [tuple(ids) for ids in found]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("state", ["truncation", "padding", "padding to a length", "both"])
def test_state_in_the_tokenizers_file_is_not_applied(tmp_path: Path, state: str, side: str) -> None:
    path = write_checkpoint(tmp_path / "model", "qwen2")
    backend = Tokenizer.from_file(str(path / "tokenizer.json"))
    if state in ("truncation", "both"):
        backend.enable_truncation(max_length=12, direction=side)
    if state in ("padding", "both"):
        backend.enable_padding(direction=side, pad_id=0, pad_token="<|endoftext|>")
    if state == "padding to a length":
        backend.enable_padding(direction=side, length=40, pad_to_multiple_of=8)
    backend.save(str(path / "tokenizer.json"))
    tokenizer, fresh = load_tokenizer(str(path)), AutoTokenizer.from_pretrained(path)
    expected = called(fresh, TEXTS)
    assert encode_all(tokenizer, TEXTS) == expected
    assert [encode(tokenizer, text) for text in TEXTS] == expected
    assert PromptEncoder(tokenizer).encode(TEXTS) == expected


def test_state_that_another_call_left_is_not_applied_either() -> None:
    tokenizer = small_tokenizer("qwen2")
    expected = encode_all(tokenizer, TEXTS)
    tokenizer(TEXTS, padding=True, truncation=True, max_length=5)
    assert persisted_state(tokenizer) == ["truncation", "padding"]
    assert encode_all(tokenizer, TEXTS) == expected == called(tokenizer, TEXTS)


def test_a_tokenizer_whose_call_differs_from_its_backend_is_called() -> None:
    class Lower(PreTrainedTokenizerFast):
        """Does something of its own before its backend is asked."""

        def _encode_plus(self, text: Any, *args: Any, **options: Any) -> Any:
            return super()._encode_plus([one.lower() for one in text], *args, **options)

    tokenizer = Lower(tokenizer_object=small_tokenizer("qwen2").backend_tokenizer, eos_token="<|im_end|>")
    assert not backend_agrees(tokenizer)
    assert encode_all(tokenizer, TEXTS) == called(tokenizer, TEXTS) == encode_all(tokenizer, [t.lower() for t in TEXTS])
    assert PromptEncoder(tokenizer).encode(TEXTS) == called(tokenizer, TEXTS)


def test_a_tokenizer_without_a_backend_is_called(tmp_path: Path) -> None:
    tokenizer = ByT5Tokenizer(chat_template=QWEN_TEMPLATE)
    assert not backend_agrees(tokenizer) and persisted_state(tokenizer) == []
    expected = called(tokenizer, TEXTS)
    assert encode_all(tokenizer, TEXTS) == PromptEncoder(tokenizer).encode(TEXTS) == expected
    path = write_checkpoint(tmp_path / "model", "llama", vocab_size=len(tokenizer))
    (path / "tokenizer.json").unlink()
    tokenizer.save_pretrained(path)
    told = check_model(str(path)).tokenizer
    assert told["encoded by"] == "its own call" and told["persisted state"] == "none"


def test_a_text_that_a_tokenizer_cannot_encode_is_refused_in_a_line_and_others_are_encoded() -> None:
    backend = Tokenizer(models.Unigram([("<s>", 0.0), *((letter, -1.0) for letter in "Reply with C or D.")]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    assert encode(tokenizer, TEXTS[0]) == called(tokenizer, TEXTS[:1])[0]
    odd = small_tokenizer("qwen2")
    odd.model_max_length = "many"
    for one, text in ((tokenizer, "5 points"), (odd, TEXTS[0])):
        with pytest.raises(UsageError, match=r"^model: its tokenizer cannot encode a text: [^\n]+$"):
            PromptEncoder(one).encode([text])


@hypothesis_settings(max_examples=25)
@given(
    text=st.text(max_size=200),
    lower=st.booleans(),
    prefix=st.booleans(),
    split=st.booleans(),
    flags=st.fixed_dictionaries({name: st.booleans() for name in ("lstrip", "rstrip", "normalized", "single_word")}),
)
def test_any_tokenizer_encodes_as_its_own_call(
    text: str, lower: bool, prefix: bool, split: bool, flags: dict[str, bool]
) -> None:
    from tokenizers import AddedToken

    backend = Tokenizer(
        models.BPE(vocab={c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[])
    )
    if lower:
        backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.add_special_tokens([AddedToken("<|end|>", **flags)])
    backend.enable_truncation(4)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>", split_special_tokens=split)
    texts = [text, f"{text} <|end|> {text}", "<|END|>"]
    assert PromptEncoder(tokenizer).encode(texts) == called(tokenizer, texts)
