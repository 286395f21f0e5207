"""``nan``: a number of one seed stops being one; that seed ends, is named, and its sibling goes on as if nothing were."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import PRODUCTS
from attack.registry import Try, kind
from attack.workshop import Workshop

VALUES = (float("nan"), float("inf"), float("-inf"), 1e38)


@kind(
    "nan",
    "NaN or infinity in anything that one seed has learnt, in the middle of a run",
    most=30,
    short=2,
    needs=("tabular", "model"),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """A table, then a model, endlessly."""
    while True:
        for product, trials in (("tabular", 4), ("model", 2)):
            yield _try(product, rng.randrange(trials), rng.choice(VALUES), rng.randrange(2**32))


def _try(product: str, trial: int, value: float, choice: int) -> Try:
    def run(place: Place) -> list[Fall]:
        done = place.coplay(*PRODUCTS[product].makes[0], prepare=partial(poison, trial, value, choice))
        reference = place.workshop.path(product)
        same = _lines(place.work / "it", 1) == _lines(reference, 1) and (place.work / "it" / "eval.json").exists()
        if done.status == 0 and same:
            return judged(done)  # nobody has ever read that number
        falls = judged(done, names=["seed 1"], statuses=(1,) if value != 1e38 else (0, 1))
        if not _alike(_lines(place.work / "it", 0), _lines(reference, 0)):
            falls.append(Fall("lost", "the other seed's metrics are not what they are without it"))
        return falls

    return Try(f"{product}: {value} before trial {trial + 1}, choice {choice}", run)


def _lines(run: Path, seed: int) -> list[dict[str, Any]]:
    file = run / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [line for line in lines if line["seed"] == seed]


def _alike(found: object, wanted: object) -> bool:
    """Whether all values are equal; numbers may differ by what a smaller batch of a language model rounds otherwise."""
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_alike, found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_alike(found[key], wanted[key]) for key in found)
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-3, abs_tol=1e-5)
    return found == wanted


def poison(trial: int, value: float, choice: int) -> None:
    """In this process, have one number of seed 1 be another before a trial."""
    from coplay.runs.state import TrainingState

    whole = TrainingState.run_trial

    def run_trial(self: TrainingState, number: int) -> object:
        if number == trial and 1 in self.config.seeds:
            rng = random.Random(choice)
            state = {key: one.clone() for key, one in self.state_dict(1).items()}
            keys = sorted(key for key, one in state.items() if one.is_floating_point() and one.numel())
            key = rng.choice(keys)
            flat = state[key].view(-1)
            count = key.endswith("progress")  # its last number counts updates, which no arithmetic makes infinite
            flat[rng.randrange(len(flat) - count)] = value
            self.load_state_dict(1, state)
            for learner in self.learners.values():
                learner.clear_cache()
        return whole(self, number)

    TrainingState.run_trial = run_trial  # type: ignore[method-assign,assignment]
