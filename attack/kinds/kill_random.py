"""``kill-random``: killed at random times, once or several times, then completed; the files equal those of a run that was not."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator

from attack.crashes import WRITINGS, Writing, complete
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.workshop import Workshop

NAMES = (
    "make tabular",
    "make model",
    "make text",
    "make sweep",
    "make table",
    "make paper",
    "make alignment",
    "make demonstrations",
    "make sft",
)


@kind(
    "kill-random",
    "kill -9 at random times, up to three times, then completed and compared",
    most=30,
    short=1,
    needs=tuple(WRITINGS[name].product for name in NAMES),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every command in turn, endlessly; every seventh with worker processes, of which one is killed or all are."""
    while True:
        for name in NAMES:
            times = [rng.random() ** 1.5 * 2.0 for _ in range(rng.choice([1, 1, 2, 3]))]
            yield _try(WRITINGS[name], times)
        yield _try(WRITINGS["make workers"], [rng.random() * 12], alone=rng.random() < 0.5)


def _try(writing: Writing, times: list[float], *, alone: bool = False) -> Try:
    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        for i, seconds in enumerate(times):
            run_is_there = PRODUCTS[writing.product].owner == "run" and (place.work / "it").exists()
            argv = PRODUCTS[writing.product].resumes[-1] if i and run_is_there else writing.argv
            child = place.start(*argv)
            time.sleep(seconds)
            child.send(signal.SIGKILL, alone=alone)
            done = place.end(child)
            if done.status not in (0, -9, 2):
                return [Fall("crash", f"ended with {done.status} when it was run again: {done.err[-200:]}")]
        return complete(writing, place)

    return Try(f"{writing.name}: killed after {', '.join(f'{one:.2f} s' for one in times)}", run)
