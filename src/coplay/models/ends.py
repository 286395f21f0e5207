"""What ends a reply, as a model's files name it: tokens and texts."""

from __future__ import annotations

from pathlib import Path

from coplay.errors import UsageError
from coplay.files.reading import read_json


def ends_of(ids: object, texts: object = None) -> frozenset[int | str]:
    """What ends a reply.

    Args:
        ids: an ``eos_token_id``: a token, several or none.
        texts: ``stop_strings``: a text, several or none.

    Raises:
        UsageError: for anything else.
    """
    found: set[int | str] = set()
    for one in _listed(ids):
        token = _whole(one)
        if token is None:
            raise UsageError(f"eos_token_id must be a token's number, or a list of them, not {str(one)[:60]!r}")
        found.add(token)
    for one in _listed(texts):
        if not isinstance(one, str):
            raise UsageError(f"stop_strings must be a text, or a list of them, not {str(one)[:60]!r}")
        found.add(one)
    return frozenset(found)


def _listed(value: object) -> list[object]:
    return [] if value is None else list(value) if isinstance(value, list | tuple | set) else [value]


def _whole(value: object) -> int | None:
    """A whole number, which files may hold as 2.0; None for what is none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ends_of_files(directory: Path | None) -> frozenset[int | str]:
    """What ends a reply by the generation config in a model's directory, or by its config if there is none.

    Raises:
        UsageError: if it cannot be read.
    """
    for name in ("generation_config.json", "config.json"):
        if directory is not None and (directory / name).exists():
            try:
                found = read_json(directory / name)
                if not isinstance(found, dict):
                    raise UsageError(f"{name} holds no JSON object")
                if name == "config.json" and isinstance(found.get("text_config"), dict):
                    found = {"eos_token_id": found["text_config"].get("eos_token_id"), **found}
                return ends_of(found.get("eos_token_id"), found.get("stop_strings"))
            except UsageError as error:
                raise UsageError(f"model: {error}") from None
    return frozenset()
