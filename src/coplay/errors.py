"""Errors meant for the person who reads them: what was wrong, where, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MANY = 20
"""More names than this are not spelled out in an error."""


class CoplayError(Exception):
    """Something failed while running. The command line prints the message and exits with 1."""


class UsageError(CoplayError):
    """What was asked for cannot be done as asked. The command line prints the message and exits with 2."""


class Stopped(CoplayError):
    """Something from outside that a run needs is not there now. What is done is kept, and the run can be resumed."""


class Interrupted(CoplayError):
    """Ctrl-C: the run was saved and can be resumed. The command line exits with 130."""


class AllDiverged(CoplayError):
    """Every seed of a run has diverged: there is nothing to evaluate."""


class Unmoved(CoplayError):
    """A learner's parameters cannot move, or have not: whatever the run reported of them, nothing would have been learnt."""


class DamagedCheckpoint(CoplayError):
    """A checkpoint does not match its checksum or cannot be read."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known word, or an empty string.

    A word may be the last part of a name with a path (``ipd`` for ``shapellm/ipd``) or the beginning of a single name.
    """
    names = list(known)
    found = [name for name in names if name.endswith(f"/{word}")][:3]
    if not found and len(word) > 2:
        begin = [name for name in names if name.startswith(word)]
        found = begin if len(begin) == 1 else []
    found = found or difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


def unknown(kind: str, word: str, known: Iterable[str], *, listed: str | None = None) -> UsageError:
    """The error for a name that is not in a registry: says the nearest one and lists them all, or says where they are listed.

    Args:
        kind: what the name would be of.
        word: the name.
        known: the names there are.
        listed: what ``coplay list`` calls them; it is referred to where the names are many.
    """
    names = sorted(known)
    many = listed is not None and len(names) > MANY
    where = f"All {len(names)}: coplay list {listed}." if many else f"Known: {', '.join(names)}."
    return UsageError(f"unknown {kind} {word!r}.{suggestion(word, names)} {where}")


def missing_extra(package: str, extra: str) -> UsageError:
    """The error for an optional dependency that is not installed: prints the install line."""
    return UsageError(f"this needs the package {package!r}, which is not installed: pip install 'coplay[{extra}]'")
