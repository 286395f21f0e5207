"""The table of architectures: some rows are examined again, and the page is about the classes and the version of Transformers that are installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

pytest.importorskip("peft", reason="trained adapters are read by PEFT: pip install -c constraints.txt -e '.[dev]'")
architectures: Any = import_module("architectures")
trial: Any = import_module("architecture_trial")
tiny: Any = import_module("tiny_architectures")

PAGE = ROOT / "docs" / "reference" / "architectures.md"

SAMPLE = (
    "bloom",
    "deepseek_v3",
    "gemma3",
    "gemma3n_text",
    "gpt2",
    "gpt_oss",
    "lfm2",
    "llama",
    "mllama",
    "qwen3_5_text",
    "recurrent_gemma",
    "t5gemma",
)
"""One of each kind: keys and values of other layouts, latent ones, towers beside the text, shared and learned positions, experts, hybrids, refusals."""


def said() -> dict[str, tuple[str, str, str]]:
    """What the page says of each model type."""
    found: dict[str, tuple[str, str, str]] = architectures.verdicts_of(PAGE.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("model_type", list(SAMPLE))
def test_an_architecture_is_what_the_page_says(model_type: str, tmp_path: Path, cache: Path) -> None:
    row = trial.examine(model_type, architectures.classes()[model_type], tmp_path)
    assert (row.verdict, row.engine, row.targets) == said()[model_type], row
