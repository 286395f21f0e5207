"""``coplay``: the verbs, their options, and what the exit status says.

0 done, 1 failed while running, 2 wrong usage or config, 130 interrupted (Ctrl-C, SIGTERM, SIGHUP) and saved.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from coplay.cli.arguments import parser
from coplay.cli.parser import Parser
from coplay.errors import CoplayError, Interrupted, UsageError, suggestion
from coplay.terminal.deafness import heard
from coplay.terminal.printable import printable
from coplay.terminal.streams import lasting_streams

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType

_RESUME = {
    "train": "; resume it from its last checkpoint: coplay train --resume DIR",
    "reproduce": "; the same command resumes it",
    "sweep": "; the same command resumes it",
}
"""What to do after Ctrl-C, by verb; the others leave nothing to resume."""

TRACEBACK = "COPLAY_TRACEBACK"
"""The environment variable that has the traceback of an internal error printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; errors meant for people are printed without a traceback.

    The exit status says what was done, whoever reads the output: a reader who leaves (``| head``) stops nothing.
    """
    if "torch" not in sys.modules and not any(isinstance(finder, _Uninterrupted) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Uninterrupted())
    with lasting_streams() as unwritten, stopped_as_by_ctrl_c(), no_ctrl_c_lost(), printable_warnings():
        try:
            status = _main(sys.argv[1:] if arguments is None else list(arguments))
        except Exception as error:  # a fault of coplay; what can be foreseen is handled below
            if os.environ.get(TRACEBACK):
                raise
            status = _fail(_unforeseen(error), 1)
    if unwritten and status == 0:
        return _fail(f"standard output could not be written: {unwritten[0].strerror or unwritten[0]}", 1)
    return status


def _main(arguments: list[str]) -> int:
    top = parser()
    options, rest = top.parse_known_args(_readable(top, arguments))
    # Overrides may stand anywhere; argparse gives up on positional arguments after the first option that follows one.
    # A word without = is one of them only while the recipe is missing, since it may be the value of an unknown option.
    sought = hasattr(options, "overrides") and "=" in (options.recipe or "")
    late = [word for word in rest if hasattr(options, "overrides") and not word.startswith("-")]
    overrides = [word for word in late if "=" in word or sought]
    if len(overrides) < len(rest):
        unknown = [word for word in rest if word not in overrides]
        of_verb: Parser = getattr(options, "parser", top)
        hint = _as_overrides(unknown, arguments, options) or suggestion(unknown[0], of_verb.option_names())
        of_verb.error(f"unrecognized arguments: {' '.join(unknown)}.{hint}")
    if not hasattr(options, "verb"):
        top.print_help()
        return 0
    if hasattr(options, "overrides"):
        _sort_overrides(options, overrides)
    try:
        module, function = options.verb
        run = getattr(import_module(f"coplay.cli.{module}"), function)
        return int(run(options))
    except SystemExit as error:  # no verb does that
        return _fail(f"{_place(error)} ended the program with sys.exit({error.code!r})", 1)
    except UsageError as error:
        return _fail(error, 2)
    except CoplayError as error:
        return _fail(error, 130 if isinstance(error, Interrupted) else 1)
    except KeyboardInterrupt:
        print(f"\ninterrupted{_RESUME.get(function, '')}", file=sys.stderr)
        return 130
    except OSError as error:
        return _fail(*_of_the_system(error))


def _readable(top: Parser, arguments: list[str]) -> list[str]:
    """The arguments, which must be text: no file has a name with a null character, and no config can hold what is not UTF-8."""
    for word in arguments:
        if "\0" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
            top.error(f"the argument {word[:100]!r} is not UTF-8 text, or has a null character; coplay takes neither")
    return arguments


def _of_the_system(error: OSError) -> tuple[str, int]:
    """What to say of an error of the operating system, and the exit status."""
    where = f": {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "free some space; a started run is resumed from its last checkpoint: coplay train --resume DIR"
        return f"the disk is full ({error.filename or error.strerror}); {hint}", 1
    if error.errno == errno.ENAMETOOLONG:
        return f"the name is longer than the file system takes{where}; choose a shorter one", 2
    return f"{error.strerror or error}{where}", 1


def _place(error: BaseException) -> str:
    """The file and line that an exception comes from."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return "a module of your own"
    frame, line = frames[-1]
    return f"{printable(frame.f_code.co_filename)}, line {line},"


def _unforeseen(error: Exception) -> str:
    """A fault of coplay in a line."""
    from coplay.user_code import one_line

    what = " ".join(one_line(error).split())
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {what}. Use fewer or smaller games, seeds, rounds, adapters, or a smaller model"
    return (
        f"internal error: {what}. This is a fault of coplay; please report it with the command and what is printed when"
        f" the environment variable {TRACEBACK} is 1"
    )


class _Uninterrupted:
    """Imports torch with Ctrl-C put off until it is there: an exception in the middle of its initialisation ends the process with an abort."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Load torch by this loader, once."""
        if fullname != "torch":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self.loader, spec.loader = spec.loader, cast("Loader", self)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the module's own loader does, then interrupt if that was asked for meanwhile."""
        asked: list[int] = []
        before = {}

        def postpone(number: int, frame: FrameType | None) -> None:
            heard()
            asked.append(number)

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, postpone)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        try:
            self.loader.exec_module(module)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        for asked_for in asked[:1]:
            signal.raise_signal(asked_for)


@contextlib.contextmanager
def stopped_as_by_ctrl_c() -> Iterator[None]:
    """In the block, a request to end (SIGTERM) and a closed terminal (SIGHUP) do what Ctrl-C does: a run is saved after its trial.

    A signal that was ignored before (``nohup``) stays ignored.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def no_ctrl_c_lost() -> Iterator[None]:
    """In the block, a Ctrl-C that falls into a destructor or a callback, where Python prints and ignores it, comes again a moment later."""
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(0.02, signal.raise_signal, (signal.SIGINT,)).start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def printable_warnings() -> Iterator[None]:
    """In the block, warnings of libraries and modules, which may quote text from outside, cannot act on the terminal."""
    before = warnings.formatwarning

    def formatted(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        return printable(before(message, category, filename, lineno, line), keep="\n")

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = before


def _interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does now; a job in the background, which shells let ignore Ctrl-C, ends all the same."""
    heard()
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


def _sort_overrides(options: argparse.Namespace, more: Sequence[str]) -> None:
    """Take the first word that is no ``key=value`` for the recipe, wherever it stands, and all others for overrides."""
    words = [word for word in (options.recipe, *options.overrides, *more) if word is not None]
    recipe = next((word for word in words if "=" not in word), options.recipe)
    if recipe is not None:
        words.remove(recipe)
    options.recipe, options.overrides = recipe, words


def _as_overrides(unknown: Sequence[str], arguments: Sequence[str], options: argparse.Namespace) -> str:
    """How to write options that are settings of a run, or are nearer to one than to an option: ``--trials 3`` is ``trials=3``."""
    if not hasattr(options, "overrides"):
        return ""
    from coplay.recipes.sft import SftSettings
    from coplay.runs.config import Config

    known = SftSettings.model_fields if options.verb[1] == "sft" else (*Config.model_fields, "row", "column", "learner")
    taken = options.parser.option_names()
    settings = {f"--{name}": name for name in known if f"--{name}" not in taken}
    names = [*taken, *settings]
    found = []
    for word in unknown:
        key, _, value = word.replace("-", "_").partition("=")
        head, dot, rest = key.removeprefix("__").partition(".")
        nearest = difflib.get_close_matches(f"--{head}", names, n=1, cutoff=0.75)
        if not word.startswith("--") or not nearest or nearest[0] not in settings:
            continue
        after = arguments[arguments.index(word) + 1 :][:1]
        given = value or (after[0] if after and not after[0].startswith("-") else "VALUE")
        found.append(f"{settings[nearest[0]]}{dot}{rest}={given}")
    return f" Settings are written without dashes: {' '.join(found)}" if found else ""


def _fail(error: object, status: int) -> int:
    for line in str(error).split("\n"):
        print(f"coplay: {printable(line)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
