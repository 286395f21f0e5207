"""Any OpenAI-compatible endpoint as a frozen co-player in games in rounds.

Requests run side by side up to a limit; what fails in passing is tried again by the official client, with growing pauses; what is answered is kept,
so nothing is asked or paid for twice. An endpoint that stays dead, or a budget that is spent, stops the run where it can go on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import re
import sqlite3
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, field_validator, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from coplay.errors import Stopped, UsageError, missing_extra, suggestion
from coplay.rng import stream_seed
from coplay.rounds.types import Reply, Situation
from coplay.text.rounds import Past, Worded

_PRICED = 1_000_000
"""Prices are for so many tokens."""

_CHARACTERS = 4
"""Of a token, where an endpoint does not count its tokens."""

_UNBELIEVABLE = 2**31
"""No request uses so many tokens, whatever an endpoint says."""

_REDACTED = "***"
"""Stands in place of a key."""

_SHORTEST_KEY = 8
"""Shorter ones are placeholders, such as ``EMPTY``, and may be part of what a reply says."""


class EndpointFailed(Stopped):
    """An endpoint does not answer, or not in a way that can be used."""


class BudgetSpent(Stopped):
    """The tokens or the money that may be spent are spent."""


@checked_dataclass(frozen=True, config=ConfigDict(allow_inf_nan=False))
class EndpointSettings:
    """Where to ask, how patiently, and for how much."""

    base_url: str
    """E.g. ``https://api.openai.com/v1`` or ``http://localhost:8000/v1``."""
    model: Annotated[str, Field(min_length=1)]
    """The endpoint's name for the model."""
    key_variable: str | None = "OPENAI_API_KEY"
    """Environment variable that holds the key, the only place it is read from; None for endpoints without one."""
    concurrency: Annotated[int, Field(ge=1)] = 8
    """Most requests at a time."""
    timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds to wait for an answer."""
    retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed in passing is tried again."""
    longest: Annotated[int, Field(ge=1)] = 400
    """Most tokens of a reply."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Of sampling."""
    extra: Mapping[str, JsonValue] | None = None
    """Further fields of the request, e.g. ``{"top_k": 5}``, sent as they are; the endpoint says which it knows."""
    most_tokens: Annotated[int | None, Field(ge=0)] = None
    """Tokens, read and written, that may be spent in all; None for any number. Requests already on their way are let through. Counted as
    the endpoint counts them; where it does not, a token is four characters of what is asked and replied, rounded up."""
    most_money: Annotated[float | None, Field(ge=0)] = None
    """Money that may be spent in all, in the unit of the prices; None for any amount. Needs a price."""
    price_in: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens read."""
    price_out: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens written."""

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError(f"should begin with http:// or https://, which {value!r} does not")
        return value

    @model_validator(mode="after")
    def _has_prices(self) -> EndpointSettings:
        if self.most_money is not None and self.price_in == self.price_out == 0:
            raise ValueError(
                "most_money is never spent without a price; set price_in and price_out, of a million tokens, or set"
                " most_tokens instead"
            )
        return self


@dataclass(frozen=True)
class Spent:
    """What has been used so far."""

    tokens_in: int
    """Tokens read."""
    tokens_out: int
    """Tokens written."""

    def money(self, settings: EndpointSettings) -> float:
        """What that costs."""
        return (self.tokens_in * settings.price_in + self.tokens_out * settings.price_out) / _PRICED


class Answers:
    """Answers by request, in a file that outlives the run, or in memory. Holds no keys: a request is what is asked, and where, not who asks."""

    def __init__(self, path: Path | None = None) -> None:
        self._base = sqlite3.connect(path or ":memory:", isolation_level=None)
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, reply TEXT, tokens_in INTEGER, tokens_out INTEGER)"
        )
        self._base.execute("CREATE TABLE IF NOT EXISTS unusable (tokens_in INTEGER, tokens_out INTEGER)")

    def get(self, request: str) -> str | None:
        """The reply to a request, if it is known."""
        with closing(self._base.execute("SELECT reply FROM answers WHERE request = ?", (request,))) as found:
            row = found.fetchone()
        return None if row is None else str(row[0])

    def put(self, request: str, reply: str, spent: Spent) -> None:
        """Keep a reply, and what it has used."""
        values = (request, reply, spent.tokens_in, spent.tokens_out)
        self._base.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", values)

    def count(self, spent: Spent) -> None:
        """Keep what an answer has used that was of no use."""
        self._base.execute("INSERT INTO unusable VALUES (?, ?)", (spent.tokens_in, spent.tokens_out))

    @property
    def spent(self) -> Spent:
        """What all answers have used."""
        both = "SELECT tokens_in, tokens_out FROM answers UNION ALL SELECT tokens_in, tokens_out FROM unusable"
        with closing(self._base.execute(f"SELECT TOTAL(tokens_in), TOTAL(tokens_out) FROM ({both})")) as found:
            tokens_in, tokens_out = found.fetchone()
        return Spent(int(tokens_in), int(tokens_out))


class Endpoint:
    """See the module.

    Args:
        words: the game in words.
        settings: where to ask.
        answers: what is known already; by default nothing, kept in memory.
        past: how much of the past a request shows.

    Raises:
        UsageError: if the client library is not installed, or the key's variable is not set.
    """

    def __init__(
        self, words: Worded, settings: EndpointSettings, *, answers: Answers | None = None, past: Past = Past.CHAT
    ) -> None:
        try:
            import openai
        except ImportError:
            raise missing_extra("openai", "endpoint") from None
        self._openai = openai
        self.words, self.settings, self.past = words, settings, past
        self.answers = answers or Answers()
        self._key = _key(settings)

    @property
    def name(self) -> str:
        """The endpoint's name for the model."""
        return self.settings.model

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """Ask for every reply that is not known yet.

        Raises:
            EndpointFailed: if one cannot be had. Those on their way may still arrive, for as long as an answer is waited for, and are
                kept; no other is begun.
            BudgetSpent: before a request beyond the budget; likewise.
        """
        requests = [self._request(situation) for situation in situations]
        names = [_name(self.settings.base_url, request) for request in requests]
        missing = {
            name: request for name, request in zip(names, requests, strict=True) if self.answers.get(name) is None
        }
        if missing:
            asyncio.run(self._ask_all(missing))
        return [Reply(self.answers.get(name) or "") for name in names]

    def _request(self, situation: Situation) -> dict[str, Any]:
        lines = self.words.conversation(situation, self.past)
        return {
            "model": self.settings.model,
            "messages": [{"role": line.role, "content": line.text} for line in lines],
            "temperature": self.settings.temperature,
            "max_completion_tokens": self.settings.longest,
            "seed": stream_seed(situation.seed, "reply", *situation.stream) % 2**31,
            "extra_body": dict(self.settings.extra or {}),  # by name, the client takes only fields that it knows
        }

    async def _ask_all(self, requests: Mapping[str, dict[str, Any]]) -> None:
        places = asyncio.Semaphore(self.settings.concurrency)
        async with self._openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self.settings.base_url,
            timeout=self.settings.timeout,
            max_retries=self.settings.retries,
        ) as client:
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
        self, client: Any, places: asyncio.Semaphore, stopped: asyncio.Event, name: str, request: dict[str, Any]
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

    async def _try(self, client: Any, name: str, request: dict[str, Any]) -> bool:
        """Whether there is a reply now; it is kept."""
        self._refuse_beyond_budget()
        reply, spent = await self._answer(client, request)
        if reply is None:
            self.answers.count(spent)
        else:
            self.answers.put(name, reply, spent)
        return reply is not None

    async def _answer(self, client: Any, request: dict[str, Any]) -> tuple[str | None, Spent]:
        """Reply and what it has used; None for a reply if what came is malformed, which is worth another try."""
        try:
            response = await client.chat.completions.with_raw_response.create(**request)
        except self._openai.APIStatusError as error:
            raise EndpointFailed(self._told(f"refuses: {error.status_code} {error.message}")) from None
        except self._openai.APIConnectionError as error:  # timeouts too
            raise EndpointFailed(self._told(f"does not answer: {error}")) from None
        data = _decoded(response.http_response.content)
        reply = _reply_in(data)
        if reply is None:
            return None, _spent(data)
        asked = "".join(line["content"] for line in request["messages"])
        return self._redacted(reply), _spent(data, asked, reply)

    def _refuse_beyond_budget(self) -> None:
        spent, settings = self.answers.spent, self.settings
        tokens, money = spent.tokens_in + spent.tokens_out, spent.money(settings)
        if settings.most_tokens is not None and tokens >= settings.most_tokens:
            raise BudgetSpent(
                f"{settings.model}: {tokens:,} tokens are spent of {settings.most_tokens:,}; raise the budget to go on"
            )
        if settings.most_money is not None and money >= settings.most_money:
            raise BudgetSpent(
                f"{settings.model}: {money:.2f} are spent of {settings.most_money:.2f}; raise the budget to go on"
            )

    def _told(self, what: str) -> str:
        """An error for a person, in which an endpoint that repeats the key does not give it away."""
        told = f"{self.settings.model} at {self.settings.base_url} {what}"
        told = told.replace(self._key, _REDACTED) if self._key else told
        return f"{told[:500]}; what was answered is kept"

    def _redacted(self, reply: str) -> str:
        """A reply without the key: an endpoint that repeats it does not get it into files, nor to who plays with it."""
        key = self._key or ""
        return reply.replace(key, _REDACTED) if len(key) >= _SHORTEST_KEY else reply


def endpoint_from(file: str, words: Worded) -> Endpoint:
    """An endpoint from a TOML file that has its settings, and perhaps ``answers``, the file in which answers are kept.

    Args:
        file: the path, ending in ``.toml``. Without ``answers`` they are kept beside it.
        words: the game.

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
    for key in data:
        if key not in known:
            raise UsageError(f"{file}: there is no setting {key!r}.{suggestion(key, known)} Known: {', '.join(known)}.")
    try:
        settings = TypeAdapter(EndpointSettings).validate_python(data)
    except ValidationError as error:
        raise UsageError("\n".join(f"{file}: {_explained(problem)}" for problem in error.errors())) from None
    return Endpoint(words, settings, answers=Answers(answers))


def _explained(problem: Any) -> str:
    """What is wrong with a setting."""
    message = problem["msg"].removeprefix("Value error, ")
    place = [".".join(map(str, problem["loc"]))] if problem["loc"] else []
    return ": ".join([*place, f"{message[0].lower()}{message[1:]}"])


def _key(settings: EndpointSettings) -> str | None:
    if settings.key_variable is None:
        return None
    key = os.environ.get(settings.key_variable)
    if not key:
        raise UsageError(
            f"{settings.model}: set the environment variable {settings.key_variable} to the endpoint's key"
        )
    if not (key.isascii() and key.isprintable()):  # it is sent in a header
        raise UsageError(
            f"{settings.model}: the key in the environment variable {settings.key_variable} has line breaks or characters"
            " other than ASCII, which no key has; set it again"
        )
    return key


def _name(base_url: str, request: Mapping[str, Any]) -> str:
    """What a request is kept under: another server's model of the same name is another model."""
    asked = json.dumps([base_url, request], sort_keys=True)
    return hashlib.blake2b(asked.encode(), digest_size=24).hexdigest()


def _decoded(body: bytes) -> Any:
    """JSON; None if it is truncated, or none."""
    try:
        return json.loads(body.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _reply_in(completion: Any) -> str | None:
    """The reply of a chat completion; None if it is of another shape."""
    try:
        content = completion["choices"][0]["message"].get("content")
    except (LookupError, TypeError, AttributeError):
        return None
    return _encodable(content) if isinstance(content, str) else ""  # an empty reply is a reply


def _encodable(text: str) -> str:
    """Halves of characters, which JSON can spell and no file can hold, become the character that stands for what is unreadable."""
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def _spent(completion: Any, asked: str = "", reply: str = "") -> Spent:
    """What a completion has used as the endpoint counts it, or as these texts let one estimate."""
    return Spent(
        _counted(completion, "prompt_tokens") or _estimated(asked),
        _counted(completion, "completion_tokens") or _estimated(reply),
    )


def _counted(completion: Any, kind: str) -> int:
    """Tokens of a kind as the endpoint counts them; 0 if it does not."""
    try:
        tokens = completion["usage"][kind]
    except (LookupError, TypeError):
        return 0
    return tokens if type(tokens) is int and 0 < tokens < _UNBELIEVABLE else 0


def _estimated(text: str) -> int:
    """Tokens of a text, roughly."""
    return math.ceil(len(text) / _CHARACTERS)
