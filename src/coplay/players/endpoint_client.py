"""The official client of endpoints, given up on in time. Imports the ``endpoint`` extra."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import openai

from coplay.players.endpoint_settings import EndpointSettings

_BROUGHT = openai.DefaultAsyncHttpxClient
_HTTP: Any = import_module(_BROUGHT.__mro__[1].__module__.partition(".")[0])
"""The HTTP library that the client brings: httpx, or the one that came after."""


class _InTime(_BROUGHT):
    """Waits for a whole answer no longer than for its next byte, so that a server which trickles is one that does not answer."""

    async def send(self, request: Any, **how: Any) -> Any:
        """Send one request, once; the client tries again what runs out of time."""
        patience = self.timeout.read
        try:
            async with asyncio.timeout(patience):
                return await super().send(request, **how)
        except TimeoutError:
            raise _HTTP.ReadTimeout(f"no whole answer in {patience} s", request=request) from None


def client_for(settings: EndpointSettings, key: str | None) -> openai.AsyncOpenAI:
    """A client that tries again what fails in passing, as often as the settings say.

    Args:
        settings: where to ask, and how patiently.
        key: the endpoint's key, if it has one.
    """
    return openai.AsyncOpenAI(
        api_key=key or "none",  # the client wants one
        base_url=settings.base_url,
        timeout=settings.timeout,
        max_retries=settings.retries,
        http_client=_InTime(timeout=settings.timeout),
    )
