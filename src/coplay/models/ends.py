"""The tokens that end a reply, as a model's files name them."""

from __future__ import annotations

from pathlib import Path

from coplay.errors import UsageError
from coplay.files.reading import read_json

MOST_ID = 2**31
"""Above every token id."""


def ends_of(ids: object) -> frozenset[int]:
    """The ids of an ``eos_token_id``: one, several or none. What no token can have for an id, as -1, ends nothing."""
    listed = ids if isinstance(ids, list | tuple) else [ids]
    return frozenset(one for one in listed if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < MOST_ID)


def ends_of_files(directory: Path | None) -> frozenset[int]:
    """The tokens that end a reply by the generation config in a model's directory, or by its config if there is none.

    Raises:
        UsageError: if it cannot be read.
    """
    for name in ("generation_config.json", "config.json"):
        if directory is not None and (directory / name).exists():
            try:
                found = read_json(directory / name)
            except UsageError as error:
                raise UsageError(f"model: {error}") from None
            return ends_of(found.get("eos_token_id") if isinstance(found, dict) else None)
    return frozenset()
