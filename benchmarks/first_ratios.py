"""Do probability ratios start at 1, and what does it cost? ShapeLLM's recipes with a narrow clip, with log-probabilities recorded or computed anew.

    python benchmarks/first_ratios.py --models gemma2 qwen2 --json benchmarks/results/first_ratios.json
    python benchmarks/first_ratios.py --models smollm2 --recipes ipd --trials 3 --json benchmarks/results/first_ratios_smollm2.json

For each model, precision and recipe at the paper's scale (but for the size of the games): the share of the shaper's replies whose ratio is outside the
clip before the first optimiser step of an update, with the log-probabilities that were recorded when the replies were sampled and with those
that are computed anew in the pass that trains; and the processor time of a trial and of the updates in it. Both play the same first trial. Models are tiny random ones of the
families that people use, or names of ``coplay models``. Markdown goes to standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from machine import machine

RECIPES = ("ipd", "ipd-opponent-25", "ipd-state-only", "ipd-episode-only", "ipd-table-format")
"""Those whose shaper has a clip of 1e-4 or less."""

SIZES = {"games": 5, "rounds": 6, "episodes": 3}
"""Of a trial."""

RANDOM = ("gemma2", "qwen2", "llama_grouped")
"""Families of tiny random models."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=RANDOM)
    parser.add_argument("--precisions", nargs="+", default=("float32", "bfloat16"))
    parser.add_argument("--recipes", nargs="+", default=RECIPES)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            path = random_model(Path(folder), model) if model in RANDOM else model
            for precision in options.precisions:
                for recipe in options.recipes:
                    row = {"model": model, "precision": precision, "recipe": recipe}
                    recorded, anew = compared(path, precision, recipe, options.trials)
                    rows.append({**row, "recorded": recorded, "anew": anew})
                    print(told(rows[-1]), file=sys.stderr, flush=True)
    print(
        "| model | precision | recipe | outside the clip, recorded | anew | trial, anew over recorded | updates |\n|---|---|---|---|---|---|---|"
    )
    print("\n".join(map(told, rows)))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "sizes": SIZES, "rows": rows}, indent=1) + "\n")
    return 0


def random_model(folder: Path, family: str) -> str:
    """A tiny random model of a family, on disk."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "models"))
    from small_models import write_checkpoint

    return str(write_checkpoint(folder / family, family))


def compared(model: str, precision: str, recipe: str, trials: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures of both ways, trial by trial in turn, so that both meet the same machine."""
    from coplay.models.known import Precision
    from coplay.recipes import make_config
    from coplay.runs.factory import build

    changes = {**SIZES, "seeds": (0,), "trials": trials, "threads": 1, "workers": 1, "model": model}
    config = make_config(f"shapellm/{recipe}", scale="paper").model_copy(
        update={**changes, "four_bit": False, "precision": Precision(precision)}
    )
    states = {"recorded": build(config), "anew": build(config)}
    found: dict[str, Any] = {way: {"clipped_first": [], "trial_s": [], "updates_s": []} for way in states}
    for trial in range(trials):
        for way, state in states.items():
            with recorded_only() if way == "recorded" else contextlib.nullcontext(), updates_timed(state) as spent:
                start = time.process_time()
                line = state.run_trial(trial).lines[0]
                found[way]["trial_s"].append(time.process_time() - start)
            found[way]["updates_s"].append(sum(spent))
            found[way]["clipped_first"].append(line["clipped_first/row"])
    return found["recorded"], found["anew"]


@contextlib.contextmanager
def recorded_only() -> Iterator[None]:
    """In the block, no log-probability is computed anew."""
    import coplay.learners.ppo as ppo

    before = ppo.scores_anew, ppo.SHARE
    ppo.scores_anew, ppo.SHARE = (lambda policy, clip: False), float("inf")
    try:
        yield
    finally:
        ppo.scores_anew, ppo.SHARE = before


@contextlib.contextmanager
def updates_timed(state: Any) -> Iterator[list[float]]:
    """In the block, the seconds of each learner's updates are collected."""
    spent: list[float] = []
    for learner in state.learners.values():

        def timed(rng_path: Any, update: Any = learner.update) -> Any:
            start = time.process_time()
            result = update(rng_path)
            spent.append(time.process_time() - start)
            return result

        learner.update = timed
    yield spent
    for learner in state.learners.values():
        del learner.update


def told(row: dict[str, Any]) -> str:
    """A line of the table: shares in per cent, times as anew over recorded."""

    def mean(way: str, key: str) -> float:
        values = row[way][key]
        return sum(values) / len(values)

    times = [mean("anew", key) / mean("recorded", key) for key in ("trial_s", "updates_s")]
    shares = [f"{100 * mean(way, 'clipped_first'):.1f} %" for way in ("recorded", "anew")]
    return f"| {row['model']} | {row['precision']} | {row['recipe']} | {' | '.join(shares)} | {' | '.join(f'{one:.2f}' for one in times)} |"


if __name__ == "__main__":
    sys.exit(main())
