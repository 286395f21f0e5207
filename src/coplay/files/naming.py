"""Names of files as people give them: ``~`` is expanded, and what no file can be called is refused in a line."""

from __future__ import annotations

import os
from pathlib import Path

from coplay.errors import UsageError

MOST_NAME_BYTES = 255
"""Of a file's or directory's own name; more is what no usual file system takes."""


def user_path(text: str) -> Path:
    """The path that a person means.

    Raises:
        UsageError: if it begins with ``~`` and a user who is not known, is no UTF-8 text, or has a null character or a part that is too long.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise UsageError(
            f"{text}: the home directory of {Path(text).parts[0]!r} is not known; write the path in full"
        ) from None
    try:
        parts = [part.encode("utf-8") for part in path.parts]
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} is not UTF-8 text, and no name of a file here") from None
    if b"\0" in os.path.sep.encode().join(parts):
        raise UsageError(f"{text!r} has a null character, and no file's name has one")
    if any(len(part) > MOST_NAME_BYTES for part in parts):
        raise UsageError(
            f"{text[:60]}...: a part of the name is longer than {MOST_NAME_BYTES} bytes; choose a shorter one"
        )
    return path
