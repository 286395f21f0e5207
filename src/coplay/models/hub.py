"""The Hub: asked for a model's files where it answers at all, so that a machine without one does not wait for the library's many tries."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_SECONDS = 5.0
"""How long the Hub may take for its first answer."""


def only_here(path: str) -> dict[str, bool]:
    """Options for Transformers' loaders: what lies on this machine, where nothing else is within reach.

    Args:
        path: a directory, or a Hub id.

    Returns:
        ``{"local_files_only": True}`` for a Hub id if the Hub does not answer; else nothing.
    """
    return {} if Path(path).is_dir() or _answers() else {"local_files_only": True}


@cache
def _answers() -> bool:
    """Whether the Hub answers, whatever it says; asked once."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_SECONDS)
    except Exception:  # of whichever library the Hub's uses; it is offline by its settings, or cannot be reached
        return False
    return True
