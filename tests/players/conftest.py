"""Endpoints to ask."""

from collections.abc import Iterator

import pytest
from misbehaving_server import KEY, Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("COPLAY_TEST_KEY", KEY)
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()
