"""Runs tries side by side, a process a core, and each of their commands in a fork."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import coplay
from attack.outcome import Fall, Result
from attack.registry import Kind, Try
from attack.workshop import Workshop
from coplay.errors import UsageError

Job = tuple[str, int, Try]
"""A kind's name, a number there, and the try."""

_JOBS: list[Job] = []
_WORKSHOP: list[Workshop] = []
"""Inherited by the forks that run the tries, since functions cannot be sent."""


@contextlib.contextmanager
def _extras_may_be_missing(module: str) -> Iterator[None]:
    """In the block, a module that needs another library may fail; no other may."""
    try:
        yield
    except (ImportError, UsageError):
        if not module.startswith("coplay.adapters."):
            raise


def import_everything() -> None:
    """Import coplay and what it needs, so that forks need not."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg
    import torch

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(
        coplay.__path__, "coplay.", onerror=lambda package: None
    ):  # the block below tells
        if not module.name.endswith("__main__"):
            with _extras_may_be_missing(module.name):
                importlib.import_module(module.name)
    with contextlib.suppress(ImportError):
        importlib.import_module("openai")
    for name in ("AutoModelForCausalLM", "AutoTokenizer", "LlamaForCausalLM", "Gemma2ForCausalLM"):
        getattr(importlib.import_module("transformers"), name)
    _ = matplotlib.backends
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def workshop(processes: int, products: Sequence[str] = ()) -> Iterator[Workshop]:
    """A workshop with some products, which is deleted afterwards."""
    import_everything()
    memory = None if os.environ.get("TMPDIR") or not os.access("/dev/shm", os.W_OK) else "/dev/shm"  # syncs at once
    with tempfile.TemporaryDirectory(prefix="coplay-attack-", dir=memory, ignore_cleanup_errors=True) as root:
        found = Workshop(Path(root).resolve())
        found.make(products, processes)
        yield found


def jobs_of(
    kinds: Sequence[Kind],
    shop: Workshop,
    *,
    seed: int,
    tries: int | None = None,
    only: int | None = None,
    short: bool = False,
) -> list[Job]:
    """The tries to be run.

    Args:
        kinds: of these kinds.
        shop: has what they attack.
        seed: settles which tries there are.
        tries: how many of each kind; None for the kind's own number.
        only: one try of each kind, by its number.
        short: the short form's number of each kind.
    """
    jobs: list[Job] = []
    for kind in kinds:
        number = kind.short if short else kind.most if tries is None else tries
        found = kind.chosen(seed, shop, number if only is None else only + 1)
        jobs += [(kind.name, i, one) for i, one in enumerate(found) if only is None or i == only]
    return jobs


def run(jobs: Sequence[Job], shop: Workshop, processes: int, told: Callable[[Result], None]) -> list[Result]:
    """Run tries side by side; each result is told when it is there. They come back in the order of the tries."""
    _JOBS[:], _WORKSHOP[:] = jobs, [shop]
    found: Mapping[int, Result]
    found = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        waiting = {pool.submit(_run_one, i): i for i in range(len(jobs))}
        for future in as_completed(waiting):
            result = found[waiting[future]] = future.result()
            told(result)
    return [found[i] for i in range(len(jobs))]


def _run_one(number: int) -> Result:
    """One try, from its place to its falls; an error of the attack is a fall of its own."""
    kind, index, attempt = _JOBS[number]
    began = time.monotonic()
    place = _WORKSHOP[0].place()
    try:
        falls = [*attempt.run(place), *place.surroundings()]
    except Exception:
        falls = [Fall("attack", " | ".join(traceback.format_exc().strip().splitlines()[-3:]))]
    said = "" if place.last is None else place.last.err[-2000:]
    if not os.environ.get("ATTACK_KEEP"):
        place.close()
    return Result(
        kind,
        index,
        attempt.title,
        tuple(falls),
        tuple(place.commands),
        said,
        time.monotonic() - began,
        tuple(dict.fromkeys(place.verbs)),
    )
