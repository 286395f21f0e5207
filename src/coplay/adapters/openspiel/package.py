"""The package itself, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from coplay.errors import missing_extra


def pyspiel() -> ModuleType:
    """OpenSpiel's core.

    Raises:
        UsageError: if OpenSpiel is not installed, with the line that installs it.
    """
    return openspiel_module("pyspiel")


def openspiel_module(name: str) -> ModuleType:
    """A module of OpenSpiel by its full name.

    Args:
        name: e.g. ``open_spiel.python.policy``.

    Raises:
        UsageError: if OpenSpiel is not installed, with the line that installs it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise missing_extra("open_spiel", "openspiel") from None
