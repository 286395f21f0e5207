"""Settings of an endpoint: URL, timeouts and budget."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from coplay.games.memory import WINDOW_ROUNDS, Memory

OWN_FIELDS = (
    "model",
    "messages",
    "temperature",
    "max_completion_tokens",
    "seed",
    "stream",
    "stream_options",
    "n",
    "best_of",
)
"""Fields of a request that ``extra`` may not set: those that have a setting, and those that lead to other than one whole reply."""


@checked_dataclass(frozen=True, config=ConfigDict(allow_inf_nan=False, hide_input_in_errors=True))
class EndpointSettings:
    """Endpoint URL, timeouts and budget."""

    base_url: str
    """E.g. ``https://api.openai.com/v1`` or ``http://localhost:8000/v1``. Holds no password, key or query."""
    model: Annotated[str, Field(min_length=1)]
    """The endpoint's name for the model."""
    api_key_var: str | None = None
    """Environment variable that holds the key, the only place it is read from; empty for endpoints without one. None for ``OPENAI_API_KEY`` where
    ``base_url`` begins with ``https://api.openai.com``, and for no key where it is this machine (``localhost``, ``127.0.0.1``, ``[::1]``);
    everywhere else it has to be set."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    """Most requests at a time."""
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    """Seconds to wait for a whole answer."""
    retries: Annotated[int, Field(ge=0, le=100)] = 5
    """How often a request that failed in passing is tried again. At most ``retries + 1`` requests are sent for one reply."""
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 400
    """Most tokens of a reply. A reply of more characters than they can hold, 32 for each, is refused."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Of sampling."""
    memory: Memory = Memory.CHAT
    """How much of the past a request shows, as learners' ``memory``: ``none``, ``last_round``, ``last_choice``, ``episode_counts``, ``trial_counts``,
    ``window``, or ``chat``, the whole conversation, which grows with every round."""
    window: Annotated[int, Field(ge=1, le=10**9)] = WINDOW_ROUNDS
    """H, the rounds that ``memory = "window"`` shows."""
    extra: Mapping[str, JsonValue] | None = None
    """Further fields of the request, e.g. ``{"top_k": 5}``, sent as they are; the endpoint says which it knows."""
    token_budget: Annotated[int | None, Field(ge=0)] = None
    """Tokens, read and written, that may be spent in all; None for any number. A request is sent only if the most that it may take is left:
    its bytes and ``max_tokens``. Afterwards what the endpoint reports counts; all that was reserved, if it reports nothing or does not answer."""
    cost_budget: Annotated[float | None, Field(ge=0)] = None
    """Money that may be spent in all, in the unit of the prices; None for any amount. Needs a price. Counted as tokens are."""
    price_in: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens read."""
    price_out: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens written."""
    characters_per_token: Annotated[float, Field(ge=0.1, le=100)] = 4.0
    """Characters that a token has on average, for the estimate that is printed before anything is asked. Budgets count what is reported."""

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return _is_this_machine(urlsplit(self.base_url).hostname or "")

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        """Errors do not repeat the URL: it may hold a password."""
        if not value.startswith(("http://", "https://")):
            raise ValueError("should begin with http:// or https://")
        if re.search(r"[^!-~]", value):
            raise ValueError("should have ASCII letters and no spaces; hosts with other letters are written as xn--…")
        parts = urlsplit(value)  # raises ValueError for a malformed host
        if parts.username is not None or parts.password is not None:
            raise ValueError(
                "should not hold a user or password; put the key in an environment variable and name it in api_key_var"
            )
        if "?" in value or "#" in value:
            raise ValueError(
                "should not hold a query; put the key in an environment variable and name it in api_key_var"
            )
        if not parts.hostname:
            raise ValueError("should name a host")
        try:
            parts.port  # noqa: B018 - looked up for its error
        except ValueError:
            raise ValueError("should have a port from 0 to 65535, if it has one") from None
        return value

    @field_validator("memory")
    @classmethod
    def _is_shown_in_text(cls, value: Memory) -> Memory:
        if value is Memory.TRANSCRIPT:
            raise ValueError("should be 'chat' or 'window': endpoints read a conversation, not a line for each round")
        return value

    @field_validator("extra")
    @classmethod
    def _is_further(cls, value: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue] | None:
        for name in value or ():
            if name in OWN_FIELDS:
                raise ValueError(f"must not hold {name!r}, which coplay sets itself")
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise ValueError("must hold finite numbers") from None
        return value

    @model_validator(mode="after")
    def _has_prices(self) -> EndpointSettings:
        if self.cost_budget is not None and self.price_in == self.price_out == 0:
            raise ValueError(
                "cost_budget is never spent without a price; set price_in and price_out, of a million tokens, or set"
                " token_budget instead"
            )
        return self

    @model_validator(mode="after")
    def _has_one_limit(self) -> EndpointSettings:
        other = (self.extra or {}).get("max_tokens", self.max_tokens)
        if type(other) is not int or not 1 <= other <= self.max_tokens:
            raise ValueError(
                f"extra.max_tokens should be a whole number from 1 to max_tokens, which is {self.max_tokens}"
            )
        return self


def _is_this_machine(host: str) -> bool:
    """Whether a host's name or address is a loopback one."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
