"""How games of other libraries are named with parameters: ``NAME(parameter=value,…)``."""

from __future__ import annotations

import ast
import re
from typing import Any

from coplay.errors import UsageError

_WRITTEN = re.compile(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", re.DOTALL)


def name_and_parameters(written: str, what: str, *, example: str) -> tuple[str, dict[str, Any]]:
    """A name and its parameters, which are literals of Python.

    Args:
        written: e.g. ``rps_v2(num_actions=5,max_cycles=3)``.
        what: what is named, at the beginning of the error.
        example: how it is written.

    Raises:
        UsageError: for what is not of that form.

    Example:
        >>> name_and_parameters("rps_v2(num_actions=5)", "game", example="")
        ('rps_v2', {'num_actions': 5})
    """
    found = _WRITTEN.fullmatch(written)
    try:
        call = ast.parse(f"f({(found and found[2]) or ''})", mode="eval").body
        if found is None or not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return found[1], {str(one.arg): ast.literal_eval(one.value) for one in call.keywords if one.arg is not None}
    except (SyntaxError, ValueError):
        raise UsageError(f"{what}: parameters are written as {example}") from None
