"""Small models on disk with any tokenizer and chat template, made in a moment, and what coplay gives them to read."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack.kinds.endpoint import TESTS

DIFFERS = "differs"
"""The file in which what was found is written, where a command runs."""


def of_tests(module: str) -> Any:
    """A module of the tests."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    return importlib.import_module(module)


def write_model(path: Path, tokenizer: Any, *, rows: int | None = None) -> Path:
    """A random Llama of one layer with a tokenizer.

    Args:
        path: its directory.
        tokenizer: its tokenizer.
        rows: of its embedding; by default the tokenizer's length.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=rows or len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def change_json(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a JSON file holds."""
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))


def note(text: str) -> None:
    """Have what was found read by :func:`noted`."""
    with open(DIFFERS, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text[:2000].replace("\n", "\\n") + "\n")


def noted(folder: Path) -> list[str]:
    """What a command in this folder found."""
    file = folder / DIFFERS
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def replace_everywhere(original: object, other: object) -> None:
    """Have all modules that know a function by its name take another one."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is original:
                setattr(module, name, other)


def compare_tokens(directory: str) -> None:
    """From now on, what is encoded is compared with the tokenizer's own call, without padding and truncation."""
    from transformers import AutoTokenizer

    from coplay.models import encoding, loading

    reference: list[Any] = []
    encode_all, encode = loading.encode_all, encoding.PromptEncoder.encode

    def compared(texts: Any, found: Any) -> Any:
        if not reference:
            reference.append(AutoTokenizer.from_pretrained(directory))
        texts = list(texts)
        if texts:
            wanted = reference[0](texts, add_special_tokens=False, padding=False, truncation=False)["input_ids"]
            for text, own, one in zip(texts, found, wanted, strict=True):
                if list(own) != list(one):
                    note(f"{text!r} is {list(own)[:20]}, not {list(one)[:20]}")
        return found

    replace_everywhere(encode_all, lambda tokenizer, texts: compared(texts, encode_all(tokenizer, texts)))
    encoding.PromptEncoder.encode = lambda self, texts: compared(texts, encode(self, texts))  # type: ignore[method-assign]
