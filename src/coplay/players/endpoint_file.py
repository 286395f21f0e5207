"""Files of endpoints: their settings in TOML, and where their answers are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from coplay.errors import UsageError, suggestion
from coplay.files.naming import user_path
from coplay.files.reading import read_toml
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.personas import SERVER, SIGN
from coplay.terminal.printable import printable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

RENAMED = {
    "longest": "max_tokens",
    "key_variable": "api_key_var",
    "most_tokens": "token_budget",
    "most_money": "cost_budget",
}
"""Settings of older files and what they are called now."""

TO_FILL_IN = """\
base_url = "http://localhost:8000/v1"
model = "NAME"                  # the server's name for the model
# api_key_var = "MY_KEY"        # the environment variable that holds the key; needed for servers other than OpenAI's and this machine
# price_in = 0.0                # of a million tokens read
# price_out = 0.0               # of a million tokens written
# cost_budget = 0.0             # most money in all, in the unit of the prices
max_tokens = 400                # of a reply, reasoning included
# memory = "window"             # shows the last rounds instead of the whole conversation; see also window
# characters_per_token = 4.0    # of the estimate
"""
"""A file with what most endpoints need."""


class NoEndpointFile(UsageError):
    """There is no file with an endpoint's settings."""


@dataclass(frozen=True)
class EndpointFile:
    """What an endpoint's file says."""

    file: str
    """The file as it was named."""
    path: Path
    """Where it is: files of one path are one, however they are named."""
    settings: EndpointSettings
    """Its settings."""
    answers: Path | None
    """The file in which answers are kept; None if they are kept in memory."""
    exists: bool = True
    """Whether there is such a file; if not, settings are what :data:`TO_FILL_IN` has."""


def read_endpoint(file: str) -> EndpointFile:
    """Read an endpoint's settings, and perhaps ``answers``, the file in which answers are kept; without it they are kept beside the file.

    Args:
        file: the path, ending in ``.toml``; or ``openai:MODEL@URL`` for all other settings as they are by default, and answers in memory.

    Raises:
        NoEndpointFile: if there is no such file.
        UsageError: if it cannot be read, or a setting is unknown, missing or impossible.
    """
    if file.startswith(SERVER):
        model, sign, url = file.removeprefix(SERVER).partition(SIGN)
        if not (model and sign and url):
            raise UsageError(f"{file}: write {SERVER}MODEL@URL, e.g. {SERVER}my-model@http://localhost:8000/v1")
        return EndpointFile(file, Path(file), _settings(file, {"base_url": url, "model": model}), None)
    path = user_path(file)
    if not path.exists():
        raise NoEndpointFile(
            f'there is no file {file}; write one with the endpoint\'s settings: base_url = "http://localhost:8000/v1" and model = "NAME",'
            " and for one that costs money api_key_var, price_in, price_out and cost_budget"
        )
    data = read_toml(path)
    answers = data.pop("answers", path.with_suffix(".answers.sqlite").name)
    if not isinstance(answers, str) or not answers or not answers.isprintable():
        raise UsageError(f"{file}: answers should be the name of a file, which {answers!r} is not")
    known = [field.name for field in fields(EndpointSettings)]
    for old, new in RENAMED.items():
        if old in data and new in data:
            raise UsageError(f"{file}: {old} is {new} by its earlier name; set one of them")
    data = {RENAMED.get(key, key): value for key, value in data.items()}
    for key in data:
        if key not in known:
            raise UsageError(f"{file}: there is no setting {key!r}.{suggestion(key, known)} Known: {', '.join(known)}.")
    return EndpointFile(file, path.resolve(), _settings(file, data), path.parent / answers)


def _settings(file: str, data: Mapping[str, object]) -> EndpointSettings:
    """Settings that are checked; raises UsageError, saying what is wrong with which."""
    try:
        return TypeAdapter(EndpointSettings).validate_python(data)
    except ValidationError as error:
        raise UsageError("\n".join(f"{file}: {_explained(problem)}" for problem in error.errors())) from None


def endpoint_to_come(file: str) -> EndpointFile:
    """What a file that does not exist yet is taken to say in estimates: what :data:`TO_FILL_IN` has."""
    path = user_path(file)
    settings = EndpointSettings("http://localhost:8000/v1", "NAME")
    return EndpointFile(file, path.resolve(), settings, path.with_suffix(".answers.sqlite"), exists=False)


def _explained(problem: ErrorDetails) -> str:
    """What is wrong with a setting."""
    message = problem["msg"].removeprefix("Value error, ")
    place = [printable(".".join(map(str, problem["loc"])))] if problem["loc"] else []
    return ": ".join([*place, f"{message[0].lower()}{message[1:]}"])
