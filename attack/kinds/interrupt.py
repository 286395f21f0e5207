"""``interrupt``: Ctrl-C, SIGTERM and SIGHUP at random times, once or twice; what was saved is then completed."""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator

from attack.crashes import WRITINGS, Writing, complete
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import MAKES
from attack.registry import Try, kind
from attack.workshop import Workshop

NAMES = (*MAKES, "report on a table")
SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@kind(
    "interrupt",
    "Ctrl-C, SIGTERM and SIGHUP, once or twice, at random times from the very start; then completed and compared",
    most=36,
    short=1,
    needs=tuple(WRITINGS[name].product for name in NAMES),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Commands in turn, endlessly; now and then a new interpreter, or one with worker processes, in its first moments."""
    while True:
        for name in NAMES:
            number = rng.choice(SIGNALS)
            times = [rng.random() ** 2 * 2.5] + ([rng.random() * 0.3] if rng.random() < 0.3 else [])
            yield _try(WRITINGS[name], number, times)
        yield _try(WRITINGS["make tabular"], signal.SIGINT, [rng.random() * 3], real=True)
        yield _try(WRITINGS["make workers"], rng.choice(SIGNALS), [rng.random() * 8])


def _try(writing: Writing, number: signal.Signals, times: list[float], *, real: bool = False) -> Try:
    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        child = place.start(*writing.argv, real=real)
        for seconds in times:
            time.sleep(seconds)
            child.send(number)
        done = place.end(child, 90)
        falls = judged(done, sent=[number], statuses=(0, 130))
        if real and not re.search(r"/coplay/(?!__init__|__main__)", done.err.partition("Traceback")[2]):
            falls = [fall for fall in falls if fall.kind != "traceback"]  # before coplay's first line ran
        return falls or complete(writing, place, saved=True)

    words = ", ".join(f"{one:.2f} s" for one in times)
    return Try(f"{writing.name}: {number.name} after {words}{' in a new interpreter' if real else ''}", run)
