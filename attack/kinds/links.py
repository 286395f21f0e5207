"""``links``: symbolic links in directories that are written to; what they lead to must not change."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from attack.crashes import WRITINGS
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.workshop import Workshop

NEEDS = tuple(dict.fromkeys(writing.product for writing in WRITINGS.values() if writing.product != "workers"))


@kind("links", "links in place of files and folders that are written: nothing outside changes", most=60, needs=NEEDS)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every file and folder of every product, to a file, a folder or nothing, then a verb that writes."""
    cases = []
    for product in NEEDS:
        root = workshop.path(product)
        names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
        verbs = [argv for argv in (*PRODUCTS[product].makes[-1:], *PRODUCTS[product].reads) if argv[0] != "eval"]
        cases += [(product, name, argv) for name in names for argv in verbs]
    while True:
        rng.shuffle(cases)
        for product, name, argv in cases:
            yield _try(product, name, argv, rng.choice(["precious.txt", "new", "."]), unfinished=rng.random() < 0.5)


def _try(product: str, name: str, argv: tuple[str, ...], target: str, *, unfinished: bool) -> Try:
    def run(place: Place) -> list[Fall]:
        path = place.copy(product) / name
        for evaluation in place.work.rglob("eval.json") if unfinished else ():
            evaluation.unlink()  # so that there is something to write
        _remove(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(place.outside / target)
        before = {one.name: one.lstat().st_mtime_ns for one in place.outside.iterdir()}
        done = place.coplay(*argv)
        after = {one.name: one.lstat().st_mtime_ns for one in place.outside.iterdir()}
        falls = (
            [] if before == after else [Fall("outside", f"changed: {sorted(set(before.items()) ^ set(after.items()))}")]
        )
        return [*falls, *judged(done)]

    state = "unfinished " if unfinished else ""
    return Try(f"{state}{product}: {name} leads to {target}, then {' '.join(argv[:3])}", run)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
