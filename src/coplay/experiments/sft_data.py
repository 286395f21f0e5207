"""Examples for supervised fine-tuning as files hold them: chat-format JSON lines, which other tools for SFT read as well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from coplay.errors import UsageError
from coplay.files.reading import parse_lines
from coplay.files.store import Store, checksum
from coplay.text.chat import ChatMessage

TRAIN, VALID, CARD = "train.jsonl", "valid.jsonl", "card.json"
"""The files of a data set: what is trained on, what is measured on, and what it was made from."""

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Example:
    """One decision of a demonstrator."""

    messages: tuple[ChatMessage, ...]
    """What was read, and last the reply, which is what is learnt."""
    game: str = ""
    """The game; empty if it is not told."""
    strategy: str = ""
    """Who decided; empty if it is not told."""
    episode: int = 0
    """The episode, from 1; 0 if it is not told."""
    round: int = 0
    """The round within it, from 1; 0 if it is not told."""

    @property
    def prompt(self) -> tuple[ChatMessage, ...]:
        """What was read."""
        return self.messages[:-1]

    @property
    def reply(self) -> str:
        """What was replied."""
        return self.messages[-1].text


def line_of(example: Example) -> str:
    """An example as a line of a file."""
    messages = [{"role": message.role, "content": message.text} for message in example.messages]
    about = {"game": example.game, "strategy": example.strategy, "episode": example.episode, "round": example.round}
    return json.dumps({"messages": messages, **about}, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class SftData:
    """A data set, read and checked."""

    train: list[Example]
    """What is trained on."""
    valid: list[Example]
    """What is measured on."""
    checksums: dict[str, str]
    """The SHA-256 of each file, in hexadecimal."""


def read_data(directory: Path) -> SftData:
    """Read a data set that :func:`coplay.experiments.demonstrate.demonstrate` wrote, or one of your own with the same two files.

    Raises:
        UsageError: naming the file and the line that is not as it must be.
    """
    if not directory.is_dir():
        raise UsageError(f"--data: there is no directory {directory}; make one with coplay demonstrate")
    store = Store.open(directory, "demonstrations")
    store.check()
    found, checksums = {}, {}
    for name in (TRAIN, VALID):
        if not store.has(name):
            raise UsageError(f"{directory / name} is missing: a data set has {TRAIN} and {VALID}")
        data = store.read(name)
        checksums[name] = checksum(data)
        # A line that was cut off is no example; in files that grow it would be passed over.
        data = data + b"\n" if data and not data.endswith(b"\n") else data
        path = directory / name
        found[name] = [example_from(line, f"{path}, line {i}") for i, line in enumerate(parse_lines(data, path), 1)]
        if not found[name]:
            raise UsageError(f"{path} has no examples")
    return SftData(found[TRAIN], found[VALID], checksums)


def example_from(line: Mapping[str, object], where: str) -> Example:
    """An example from a line.

    Args:
        line: the JSON object.
        where: file and line, for errors.

    Raises:
        UsageError: saying what is missing or of another form.
    """
    messages = line.get("messages")
    if not isinstance(messages, list) or not messages:
        keys = ", ".join(list(line)[:5]) or "none"
        raise UsageError(
            f'{where}: "messages" must be a list of {{"role", "content"}}, the form of chats; the keys there are: {keys}'
        )
    turns = tuple(_messages(messages, where))
    if turns[-1].role != "assistant":
        raise UsageError(
            f"{where}: the last message must be the assistant's, which is learnt; it is the {turns[-1].role}'s"
        )
    if not any(turn.role == "user" for turn in turns):
        raise UsageError(f"{where}: there is no message of the user, so nothing that the assistant replies to")
    game, strategy = (_word(line, key, where) for key in ("game", "strategy"))
    episode, round_number = (_number(line, key, where) for key in ("episode", "round"))
    return Example(turns, game, strategy, episode, round_number)


def _word(line: Mapping[str, object], key: str, where: str) -> str:
    value = line.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f'{where}: "{key}" must be text, got {_short(value)}')
    return value


def _number(line: Mapping[str, object], key: str, where: str) -> int:
    value = line.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f'{where}: "{key}" must be a whole number, got {_short(value)}')
    return value


def _messages(messages: Sequence[object], where: str) -> Iterator[ChatMessage]:
    for i, one in enumerate(messages, 1):
        role, content = (one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None)
        if role not in get_args(Role):
            known = ", ".join(get_args(Role))
            raise UsageError(f"{where}: message {i} must have a role of {known}, got {_short(role)}")
        if not isinstance(content, str):
            raise UsageError(f"{where}: message {i} must have text as its content, got {_short(content)}")
        if not content.strip():
            raise UsageError(f"{where}: message {i}, the {role}'s, is empty")
        if any("\ud800" <= letter <= "\udfff" for letter in content):
            raise UsageError(f"{where}: message {i}, the {role}'s, is no UTF-8 text")
        yield ChatMessage(cast("Role", role), content)


def _short(value: object) -> str:
    """A value as errors show it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
