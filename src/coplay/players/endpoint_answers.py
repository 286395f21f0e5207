"""Answers of endpoints: read from what came, counted, and kept by request."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from coplay.players.endpoint_settings import EndpointSettings

_PRICED = 1_000_000
"""Prices are for so many tokens."""

_CHARACTERS = 4
"""Of a token, where an endpoint does not count its tokens."""

_UNBELIEVABLE = 2**31
"""No request uses so many tokens, whatever an endpoint says."""


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


def decoded(body: bytes) -> object:
    """JSON; None if it is truncated, or none."""
    try:
        return json.loads(body.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def reply_in(completion: object) -> str | None:
    """The reply of a chat completion; None if it is of another shape."""
    match completion:
        case {"choices": [{"message": {**message}}, *_]}:
            content = message.get("content")
            return _encodable(content) if isinstance(content, str) else ""  # an empty reply is a reply
    return None


def _encodable(text: str) -> str:
    """Halves of characters, which JSON can spell and no file can hold, become the character that stands for what is unreadable."""
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def spent_by(completion: object, asked: str = "", reply: str = "") -> Spent:
    """What a completion has used as the endpoint counts it, or as these texts let one estimate."""
    return Spent(
        _counted(completion, "prompt_tokens") or _estimated(asked),
        _counted(completion, "completion_tokens") or _estimated(reply),
    )


def _counted(completion: object, kind: str) -> int:
    """Tokens of a kind as the endpoint counts them; 0 if it does not."""
    match completion:
        case {"usage": {**usage}}:
            tokens = usage.get(kind)
            return tokens if type(tokens) is int and 0 < tokens < _UNBELIEVABLE else 0
    return 0


def _estimated(text: str) -> int:
    """Tokens of a text, roughly."""
    return math.ceil(len(text) / _CHARACTERS)
