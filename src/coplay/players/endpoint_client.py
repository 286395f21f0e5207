"""One request to an endpoint: sent once, read no further than the gate allows, given up on in time. Imports the ``endpoint`` extra."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from coplay.errors import UsageError
from coplay.players.endpoint_gate import (
    MOST_ERROR_BYTES,
    Answer,
    Asked,
    Head,
    answer_in,
    most_bytes,
    refused_unread,
    shown,
    too_long,
)
from coplay.players.endpoint_key import Key
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import NOTHING

_SENDING = "http11.send_request_headers.started"
"""What the library reports when a connection stands and the request is about to go out."""


class Client:
    """Sends requests to one endpoint: no redirect is followed, no cookie kept, nothing decompressed, nothing tried again.

    Raises:
        UsageError: if the proxy or the certificates that the environment names cannot be used.
    """

    def __init__(self, settings: EndpointSettings, key: Key) -> None:
        self._settings, self._key = settings, key
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key.value is not None:
            headers["Authorization"] = f"Bearer {key.value}"
        try:
            self._http = httpx2.AsyncClient(
                headers=headers,
                timeout=settings.timeout,
                follow_redirects=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # none are kept, nor sent back
                limits=httpx2.Limits(max_connections=settings.concurrency),
            )
        except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:  # of a proxy or of certificates
            raise UsageError(
                f"{settings.model}: proxy or certificates cannot be used: {shown(str(error), key)}"
            ) from None

    async def __aenter__(self) -> Client:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.__aexit__()

    async def ask(self, asked: Asked) -> Answer:
        """Send a request once. What goes wrong is in the answer."""
        sent = False

        async def watch(event: str, _: Mapping[str, object]) -> None:
            nonlocal sent
            sent = sent or event == _SENDING

        try:
            async with asyncio.timeout(self._settings.timeout):
                return await self._answer(asked, {"trace": watch})
        except (TimeoutError, httpx2.TimeoutException):
            problem = f"does not answer: no whole answer in {self._settings.timeout:g} s"
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ssl.SSLError, OSError, ValueError) as error:
            problem = f"does not answer: {shown(str(error), self._key) or type(error).__name__}"
        return Answer(spent=None if sent else NOTHING, problem=problem)

    async def _answer(self, asked: Asked, extensions: Mapping[str, object]) -> Answer:
        url, most = f"{self._settings.base_url.rstrip('/')}/chat/completions", self._settings.max_tokens
        async with self._http.stream("POST", url, content=asked.body, extensions=dict(extensions)) as response:
            head = Head(response.status_code, {name.lower(): value for name, value in response.headers.items()})
            refused = refused_unread(head, most, self._key)
            if refused is not None:
                return refused
            is_error = response.status_code >= 300
            limit, body = MOST_ERROR_BYTES if is_error else most_bytes(most), bytearray()
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > limit:
                    break
            if len(body) > limit and not is_error:
                return too_long(most)
            return answer_in(head, bytes(body[:limit]), asked, most, self._key)
