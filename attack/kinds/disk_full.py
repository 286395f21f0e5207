"""``disk-full``: from some write on, nothing can be written; that is said, and once there is space the work is completed."""

from __future__ import annotations

import errno
import random
import resource
from collections.abc import Callable, Iterator
from functools import partial

from attack.crashes import WRITINGS, Writing, complete
from attack.judge import judged
from attack.marks import At, count, mark
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

NAMES = ("make tabular", "make model", "make sweep", "make table", "make alignment", "report on a run")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)


@kind(
    "disk-full",
    "from some write on the disk is full, fails or is read-only, or files may not grow; then completed and compared",
    most=110,
    short=3,
    needs=tuple(WRITINGS[name].product for name in NAMES),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Commands in turn, endlessly."""
    calls = {name: _calls(WRITINGS[name], workshop) for name in NAMES}
    while True:
        for name in NAMES:
            number, code = rng.randrange(len(calls[name])), rng.choice(ERRORS)
            at = At(number, "error", code)
            yield _try(WRITINGS[name], f"{errno.errorcode[code]} from call {number}, {calls[name][number]}", at)
            size = int(2 ** rng.uniform(12, 17))
            yield _try(WRITINGS[name], f"files of at most {size} bytes", size)


def _calls(writing: Writing, workshop: Workshop) -> list[str]:
    place = workshop.place()
    writing.prepare(place)
    found = count(place, *writing.argv)
    place.close()
    return found


def _try(writing: Writing, words: str, how: At | int) -> Try:
    def run(place: Place) -> list[Fall]:
        writing.prepare(place)
        prepare: Callable[[], object] = partial(mark, place.work, how) if isinstance(how, At) else partial(_limit, how)
        done = place.coplay(*writing.argv, prepare=prepare)
        falls = judged(done)
        return falls or complete(writing, place)

    return Try(f"{writing.name}: {words}", run)


def _limit(size: int) -> None:
    """Files of this process may have so many bytes; it is an error that says so, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
