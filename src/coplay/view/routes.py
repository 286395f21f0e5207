"""From the address that is asked for to an answer. Addresses name identifiers of the list, never paths."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from coplay.errors import UsageError
from coplay.files.reading import read_bytes
from coplay.report.page import TEMPLATES as REPORT_TEMPLATES
from coplay.report.page import styles
from coplay.view.found import PAGE
from coplay.view.pages import TEMPLATES, Pages, page
from coplay.view.reading import Gone

ID = r"([0-9a-f]{12})"

OWN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src-elem 'self'; style-src-attr 'unsafe-inline'; img-src data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of the pages made here. Figures have style attributes, which cannot run anything."""

MOST_DIGITS = 9
"""Of a number in an address."""


def sandbox_policy() -> str:
    """Of pages that lie in a directory: whoever wrote them, they have no origin, reach nothing, and run no script but the report's own replay."""
    script = (REPORT_TEMPLATES / "replay.js").read_bytes()
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    return (
        f"sandbox allow-scripts; default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:;"
        " form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    body: bytes
    """The content."""
    kind: str = "text/html; charset=utf-8"
    """Its media type."""
    status: HTTPStatus = HTTPStatus.OK
    """The status."""
    policy: str = OWN_POLICY
    """The content security policy."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers."""


class Routes:
    """Answers for a directory.

    Args:
        root: the directory.
    """

    def __init__(self, root: Path) -> None:
        self.pages = Pages(root)
        self._routes: Sequence[tuple[re.Pattern[str], Callable[..., Answer]]] = [
            (re.compile(pattern), answer)
            for pattern, answer in (
                ("/", self._list),
                ("/compare", self._compare),
                (f"/in/{ID}", lambda _, one: _page(self.pages.directory(one))),
                (f"/in/{ID}/games", self._games),
                (f"/in/{ID}/report", self._report),
                ("/live/list", lambda query: _live(query, self.pages.listing_parts())),
                (f"/live/in/{ID}", self._live_directory),
                (r"/static/view\.css", lambda _: Answer(_sheet(), "text/css; charset=utf-8")),
                (r"/static/view\.js", lambda _: Answer(_script(), "text/javascript; charset=utf-8")),
            )
        ]

    def answer(self, target: str) -> Answer:
        """The answer to a request for an address, whatever it is."""
        try:
            parts = urlsplit(target)
            path, query = unquote(parts.path, errors="strict"), parse_qs(parts.query, max_num_fields=100)
        except ValueError:
            return refusal(HTTPStatus.BAD_REQUEST, "This address cannot be read.")
        for pattern, make in self._routes:
            match = pattern.fullmatch(path)
            if match is not None:
                try:
                    return make(query, *match.groups())
                except Gone as error:
                    return _told("Not found", str(error), HTTPStatus.NOT_FOUND)
                except UsageError as error:
                    return _told("Damaged", str(error), HTTPStatus.OK)
        return _told("Not found", "There is no such page.", HTTPStatus.NOT_FOUND)

    def _list(self, query: Mapping[str, Sequence[str]]) -> Answer:
        return _page(self.pages.listing(query.get("q", [""])[0]))

    def _compare(self, query: Mapping[str, Sequence[str]]) -> Answer:
        return _page(self.pages.compare([one for one in query.get("id", []) if re.fullmatch(ID, one)]))

    def _games(self, query: Mapping[str, Sequence[str]], one: str) -> Answer:
        return _page(self.pages.chat(one, _number(query, "n"), _number(query, "from")))

    def _report(self, query: Mapping[str, Sequence[str]], one: str) -> Answer:
        found = self.pages.index.get(one)
        try:
            return Answer(read_bytes(found.path / PAGE, follow=False), policy=sandbox_policy())
        except FileNotFoundError:
            raise Gone(f"{found.name} has no report. Write one: coplay report {found.path}") from None

    def _live_directory(self, query: Mapping[str, Sequence[str]], one: str) -> Answer:
        mark = self.pages.mark(one)
        if query.get("mark") == [mark]:
            return _json({"mark": mark, "parts": {}})
        return _json({"mark": mark, "parts": self.pages.directory_parts(one)})


def refusal(status: HTTPStatus, told: str) -> Answer:
    """A line of plain text that says what was wrong."""
    return Answer(f"{told}\n".encode(), "text/plain; charset=utf-8", status)


def _page(text: str) -> Answer:
    return Answer(text.encode("utf-8", "replace"))


def _told(title: str, told: str, status: HTTPStatus) -> Answer:
    text = page("message.html.j2", title=title, told=told, found=None)
    return Answer(text.encode("utf-8", "replace"), status=status)


def _json(data: object) -> Answer:
    return Answer(json.dumps(data, ensure_ascii=True).encode(), "application/json")


def _live(query: Mapping[str, Sequence[str]], parts: Mapping[str, str]) -> Answer:
    """The parts of a page, or none if the asker has them as they are."""
    mark = hashlib.blake2b(repr(sorted(parts.items())).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return _json({"mark": mark, "parts": {} if query.get("mark") == [mark] else parts})


def _number(query: Mapping[str, Sequence[str]], name: str) -> int:
    """A place from 0, which addresses give from 1."""
    text = query.get(name, ["1"])[0]
    return max(int(text) - 1, 0) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else 0


@cache
def _sheet() -> bytes:
    return (styles() + (TEMPLATES / "view.css").read_text(encoding="utf-8")).encode()


@cache
def _script() -> bytes:
    return (TEMPLATES / "view.js").read_bytes()
