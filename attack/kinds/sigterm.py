"""``sigterm``: a command that hangs, in a library's code that never returns or in Python, is ended by SIGTERM in seconds."""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import MODEL, TABULAR
from attack.registry import Try, kind
from attack.workshop import Workshop

SECONDS = 8.0
"""In which a command must end: coplay's own two, and what a machine with much to do takes."""

SECONDS_IN_TRIAL = 26.0
"""The same in a trial, whose first SIGTERM may take twenty."""


def _holding() -> None:
    """One call of C that looks at no signal and holds Python's lock."""
    sum(range(10**12))


def _releasing() -> None:
    """One call of C that looks at no signal and holds no lock."""
    hashlib.pbkdf2_hmac("sha256", b"x", b"x", 10**9)


def _in_library() -> None:
    from safetensors import safe_open

    os.mkfifo("never")
    with safe_open("never", framework="np"):
        pass


def _in_python() -> None:
    while True:
        time.sleep(0.01)


def _stubborn() -> None:
    """Code that passes over every exception, as some libraries' loops do."""
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


HANGS: dict[str, Callable[[], None]] = {
    "in a library that opens a FIFO": _in_library,
    "in C code that holds Python's lock": _holding,
    "in C code without Python's lock": _releasing,
    "in Python": _in_python,
    "in Python that passes over errors": _stubborn,
}
"""Ways to hang."""

PLACES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "loading a model": (
        ("probe", "tiny", "--game", "ipd", "--pairs", "C/D"),
        "coplay.models.checkpoint",
        "check_tensors",
    ),
    "listing games": (("check", "ipd"), "coplay.conformance.games", "check_game"),
    "a trial": (
        ("train", *TABULAR, "trials=3", "--out", "it", "--quiet"),
        "coplay.runs.state",
        "TrainingState.run_trial",
    ),
    "saving": (
        ("train", *TABULAR, "trials=3", "--out", "it", "--quiet"),
        "coplay.runs.directory",
        "RunDirectory.save_checkpoint",
    ),
    "an evaluation": (("train", *MODEL, "trials=1", "--out", "it", "--quiet"), "coplay.runs.train", "finish"),
}
"""Where: the command, and the function that hangs."""


@kind(
    "sigterm",
    "a command hangs in a library or in Python, and SIGTERM ends it, once or twice in a trial",
    most=30,
    short=2,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every place with every way to hang, in random order."""
    cases = [(where, how, number) for where in PLACES for how in HANGS for number in (signal.SIGTERM, signal.SIGHUP)]
    while True:
        rng.shuffle(cases)
        yield from (_try(*case) for case in cases)


def _hanging(module: str, name: str, how: str) -> None:
    """Have a function hang, after it has said so."""
    holder: object = importlib.import_module(module)
    *outer, last = name.split(".")
    for one in outer:
        holder = getattr(holder, one)

    def hang(*words: object, **more: object) -> None:
        with open("hangs", "w"):
            pass
        HANGS[how]()

    original = getattr(holder, last)
    for other in list(vars(importlib.import_module("sys"))["modules"].values()):
        if vars(other).get(last) is original if hasattr(other, "__dict__") else False:
            setattr(other, last, hang)
    setattr(holder, last, hang)


def _try(where: str, how: str, number: signal.Signals) -> Try:
    argv, module, name = PLACES[where]

    def run(place: Place) -> list[Fall]:
        child = place.start(*argv, prepare=partial(_hanging, module, name, how))
        until = time.monotonic() + 40
        while not (place.work / "hangs").exists() and time.monotonic() < until:
            time.sleep(0.05)
        in_trial = where in ("a trial", "saving")
        asked = time.monotonic()
        child.send(number, alone=True)
        if in_trial:  # which goes on after the first one, to be saved
            time.sleep(1)
            child.send(number, alone=True)
        done = place.end(child, asked - child.began + (SECONDS_IN_TRIAL if in_trial else SECONDS))
        falls = judged(done, sent=[signal.SIGKILL, number])
        if done.status == -signal.SIGKILL and not done.timed_out and not done.says("did not answer"):
            falls.append(Fall("unnamed", "killed without a word"))
        return falls

    return Try(f"{where}, which hangs {how}, then {number.name}", run)
