"""Objects from a user's own code, named on the command line as ``MODULE:NAME``."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

from coplay.errors import CoplayError, UsageError, suggestion

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
    module = load_module(module_name)
    with own_code(f"module {module_name!r}"):
        if not hasattr(module, name):
            known = [word for word in vars(module) if not word.startswith("_")]
            raise UsageError(f"module {module_name!r} has no {name!r}.{suggestion(name, known)}")
        found = getattr(module, name)
        if not isinstance(found, expected):
            raise UsageError(f"{spec} is of type {type(found).__name__}, but a {expected.__name__} is needed")
    return found


def load_module(name: str) -> ModuleType:
    """Import a module by name, looking in the current directory first.

    Raises:
        UsageError: if it is not there, needs another that is not, or fails.
    """
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    with own_code(f"module {name!r}", when="while being imported"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                raise UsageError(
                    f"there is no module {name!r}; is it a file {name.replace('.', '/')}.py in {here}, or an installed package?"
                ) from None
            raise UsageError(f"module {name!r} needs the module {error.name!r}, which is not installed") from None


@contextlib.contextmanager
def own_code(what: str, *, when: str = "") -> Iterator[None]:
    """Run code of a user's own: whatever it raises is a UsageError, and what it prints goes to standard error.

    Even a wish to end the program is one: the exit status of the command line says what coplay did.

    Args:
        what: whose code it is, at the beginning of the error.
        when: what it was doing.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (CoplayError, KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as error:
        put = "; put what is to run as a program below `if __name__ == '__main__':`" if when else ""
        raise UsageError(
            f"{what} ended the program {when}{' ' * bool(when)}with sys.exit({error.code!r}){put}"
        ) from None
    except BaseException as error:
        raise UsageError(f"{what} failed{' ' * bool(when)}{when}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """An error of somebody else's code in a line, with where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    try:
        message = " ".join(str(error).split())
    except Exception:  # an error of one's own may even fail to say what it is
        message = ""
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{f': {message}' if message else ''}{where}"


def failed_method(owner: object, error: BaseException) -> str | None:
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
