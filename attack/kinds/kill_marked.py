"""``kill-marked``: the process dies at every call that changes a file, before or after it; then the work is completed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from attack.crashes import WRITINGS, Writing, complete
from attack.marks import At, count, mark
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

CHOSEN = [writing for writing in WRITINGS.values() if writing.product not in ("text", "workers")]
"""Those whose calls are not the same as others'."""
NEEDS = tuple(dict.fromkeys(writing.product for writing in CHOSEN))


@kind(
    "kill-marked",
    "dies before or after each call that changes a file, in every verb that writes; then completed and compared",
    most=500,
    short=5,
    needs=NEEDS,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """All places of all commands, in random order; the small commands' first places are as likely as the large ones'."""
    places = {writing.name: _places(writing, workshop, rng) for writing in CHOSEN}
    while places:
        for name in list(places):
            if not places[name]:
                del places[name]
                continue
            number, act, call = places[name].pop()
            yield _try(WRITINGS[name], At(number, act), call)


def _places(writing: Writing, workshop: Workshop, rng: random.Random) -> list[tuple[int, str, str]]:
    place = workshop.place()
    writing.prepare(place)
    calls = count(place, *writing.argv)
    place.close()
    found = [(number, act, call) for number, call in enumerate(calls) for act in ("before", "after")]
    rng.shuffle(found)
    return found


def _try(writing: Writing, at: At, call: str) -> Try:
    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        done = place.coplay(*writing.argv, prepare=partial(mark, place.work, at), limit=180)
        if done.status != -9:
            return [Fall("attack", f"did not die, but ended with {done.status}")]
        return complete(writing, place)

    return Try(f"{writing.name}: dies {at.act} call {at.number}, {call}", run)
