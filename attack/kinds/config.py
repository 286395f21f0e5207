"""``config``: settings of a run that are anything, on the command line and in the config.json of a run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from attack.judge import judged, last_line
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS, TABULAR, TEXT_SIZES
from attack.registry import Try, kind
from attack.words import VALUES
from attack.workshop import Workshop

STARTS = {
    "tabular": (*TABULAR, "trials=1", "seeds=[0]"),
    "text": ("adalign/ipd-ab", "--model", "tiny", "--seeds", "0", "trials=1", *TEXT_SIZES),
}
"""Right commands, whose settings are then overridden."""

ODD: tuple[object, ...] = (
    *(None, -1, 0, "", [], {}, [[]], "x", 1e300, True, {"x": {}}, 10**30, 1.5, "tiny", [None], "\x1b[31m", -0.0, "1"),
)
"""Values of JSON that few settings take."""


@kind(
    "config",
    "any value for any setting: overrides, and config.json of a run that is then read",
    most=120,
    short=8,
    needs=("tabular", "text"),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """An override, then a config.json, endlessly."""
    keys = {name: sorted(_keys(_config(workshop, name))) for name in STARTS}
    while True:
        for name in STARTS:
            key = rng.choice(keys[name])
            depth = rng.randrange(key.count(".") + 1)
            key = key.rsplit(".", depth)[0] if rng.random() < 0.2 else key
            key = key[:-1] if rng.random() < 0.05 else key
            yield _override(name, key, rng.choice(VALUES))
            yield _in_file(name, rng.choice(keys[name]), rng)


def _config(workshop: Workshop, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workshop.path(name) / "config.json").read_text())
    return found


def _keys(value: object, prefix: str = "") -> Iterator[str]:
    """Dotted names of all that a config holds."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield f"{prefix}{key}"
        yield from _keys(inner, f"{prefix}{key}.")


def _override(name: str, key: str, value: str) -> Try:
    def run(place: Place) -> list[Fall]:
        argv = (*STARTS[name], f"{key}={value}")
        dry = place.coplay("train", *argv, "--dry-run")
        if falls := judged(dry, names=[key, key.partition(".")[0], key.rpartition(".")[2]], statuses=(0, 2)):
            return falls
        if list(place.work.iterdir()):
            return [Fall("outside", "a dry run wrote files")]
        if dry.status != 0 or _rounds(dry.out) > 200:
            return []
        done = place.coplay("train", *argv, "--out", "it", "--quiet")
        falls = judged(done)
        if done.status == 2 and not falls:
            falls = [Fall("silent", f"a dry run accepts what a run refuses: {last_line(done.err)}")]
        return falls

    return Try(f"{name}: {key}={value[:60]!r}", run)


def _rounds(text: str) -> int:
    """How many rounds of play a dry run announces."""
    words = last_line(text).replace(",", "").split()
    numbers = [word for word, after in pairwise(words) if after.startswith("round")]
    return int(numbers[-1]) if numbers and numbers[-1].isdigit() else 10**9


def _in_file(name: str, key: str, rng: random.Random) -> Try:
    value = rng.choice(ODD)
    verb = rng.choice(PRODUCTS[name].reads)

    def run(place: Place) -> list[Fall]:
        file = place.copy(name) / "config.json"
        config = json.loads(file.read_text())
        *parents, leaf = key.split(".")
        inner = config
        for parent in parents:
            inner = inner[parent]
        inner[leaf] = value
        file.write_text(json.dumps(config))
        return judged(place.coplay(*verb), names=["config.json"])

    return Try(f"{name}: config.json {key}={value!r}, then {' '.join(verb[:3])}", run)
