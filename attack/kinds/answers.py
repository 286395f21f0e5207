"""``answers``: the file of an endpoint's stored answers cannot be made, is damaged or another; and a kill never pays twice."""

from __future__ import annotations

import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from attack import ways
from attack.judge import judged
from attack.kinds.endpoint import Served, settings_file
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

ARGV = ("eval", "--game", "ipd", "--rounds", "3", "--episodes", "4", "tit_for_tat", "them.toml", "--json")
REPLIES = 12
"""Of those games."""
FILE = "them.answers.sqlite"
NAMES = (
    "",
    ".",
    "..",
    "/",
    "nowhere/x.sqlite",
    "directory",
    "file",
    "/dev/full",
    "/dev/null",
    "link",
    "fifo",
    "x" * 300,
    "~nosuchuser/x",
)
"""Settings of where answers are stored, few of which can be."""


@kind("answers", "stored answers of an endpoint damaged, elsewhere or cut off by a kill", most=60, short=1)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Each in turn, endlessly."""
    while True:
        yield _named(rng.choice(NAMES))
        yield _damaged(rng.choice([*ways.ALL, "another schema"]), rng.randrange(2**32))
        yield _killed(rng.random() * 0.6)


def _named(name: str) -> Try:
    def run(place: Place) -> list[Fall]:
        from attack.kinds.cli import furnish

        furnish(place)
        server = Served(place, "fine", always=True)
        settings_file(place.work, server.port, answers=name, concurrency=1, timeout=5.0)
        falls = judged(place.coplay(*ARGV), names=["answers", name or "answers"])
        server.end()
        return falls

    return Try(f"answers = {name[:40]!r}", run)


def _damaged(way: str, seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        server = Served(place, "fine", always=True)
        settings_file(place.work, server.port, concurrency=1, timeout=5.0)
        first = place.coplay(*ARGV)
        file = place.work / FILE
        if way == "another schema":
            _another(file)
        else:
            ways.damage(file, way, random.Random(seed), place.precious)
        second = place.coplay(*ARGV)
        server.end()
        falls = [*judged(first, statuses=(0,)), *judged(second, names=["answers"])]
        if not falls and second.status == 0 and second.out != first.out and not second.says("answers"):
            falls = [Fall("silent", "exit status 0, but other results than before")]
        return falls

    return Try(f"stored answers {way}, then the same again", run)


def _another(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE answers (x TEXT)")
        base.execute("CREATE TABLE unusable (y TEXT)")


def _killed(seconds: float) -> Try:
    def run(place: Place) -> list[Fall]:
        server = Served(place, "slow", always=True)
        settings_file(place.work, server.port, concurrency=1, timeout=5.0)
        child = place.start(*ARGV)
        time.sleep(0.3 + seconds)
        child.send(signal.SIGKILL)
        place.end(child)
        done = place.coplay(*ARGV)
        requests = server.end()
        falls = judged(done, statuses=(0,))
        more = requests - REPLIES - 1  # the one on its way when it was killed
        return [*falls, Fall("budget", f"{requests} requests for {REPLIES} replies")] if more > 0 else falls

    return Try(f"killed {seconds:.2f} s after its first requests, then the same again", run)
