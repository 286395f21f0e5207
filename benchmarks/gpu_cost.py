"""What ShapeLLM's Table 1 needs on a GPU: its arithmetic is counted on a CPU, at the paper's trial, and divided by what GPUs do.

    python benchmarks/gpu_cost.py            # a minute or two

Trials of the paper's size are run on a small model of gemma-2-2b's architecture, and the tokens that go through its layers and the rows that go
through its head are counted (`pass_counts.py`). Hours are for a stated share of the GPU's bf16 peak. Nothing here has run on a GPU: `gpu_trial.py` measures the share where there is one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_trial import ARMS, GEMMA_2_2B, PAPER_TRIALS, PEAKS, REDUCED, write_model
from pass_counts import Passes, counting, flops

GAMES = 3
"""Of Table 1, each with both arms."""

SEEDS = 5

GPUS = ("L4", "A100", "H100")

SHARES = (0.1, 0.4)
"""Of the peak: a cautious one, and the goal."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1, help="counted trials of each arm, after one to warm up")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        model = write_model(Path(scratch) / "model", REDUCED, "cpu")
        counts = {arm: counted(model, recipe, options.trials) for arm, recipe in ARMS.items()}
    print(page(counts))
    return 0


def counted(model: Path, recipe: str, trials: int) -> Passes:
    """Tokens and rows of a trial of all seeds."""
    from coplay.recipes import make_config
    from coplay.runs.factory import build

    changes: dict[str, Any] = {"model": str(model), "seeds": tuple(range(SEEDS)), "workers": 1, "threads": 1}
    state = build(make_config(recipe, scale="paper").model_copy(update={**changes, "four_bit": False}))
    state.run_trial(0)
    assert state.bank is not None
    scorer = next(iter(state.learners.values())).policy.scorer
    scorer.shares_passes = True  # as on a GPU
    with counting(scorer) as found:
        for trial in range(1, trials + 1):
            state.run_trial(trial)
    return Counter({name: number // trials for name, number in found.items()})


def page(counts: dict[str, Passes]) -> str:
    """Counts and hours as Markdown."""
    names = ("tokens through the layers", "learning", "rows through the head", "learning")
    kinds = [(what, learns) for what in ("layers", "head") for learns in (False, True)]
    lines = [f"| a trial of {SEEDS} seeds | {' | '.join(names)} | TFLOP |", "|---|---|---|---|---|---|"]
    for arm, found in counts.items():
        numbers = " | ".join(f"{found[kind]:,}" for kind in kinds)
        lines.append(f"| {arm} | {numbers} | {flops(found, GEMMA_2_2B) / 1e12:,.0f} |")
    whole = GAMES * PAPER_TRIALS * sum(flops(found, GEMMA_2_2B) for found in counts.values())
    shares = " | ".join(f"hours at {share:.0%} of the peak" for share in SHARES)
    lines += ["", f"| Table 1: {GAMES} games, {len(counts)} arms, {SEEDS} seeds, {PAPER_TRIALS} trials | {shares} |"]
    lines.append("|---|" + "---|" * len(SHARES))
    for gpu in GPUS:
        hours = " | ".join(f"{whole / (share * PEAKS[gpu]) / 3600:,.1f}" for share in SHARES)
        lines.append(f"| {gpu}, {PEAKS[gpu] / 1e12:,.0f} TFLOP/s | {hours} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
