"""Settings of an endpoint: URL, timeouts and budget."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

DEFAULT_KEY = "OPENAI_API_KEY"
"""Environment variable that holds the key of an endpoint on another machine, if its settings name none."""


@checked_dataclass(frozen=True, config=ConfigDict(allow_inf_nan=False))
class EndpointSettings:
    """Endpoint URL, timeouts and budget."""

    base_url: str
    """E.g. ``https://api.openai.com/v1`` or ``http://localhost:8000/v1``."""
    model: Annotated[str, Field(min_length=1)]
    """The endpoint's name for the model."""
    api_key_var: str | None = None
    """Environment variable that holds the key, the only place it is read from; empty for endpoints without one. None for ``OPENAI_API_KEY``, or
    for no key where ``base_url`` is this machine (``localhost``, ``127.0.0.1``, ``[::1]``)."""
    concurrency: Annotated[int, Field(ge=1)] = 8
    """Most requests at a time."""
    timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds to wait for an answer."""
    retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed in passing is tried again."""
    max_tokens: Annotated[int, Field(ge=1)] = 400
    """Most tokens of a reply."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Of sampling."""
    extra: Mapping[str, JsonValue] | None = None
    """Further fields of the request, e.g. ``{"top_k": 5}``, sent as they are; the endpoint says which it knows."""
    token_budget: Annotated[int | None, Field(ge=0)] = None
    """Tokens, read and written, that may be spent in all; None for any number. Requests already on their way are let through. Counted as
    the endpoint counts them; where it does not, a token is four characters of what is asked and replied, rounded up."""
    cost_budget: Annotated[float | None, Field(ge=0)] = None
    """Money that may be spent in all, in the unit of the prices; None for any amount. Needs a price."""
    price_in: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens read."""
    price_out: Annotated[float, Field(ge=0)] = 0.0
    """Of a million tokens written."""

    @property
    def key_variable(self) -> str | None:
        """The environment variable that the key is read from; None if there is no key."""
        if self.api_key_var is None:
            return None if _is_this_machine(urlsplit(self.base_url).hostname or "") else DEFAULT_KEY
        return self.api_key_var or None

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError(f"should begin with http:// or https://, which {value!r} does not")
        if not urlsplit(value).hostname:  # raises ValueError for a malformed host
            raise ValueError(f"should name a host, which {value!r} does not")
        return value

    @model_validator(mode="after")
    def _has_prices(self) -> EndpointSettings:
        if self.cost_budget is not None and self.price_in == self.price_out == 0:
            raise ValueError(
                "cost_budget is never spent without a price; set price_in and price_out, of a million tokens, or set"
                " token_budget instead"
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
