"""Regular expressions from files of others, matched against names within a limit of time: a short expression can take longer than anybody waits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

from coplay.errors import UsageError

SECONDS = 10.0
"""What all matches of one adapter may take."""

MOST_LETTERS = 100_000
"""Of an expression."""

_HARMLESS = re.compile(r"[\w.\- ]*")
"""Expressions without repetition or choice, which take no time."""

_CHILD = """
import json, re, sys
patterns, names = json.load(sys.stdin)
try:
    compiled = [(how, re.compile(text)) for how, text in patterns]
except Exception as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
else:
    print(json.dumps([[getattr(one, how)(name) is not None for name in names] for how, one in compiled]))
"""


class Pattern(NamedTuple):
    """An expression, and what it must match of a name."""

    how: Literal["fullmatch", "match"]
    """The whole name, or its beginning."""
    text: str
    """The expression."""


def matches(patterns: Sequence[Pattern], names: Sequence[str], *, where: str) -> list[list[bool]]:
    """Which names each expression matches.

    Expressions that can take long are matched in a process of their own, which is ended when its time is over.

    Args:
        patterns: the expressions.
        names: the names.
        where: what the expressions are, for errors.

    Raises:
        UsageError: for what is no regular expression, and for what takes longer than :data:`SECONDS`.
    """
    if not patterns:
        return []
    if sum(len(text) for _, text in patterns) > MOST_LETTERS:
        raise UsageError(f"{where} have more than {MOST_LETTERS:,} letters")
    if all(_HARMLESS.fullmatch(text) for _, text in patterns):
        return [[getattr(re, how)(text, name) is not None for name in names] for how, text in patterns]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps([patterns, names]),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        found: list[list[bool]] | str = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{where} take more than {SECONDS:g} s to match against the names of the model's layers"
        ) from None
    except (subprocess.CalledProcessError, ValueError):
        raise UsageError(f"{where} cannot be matched against the names of the model's layers") from None
    if isinstance(found, str):
        raise UsageError(f"{where}: no regular expression ({' '.join(found.split())[:200]})")
    return found
