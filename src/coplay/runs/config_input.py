"""Configs from outside: mappings are checked, values are set by key, and errors name the key and the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError

from coplay.errors import UsageError, suggestion
from coplay.files.reading import MOST_DEPTH, parse_json
from coplay.games import GAMES
from coplay.models.known import TEXT_MODELS
from coplay.runs.config import Config
from coplay.runs.initial import fitting
from coplay.runs.version_1 import is_version_1, translated

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ModelT = TypeVar("ModelT", bound=BaseModel)

LONGEST_SHOWN = 300
"""Letters of a value in an error."""


def parse_config(data: Mapping[str, object]) -> Config:
    """Check a complete config; one of an older version is translated first.

    Raises:
        UsageError: one line a problem: the field, what is allowed, what was given, and the nearest known key for a misspelt one.
    """
    return _with_text_model(_validated(Config, translated(data) if is_version_1(data) else dict(data)))


def _validated(kind: type[ModelT], data: Mapping[str, object]) -> ModelT:
    for problem in _unstorable("", data):
        raise UsageError(problem)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        # One line for each of a union's failed members says less than the first of them does.
        problems = {_place(problem): problem for problem in reversed(error.errors())}
        explained = [_explain(problem, data, kind) for problem in reversed(problems.values())]
        raise UsageError("\n".join(explained)) from None


def _unstorable(key: str, value: object) -> Iterator[str]:
    """Values that no file of a run could hold, whatever their key: text that is not UTF-8, whole numbers of more than 64 bits."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
        yield f"{key or 'config'}: text must be UTF-8 without null characters (got {value[:100]!r})"
    elif isinstance(value, int) and abs(value) >= 2**63:
        yield f"{key or 'config'}: whole numbers must fit into 64 bits (got {str(value)[:20]}... with {len(str(value))} digits)"
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _unstorable("", name)
            yield from _unstorable(f"{key}.{name}".lstrip("."), item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _unstorable(key, item)


def _with_text_model(config: Config) -> Config:
    """The same config with the embedded model that fits its replies.

    ``tiny`` and ``tiny-second`` reply with one token. Where a game of the catalogue is played in text, their names mean ``tiny-talk`` and
    ``tiny-talk-second``.
    """
    if config.model not in TEXT_MODELS:
        return config
    game = GAMES.get(str(config.game_name).partition(":")[0])
    one_token = game is None or game.one_token
    models = [learner for learner in config.learners.values() if learner.policy == "language_model"]
    if any((learner.replies or ("choice" if one_token else "text")) == "text" for learner in models):
        return config.model_copy(update={"model": TEXT_MODELS[config.model]})
    return config


def with_overrides(config: Config, assignments: Sequence[str]) -> Config:
    """Apply ``key=value`` overrides and check the result.

    Dots are for nesting (``learners.row.ppo.learning_rate=1e-5``); a learner's name stands for its section (``row.ppo.learning_rate=1e-5``).
    Values are read as JSON where they are JSON (numbers, lists, true, null), else as words.

    Raises:
        UsageError: for a malformed assignment, an unknown key or an impossible value.
    """
    return with_values(config, parsed(assignments))


def parsed(assignments: Sequence[str]) -> dict[str, object]:
    """The values that ``key=value`` words set, by key; raises UsageError for other words."""
    changes: dict[str, object] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise UsageError(f"{assignment!r} is not of the form key=value")
        try:
            changes[key.strip()] = parse_value(text)
        except UsageError as error:
            raise UsageError(f"{key}: {error}") from None
    return changes


def with_settings(settings: ModelT, assignments: Sequence[str]) -> ModelT:
    """Settings of another kind than a run's, with ``key=value`` words applied and checked; raises as :func:`with_overrides` does."""
    data = settings.model_dump(mode="json")
    for key, value in parsed(assignments).items():
        _set(data, key, value, type(settings))
    return _validated(type(settings), data)


def assignments(config: Config) -> list[str]:
    """The whole config as ``key=value`` overrides: :func:`with_overrides` applied to any config of the same recipe gives it back.

    Values are as a person would write them: words without quotes, lists with commas where :func:`parse_value` reads them as such.
    """
    values = flat(config.model_dump(mode="json", exclude={"version"}))
    return [
        f"{key.removeprefix('learners.')}={written_value(value, listed=not key.startswith('game.'))}"
        for key, value in values.items()
    ]


def written_value(value: object, *, listed: bool = True) -> str:
    """A value as a person types it; :func:`parse_value` and the check of the config read it back.

    Args:
        value: what JSON can hold.
        listed: whether the config's check takes commas for lists; not within a game's own mapping.
    """
    if isinstance(value, str):
        return value if parse_value(value) == value else json.dumps(value)
    if listed and isinstance(value, list) and value and not any(isinstance(item, list | dict) for item in value):
        text = ",".join(item if isinstance(item, str) else json.dumps(item) for item in value)
        plain = all("," not in item and item.strip() == item for item in value if isinstance(item, str))
        if plain and isinstance(parse_value(text), str):
            return text
    return json.dumps(value, ensure_ascii=False)


def parse_value(text: str) -> object:
    """A value as it is typed: JSON where it is JSON (numbers, lists, true, null), else a word."""
    if text.count("[") + text.count("{") > MOST_DEPTH:
        return parse_json(text, f"the value {text[:40]}...")
    try:
        return cast("object", json.loads(text))
    except ValueError:
        return text


def with_values(config: Config, changes: Mapping[str, object]) -> Config:
    """Set values by key and check the result; see :func:`with_overrides` for keys.

    Another model has its own chat format unless one is named. A learner whose last seat is given to somebody else (``seats.column=tit_for_tat``) is left out of the new config. In another game tables start
    from uniform if the initial policy that they had does not fit it.

    Raises:
        UsageError: for an unknown key or an impossible value.
    """
    data = config.model_dump(mode="json")
    for key, value in changes.items():
        _set(data, key, value, Config)
    if changes.get("model", config.model) != config.model and "chat" not in changes:
        data["chat"] = None  # a format that was named is the other model's
    if any(key.startswith("seats") for key in changes) and "learners" not in changes:
        _leave_out_the_unseated(data, config)
    found = _with_text_model(_validated(Config, data))
    return fitting(found, changes) if any(key.partition(".")[0] == "game" for key in changes) else found


def _leave_out_the_unseated(data: dict[str, object], before: Config) -> None:
    """Drop learners that had a seat before and have none now."""
    listed = [
        of_seat.split(",") if isinstance(of_seat, str) else of_seat for of_seat in _section(data, "seats").values()
    ]
    seated = {str(one).strip() for of_seat in listed if isinstance(of_seat, list | tuple) for one in of_seat}
    for name in set(before.learners) - seated:
        _section(data, "learners").pop(name, None)


def _section(data: Mapping[str, object], name: str) -> dict[str, object]:
    """A section of a config as a mapping; an empty one where there is none."""
    section = data.get(name)
    return section if isinstance(section, dict) else {}


def _set(data: dict[str, object], key: str, value: object, kind: type[BaseModel]) -> None:
    path = key.split(".")
    if path[0] in _section(data, "learners") and len(path) > 1:
        path = ["learners", *path]
    elif path[0] == "game" and len(path) > 1 and isinstance(data.get("game"), str):
        data["game"] = {"name": data["game"]}  # game.n=4: a setting of a game that was named so far
    *parents, leaf = path
    place = data
    for depth, part in enumerate(parents):
        section = place.get(part)
        if not isinstance(section, dict):
            known = _known_keys(data, parents[:depth], kind)
            if part in place:
                raise UsageError(f"{key}: {part} is a single value here ({place[part]!r}), not a section")
            raise UsageError(
                f"{key}: there is no section {part!r}.{suggestion(part, known)} Known: {', '.join(known)}."
            )
        place = section
    place[leaf] = value


def flat(data: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A nested mapping as dotted keys, the form in which overrides are typed."""
    found: dict[str, object] = {}
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _place(problem: ErrorDetails) -> tuple[int | str, ...]:
    """Where the problem is; pydantic adds the type it tried to the place of a union's member."""
    path = problem["loc"]
    return path[:1] if path[:1] == ("game",) else path


def _explain(problem: ErrorDetails, data: Mapping[str, object], kind: type[BaseModel]) -> str:
    path = [str(part) for part in _place(problem)]
    field = ".".join(path) or "config"
    if problem["type"] == "extra_forbidden":
        known = _known_keys(data, path[:-1], kind)
        if path[-1] in known:  # among the keys it is a learner's name
            return (
                f"{field}: this is a learner, which has settings of its own: name one of them, e.g. {field}.memory=none;"
                " whether learners are tables or language models is an option, --learner"
            )
        hint = _deeper(data, path) or suggestion(path[-1], known)
        return f"{field}: there is no such key.{hint} Known here: {', '.join(known)}."
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "tuple_type":
        message = f"give several values with commas, e.g. {field}=1,2"
    given = f" (got {_short(problem['input'])})" if not isinstance(problem["input"], dict) else ""
    return f"{field}: {message[0].lower() + message[1:]}{given}"


def _short(value: object) -> str:
    """A value as errors show it."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _deeper(data: Mapping[str, object], path: list[str]) -> str:
    """Where a key stands that was given without its sections: ``learning_rate`` is a key of ``row.ppo``. Empty if it is nowhere."""
    if len(path) > 1:
        return ""
    leaf, found = path[0], []
    for name, learner in _section(data, "learners").items():
        settings = learner if isinstance(learner, Mapping) else {}
        section = {"q_learning": "q"}.get(str(settings.get("algorithm")), settings.get("algorithm"))
        places = [(name, settings), (f"{name}.{section}", settings.get(section))]
        found += [f"{place}.{leaf}" for place, keys in places if isinstance(keys, Mapping) and leaf in keys]
    found += [f"{name}.{leaf}" for name in ("adapter", "past_selves") if leaf in _section(data, name)]
    return f" Did you mean {' or '.join(map(repr, found[:3]))}?" if found else ""


def _known_keys(data: Mapping[str, object], path: list[str], root: type[BaseModel]) -> list[str]:
    """The keys that may stand in a section."""
    kind: object = root
    place: object = data
    for part in path:
        place = place.get(part, {}) if isinstance(place, Mapping) else {}
        if not isinstance(kind, type) or not issubclass(kind, BaseModel):
            kind = _item(kind)
            continue
        kind = kind.model_fields[part].annotation if part in kind.model_fields else None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        own = [key for key in kind.model_fields if key != "version"]
        return [*own, *_section(data, "learners")] if kind is Config else own
    return list(place) if isinstance(place, Mapping) else []


def _item(kind: object) -> object:
    """The type of a mapping's values; None for what is no mapping."""
    return cast("object", get_args(kind)[1]) if get_origin(kind) is dict else None
