"""The examples of the docstrings run, and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import coplay

SOURCE = Path(coplay.__file__).parent


def examples(path: Path) -> int:
    """How many prompts a file shows."""
    return sum(line.lstrip().startswith(">>> ") for line in path.read_text(encoding="utf-8").splitlines())


def module_name(path: Path) -> str:
    """``coplay.games.matrix`` for ``games/matrix.py``."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


WITH_EXAMPLES = {module_name(path): examples(path) for path in sorted(SOURCE.rglob("*.py")) if examples(path)}
"""Modules that have examples, and how many. No other is imported here."""


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0, "see the output above"
    assert results.attempted == WITH_EXAMPLES[name], "some examples are where doctest does not look"
