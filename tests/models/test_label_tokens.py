"""Labels that are no single tokens behind a prompt are refused, and the refusal offers labels that are."""

import re

import pytest
from small_models import small_tokenizer
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from coplay.errors import UsageError
from coplay.models.labels import reply_tokens
from coplay.models.loading import encode


def offered(tokenizer: PreTrainedTokenizerFast, prompt: str, labels: list[str]) -> list[list[str]]:
    """The labels that the refusal of others offers."""
    with pytest.raises(UsageError) as caught:
        reply_tokens(tokenizer, prompt, labels)
    assert "\n" not in str(caught.value)
    return [one.split(",") for one in re.sub(".*behind this prompt: ", "", str(caught.value)).split(" or ")]


@pytest.mark.parametrize("labels", [["cooperate", "defect"], ["C", "\N{SNOWMAN}"], ["C", ""], ["C ", "D"]])
def test_labels_of_several_tokens_or_none_are_refused(labels: list[str]) -> None:
    tokenizer = small_tokenizer("qwen2")
    with pytest.raises(UsageError, match="not a single token in the model's tokenizer") as caught:
        reply_tokens(tokenizer, "Reply: ", labels)
    named = str(caught.value).partition(" not a single")[0]
    assert [repr(label) in named for label in labels] == [label not in ("C", "D") for label in labels]


def test_special_tokens_and_unknown_text_are_no_labels() -> None:
    """A tokenizer has one token for whatever it does not know, and its own for turns: both are single tokens, and no words."""
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "C": 1, "D": 2, "x": 3}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>")
    for label in ("\N{SNOWMAN}", "</s>", "<unk>"):
        with pytest.raises(UsageError, match=re.escape(f"{label!r} (a special token, or that of unknown text) is not")):
            reply_tokens(tokenizer, "x ", [label, "C"])
        assert offered(tokenizer, "x ", [label, "C"]) == [["C", "D"]]


def test_equal_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="not different tokens"):
        reply_tokens(small_tokenizer("qwen2"), "Reply: ", ["C", "C"])


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("prompt", ["Reply: ", "", "<|im_start|>assistant\n"])
def test_what_is_offered_works(size: int, prompt: str) -> None:
    tokenizer = small_tokenizer("qwen2")
    found = offered(tokenizer, prompt, [f"label {i}" for i in range(size)])
    assert len(found) == 3 and found[0] == ["C", "D", "E", "F", "G"][:size]
    for labels in found:
        tokens = reply_tokens(tokenizer, prompt, labels)
        assert [tokenizer.decode([token]) for token in tokens] == labels


def words_only(*words: str, prefix: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer that knows some words, and bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken(word, normalized=False) for word in words])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def test_a_label_that_merges_with_the_prompts_end_is_said_to() -> None:
    tokenizer = words_only(":A", ":B")
    with pytest.raises(UsageError, match=r"'A' \(it merges with the end of the prompt") as caught:
        reply_tokens(tokenizer, "Reply:", ["A", "B"])
    assert "these work behind this prompt: C,D or E,F or X,Y" in str(caught.value)


def test_a_space_that_the_tokenizer_puts_in_front_changes_nothing() -> None:
    tokenizer = words_only("yes", prefix=True)
    yes, no = reply_tokens(tokenizer, "Reply: ", ["yes", "n"])
    assert encode(tokenizer, "Reply: yes")[-1] == yes and encode(tokenizer, "Reply: n")[-1] == no
    with pytest.raises(UsageError, match=r"'no' \(2 tokens"):
        reply_tokens(tokenizer, "Reply: ", ["yes", "no"])


def test_where_nothing_works_it_is_said() -> None:
    backend = Tokenizer(models.WordLevel({"?": 0, "x": 1}, unk_token="?"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="?")
    with pytest.raises(UsageError, match="none was found behind this prompt"):
        reply_tokens(tokenizer, "Reply: ", ["C", "D"])
