"""A page that is served to a test, and requests as a browser or somebody else would make them."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coplay.view.server import Server


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@contextlib.contextmanager
def serving(root: Path) -> Iterator[str]:
    """The address of a server of a directory, while the block runs."""
    with Server(root, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def ask(url: str, path: str, *, method: str = "GET", host: str | None = None) -> Got:
    """One request; the path is sent as it is."""
    place = url.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(place, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", place if host is None else host)
        connection.endheaders()
        answer = connection.getresponse()
        return Got(answer.status, dict(answer.getheaders()), answer.read().decode())
    finally:
        connection.close()


def identifiers(url: str) -> dict[str, str]:
    """From names in the list to identifiers."""
    rows = ask(url, "/live/list").json["parts"]["rows"]
    return {name: one for one, name in re.findall(r'href="/in/([0-9a-f]{12})" data-row>([^<]*)<', rows)}
