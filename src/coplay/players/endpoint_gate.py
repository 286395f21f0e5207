"""The gate of endpoints: every answer goes through it before anything else sees it.

In this order: status and redirects, compression, length on receipt, encoding, JSON, shape, length of the reply, keys in it, usage. Nothing is
decompressed, and no more is read than :func:`most_bytes`. What an endpoint says is printable when it leaves here, and does not hold the key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.files.reading import parse_json
from coplay.players.endpoint_key import Key
from coplay.players.endpoint_usage import NOTHING, Spent, spent_by
from coplay.terminal.printable import printable

_BYTES_FLOOR = 64 * 2**10
"""Of an answer, besides its tokens: names, identifiers, usage."""

_BYTES_A_TOKEN = 256
"""Of an answer: ``CHARACTERS_A_TOKEN`` characters, each spelled ``\\u00e9``, and some more."""

_MOST_BYTES = 4 * 2**20
"""Of any answer."""

CHARACTERS_A_TOKEN = 32
"""Of a reply, on average; English has four or five."""

_CHARACTERS_FLOOR = 256
"""The longest token of common vocabularies has 128 characters."""

MOST_ERROR_BYTES = 16 * 2**10
"""Of an answer that is an error."""

_MOST_SHOWN = 300
"""Characters of what an endpoint says in an error."""

_WAITED_AT_MOST = 60.0
"""Seconds, even if an endpoint asks for more."""

_REFUSED_UNREAD = (501, 503)
"""Besides those below 500: statuses of requests that an endpoint has not begun to work on."""


@dataclass(frozen=True)
class Head:
    """Of an answer, what comes before its body."""

    status: int
    """E.g. 200."""
    headers: dict[str, str]
    """By name in small letters."""


@dataclass(frozen=True)
class Answer:
    """What one request has led to."""

    reply: str | None = None
    """The reply, which may be empty; None if there is none that can be used."""
    spent: Spent | None = None
    """What it has used; None if that is not known, so that its whole reservation counts."""
    problem: str = ""
    """What is wrong, if there is no reply. It follows the name of the endpoint."""
    passing: bool = True
    """Whether another try may help. What a setting would mend is not tried again: it may be paid for each time."""
    pause: float | None = None
    """Seconds to wait before it, if the endpoint says."""


@dataclass(frozen=True)
class Asked:
    """A request that is ready to be sent."""

    name: str
    """What its answer is kept under."""
    body: bytes
    """JSON."""
    text: str
    """The text of its messages."""
    reserved: Spent
    """Most tokens that it may take."""


def most_bytes(max_tokens: int) -> int:
    """Most bytes of an answer that are read."""
    return min(_BYTES_FLOOR + _BYTES_A_TOKEN * max_tokens, _MOST_BYTES)


def is_too_long(reply: str, max_tokens: int) -> bool:
    """Whether a reply has more characters than so many tokens can hold."""
    return len(reply) > max(CHARACTERS_A_TOKEN * max_tokens, _CHARACTERS_FLOOR)


def refused_unread(head: Head, max_tokens: int, key: Key) -> Answer | None:
    """The answer, if its body is not worth reading: it leads elsewhere, is compressed, or says that it is too long.

    Args:
        head: its beginning.
        max_tokens: most tokens of a reply.
        key: what no text may hold.
    """
    encoding, length = head.headers.get("content-encoding", "").strip().lower(), head.headers.get("content-length", "")
    if 300 <= head.status < 400:
        where = shown(head.headers.get("location", "nowhere"), key)
        return Answer(
            spent=NOTHING,
            passing=False,
            problem=f"leads elsewhere ({head.status}), to {where}, which coplay does not follow; if you trust that server, set base_url to it",
        )
    if encoding not in ("", "identity"):
        problem = (
            f"sends compressed answers ({shown(encoding, key)[:40]}), which coplay asks it not to do and does not read"
        )
        return _unread(head, problem)
    if head.status < 300 and length.isdecimal() and int(length[:20]) > most_bytes(max_tokens):
        return too_long(max_tokens)
    return None


def too_long(max_tokens: int) -> Answer:
    """An answer of more bytes than are read."""
    problem = (
        f"answers with more than {most_bytes(max_tokens):,} bytes, which {max_tokens} tokens (max_tokens) cannot need"
    )
    return Answer(problem=problem, passing=False)


def answer_in(head: Head, body: bytes, asked: Asked, max_tokens: int, key: Key) -> Answer:
    """What a whole body says; arguments as in :func:`refused_unread`."""
    if not 200 <= head.status < 300:
        return _unread(head, f"refuses: {head.status} {shown(_told_in(body), key)}".rstrip())
    try:
        completion = parse_json(body.decode("utf-8-sig"), "it")
    except UnicodeDecodeError:
        return _malformed("it is not UTF-8", None, asked, head)
    except UsageError as error:
        return _malformed(str(error), None, asked, head)
    match completion:
        case {"choices": [{"message": {**message}}, *_]}:
            content = message.get("content")
        case {"error": _}:
            return _malformed(f"it is an error, {shown(_told_in(body), key)}", completion, asked, head)
        case _:
            return _malformed("it has no message", completion, asked, head)
    if not isinstance(content, str | None):
        return _malformed("its reply is no text", completion, asked, head)
    reply = content or ""  # where a model calls a tool or refuses, content is null: an empty reply, which is a reply
    spent = spent_by(completion, asked.text, reply, asked.reserved)
    if is_too_long(reply, max_tokens):
        told = (
            f"sends a reply of {len(reply):,} characters, more than {max_tokens} tokens can hold; if it does not know"
            f" max_completion_tokens, set extra = {{max_tokens = {max_tokens}}}"
        )
        return Answer(spent=spent, problem=told, passing=False)
    return Answer(reply=key.hidden_in(_encodable(reply)), spent=spent)


def shown(text: str, key: Key) -> str:
    """What an endpoint says, for an error: printable, not long, without the key."""
    said = printable(key.hidden_in(text, shortest=1))
    return said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}…"


def _unread(head: Head, problem: str) -> Answer:
    """An answer by its status alone."""
    passing = head.status in (408, 409, 429) or head.status >= 500
    unspent = 300 <= head.status < 500 or head.status in _REFUSED_UNREAD
    return Answer(spent=NOTHING if unspent else None, problem=problem, passing=passing, pause=_pause(head))


def _malformed(what: str, completion: object, asked: Asked, head: Head) -> Answer:
    problem = f"answers in a form that is no chat completion: {what}"
    return Answer(spent=spent_by(completion, asked.text, "", asked.reserved), problem=problem, pause=_pause(head))


def _pause(head: Head) -> float | None:
    """Seconds that an endpoint asks to wait."""
    for name, second in (("retry-after-ms", 1000), ("retry-after", 1)):
        asked = head.headers.get(name, "")
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", asked):
            return min(float(asked) / second, _WAITED_AT_MOST)
    return None


def _told_in(body: bytes) -> str:
    """The message of an error, or all there is."""
    text = body.decode("utf-8", "replace")
    try:
        found = parse_json(text, "it")
    except UsageError:
        return text
    match found:
        case {"error": {"message": str(told)}} | {"error": str(told)} | {"message": str(told)} | {"detail": str(told)}:
            return told
    return text


def _encodable(text: str) -> str:
    """Halves of characters, which JSON can spell and no file can hold, become the character that stands for what is unreadable."""
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)
