"""Any OpenAI-compatible endpoint as a player of any game.

Requests run side by side up to a limit; what fails in passing is tried again with growing pauses; what is answered is kept, so nothing is asked or
paid for twice. An endpoint that stays dead, or a budget that is spent, stops the run where it can go on. An endpoint is not trusted: every answer
goes through :mod:`coplay.players.endpoint_gate`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypedDict

from pydantic import JsonValue, TypeAdapter, ValidationError

from coplay.errors import Stopped, UsageError, missing_extra, suggestion
from coplay.files.naming import user_path
from coplay.files.reading import read_toml
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.players.base import player_error
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_gate import Asked, is_too_long
from coplay.players.endpoint_key import Key
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import Spent
from coplay.players.personas import SIGN
from coplay.rng import stream_seed
from coplay.terminal.printable import printable
from coplay.text.chat import ChatMessage

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

RENAMED = {
    "longest": "max_tokens",
    "key_variable": "api_key_var",
    "most_tokens": "token_budget",
    "most_money": "cost_budget",
}
"""Settings of older files and what they are called now."""


class _Message(TypedDict):
    """One message of a conversation."""

    role: str
    content: str


class _Body(TypedDict):
    """A request; answers are kept under a hash of it."""

    model: str
    messages: list[_Message]
    temperature: float
    max_completion_tokens: int
    seed: int
    extra_body: dict[str, JsonValue]


class Endpoint:
    """See the module.

    Args:
        answers: what is known already; by default nothing, kept in memory.
        memory: how much of the past a request shows.
        persona: what its persona is called; None for none.
        system: the persona's system prompt, which begins every request.

    Raises:
        UsageError: if the library for HTTP is not installed, or the key cannot be read.
    """

    def __init__(
        self,
        game: Game,
        settings: EndpointSettings,
        *,
        answers: Answers | None = None,
        memory: Memory = Memory.CHAT,
        persona: str | None = None,
        system: str | None = None,
    ) -> None:
        if find_spec("httpx2") is None:
            raise missing_extra("httpx2", "endpoint")
        self.game, self.settings, self.memory = game, settings, memory
        self.answers = answers or Answers()
        self.persona, self.system = persona, system
        self._key = Key(settings)

    @property
    def name(self) -> str:
        """The endpoint's name for the model, with the persona."""
        return self.settings.model if self.persona is None else f"{self.settings.model}{SIGN}{self.persona}"

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask for every reply that is not known yet.

        Raises:
            EndpointFailed: if one cannot be had. Those on their way may still arrive, for as long as an answer is waited for, and are
                kept; no other is begun.
            BudgetSpent: before a request that might take more than is left; likewise.
            AnswersFailed: if answers cannot be read or kept; likewise.
        """
        from coplay.players.endpoint_asking import ask_all

        asked = [self._asked(request) for request in requests]
        try:
            missing = {one.name: one for one in asked if self.answers.get(one.name) is None}
            if missing:
                ask_all(list(missing.values()), self.settings, self._key, self.answers)
            replies = [self._known(one.name) for one in asked]
        except Stopped as error:
            raise type(error)(str(player_error(self.name, requests[0], f"has no answer: {error}"))) from None
        return [
            Reply(reply, self.game.parse_action(request, reply))
            for request, reply in zip(requests, replies, strict=True)
        ]

    def _known(self, name: str) -> str:
        """A reply that was kept, now or by an earlier run."""
        reply = self.answers.get(name)
        if reply is None:
            raise self.answers.damaged("a reply that was kept is gone")
        if is_too_long(reply, self.settings.max_tokens):
            raise self.answers.damaged(f"a reply in it has {len(reply):,} characters, more than max_tokens can hold")
        return reply

    def _asked(self, request: Request) -> Asked:
        settings = self.settings
        system = [] if self.system is None else [ChatMessage("system", self.system)]
        body = _Body(
            model=settings.model,
            messages=[
                _Message(role=message.role, content=message.text)
                for message in (*system, *chat_messages(self.game, request, self.memory))
            ],
            temperature=settings.temperature,
            max_completion_tokens=settings.max_tokens,
            seed=stream_seed(request.seed, "reply", *request.rng_path) % 2**31,
            extra_body=dict(settings.extra or {}),
        )
        sent = {**{key: value for key, value in body.items() if key != "extra_body"}, **body["extra_body"]}
        data = json.dumps(sent, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        text = "".join(message["content"] for message in body["messages"])
        return Asked(_name(settings.base_url, body), data, text, Spent(len(data), settings.max_tokens))


def endpoint_from(file: str, game: Game, *, persona: str | None = None, system: str | None = None) -> Endpoint:
    """An endpoint from a TOML file that has its settings, and perhaps ``answers``, the file in which answers are kept.

    Args:
        file: the path, ending in ``.toml``. Without ``answers`` they are kept beside it.
        game: the game.
        persona: what its persona is called; None for none.
        system: the persona's system prompt.

    Raises:
        UsageError: if the file cannot be read, or a setting is unknown, missing or impossible.
    """
    path = user_path(file)
    if not path.exists():
        raise UsageError(
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
    try:
        settings = TypeAdapter(EndpointSettings).validate_python(data)
    except ValidationError as error:
        raise UsageError("\n".join(f"{file}: {_explained(problem)}" for problem in error.errors())) from None
    return Endpoint(game, settings, answers=Answers(path.parent / answers), persona=persona, system=system)


def _explained(problem: ErrorDetails) -> str:
    """What is wrong with a setting."""
    message = problem["msg"].removeprefix("Value error, ")
    place = [printable(".".join(map(str, problem["loc"])))] if problem["loc"] else []
    return ": ".join([*place, f"{message[0].lower()}{message[1:]}"])


def _name(base_url: str, request: _Body) -> str:
    """What a request is kept under: another server's model of the same name is another model."""
    asked = json.dumps([base_url, request], sort_keys=True)
    return hashlib.blake2b(asked.encode(), digest_size=24).hexdigest()
