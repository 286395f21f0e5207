"""``coplay``: the verbs, their options, and what the exit status says.

0 done, 1 failed while running, 2 wrong usage or config, 130 interrupted and saved.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from coplay.cli.arguments import Parser, parser
from coplay.errors import CoplayError, UsageError, suggestion
from coplay.terminal.printable import printable

_RESUME = {
    "train": "; resume it from its last checkpoint: coplay train --resume DIR",
    "reproduce": "; the same command resumes it",
    "sweep": "; the same command resumes it",
}
"""What to do after Ctrl-C, by verb; the others leave nothing to resume."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; errors meant for people are printed without a traceback."""
    _spell_out_what_cannot_be_printed()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    top = parser()
    options, rest = top.parse_known_args(arguments)
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
    except UsageError as error:
        return _fail(error, 2)
    except CoplayError as error:
        from coplay.runs.train import Interrupted

        return _fail(error, 130 if isinstance(error, Interrupted) else 1)
    except KeyboardInterrupt:
        print(f"\ninterrupted{_RESUME.get(function, '')}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away, e.g. `| head`
        return 0
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            hint = "free some space; a started run is resumed from its last checkpoint: coplay train --resume DIR"
            return _fail(f"the disk is full ({error.filename or error.strerror}); {hint}", 1)
        return _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 1)


def _sort_overrides(options: argparse.Namespace, more: Sequence[str]) -> None:
    """Take the first word that is no ``key=value`` for the recipe, wherever it stands, and all others for overrides."""
    words = [word for word in (options.recipe, *options.overrides, *more) if word is not None]
    recipe = next((word for word in words if "=" not in word), options.recipe)
    if recipe is not None:
        words.remove(recipe)
    options.recipe, options.overrides = recipe, words


def _as_overrides(unknown: Sequence[str], arguments: Sequence[str], options: argparse.Namespace) -> str:
    """How to write options that are settings of a run: ``--trials 3`` is ``trials=3``."""
    if not hasattr(options, "overrides"):
        return ""
    from coplay.runs.config import Config

    found = []
    for word in unknown:
        key, _, value = word.removeprefix("--").replace("-", "_").partition("=")
        if not word.startswith("--") or key.partition(".")[0] not in (*Config.model_fields, "row", "column", "learner"):
            continue
        after = arguments[arguments.index(word) + 1 :][:1]
        found.append(f"{key}={value or (after[0] if after and not after[0].startswith('-') else 'VALUE')}")
    return f" Settings are written without dashes: {' '.join(found)}" if found else ""


def _fail(error: object, status: int) -> int:
    for line in str(error).split("\n"):
        print(f"coplay: {printable(line)}", file=sys.stderr)
    return status


def _spell_out_what_cannot_be_printed() -> None:
    """Have characters that a terminal's encoding lacks written as escapes, instead of failing on them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
