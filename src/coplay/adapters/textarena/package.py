"""The package itself, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from coplay.errors import missing_extra

MOST_CHARACTERS = 1000
"""Of a reply, from its end, that TextArena reads."""


def textarena() -> ModuleType:
    """TextArena.

    Raises:
        UsageError: if it is not installed, with the line that installs it.
    """
    try:
        return import_module("textarena")
    except ImportError:
        raise missing_extra("textarena", "textarena") from None
