"""What a checkout says in other words than before: the one file to edit when a refactoring renames something.

Cases are written in the old words, and records are compared in the old words. A checkout that speaks the new ones gets its commands through
:func:`command_for`, and what it writes comes back through :func:`record_of`. So to rename a setting or a metric, add a line to a table; to
give a file another shape, change the function of that file in ``OLD_FORM``; to give it another name, change ``RECORDS`` or ``TENSORS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""A line of a ``.jsonl`` file, or a ``.json`` file."""

# ---------------------------------------------------------------------- to be edited

RENAMED_KEYS: dict[str, str] = {}
"""Settings, old to new. What is below a setting goes with it: ``"row": "seats.row"`` renames ``row.memory`` as well."""

RENAMED_METRICS: dict[str, str] = {}
"""Keys of ``metrics.jsonl``, old to new, in full: ``"illegal/row": "unreadable/row"``."""

RENAMED_WORDS: dict[str, str] = {}
"""Other words of a command, old to new, in full: recipes, options, players."""

RECORDS = ("metrics.jsonl", "episodes.jsonl", "eval.json", "stdout.json")
"""Files of records, by their last names; ``stdout.json`` is what ``coplay eval --json`` printed."""

TENSORS = ("adapters/*/adapter_model.safetensors", "checkpoints/*/state.safetensors")
"""Files of tensors. Checkpoints have what adapters have not: tables, value heads, the optimiser's state. Their keys are no contract, so leave
them out once they are meant to change."""


def speaks_new_words(checkout: Path) -> bool:
    """Whether a checkout has the new names. To be told from something that only the new one has, such as a module."""
    return False


def metrics_line(line: Record) -> Record:
    """A line of ``metrics.jsonl`` with its old keys."""
    old = {new: old for old, new in RENAMED_METRICS.items()}
    return {old.get(key, key): value for key, value in line.items()}


def episode(game: Record) -> Record:
    """A line of ``episodes.jsonl`` in its old form."""
    return game


def evaluation(summary: Record) -> Record:
    """An ``eval.json``, or what ``coplay eval --json`` prints, in its old form."""
    return summary


# ---------------------------------------------------------------------- what uses it

OLD_FORM: Mapping[str, Callable[[Record], Record]] = {
    "metrics.jsonl": metrics_line,
    "episodes.jsonl": episode,
    "eval.json": evaluation,
    "stdout.json": evaluation,
}
"""By file, from a record in new words to the same one in old words."""


def command_for(command: Sequence[str], *, new: bool) -> list[str]:
    """A case's command, in new words if that is what the checkout speaks."""
    return [_renamed(word) for word in command] if new else list(command)


def record_of(file: str, record: Record, *, new: bool) -> Record:
    """A record of a file of that name, in old words."""
    return OLD_FORM[file](record) if new else record


def _renamed(word: str) -> str:
    """A word of a command in new words; of a setting the longest part that has a new name is renamed."""
    key, equals, value = word.partition("=")
    if not equals:
        return RENAMED_WORDS.get(word, word)
    parts = key.split(".")
    for end in range(len(parts), 0, -1):
        head = ".".join(parts[:end])
        if head in RENAMED_KEYS:
            return ".".join([RENAMED_KEYS[head], *parts[end:]]) + equals + value
    return word
