"""``terminal``: readers that leave, closed or full streams, ASCII terminals, and control characters in names."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator

from attack.crashes import AT_ONCE, WRITINGS, complete
from attack.judge import judged
from attack.kinds.cli import GOOD, NEEDED, supply
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.workshop import Workshop

WRITING = ("make tabular", "make sweep", "make table", "make alignment", "make sft")
HOSTILE = (
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\rcoplay: done",
    "\u202eevil",
    "\x9b31m",
    "a\ncoplay: forged",
    "\x08\x08",
    "💥ü",
)
GAME = """name = {0}
rounds = 2
actions = [{0}, "go"]
labels = ["S", "G"]
payoffs = [[[1, 1], [2, 0]], [[0, 2], [3, 3]]]
description = {0}
"""


@kind(
    "terminal",
    "readers that leave, closed and full streams, ASCII terminals, control characters in names",
    most=60,
    short=3,
    needs=(*(WRITINGS[name].product for name in WRITING), *(product for product, _ in NEEDED.values())),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Each in turn, endlessly."""
    while True:
        yield _reader_leaves(rng.choice(WRITING), rng.randrange(4), quiet=rng.random() < 0.3)
        yield _stream(rng.choice(list(GOOD)), rng.choice(["full", "left"]))
        yield _named(rng.choice(HOSTILE), rng.randrange(5))
        yield _path(rng.choice(HOSTILE), rng.randrange(3))
        if rng.random() < 0.4:
            yield _ascii(rng.choice(list(GOOD)))
        if rng.random() < 0.4:
            yield _closed(rng.choice(list(GOOD)), rng.choice([0, 1, 2]))


def _reader_leaves(name: str, read: int, *, quiet: bool) -> Try:
    """``coplay train … 2>&1 | head -1``: an end with 0 means that all is there."""
    writing = WRITINGS[name]

    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        reading, pipe = os.pipe()
        argv = [word for word in writing.argv if quiet or word != "--quiet"]
        child = place.start(*argv, out=pipe, prepare=_both)
        os.close(pipe)
        for _ in range(read):
            os.read(reading, 40)
        os.close(reading)
        done = place.end(child)
        if done.status == 0 and PRODUCTS[writing.product].owner not in AT_ONCE:
            path = place.work / "it"
            whole = all((one.parent / "eval.json").exists() for one in path.rglob("config.json")) and path.exists()
            if not whole:
                return [Fall("silent", "exit status 0, but it is unfinished")]
        return complete(writing, place, saved=True, pages=quiet)

    return Try(f"{name}{' quietly' if quiet else ''}, whose reader leaves after {read} pieces", run)


def _both() -> None:
    """Standard error goes where standard output does."""
    os.dup2(1, 2)


def _stream(verb: str, which: str) -> Try:
    """What is printed cannot be: an end with 0 would say that it was."""

    def run(place: Place) -> list[Fall]:
        supply(place, verb)
        reading, pipe = os.pipe()
        os.close(reading)
        full = os.open("/dev/full", os.O_WRONLY)
        done = place.end(place.start(verb, *GOOD[verb], out=full if which == "full" else pipe, stdin=b"C\nC\n"))
        os.close(pipe)
        os.close(full)
        falls = judged(done) if done.status != 0 or which == "full" else []
        if (
            which == "full"
            and done.status == 0
            and verb in ("eval", "list", "prompt", "check", "labels", "probe", "models")
        ):
            falls.append(Fall("silent", "exit status 0, but nothing could be printed"))
        return falls

    return Try(f"{verb} to {'a full device' if which == 'full' else 'a reader who left'}", run)


def _named(text: str, which: int) -> Try:
    """A game whose names hold control characters."""
    game = ("--game", "mine.toml")
    argv = (
        ("check", "mine.toml"),
        ("eval", *game, "--rounds", "2", "--episodes", "2", "tit_for_tat", "random:0.5"),
        ("prompt", "any/naive", *game),
        ("train", "any/naive", "--learner", "tabular", "--seeds", "0", "trials=1", "games=1", *game, "--out", "it"),
        ("eval", *game, "--rounds", "2", "--episodes", "1", "tit_for_tat", "random:0.5", "--print-games", "1"),
    )[which]

    def run(place: Place) -> list[Fall]:
        (place.work / "mine.toml").write_text(GAME.format(json.dumps(text)), encoding="utf-8")
        return judged(place.coplay(*argv))

    return Try(f"a game named {text!r}: {' '.join(argv[:2])}", run)


def _path(text: str, which: int) -> Try:
    """A directory whose name holds control characters."""
    argv = (
        (*PRODUCTS["tabular"].makes[0][:-2], text, "--quiet"),
        ("report", text),
        ("eval", text, "--episodes", "2"),
    )[which]

    def run(place: Place) -> list[Fall]:
        if which:
            place.copy("tabular", text)
        return judged(place.coplay(*argv))

    return Try(f"a directory {text!r}: {argv[0]}", run)


def _ascii(verb: str) -> Try:
    def run(place: Place) -> list[Fall]:
        supply(place, verb)
        env = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
        return judged(place.coplay(verb, *GOOD[verb], env=env, real=True, stdin=b"C\nD\n", limit=120), statuses=(0,))

    return Try(f"{verb} where only ASCII can be printed", run)


def _closed(verb: str, number: int) -> Try:
    """A stream that is closed from the start, as for a service without a terminal."""

    def run(place: Place) -> list[Fall]:
        supply(place, verb)
        child = place.start(verb, *GOOD[verb], prepare=lambda: _close(number))
        done = place.end(child)
        return [fall for fall in judged(done) if fall.kind != "unnamed"]

    return Try(f"{verb} with stream {number} closed", run)


def _close(number: int) -> None:
    """As Python starts without that stream: the handle is closed, and there is no object for it."""
    os.close(number)
    setattr(sys, ("stdin", "stdout", "stderr")[number], None)
