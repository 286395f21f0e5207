"""Two tiny runs give the same curves of losses and metrics as when they were last written down.

A change that moves them is found here even where no other test looks. If it is meant, write them anew, and say why in the commit:

    python -m pytest tests/test_golden_curves.py --write-golden

The tolerance is for other processors and numbers of threads, which change the last bits: with the simplest instructions instead of AVX2, or
with two threads, every value moves by less than 1e-7 or by less than 1e-6 of its size. A sampled action that falls the other way moves
them by more than the tolerance.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_lines
from small_runs import QUIET

from coplay.recipes import make_config
from coplay.runs.config_input import with_overrides
from coplay.runs.train import train

GOLDEN = Path(__file__).parent / "golden"

RUNS = {
    "ppo_shaper": (
        "shapellm/ipd",
        [
            "games=3",
            "rounds=10",
            "row.ppo.learning_rate=0.002",
            "row.ppo.lr_warmup_updates=0",
            "column.ppo.lr_warmup_updates=0",
        ],
    ),
    "advantage_alignment": ("adalign/ipd-ab", ["games=24", "group_size=24"]),
}
"""By file: the recipe, on the embedded model, and what makes it small, with rates at which three trials change the policies."""

SMALL = ["seeds=[0]", "trials=3", "eval_games=2", "threads=1", "workers=1"]

Curves = dict[str, list[Any]]
"""By metric: one value a trial, None where there is none; a note is text."""


def curves(recipe: str, overrides: list[str], path: Path) -> Curves:
    """Train, and read the metrics of every trial."""
    run = train(with_overrides(make_config(recipe), [*SMALL, *overrides]), path, progress=QUIET)
    lines = list(read_lines(run.path / "metrics.jsonl"))
    keys = sorted({key for line in lines for key in line} - {"version", "step", "seed"})
    return {key: [line.get(key) for line in lines] for key in keys}


def close(expected: Any, found: Any) -> bool:
    """Whether two values of a metric are the same but for rounding."""
    if isinstance(expected, str | None) or isinstance(found, str | None):
        return bool(expected == found)
    return math.isclose(expected, found, rel_tol=1e-3, abs_tol=1e-6)


def differences(expected: Curves, found: Curves) -> list[str]:
    """A line for each metric that is missing, new or elsewhere."""
    both = sorted(expected.keys() & found.keys())
    moved = [
        f"{key}: {expected[key]} -> {found[key]}"
        for key in both
        if len(expected[key]) != len(found[key]) or not all(map(close, expected[key], found[key]))
    ]
    return [*moved, *(f"{key}: in one only" for key in sorted(expected.keys() ^ found.keys()))]


def write(file: Path, found: Curves) -> None:
    """A golden file, with one curve a line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(values)}" for key, values in found.items())
    file.write_text(f'{{\n "torch": "{torch.__version__}",\n "curves": {{\n{lines}\n }}\n}}\n', encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_curves_are_where_they_were(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = curves(*RUNS[name], tmp_path / "run")
    file = GOLDEN / f"{name}.json"
    if request.config.getoption("--write-golden"):
        write(file, found)
        return
    moved = differences(json.loads(file.read_text(encoding="utf-8"))["curves"], found)
    assert not moved, "\n".join(moved)


def test_curves_that_differ_are_told() -> None:
    expected: Curves = {"loss": [1.0, 2.0], "kl": [1e-8, None]}
    assert differences(expected, {"loss": [1.0005, 2.0], "kl": [2e-8, None]}) == []
    assert differences(expected, {"loss": [1.0, 2.004], "kl": [1e-8, None]}) == ["loss: [1.0, 2.0] -> [1.0, 2.004]"]
    assert differences(expected, {"loss": [1.0, 2.0]}) == ["kl: in one only"]
    assert len(differences(expected, {"loss": [1.0], "kl": [1e-8, 0.0]})) == 2
