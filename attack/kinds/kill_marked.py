"""``kill-marked``: the process dies at every call that changes a file, before or after it; then the work is completed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import count

from attack.crashes import WRITINGS, Writing, calls_of, complete
from attack.marks import At, mark
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

CHOSEN = [writing for writing in WRITINGS.values() if writing.product not in ("text", "workers")]
"""Those whose calls are not the same as others'."""


@kind(
    "kill-marked",
    "dies before or after each call that changes a file, in every verb that writes; then completed and compared",
    most=120,
    short=1,
    needs=tuple(dict.fromkeys(writing.product for writing in CHOSEN)),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """The commands in turn, each at the next place of a random order of all its places: enough tries are every place of every command."""
    order = rng.randrange(2**32)
    for number in count():
        for writing in rng.sample(CHOSEN, len(CHOSEN)):
            yield _try(writing, number, order)


def _try(writing: Writing, number: int, order: int) -> Try:
    def run(place: Place) -> list[Fall]:
        calls = calls_of(writing, place.workshop)
        places = [(at, act) for at in range(len(calls)) for act in ("before", "after")]
        random.Random(order).shuffle(places)
        at, act = places[number % len(places)]
        writing.prepare(place)
        place.commands.append(f"# dies {act} call {at} of {len(calls)}: {calls[at]}")
        done = place.coplay(*writing.argv, prepare=partial(mark, place.work, At(at, act)), limit=180)
        if done.status != -9:
            return [Fall("attack", f"did not die, but ended with {done.status}")]
        return complete(writing, place)

    return Try(f"{writing.name}: dies at its place {number} in order {order}", run)
