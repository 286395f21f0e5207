"""Configs from outside: mappings checked, values set by key, and what is wrong with them said in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from coplay.config import Config, RunConfig
from coplay.errors import UsageError, suggestion
from coplay.rounds.config import AnyConfig, RoundConfig

ConfigT = TypeVar("ConfigT", bound=RunConfig)


def validated(data: dict[str, Any]) -> AnyConfig:
    """Check a complete config, of whatever kind its ``kind`` says; a matrix game's has none.

    Raises:
        UsageError: one line a problem: the field, what is allowed, what was given, and the nearest known key for a misspelt one.
    """
    if "kind" in data:
        return _validated(data, RoundConfig)
    return _validated(data, Config)


def _validated(data: dict[str, Any], kind: type[ConfigT]) -> ConfigT:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        # One line for each of a union's failed members says less than the first of them does.
        problems = {_place(problem): problem for problem in reversed(error.errors())}
        raise UsageError("\n".join(_explain(problem, kind) for problem in reversed(problems.values()))) from None


def overridden(config: ConfigT, assignments: list[str]) -> ConfigT:
    """Apply ``key=value`` overrides, dots for nesting (``row.ppo.learning_rate=1e-5``), and check the result.

    Values are read as JSON where they are JSON (numbers, lists, true, null), else as words.

    Raises:
        UsageError: for a malformed assignment, an unknown key or an impossible value.
    """
    changes: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise UsageError(f"{assignment!r} is not of the form key=value")
        changes[key.strip()] = value_of(text)
    return changed(config, changes)


def value_of(text: str) -> Any:
    """A value as it is typed: JSON where it is JSON (numbers, lists, true, null), else a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def changed(config: ConfigT, changes: Mapping[str, Any]) -> ConfigT:
    """Set values by key, dots for nesting, and check the result.

    Raises:
        UsageError: for an unknown key or an impossible value.
    """
    data = config.model_dump(mode="json")
    for key, value in changes.items():
        *parents, leaf = key.split(".")
        place: Any = data
        for depth, part in enumerate(parents):
            if not isinstance(place, dict) or not isinstance(place.get(part), dict):
                known = _known_keys(type(config), parents[:depth])
                if isinstance(place, dict) and part in place:
                    raise UsageError(f"{key}: {part} is a single value here ({place[part]!r}), not a section")
                raise UsageError(
                    f"{key}: there is no section {part!r}.{suggestion(part, known)} Known: {', '.join(known)}."
                )
            place = place[part]
        place[leaf] = value
    return _validated(data, type(config))


def _place(problem: Any) -> tuple[Any, ...]:
    """Where the problem is; pydantic adds the type it tried to the place of a union's member."""
    path = tuple(problem["loc"])
    return path[:1] if path[:1] == ("game",) else path


def _explain(problem: Any, kind: type[RunConfig]) -> str:
    path = [str(part) for part in _place(problem)]
    field = ".".join(path) or "config"
    if problem["type"] == "extra_forbidden":
        known = _known_keys(kind, path[:-1])
        return f"{field}: there is no such key.{suggestion(path[-1], known)} Known here: {', '.join(known)}."
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "tuple_type":
        message = f"give several values with commas, e.g. {field}=1,2"
    given = f" (got {problem['input']!r})" if not isinstance(problem["input"], dict) else ""
    return f"{field}: {message[0].lower() + message[1:]}{given}"


def _known_keys(kind: type[RunConfig], path: list[str]) -> list[str]:
    model: Any = kind
    for part in path:
        model = model.model_fields[part].annotation
    return [key for key in model.model_fields if key not in ("version", "kind")]
