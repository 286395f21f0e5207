"""Prompts encoded piece by piece have the tokens of prompts encoded as a whole, or are encoded as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from coplay.games.catalogue import matrix_game
from coplay.games.memory import Observation
from coplay.models import encoding
from coplay.models.encoding import PromptEncoder, cuts_of
from coplay.models.loading import encode_all, load_tokenizer
from coplay.text.chat import gemma

CORPUS = ["You have 3 hats, 10 books and a dog 12 times.\n<T>A wins 5 of them, B 10 hats, C none."] * 3
SNIPPETS = [
    *"0123456789 ABCTabcx<>/:,.\n_|",
    *(
        "10",
        "hats, ",
        " books",
        "hats 1",
        "rock",
        "paper",
        "<A>",
        "<T>",
        "<<message_start>>",
        "<bos>",
        "<end_of_turn>",
        "é",
        "²",
        "٣",
    ),
]
"""What texts are made of: tags, halves of tags, digits of other scripts."""


def random_texts(n: int = 1500) -> list[str]:
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(SNIPPETS, size=rng.integers(30))) for _ in range(n)]


def trained(
    *steps: Any, normalizer: Any = None, tags: tuple[Any, ...] = ("<T>",), truncated: bool = False
) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that begins with these steps."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer.add_special_tokens(list(tags))
    if truncated:
        tokenizer.enable_truncation(8)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def split(pattern: str) -> Any:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


WORDS = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
DIGITS = pre_tokenizers.Digits(individual_digits=True)


@pytest.mark.parametrize("name", ["tiny", "tiny-second", "tiny-talk", "tiny-talk-second", "tiny-reason"])
def test_the_embedded_models_tokenizers_are_cut(name: str) -> None:
    tokenizer = load_tokenizer(name)
    encoder, texts = PromptEncoder(tokenizer), random_texts()
    assert encoder.encode(texts) == encode_all(tokenizer, texts)
    assert encoder.cuts is not None


@pytest.mark.parametrize(
    "steps",
    [
        (DIGITS, WORDS),
        (split("[0-9]|[A-Z](?![a-z])"), WORDS),
        (split("1?[0-9]|rock"), BYTES),
        (split("\n|It[^\n]*|(?<=[0-9])\\]"), BYTES),
    ],
)
def test_tokenizers_that_begin_with_cuts(steps: tuple[Any, ...]) -> None:
    tokenizer = trained(*steps)
    encoder, texts = PromptEncoder(tokenizer), random_texts()
    assert encoder.encode(texts) == encode_all(tokenizer, texts)
    assert encoder.cuts is not None


@pytest.mark.parametrize(
    "tokenizer",
    [
        trained(WORDS),
        trained(pre_tokenizers.Digits(individual_digits=False), BYTES),
        trained(pre_tokenizers.Split(Regex("[0-9]"), "merged_with_next"), BYTES),
        trained(split(r"\d"), BYTES),
        trained(split("1?[0-9]|rock"), WORDS),
        trained(DIGITS, BYTES, normalizer=normalizers.NFKC()),
        trained(DIGITS, pre_tokenizers.ByteLevel(add_prefix_space=True)),
        trained(DIGITS, pre_tokenizers.Metaspace()),
        trained(DIGITS, BYTES, tags=("<T1>",)),
        trained(DIGITS, BYTES, tags=(AddedToken("<T>", single_word=True),)),
        trained(DIGITS, BYTES, tags=(AddedToken("<T>", rstrip=True),)),
    ],
    ids=[
        "no cuts",
        "runs of digits",
        "not isolated",
        "engines may differ",
        "cut further",
        "normalised",
        "spaces added",
        "other steps",
        "digit in a tag",
        "tags depend on neighbours",
        "tags take spaces",
    ],
)
def test_other_tokenizers_encode_whole_prompts(tokenizer: Any) -> None:
    encoder, texts = PromptEncoder(tokenizer), random_texts(300)
    assert cuts_of(tokenizer) is None
    assert encoder.encode(texts) == encode_all(tokenizer, texts)


def test_a_pattern_that_would_cut_a_piece_again_is_found_out() -> None:
    """Before a ``y`` an ``x`` is not isolated, but it would be in a piece that ends there."""
    tokenizer = trained(split("x(?!y)|y|1?[0-9]"), BYTES)
    encoder = PromptEncoder(tokenizer)
    assert encoder.cuts is not None
    texts = ["a x b", "hats y 3", "hats xy 3", "dog x 4"]
    assert encoder.encode(texts) == encode_all(tokenizer, texts)
    assert encoder.cuts is None
    assert encoder.encode(texts[::-1]) == encode_all(tokenizer, texts)[::-1]


def test_pieces_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, game = load_tokenizer("tiny"), matrix_game("ipd")
    seen: list[str] = []
    monkeypatch.setattr(encoding, "encode_all", lambda t, texts: seen.extend(texts) or encode_all(t, texts))
    encoder, last = PromptEncoder(tokenizer), game.own_states("row")[0]
    for n in range(40):
        prompt = gemma(game.prompt_parts("row", Observation(last=last, counts=(n, 2, 30, n // 2))))
        assert encoder.encode([prompt]) == encode_all(tokenizer, [prompt])
    assert len(seen) == len(set(seen)) < 40
