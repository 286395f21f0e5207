"""Any OpenAI-compatible endpoint as a player of any game.

Requests run side by side up to a limit; what fails in passing is tried again by the official client, with growing pauses; what is answered is kept,
so nothing is asked or paid for twice. An endpoint that stays dead, or a budget that is spent, stops the run where it can go on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from coplay.errors import Stopped, UsageError, missing_extra, suggestion
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.players.base import player_error
from coplay.players.endpoint_answers import Answers, Spent, decoded, reply_in, spent_by
from coplay.players.endpoint_settings import EndpointSettings
from coplay.rng import stream_seed

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic_core import ErrorDetails

_REDACTED = "***"
"""Stands in place of a key."""

RENAMED = {
    "longest": "max_tokens",
    "key_variable": "api_key_var",
    "most_tokens": "token_budget",
    "most_money": "cost_budget",
}
"""Settings of older files and what they are called now."""

_SHORTEST_KEY = 8
"""Shorter ones are placeholders, such as ``EMPTY``, and may be part of what a reply says."""


class _Body(TypedDict):
    """A request as the client takes it; answers are kept under a hash of it."""

    model: str
    messages: list[ChatCompletionMessageParam]
    temperature: float
    max_completion_tokens: int
    seed: int
    extra_body: dict[str, JsonValue]


class EndpointFailed(Stopped):
    """An endpoint does not answer, or not in a way that can be used."""


class BudgetSpent(Stopped):
    """The tokens or the money that may be spent are spent."""


class Endpoint:
    """See the module.

    Args:
        answers: what is known already; by default nothing, kept in memory.
        memory: how much of the past a request shows.

    Raises:
        UsageError: if the client library is not installed, or the key's variable is not set.
    """

    def __init__(
        self, game: Game, settings: EndpointSettings, *, answers: Answers | None = None, memory: Memory = Memory.CHAT
    ) -> None:
        try:
            import openai
        except ImportError:
            raise missing_extra("openai", "endpoint") from None
        self._openai = openai
        self.game, self.settings, self.memory = game, settings, memory
        self.answers = answers or Answers()
        self._key = _key(settings)

    @property
    def name(self) -> str:
        """The endpoint's name for the model."""
        return self.settings.model

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask for every reply that is not known yet.

        Raises:
            EndpointFailed: if one cannot be had. Those on their way may still arrive, for as long as an answer is waited for, and are
                kept; no other is begun.
            BudgetSpent: before a request beyond the budget; likewise.
        """
        bodies = [self._body(request) for request in requests]
        names = [_name(self.settings.base_url, body) for body in bodies]
        missing = {name: body for name, body in zip(names, bodies, strict=True) if self.answers.get(name) is None}
        if missing:
            try:
                asyncio.run(self._ask_all(missing))
            except Stopped as error:
                raise type(error)(str(player_error(self.name, requests[0], f"has no answer: {error}"))) from None
        return [
            self._reply(request, self.answers.get(name) or "") for request, name in zip(requests, names, strict=True)
        ]

    def _reply(self, request: Request, text: str) -> Reply:
        return Reply(text, self.game.parse_action(request, text))

    def _body(self, request: Request) -> _Body:
        messages = chat_messages(self.game, request, self.memory)
        return {
            "model": self.settings.model,
            "messages": [
                cast("ChatCompletionMessageParam", {"role": message.role, "content": message.text})
                for message in messages
            ],
            "temperature": self.settings.temperature,
            "max_completion_tokens": self.settings.max_tokens,
            "seed": stream_seed(request.seed, "reply", *request.rng_path) % 2**31,
            "extra_body": dict(self.settings.extra or {}),  # by name, the client takes only fields that it knows
        }

    async def _ask_all(self, requests: Mapping[str, _Body]) -> None:
        from coplay.players.endpoint_client import client_for

        places = asyncio.Semaphore(self.settings.concurrency)
        async with client_for(self.settings, self._key) as client:
            stopped = asyncio.Event()
            asked = [
                asyncio.create_task(self._ask(client, places, stopped, name, request))
                for name, request in requests.items()
            ]
            await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
            await asyncio.wait(asked, timeout=self.settings.timeout)  # what is on its way is paid for, and kept
            for one in asked:
                one.cancel()  # what is left is being tried again
            results = await asyncio.gather(*asked, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _ask(
        self, client: AsyncOpenAI, places: asyncio.Semaphore, stopped: asyncio.Event, name: str, request: _Body
    ) -> None:
        """Ask until there is a reply, unless another request has failed for good."""
        async with places:
            try:
                for _ in range(self.settings.retries + 1):
                    if stopped.is_set() or await self._try(client, name, request):
                        return
                raise EndpointFailed(self._told("answers in a form that is no chat completion"))
            except Exception:
                stopped.set()
                raise

    async def _try(self, client: AsyncOpenAI, name: str, request: _Body) -> bool:
        """Whether there is a reply now; it is kept."""
        self._refuse_beyond_budget()
        reply, spent = await self._answer(client, request)
        if reply is None:
            self.answers.count(spent)
        else:
            self.answers.put(name, reply, spent)
        return reply is not None

    async def _answer(self, client: AsyncOpenAI, request: _Body) -> tuple[str | None, Spent]:
        """Reply and what it has used; None for a reply if what came is malformed, which is worth another try."""
        try:
            response = await client.chat.completions.with_raw_response.create(**request)
        except self._openai.APIStatusError as error:
            raise EndpointFailed(self._told(f"refuses: {error.status_code} {error.message}")) from None
        except self._openai.APIConnectionError as error:  # timeouts too
            raise EndpointFailed(self._told(f"does not answer: {error}")) from None
        data = decoded(response.http_response.content)
        reply = reply_in(data)
        if reply is None:
            return None, spent_by(data)
        asked = "".join(str(line.get("content")) for line in request["messages"])
        return self._redacted(reply), spent_by(data, asked, reply)

    def _refuse_beyond_budget(self) -> None:
        spent, settings = self.answers.spent, self.settings
        tokens, money = spent.tokens_in + spent.tokens_out, spent.money(settings)
        if settings.token_budget is not None and tokens >= settings.token_budget:
            raise BudgetSpent(f"{tokens:,} tokens are spent of {settings.token_budget:,}; raise the budget to go on")
        if settings.cost_budget is not None and money >= settings.cost_budget:
            raise BudgetSpent(f"{money:.2f} are spent of {settings.cost_budget:.2f}; raise the budget to go on")

    def _told(self, what: str) -> str:
        """An error for a person, in which an endpoint that repeats the key does not give it away."""
        told = f"{self.settings.model} at {self.settings.base_url} {what}"
        told = told.replace(self._key, _REDACTED) if self._key else told
        return f"{told[:500]}; what was answered is kept"

    def _redacted(self, reply: str) -> str:
        """A reply without the key: an endpoint that repeats it does not get it into files, nor to who plays with it."""
        key = self._key or ""
        return reply.replace(key, _REDACTED) if len(key) >= _SHORTEST_KEY else reply


def endpoint_from(file: str, game: Game) -> Endpoint:
    """An endpoint from a TOML file that has its settings, and perhaps ``answers``, the file in which answers are kept.

    Args:
        file: the path, ending in ``.toml``. Without ``answers`` they are kept beside it.
        game: the game.

    Raises:
        UsageError: if the file cannot be read, or a setting is unknown, missing or impossible.
    """
    path = Path(file).expanduser()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}") from None
    answers = path.parent / str(data.pop("answers", path.with_suffix(".answers.sqlite").name))
    known = [field.name for field in fields(EndpointSettings)]
    data = {RENAMED.get(key, key): value for key, value in data.items()}
    for key in data:
        if key not in known:
            raise UsageError(f"{file}: there is no setting {key!r}.{suggestion(key, known)} Known: {', '.join(known)}.")
    try:
        settings = TypeAdapter(EndpointSettings).validate_python(data)
    except ValidationError as error:
        raise UsageError("\n".join(f"{file}: {_explained(problem)}" for problem in error.errors())) from None
    return Endpoint(game, settings, answers=Answers(answers))


def _explained(problem: ErrorDetails) -> str:
    """What is wrong with a setting."""
    message = problem["msg"].removeprefix("Value error, ")
    place = [".".join(map(str, problem["loc"]))] if problem["loc"] else []
    return ": ".join([*place, f"{message[0].lower()}{message[1:]}"])


def _key(settings: EndpointSettings) -> str | None:
    variable = settings.key_variable
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise UsageError(
            f'{settings.model}: set the environment variable {variable} to the endpoint\'s key; if it has none, set api_key_var to ""'
        )
    if not (key.isascii() and key.isprintable()):  # it is sent in a header
        raise UsageError(
            f"{settings.model}: the key in the environment variable {variable} has line breaks or characters"
            " other than ASCII, which no key has; set it again"
        )
    return key


def _name(base_url: str, request: _Body) -> str:
    """What a request is kept under: another server's model of the same name is another model."""
    asked = json.dumps([base_url, request], sort_keys=True)
    return hashlib.blake2b(asked.encode(), digest_size=24).hexdigest()
