"""Keys of endpoints: read from the environment, sent to the server they are meant for, and hidden everywhere else."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from coplay.errors import UsageError
from coplay.players.endpoint_settings import EndpointSettings

DEFAULT_KEY = "OPENAI_API_KEY"
"""Environment variable that holds OpenAI's key. It is sent to ``OPENAI`` over https and to nobody else, unless settings name it."""

OPENAI = "api.openai.com"
"""The host that the default key is for."""

_HIDDEN = "***"
"""Stands in place of a key."""

_SHORTEST = 8
"""Shorter keys are placeholders, such as ``EMPTY``, and may be part of what a reply says."""


class Key:
    """An endpoint's key, or none.

    Raises:
        UsageError: if the environment variable is not named, not set, or holds what no key can be; or if the key is in ``base_url``.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        variable = variable_of(settings)
        self.value = None if variable is None else _read(variable, settings.model)
        if self.value is not None and len(self.value) >= _SHORTEST and self.value in settings.base_url:
            raise UsageError(
                f"{settings.model}: base_url holds the key, and would be printed with it; the key belongs in the environment"
                f" variable {variable} alone"
            )

    def hidden_in(self, text: str, *, shortest: int = _SHORTEST) -> str:
        """A text without the key.

        Args:
            text: what an endpoint says, which may repeat it.
            shortest: how short a key is still looked for.
        """
        return text.replace(self.value, _HIDDEN) if self.value and len(self.value) >= shortest else text


def variable_of(settings: EndpointSettings) -> str | None:
    """The environment variable that the key is read from; None if there is no key.

    Raises:
        UsageError: if settings name none, and the endpoint is neither OpenAI's nor on this machine.
    """
    if settings.api_key_var is not None:
        return settings.api_key_var or None
    url = urlsplit(settings.base_url)
    if settings.is_local:
        return None
    if (url.hostname, url.scheme) == (OPENAI, "https"):
        return DEFAULT_KEY
    raise UsageError(
        f'{settings.model}: set api_key_var to the environment variable that holds the key for {url.hostname}, or to "" if it has none;'
        f" {DEFAULT_KEY} is sent to https://{OPENAI} alone, unless api_key_var names it"
    )


def _read(variable: str, model: str) -> str:
    try:
        key = os.environ.get(variable)
    except ValueError:  # a NUL in the name
        key = None
    if not key:
        raise UsageError(
            f'{model}: set the environment variable {variable} to the endpoint\'s key; if it has none, set api_key_var to ""'
        )
    if not (key.isascii() and key.isprintable()):  # it is sent in a header
        raise UsageError(
            f"{model}: the key in the environment variable {variable} has line breaks or characters"
            " other than ASCII, which no key has; set it again"
        )
    return key
