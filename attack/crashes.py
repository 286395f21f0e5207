"""Commands that write, and what must be so when they were stopped in the middle and run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attack.judge import judged, last_line
from attack.marks import count
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.snapshots import Snapshot, differences, snapshot
from attack.workshop import Workshop


@dataclass(frozen=True)
class Writing:
    """A command that writes into ``it``."""

    name: str
    """What attacks call it."""
    product: str
    """What it makes, or is run on."""
    argv: tuple[str, ...]
    """The command."""
    fresh: bool
    """Whether it begins where nothing is; else it is run on the product."""
    before: Callable[[Place], None] | None = None
    """What is done to the product before."""

    def prepare(self, place: Place) -> None:
        """Have everything there that it begins with."""
        if not self.fresh:
            place.copy(self.product)
        elif len(PRODUCTS[self.product].makes) > 1:
            for argv in PRODUCTS[self.product].makes[: PRODUCTS[self.product].makes.index(self.argv)]:
                place.coplay(*argv)
        if self.before is not None:
            self.before(place)

    def wanted(self, place: Place) -> Snapshot:
        """What must be there at the end."""
        return place.workshop.snapshot(self.product)


def _made(product: str) -> Writing:
    return Writing(f"make {product}", product, PRODUCTS[product].makes[-1], fresh=True)


AT_ONCE = ("alignment", "demonstrations", "sft", "probe", "audit")
"""Products that are there whole or not at all; their names are those of their owners."""

WRITINGS = {
    writing.name: writing
    for writing in (
        *(
            _made(name)
            for name in ("tabular", "model", "text", "workers", "sweep", "table", "paper", "recording", *AT_ONCE)
        ),
        Writing(
            "resume from an earlier checkpoint",
            "tabular",
            ("train", "--resume", "it", "--from", "trial-00002", "--quiet"),
            False,
        ),
        Writing("resume what is finished", "model", ("train", "--resume", "it", "--quiet"), False),
        Writing("report on a run", "tabular", ("report", "it"), False),
        Writing("report on a table", "table", ("report", "it"), False),
    )
}
"""By name."""


_CALLS: dict[tuple[Path, str], list[str]] = {}


def calls_of(writing: Writing, workshop: Workshop) -> list[str]:
    """The calls that change files in a command that nobody disturbs, in order; counted once."""
    key = (workshop.root, writing.name)
    if key not in _CALLS:
        place = workshop.place()
        writing.prepare(place)
        _CALLS[key] = count(place, *writing.argv)
        place.close()
    return _CALLS[key]


def complete(writing: Writing, place: Place, *, saved: bool = False, pages: bool = True) -> list[Fall]:
    """Run what a person would run after a crash until nothing is left to do; returns what is not as it should be.

    A run is resumed; if there is no run yet, the same command is given again. All others are the same command again.

    Args:
        writing: what was stopped.
        place: where.
        saved: whether it may have saved a checkpoint of its own when it was stopped.
        pages: whether pages count; they show the command, which may have been another.
    """
    resumes = PRODUCTS[writing.product].resumes
    is_run = PRODUCTS[writing.product].owner == "run" and writing.argv[0] == "train"
    done = place.coplay(*(resumes[-1] if is_run else writing.argv), limit=180)
    if is_run and writing.fresh and done.status == 2:
        done = place.coplay(*writing.argv, limit=180)
    if falls := judged(done):
        return falls
    wanted = writing.wanted(place)
    if done.status != 0:
        whole = PRODUCTS[writing.product].owner in AT_ONCE and not differences(snapshot(place.work / "it"), wanted)
        return [] if whole else [Fall("lost", f"cannot be completed: {last_line(done.err)}")]
    found = snapshot(place.work / "it", pages=any(name.endswith("report.html") for name in wanted))
    others = () if pages else tuple(name for name in (*found, *wanted) if name.endswith("report.html"))
    words = differences(found, wanted, without=others)
    if saved and any("checkpoints/" in word and "left over" in word for word in words):
        words = [word for word in words if "checkpoints/" not in word and "manifest.json" not in word]
    falls = (
        [Fall("lost", f"after completion {', '.join(words[:4])}")] if any("left over" not in w for w in words) else []
    )
    if any("left over" in word for word in words) and not falls:
        falls.append(Fall("litter", ", ".join(words[:4])))
    beside = [path.name for path in place.work.iterdir() if path.name != "it"]
    return [*falls, Fall("litter", f"beside it: {', '.join(beside)}")] if beside else falls
