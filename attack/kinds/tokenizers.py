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


def _generation(values: dict[str, object]) -> Change:
    """Settings of what ``generate`` does, which say where a reply ends."""

    def apply(directory: Path) -> None:
        file = directory / "generation_config.json"
        found = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**found, **values}))

    return apply


def _use_template(found: dict[str, Any], template: object) -> None:
    found["chat_template"] = template


def _templates(first: str, second: str, places: list[str]) -> Change:
    """Chat templates in several places, of which Transformers takes one."""

    def apply(directory: Path) -> None:
        texts = dict(zip(places, (first, second, first), strict=False))
        (directory / "chat_template.jinja").unlink(missing_ok=True)
        for place, text in texts.items():
            if place == "tokenizer_config.json":
                change_json(directory / place, partial(_use_template, template=text))
            elif place == "listed":
                named = [{"name": "default", "template": text}, {"name": "rag", "template": "{{ nothing.at.all }}"}]
                change_json(directory / "tokenizer_config.json", partial(_use_template, template=named))
            elif place == "chat_template.json":
                (directory / place).write_text(json.dumps({"chat_template": text}))
            else:
                (directory / place).parent.mkdir(exist_ok=True)
                (directory / place).write_text(text)

    return apply


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


ENDS: tuple[object, ...] = (
    *(
        -1,
        10**6,
        2**31,
        2**63,
        10**30,
        10**300,
        1.5,
        True,
        None,
        "x",
        "<|im_end|>",
        [],
        [None],
        [0, -5, 10**30],
        {},
        [[1]],
        {"a": 1},
    ),
    *(list(range(256)), [255]),
)
"""What a file may say of the tokens that end a reply."""

WHERE = (
    *("chat_template.jinja", "tokenizer_config.json", "listed", "chat_template.json"),
    *("additional_chat_templates/default.jinja", "additional_chat_templates/rag.jinja"),
)
"""Where chat templates lie."""


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
        ends = rng.choice(ENDS)
        yield (
            f"generation_config.json eos_token_id {str(ends)[:40]}",
            _generation({"eos_token_id": ends, "pad_token_id": ends}),
        )
        families, places = of_tests("text.family_templates").FAMILIES, rng.sample(WHERE, rng.randrange(1, 4))
        one, other = rng.choice(list(families)), rng.choice(list(families))
        yield f"templates of {one} and {other} in {places}", _templates(families[one], families[other], places)


@kind(
    "tokenizers",
    "tokenizers whose files switch on padding and truncation, with odd special tokens; tokens compared with their own calls",
    most=120,
    short=3,
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
