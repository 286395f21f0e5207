"""``cli``: command lines of every verb with every option, whose values are anything."""

from __future__ import annotations

import argparse
import os
import random
import re
from collections.abc import Iterator

from attack import words
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

GOOD = {
    "train": ["shapellm/ipd", "--learner", "tabular", "--seeds", "0", "trials=1", "rounds=2", "episodes=1", "games=1"],
    "reproduce": ["shapellm/table1", "--game", "ipd", "--learner", "tabular", "--n-seeds", "1", "--trials", "1"],
    "sweep": ["shapellm/ipd", "--learner", "tabular", "--seeds", "0", "--over", "games=1,2", "trials=1", "rounds=2"],
    "align": ["tiny", "--to", "tiny-second", "--prompts", "4", "--epochs", "1", "--out", "aligned"],
    "demonstrate": ["ipd-8", "--examples", "8", "--opponents", "tit_for_tat", "--out", "demonstrated"],
    "sft": ["--data", "data", "--threads", "1", "--out", "tuned", "epochs=1", "adapter.rank=2"],
    "eval": ["tit_for_tat", "always_defect", "--payoffs", "3,0,5,1", "--episodes", "2", "--rounds", "2"],
    "fit-simulator": ["games", "--out", "simulator.json"],
    "exploit": ["tit_for_tat", "--game", "ipd", "--rounds", "2", "--samples", "2", "--trials", "1"],
    "audit": [
        *("tit_for_tat", "--game", "ipd", "--rounds", "2", "--against", "scripted,ppo", "--budget", "8"),
        *("--n-seeds", "2", "--episodes", "2"),
    ],
    "play": ["ipd", "--rounds", "2"],
    "report": ["run"],
    "view": ["run", "--port", "0", "--no-browser", "--json"],
    "export": ["run", "--to", "every-eval-ever", "--out", "exported"],
    "list": ["games"],
    "prompt": ["shapellm/ipd", "--history", "CC,DD"],
    "labels": ["--pairs", "H/K,N/Y"],
    "probe": ["tiny", "--game", "ipd", "--pairs", "C/D", "--threads", "1"],
    "models": [],
    "check": ["ipd"],
}
"""A command line of each verb that is right and small, to which something is done."""

NEEDED = {
    "report": ("tabular", "run"),
    "view": ("tabular", "run"),
    "export": ("tabular", "run"),
    "sft": ("demonstrations", "data"),
    "fit-simulator": ("recording", "games"),
}
"""What a verb reads: the product, and what its command line calls it."""

_NOT_A_NUMBER = re.compile(r"\b(nan|NaN|inf|Infinity)\b(?!/)")
"""Not the name of a directory that the command line has, in what is printed of the files there."""

LIMIT = 40.0
"""Seconds; a right command takes a few."""

SERVED = 12.0
"""Seconds for a page, which is served until it is told to end."""


@kind(
    "cli",
    "right command lines of every verb with words changed, added, left out or anything",
    most=150,
    short=len(GOOD),
    needs=tuple(product for product, _ in NEEDED.values()),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Verb after verb, endlessly."""
    while True:
        for verb, sub in words.verbs().items():
            argv = _changed(verb, sub, rng)
            yield _try((verb, *argv))


def _changed(verb: str, sub: argparse.ArgumentParser, rng: random.Random) -> list[str]:
    """A right command line, with one to three things done to it; without NUL, which no system passes on."""
    argv = list(GOOD.get(verb, []))
    for _ in range(rng.randrange(1, 4)):
        what = rng.randrange(5)
        if what == 0 and argv:
            argv[rng.randrange(len(argv))] = rng.choice(words.VALUES)
        elif what == 1 and argv:
            del argv[rng.randrange(len(argv))]
        elif what == 2:
            argv.insert(rng.randrange(len(argv) + 1), rng.choice(words.VALUES))
        elif what == 3 and argv:
            at = rng.randrange(len(argv))
            key, equals, _ = argv[at].partition("=")
            argv[at] = f"{key}={rng.choice(words.VALUES)}" if equals else rng.choice(words.VALUES)
        else:
            option = rng.choice(words.options(sub))
            name = rng.choice(option.option_strings)
            argv += [name] if option.nargs == 0 else [name, words.value_for(option, rng)]
    return [word for word in argv if "\0" not in word]


def _try(argv: tuple[str, ...]) -> Try:
    def run(place: Place) -> list[Fall]:
        furnish(place)
        supply(place, argv[0])
        done = place.coplay(*argv, limit=SERVED if argv[0] == "view" else LIMIT, stdin=b"C\nD\nx\n")
        if done.timed_out and _long(argv):
            return []
        falls = judged(done)
        if not falls and done.status == 0 and _NOT_A_NUMBER.search(done.out):
            falls = [Fall("silent", "exit status 0, but prints a number that is none")]
        return falls

    return Try(" ".join(["coplay", *(repr(word)[:40] for word in argv)])[:200], run)


def _long(argv: tuple[str, ...]) -> bool:
    """Whether a command that is right would take long: a size has been left out or is large."""
    return argv[0] in (
        "train",
        "reproduce",
        "sweep",
        "align",
        "demonstrate",
        "sft",
        "labels",
        "probe",
        "eval",
        "exploit",
        "audit",
        "view",
    )


def supply(place: Place, verb: str) -> None:
    """Put the directory there that a verb's right command line reads."""
    if verb in NEEDED:
        place.copy(*NEEDED[verb])


def furnish(place: Place) -> None:
    """Put things into the directory that the words may name."""
    (place.work / "file").write_text("text")
    (place.work / "directory").mkdir()
    (place.work / "link").symlink_to(place.precious)
    (place.work / "deep.toml").write_text("a = " + "[" * 5000)
    os.mkfifo(place.work / "fifo")
