"""What PettingZoo's environments show and say, as text."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from coplay.errors import CoplayError

MOST_NUMBERS = 1_000
"""Of an observation that is written out: not those of a picture."""

MOST_DOCUMENTATION = 6_000
"""Characters of what an environment says of itself."""

MASK = "action_mask"
"""The key of what is legal, in observations and in infos."""

_NOT_FOR_PLAYERS = re.compile(
    r"(arguments|usage|legal actions mask|version history|citation|references?)\b", re.IGNORECASE
)
"""Headings of what players need not know."""


def observation_text(observation: object) -> str:
    """An observation as text.

    Numbers of a list stand in a row, those of a table in rows; of more dimensions each table has its place in NumPy's notation above it.

    Args:
        observation: text, a number, an array, or a mapping or tuple of these; an action mask within is left out.

    Raises:
        CoplayError: for anything else, or too many numbers.
    """
    if observation is None:
        return ""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, Mapping):
        parts = {str(key): observation_text(value) for key, value in observation.items() if key != MASK}
        if len(parts) == 1:
            return next(iter(parts.values()))
        return "\n".join(f"{key}:{chr(10) if chr(10) in text else ' '}{text}" for key, text in parts.items())
    if isinstance(observation, tuple):
        return "\n".join(map(observation_text, observation))
    array = np.asarray(observation)
    if array.dtype.kind not in "biuf":
        raise CoplayError(f"an observation is of type {type(observation).__name__}, for which there is no text")
    if array.size > MOST_NUMBERS:
        raise CoplayError(
            f"an observation has {array.size:,} numbers, as a picture has; at most {MOST_NUMBERS:,} are written out"
        )
    return _array_text(array)


def _array_text(array: npt.NDArray[Any]) -> str:
    if array.ndim <= 1:
        return " ".join(map(_number, array.reshape(-1)))
    if array.ndim == 2:
        return "\n".join(_array_text(row) for row in array)
    tables = product(*map(range, array.shape[2:]))
    named: list[tuple[str, Any]] = [(", ".join(map(str, at)), (..., *at)) for at in tables]
    return "\n".join(f"[:, :, {name}]\n{_array_text(array[index])}" for name, index in named)


def _number(value: Any) -> str:
    """All its digits: different numbers are different words."""
    return np.format_float_positional(value, trim="-") if value.dtype.kind == "f" else str(int(value))


def legal_indices(observation: object, info: Mapping[str, Any], size: int) -> list[int]:
    """The actions that a mask in the observation or in the info allows, from 0; without a mask all.

    Args:
        observation: what the agent is shown.
        info: what it is told with it.
        size: how many actions its space has.

    Raises:
        CoplayError: for a mask of another length, or one that allows nothing.
    """
    mask = observation.get(MASK) if isinstance(observation, Mapping) else None
    mask = info.get(MASK) if mask is None else mask
    if mask is None:
        return list(range(size))
    allowed = np.asarray(mask).reshape(-1)
    if len(allowed) != size:
        raise CoplayError(f"an action mask has {len(allowed)} entries for {size} actions")
    found = [int(index) for index in np.flatnonzero(allowed)]
    if not found:
        raise CoplayError("an agent is asked whose action mask allows nothing")
    return found


def action_words(env: Any, info: Mapping[str, Any], size: int, start: int) -> list[str]:
    """What an environment calls its actions, by index: ``info["actions"]``, as coplay's own say it, or ``get_action_meanings()``; else their numbers.

    Args:
        env: the environment.
        info: what the agent is told.
        size: how many actions its space has.
        start: the number of the first.
    """
    named = info.get("actions")
    if named is None and hasattr(env.unwrapped, "get_action_meanings"):
        named = env.unwrapped.get_action_meanings()
    if not isinstance(named, list | tuple):
        named = ()
    words = [" ".join(str(word).split()) for word in list(named)[:size]]
    numbers = [str(start + index) for index in range(size)]
    if not all(words) or len(set(words)) < len(words) or set(words) & set(numbers[len(words) :]):
        return numbers
    return [*words, *numbers[len(words) :]]


def documentation(env: Any) -> str:
    """What an environment says of itself to those who play: ``metadata["description"]``, or the documentation of its module, or of its class.

    Pictures, code, the table of facts and the history of versions are left out.
    """
    own = env.unwrapped
    told = (getattr(own, "metadata", None) or {}).get("description")
    module = getattr(sys.modules.get(type(own).__module__), "__doc__", None) or ""
    text = str(told or (module if re.search(r"(?m)^#+ ", module) else inspect.getdoc(type(own))) or "")
    text = re.sub(r"(?ms)^```.*?^```\s*?$", "", text)
    head, *sections = re.split(r"(?m)^(?=#+ )", text)
    kept = [head, *(one for one in sections if not _NOT_FOR_PLAYERS.match(one.lstrip("# ")))]
    rows = [line.rstrip() for part in kept for line in _without_facts(part).splitlines()]
    rows = [row for row in rows if "This environment is part of" not in row]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip()[:MOST_DOCUMENTATION]


def _without_facts(section: str) -> str:
    """Without the table of facts that PettingZoo's own pages begin with."""
    return re.sub(r"(?m)^\| (Creation|Import) .*\n(\|.*\n)*", "", section)
