"""``tokenizers``: tokenizers that pad or cut by what their files say, with special tokens of all sorts; tokens are compared with their own calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attack.judge import judged
from attack.models import change_json, compare_tokens, noted, of_tests, write_model
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

Change = Callable[[Path], object]

_SHORT = ("--episodes", "1", "--rounds", "2")

COMMANDS = (
    ("eval", "--game", "ipd", *_SHORT, "hf:./model", "tit_for_tat"),
    ("eval", "--game", "ipd-8", *_SHORT, "hf:./model", "tit_for_tat", "--max-tokens", "4"),
    ("eval", "--game", "trust-and-split", *_SHORT, "hf:./model", "hf:./model", "--max-tokens", "4"),
    ("probe", "./model", "--game", "ipd", "--pairs", "C/D", "--quiet"),
    ("models", "check", "./model"),
    ("labels", "./model", "--game", "ipd"),
)
"""Commands in which a model reads prompts."""

CUTS: tuple[dict[str, object], ...] = tuple(
    {"direction": direction, "max_length": length, "strategy": strategy, "stride": stride}
    for direction in ("Right", "Left")
    for length in (1, 16, 64)
    for strategy in ("LongestFirst", "OnlyFirst")
    for stride in (0, 1)
    if stride < length
)
PADS: tuple[dict[str, object], ...] = tuple(
    {
        "strategy": strategy,
        "direction": direction,
        "pad_to_multiple_of": multiple,
        "pad_id": pad,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }
    for strategy in ("BatchLongest", {"Fixed": 4096}, {"Fixed": 8})
    for direction in ("Left", "Right")
    for multiple in (None, 64)
    for pad in (0, 258)
)
"""What a tokenizer's file may say of cutting and padding."""

SETTINGS: dict[str, tuple[object, ...]] = {
    "model_max_length": (1, 8, 0, -1, None, "x", 10**40),
    "padding_side": ("left", "right", "x"),
    "truncation_side": ("left", "x"),
    "add_bos_token": (True, False),
    "add_eos_token": (True,),
    "add_prefix_space": (True, False, "x"),
    "clean_up_tokenization_spaces": (True, False),
    "split_special_tokens": (True, False, "x"),
    "padding": ("max_length", True),
    "truncation": (True, "longest_first"),
    "max_length": (8,),
    "pad_token": ("C", ""),
    "eos_token": ("D", None, 5),
    "unk_token": (" ", "zzz"),
    "bos_token": ("", None, 5, {"content": "<|im_start|>", "lstrip": True, "__type": "AddedToken"}),
    "tokenizer_class": ("X", "PreTrainedTokenizerFast", "LlamaTokenizer", "GPT2Tokenizer", "AutoTokenizer", None, 5),
}
"""What ``tokenizer_config.json`` may say."""

TOKENS = (
    *(
        "",
        " ",
        "  ",
        "\n",
        "\t",
        "C",
        "D",
        "A",
        "B",
        "c",
        "7",
        "CD",
        "<",
        ">",
        ".",
        ".*",
        "(a|b)",
        "[",
        "\\",
        "^",
        "$",
        "a+",
    ),
    *(
        "?",
        "COOPERATE",
        "DEFECT",
        "cooperate",
        "points",
        "point",
        "<|im",
        "im_start|>",
        "<|im_start|>user",
        "user",
        "assistant",
    ),
    *(
        "<|im_start|><|im_end|>",
        "é",
        "🙂",
        "\u200b",
        "\x00",
        "\ufeff",
        "\ufb01",
        "\uff21",
        "a" * 300,
        "\u202e",
        "{{",
        "}}",
        "{% if %}",
        "0",
        "1",
    ),
    *(" <s>", "<s> ", "</s>\n", "Reply", "the", ":", "Ġ", "▁", "##a"),
)
"""Texts that may be tokens of their own."""

FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


def _added(content: str, flags: dict[str, bool], number: int | None) -> Change:
    """One more token in the tokenizer's file, with this number or the next one."""

    def apply(directory: Path) -> None:
        def change(found: dict[str, Any]) -> None:
            after = 1 + max([one["id"] for one in found["added_tokens"]], default=255)
            token = {"id": after if number is None else number, "content": content, **flags}
            found["added_tokens"].append(token)

        change_json(directory / "tokenizer.json", change)

    return apply


def _in_file(key: str, value: object) -> Change:
    return lambda directory: change_json(directory / "tokenizer.json", lambda found: found.update({key: value}))


def _in_settings(values: dict[str, object]) -> Change:
    return lambda directory: change_json(directory / "tokenizer_config.json", lambda found: found.update(values))


BEGINS = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<|im_end|>": {"id": "<|im_end|>", "ids": [257], "tokens": ["<|im_end|>"]}},
}
"""What a tokenizer does behind each text: a token stands before it."""

NORMALIZERS: tuple[object, ...] = (
    *({"type": one} for one in ("NFKC", "Lowercase", "StripAccents", "NFD")),
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Replace", "pattern": {"String": "C"}, "content": "D"},
    {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
)


def _changes(rng: random.Random) -> Iterator[tuple[str, Change]]:
    """What may stand in a tokenizer's files, endlessly, one kind after another."""
    while True:
        value = rng.choice(CUTS)
        yield f"truncation {json.dumps(value)}", _in_file("truncation", value)
        content, flags = rng.choice(TOKENS), {name: rng.random() < 0.4 for name in FLAGS}
        number = rng.choice([None] * 6 + [0, 256, 10**6, 2**32, -1])
        on = " ".join(name for name, one in flags.items() if one)
        yield f"token {content[:30]!r} {number} {on}", _added(content, flags, number)
        value = rng.choice(PADS)
        yield f"padding {json.dumps(value)}", _in_file("padding", value)
        settings: dict[str, object] = {
            key: rng.choice(SETTINGS[key]) for key in rng.sample(sorted(SETTINGS), rng.randrange(1, 4))
        }
        yield f"tokenizer_config.json {json.dumps(settings)}", _in_settings(settings)
        normalizer = rng.choice(NORMALIZERS)
        yield f"normalizer {json.dumps(normalizer)}", _in_file("normalizer", normalizer)
        yield "a token before each text", _in_file("post_processor", BEGINS)


@kind(
    "tokenizers",
    "tokenizers whose files switch on padding and truncation, with odd special tokens; tokens compared with their own calls",
    most=120,
    short=4,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """One or two changes at once, endlessly."""
    changes = _changes(rng)
    while True:
        chosen = [next(changes)] + ([next(changes)] if rng.random() < 0.3 else [])
        yield _try(chosen, rng.choice(list(of_tests("text.family_templates").FAMILIES)), rng.choice(COMMANDS))


def _try(changes: list[tuple[str, Change]], family: str, argv: tuple[str, ...]) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = write_model(place.work / "model", of_tests("text.small_tokenizers").family(family))
        for _, change in changes:
            change(directory)
        done = place.coplay(*argv, limit=60, prepare=partial(compare_tokens, "model"))
        falls = judged(done, names=["model", "label"])
        found = noted(place.work)
        return falls or [
            Fall("silent", f"tokens differ from the tokenizer's own call: {one[:300]}") for one in found[:1]
        ]

    return Try(f"{family}: {' and '.join(name for name, _ in changes)}, then {argv[0]} {argv[2]}", run)
