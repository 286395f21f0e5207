"""Objects from a user's own code, named on the command line as ``MODULE:NAME``."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import TypeVar

from coplay.errors import UsageError, suggestion

T = TypeVar("T")


def load_any(spec: str) -> object:
    """Import the object that ``spec`` names, of whatever type; see :func:`load_object`."""
    return load_object(spec, object)


def load_object(spec: str, expected: type[T]) -> T:
    """Import the object that ``spec`` names and make sure of its type.

    The current directory is searched first, as ``python -m`` does. Importing runs the module's code.

    Args:
        spec: ``"MODULE:NAME"``, e.g. ``"my_games:PENNIES"`` for ``PENNIES`` in ``my_games.py``.
        expected: what the object must be an instance of, e.g. ``MatrixGame``.

    Raises:
        UsageError: if the spec is not of that form, the module is not there or fails, it has no such name, or the object is of
            another type.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise UsageError(f"{spec!r} must be MODULE:NAME, e.g. my_games:PENNIES for PENNIES in my_games.py")
    if module_name.endswith(".py") or os.sep in module_name:
        dotted = module_name.removesuffix(".py").removeprefix(f".{os.sep}").replace(os.sep, ".").strip(".")
        raise UsageError(f"{module_name!r} is a file name; write the module's name: {dotted}:{name}")
    module = _import(module_name)
    if not hasattr(module, name):
        known = [word for word in vars(module) if not word.startswith("_")]
        raise UsageError(f"module {module_name!r} has no {name!r}.{suggestion(name, known)}")
    found = getattr(module, name)
    if not isinstance(found, expected):
        raise UsageError(f"{spec} is of type {type(found).__name__}, but a {expected.__name__} is needed")
    return found


def _import(name: str) -> ModuleType:
    """Import a module by name, looking in the current directory first."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"there is no module {name!r}; is it a file {name.replace('.', '/')}.py in {here}, or an installed package?"
            ) from None
        raise UsageError(f"module {name!r} needs the module {error.name!r}, which is not installed") from None
    except Exception as error:  # whatever the user's code raises
        raise UsageError(f"module {name!r} failed while being imported: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """An error of somebody else's code in a line, with where it arose."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {message}' if message else ''} ({frame.filename}, line {frame.lineno})"


def failed_method(owner: object, error: Exception) -> str | None:
    """The public method of an object in which an error arose, the innermost of several; None if it arose in none."""
    methods = {
        getattr(getattr(type(owner), name), "__code__", None): name for name in dir(type(owner)) if name[0] != "_"
    }
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if code in methods and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is owner:
            found = methods[code]
    return found
