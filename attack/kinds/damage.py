"""``damage``: a file of a directory is damaged, and every verb that reads it must say so or do as if it were not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from attack import ways
from attack.judge import judged
from attack.outcome import Fall, Finished
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.snapshots import differences, digest, snapshot
from attack.workshop import Reference, Workshop
from coplay.files.kinds import KINDS, FileKind, kind_of

NEEDS = tuple(name for name in PRODUCTS if name != "workers")
WRITING = ("train", "reproduce", "sweep")
"""Verbs that leave a complete directory when they end with 0."""


def kind_in(product: str, name: str) -> FileKind | None:
    """The declared kind of a file, by its path in a product; directories of runs lie within those of sweeps and experiments."""
    path = PurePosixPath(name)
    for start in range(len(path.parts)):
        below = str(PurePosixPath(*path.parts[start:]))
        for owner in dict.fromkeys([PRODUCTS[product].owner if start == 0 else "run", "run", "alignment", "page"]):
            if found := kind_of(owner, below):
                return found
    return None


def by_kind(workshop: Workshop, product: str) -> dict[str, list[str]]:
    """The files of a product by the pattern of their kind; those of none by their names."""
    found: dict[str, list[str]] = {}
    for name in workshop.files(product):
        declared = kind_in(product, name)
        label = PurePosixPath(name).name if declared is None else f"{declared.owner}:{declared.pattern}"
        found.setdefault(label, []).append(name)
    return found


@kind(
    "damage",
    "each kind of file halved, flipped, emptied, replaced or deleted, then read by every verb",
    most=240,
    short=3,
    needs=NEEDS,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every product, kind of file and way to damage it, in random order; then again with other files and verbs."""
    cases = [
        (product, files, way)
        for product in NEEDS
        for files in by_kind(workshop, product).values()
        for way in ways.ALL
        if product in ("tabular", "alignment", "demonstrations") or rng.random() < 0.5
    ]
    while True:
        rng.shuffle(cases)
        for product, files, way in cases:
            name, verb = rng.choice(files), rng.choice(PRODUCTS[product].reads)
            yield _try(product, name, way, verb, rng.randrange(2**32))


def _try(product: str, name: str, way: str, argv: tuple[str, ...], seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        reference = place.workshop.reference(product, argv)
        damaged = place.copy(product) / name
        before = digest(damaged)
        ways.damage(damaged, way, random.Random(seed), place.precious)
        done = place.coplay(*argv)
        elsewhere = place.root / "elsewhere" / damaged.name
        if elsewhere.exists() and digest(elsewhere) != before:
            return [Fall("outside", f"{damaged.name} was written through its link")]
        return judge(done, reference, place, Path("it") / name)

    return Try(f"{product}: {name} {way}, then {' '.join(argv[:3])}", run)


def judge(done: Finished, reference: Reference, place: Place, damaged: Path) -> list[Fall]:
    """Refused with the file's name, or said so, or as good as undamaged."""
    names = [damaged.name, damaged.parent.name] if damaged.parent.parent.name else [damaged.name]
    falls = judged(done, names=names)
    said = any("damaged" in line and any(name in line for name in names) for line in done.out.splitlines())
    if falls or done.status != 0 or done.says(*names) or said:
        return falls
    if done.out != reference.done.out:
        return [Fall("silent", f"exit status 0, but prints something else: {_first_difference(done, reference)}")]
    writing = done.argv[0] in WRITING
    is_page = damaged.name == "report.html" or "figures" in damaged.parts
    linked = (place.root / "elsewhere").exists()
    without = () if writing and not is_page and not linked else (str(damaged), f"{damaged}/inside")
    words = differences(snapshot(place.work), reference.after, without=without)
    return [Fall("silent", f"exit status 0, but {', '.join(words[:4])}")] if words else []


def _first_difference(done: Finished, reference: Reference) -> str:
    pairs = zip(done.out.splitlines(), reference.done.out.splitlines(), strict=False)
    return next((f"{a.strip()[:80]!r} for {b.strip()[:80]!r}" for a, b in pairs if a != b), "fewer or more lines")


def produced_kinds(workshop: Workshop) -> set[FileKind]:
    """The declared kinds of which the workshop has a file."""
    found = {kind_in(product, name) for product in NEEDS for name in workshop.files(product)}
    return {one for one in found if one is not None} & set(KINDS)
