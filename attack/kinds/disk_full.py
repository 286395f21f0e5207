"""``disk-full``: from some write on, nothing can be written; that is said, and once there is space the work is completed."""

from __future__ import annotations

import errno
import random
import resource
from collections.abc import Callable, Iterator
from functools import partial

from attack.crashes import WRITINGS, Writing, calls_of, complete
from attack.judge import judged
from attack.marks import At, mark
from attack.outcome import Fall
from attack.place import Place
from attack.products import MAKES
from attack.registry import Try, kind
from attack.workshop import Workshop

NAMES = (*MAKES, "report on a run")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)


@kind(
    "disk-full",
    "from some write on the disk is full, fails or is read-only, or files may not grow; then completed and compared",
    most=60,
    short=1,
    needs=tuple(WRITINGS[name].product for name in NAMES),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Commands in turn, endlessly."""
    while True:
        for name in NAMES:
            yield _error(WRITINGS[name], rng.random(), rng.choice(ERRORS))
            yield _small(WRITINGS[name], int(2 ** rng.uniform(12, 17)))


def _error(writing: Writing, share: float, code: int) -> Try:
    def run(place: Place) -> list[Fall]:
        calls = calls_of(writing, place.workshop)
        at = int(share * len(calls))
        place.commands.append(f"# {errno.errorcode[code]} from call {at} of {len(calls)} on: {calls[at]}")
        return _ended(writing, place, partial(mark, place.work, At(at, "error", code)))

    return Try(f"{writing.name}: {errno.errorcode[code]} after {share:.0%} of its calls", run)


def _small(writing: Writing, size: int) -> Try:
    return Try(
        f"{writing.name}: files of at most {size} bytes", lambda place: _ended(writing, place, partial(_limit, size))
    )


def _ended(writing: Writing, place: Place, prepare: Callable[[], None]) -> list[Fall]:
    writing.prepare(place)
    done = place.coplay(*writing.argv, prepare=prepare)
    return judged(done) or complete(writing, place)


def _limit(size: int) -> None:
    """Files of this process may have so many bytes; it is an error that says so, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
