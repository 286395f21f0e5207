"""Trackers by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from coplay.errors import missing_extra, unknown
from coplay.tracking.sink import FOLDER, Sink
from coplay.tracking.tensorboard import TensorBoard
from coplay.tracking.trackio import Trackio
from coplay.tracking.wandb import WandB

TRACKERS: Mapping[str, Callable[[], Sink]] = {"trackio": Trackio, "wandb": WandB, "tensorboard": TensorBoard}
"""All of them. Each needs the package and the extra of its name."""


def sinks_for(wanted: Iterable[str | Sink]) -> list[Sink]:
    """Sinks from names of trackers, each once, or from sinks.

    Raises:
        UsageError: for a name that is none, or with the install line of a package that is missing.
    """
    found: list[Sink] = []
    for one in dict.fromkeys(wanted):
        if not isinstance(one, str):
            found.append(one)
            continue
        if one not in TRACKERS:
            raise unknown("tracker", one, TRACKERS)
        if find_spec(one) is None:
            raise missing_extra(one, one)
        found.append(TRACKERS[one]())
    return found


def trackers_of(path: Path) -> list[str]:
    """The trackers that a run directory was trained with."""
    folder = path / FOLDER
    return [name for name in TRACKERS if (folder / name).exists() or (folder / f"{name}.txt").exists()]
