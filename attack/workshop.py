"""The workshop: makes every product once, undisturbed, and knows what each command prints and leaves when nothing is wrong."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from attack.outcome import Finished
from attack.place import Place
from attack.products import PRODUCTS, Product
from attack.snapshots import Snapshot, snapshot
from coplay.files.kinds import Owner
from coplay.files.store import Store


@dataclass(frozen=True)
class Reference:
    """What a command does to an undamaged product."""

    done: Finished
    """What it printed."""
    after: Snapshot
    """All files in its directory afterwards."""


class Workshop:
    """The products, in a directory that is deleted at the end.

    Args:
        root: where; it exists.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._references: dict[tuple[str, tuple[str, ...]], Reference] = {}
        self._snapshots: dict[str, Snapshot] = {}

    def make(self, names: Iterable[str], processes: int) -> None:
        """Make products side by side; raises RuntimeError if one cannot be made."""
        missing = [name for name in dict.fromkeys(names) if not self._home(name).exists()]
        with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
            for _ in pool.map(self._make, missing):
                pass

    def path(self, name: str) -> Path:
        """A product's directory; nobody may change it."""
        if not self._home(name).exists():
            self._make(name)
        return self._home(name) / "it"

    def snapshot(self, name: str) -> Snapshot:
        """All files of a product as it was made, before any report on a run."""
        if name not in self._snapshots:
            self._snapshots[name] = snapshot(self.path(name), pages=PRODUCTS[name].owner != "run")
        return self._snapshots[name]

    def files(self, name: str) -> list[str]:
        """The files of a product, reports included."""
        root = self.path(name)
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def reference(self, name: str, argv: tuple[str, ...]) -> Reference:
        """What a command does to an undamaged product; asked once."""
        if (name, argv) not in self._references:
            place = self.place()
            place.copy(name)
            done = place.coplay(*argv, limit=300)
            self._references[name, argv] = Reference(done, snapshot(place.work))
            place.close()
        return self._references[name, argv]

    def place(self) -> Place:
        """A new place for a try."""
        return Place(Path(tempfile.mkdtemp(prefix="try-", dir=self.root)), self)

    def _home(self, name: str) -> Path:
        return self.root / f"product-{name}"

    def _make(self, name: str) -> None:
        product, place = PRODUCTS[name], self.place()
        for argv in (*product.makes, *_report(product)):
            done = place.coplay(*argv, limit=300)
            if done.status != 0:
                raise RuntimeError(f"{name}: {' '.join(argv)} ended with {done.status}: {done.err}")
        if not product.writes:
            _COMPRESS[product.owner](place.work / "it")
        shutil.move(place.work, self._home(name))
        place.close()


def _report(product: Product) -> tuple[tuple[str, ...], ...]:
    return (("report", "it"),) if product.owner == "run" and product.writes else ()


def _compress_run(run: Path) -> None:
    """Turn a run into one of the first version as results are published: without checkpoints and manifest, its records compressed."""
    shutil.copy(run / "eval.json", run / "eval-T4.json")
    shutil.rmtree(run / "checkpoints")
    (run / "manifest.json").unlink(missing_ok=True)
    about = json.loads((run / "env.json").read_text())
    (run / "env.json").write_text(json.dumps({**about, "version": 1}))
    for name in ("metrics.jsonl", "episodes.jsonl", "eval-T4.json"):
        (run / f"{name}.gz").write_bytes(_compressed(run / name))


def _compress_games(recording: Path) -> None:
    """Turn recorded games into published ones: compressed."""
    (recording / "manifest.json").unlink()
    store = Store(recording, "recording")
    store.write("recording.json", (recording / "recording.json").read_text())
    store.write("games.jsonl.gz", _compressed(recording / "games.jsonl"))
    store.commit()


def _compress_probe(probe: Path) -> None:
    """Turn a probe into a published one: compressed, without its page."""
    (probe / "manifest.json").unlink()
    (probe / "report.html").unlink()
    shutil.rmtree(probe / "figures")
    store = Store(probe, "probe")
    store.write("probe.json.gz", _compressed(probe / "probe.json"))
    store.commit(finished=True)


def _compress_watched(experiment: Path) -> None:
    """Turn an experiment into a published one: its watched games compressed."""
    found, store = Store.open(experiment, "experiment"), Store(experiment, "experiment")
    for name in list(found.entries):
        if name.startswith("watched/"):
            store.write(f"{name}.gz", _compressed(experiment / name))
        else:
            store.write(name, found.read(name))
    store.commit()


_COMPRESS: dict[Owner, Callable[[Path], None]] = {
    "run": _compress_run,
    "recording": _compress_games,
    "probe": _compress_probe,
    "experiment": _compress_watched,
}
"""How what each kind of directory holds is published."""


def _compressed(path: Path) -> bytes:
    """A file's content without the time; the file is deleted."""
    data = gzip.compress(path.read_bytes(), mtime=0)
    path.unlink()
    return data
