"""``concurrent``: two commands at once on one directory, or without naming one."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from attack.crashes import WRITINGS, complete
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.snapshots import differences, snapshot
from attack.workshop import Workshop

SAME = ("make tabular", "make model", "make sweep", "make table", "make alignment", "make demonstrations", "make sft")
READERS = (
    ("report", "it"),
    ("list", "runs", "--runs-in", "."),
    ("eval", "it", "--episodes", "2"),
    ("train", "--resume", "it", "--quiet"),
)


@kind(
    "concurrent",
    "two commands write one directory, start without --out, or one reads what the other writes",
    most=30,
    short=1,
    needs=tuple(WRITINGS[name].product for name in SAME),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Endlessly."""
    while True:
        name = rng.choice(SAME)
        yield _both(name, [0.0, rng.random() * rng.choice([0, 0.1, 1])])
        yield _reader(rng.choice(["make tabular", "make model"]), rng.choice(READERS), rng.random() * 1.5)
        yield _unnamed(rng.randrange(2, 4))


def _both(name: str, pauses: Sequence[float]) -> Try:
    writing = WRITINGS[name]

    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        children = []
        for pause in pauses:
            time.sleep(pause)
            children.append(place.start(*writing.argv))
        ended = [place.end(child, 120) for child in children]
        falls = [fall for done in ended for fall in judged(done, statuses=(0, 2))]
        if not falls and all(done.status for done in ended):
            falls = [Fall("lost", "both were refused")]
        return falls or complete(writing, place)

    return Try(f"{name}, twice, {pauses[-1]:.2f} s apart", run)


def _reader(name: str, argv: tuple[str, ...], pause: float) -> Try:
    writing = WRITINGS[name]

    def run(place: Place) -> list[Fall]:
        writer = place.start(*writing.argv)
        time.sleep(pause)
        reader = place.coplay(*argv)
        falls = judged(reader)
        falls += judged(place.end(writer), statuses=(0,) if argv[0] != "train" else (0, 2))
        return falls or complete(writing, place)

    return Try(f"{name}, and after {pause:.2f} s {' '.join(argv)}", run)


def _unnamed(number: int) -> Try:
    argv = (*PRODUCTS["tabular"].makes[0][:-3], "--quiet")

    def run(place: Place) -> list[Fall]:
        children = [place.start(*argv) for _ in range(number)]
        ended = [place.end(child) for child in children]
        falls = [fall for done in ended for fall in judged(done, statuses=(0,))]
        made = sorted((place.work / "runs").iterdir()) if (place.work / "runs").exists() else []
        if not falls and len(made) != number:
            falls = [Fall("lost", f"{number} runs made {len(made)} directories")]
        for run_directory in made if not falls else ():
            words = differences(snapshot(run_directory), place.workshop.snapshot("tabular"))
            falls += [Fall("lost", f"{run_directory.name}: {', '.join(words[:3])}")] if words else []
        return falls

    return Try(f"{number} runs started at once without --out", run)
