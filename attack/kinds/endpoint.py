"""``endpoint``: an endpoint on this machine that misbehaves in every way that the tests know; requests and memory are counted."""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

TESTS = Path(__file__).parent.parent.parent / "tests"
OLD = (
    "fine",
    "hang",
    "slow",
    "close",
    "truncated",
    "malformed",
    "other",
    "list",
    "null",
    "paid",
    "html",
    "deep",
    "message",
)
STATUSES = ("400", "401", "403", "404", "408", "413", "422", "429", "500", "502", "503", "529")
BUDGET = 1500
"""Tokens: three proper answers at about 400, and no more."""


def server_module() -> ModuleType:
    """The tests' server."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    return importlib.import_module("misbehaving_server")


@kind(
    "endpoint",
    "an endpoint that misbehaves in every way known, with and without a budget; its requests are counted",
    most=160,
    short=4,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every behaviour, always or at first, with and without a budget, in random order, endlessly."""
    names = [*getattr(server_module(), "BEHAVIOURS", OLD), *STATUSES]
    cases = [
        (name, always, budget) for name in dict.fromkeys(names) for always in (True, False) for budget in (None, BUDGET)
    ]
    while True:
        rng.shuffle(cases)
        for name, always, budget in cases:
            yield _try(name, always, budget)


def _try(name: str, always: bool, budget: int | None) -> Try:
    def run(place: Place) -> list[Fall]:
        server = Served(place, name, always)
        settings: dict[str, Any] = {"timeout": 0.5, "retries": 1, "concurrency": 1, "max_tokens": 20}
        settings_file(place.work, server.port, **settings, **({"token_budget": budget} if budget else {}))
        argv = ("eval", "--game", "ipd", "--rounds", "3", "--episodes", "4", "tit_for_tat", "them.toml", "--json")
        done = place.coplay(*argv, limit=45)
        requests = server.end()
        falls = judged(done, names=["them.toml", "endpoint", "http", "player 'm'"], statuses=(0, 1, 2))
        falls += [Fall("budget", f"{requests} requests for 12 replies")] if requests > 24 else []
        if budget and requests > 8:  # three answers and one more, each after one that failed
            falls.append(Fall("budget", f"{requests} requests within a budget of {budget} tokens at about 400 each"))
        return falls

    often = "always" if always else "at first"
    return Try(f"{name!r} {often}{f', {budget} tokens' if budget else ''}", run)


def settings_file(folder: Path, port: int, **more: Any) -> None:
    """Write ``them.toml``, which leads to the server, with these settings."""
    values = {"base_url": f"http://127.0.0.1:{port}/v1", "model": "m", "api_key_var": "COPLAY_TEST_KEY", **more}
    (folder / "them.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))


class Served:
    """The server in a process of its own, so that no thread of it is in a fork of this one.

    Args:
        place: where it writes how often it was asked.
        name: what it does.
        always: whether it does so every time; else only the first time that a request comes.
    """

    def __init__(self, place: Place, name: str, always: bool) -> None:
        self.file = place.root / "requests"
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._serve(name, always, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            self.port = int(pipe.readline())

    def end(self) -> int:
        """Stop it; returns the number of requests."""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        return int(self.file.read_text() or 0) if self.file.exists() else 0

    def _serve(self, name: str, always: bool, writing: int) -> None:
        server = server_module().Server()
        server.usage = {"prompt_tokens": 400, "completion_tokens": 3, "total_tokens": 403}
        server.faults = lambda tries: name if always or tries == 1 else "fine"
        asked: list[int] = []
        signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
        os.write(writing, f"{server.http.server_port}\n".encode())
        os.close(writing)
        began = time.monotonic()
        while not asked and time.monotonic() - began < 120:
            time.sleep(0.01)
        self.file.write_text(str(len(server.seen)))
        os._exit(0)
