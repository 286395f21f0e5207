"""How near is the memory that ``--dry-run`` states to what a run takes?

    python benchmarks/memory_estimate.py --json benchmarks/results/memory_estimate.json
    python benchmarks/memory_estimate.py --only SmolLM2

Each run trains one trial in a process of its own, with one thread and without workers, and its peak resident memory is what the system reports when it
is over. The estimate is made beforehand, from the config. A run takes less where its replies end before ``max_tokens``. Markdown goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from machine import machine

SMALL = ["trials=1", "workers=1", "threads=1", "eval_games=2"]
"""Of all runs."""

TALK = ["adalign/ipd-ab", "model=smollm2", "learner.memory=chat", "games=8", "rounds=4", "learner.max_tokens=64"]
"""A game in text that takes minutes: conversations of four rounds."""

RUNS = {
    "choices, embedded": ["shapellm/ipd"],
    "choices, SmolLM2": ["shapellm/ipd-smollm2"],
    "choices, SmolLM2, layers computed again": ["shapellm/ipd-smollm2", "gradient_checkpointing=true"],
    "text, embedded": ["adalign/ipd-ab", "learner.memory=chat"],
    "text, SmolLM2, 2 replies at a time": [*TALK, "learner.group.microbatch_size=2"],
    "text, SmolLM2, 8 replies at a time": [*TALK, "learner.group.microbatch_size=8"],
    "text, SmolLM2, 8 replies, layers computed again": [
        *TALK,
        "learner.group.microbatch_size=8",
        "gradient_checkpointing=true",
    ],
}
"""A recipe and its settings, by what is measured."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="runs that have this in their names")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows = []
    for name, (recipe, *settings) in RUNS.items():
        if options.only is None or options.only in name:
            stated, taken = stated_bytes(recipe, settings), taken_bytes(recipe, settings)
            rows.append({"run": name, "recipe": recipe, "settings": settings, "stated": stated, "taken": taken})
    print("| run | stated, MiB | taken, MiB | stated / taken |\n| --- | --- | --- | --- |")
    for row in rows:
        stated, taken = row["stated"], row["taken"]
        print(f"| {row['run']} | {stated / 2**20:,.0f} | {taken / 2**20:,.0f} | {stated / taken:.2f} |")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "common": SMALL, "rows": rows}, indent=1) + "\n")
    return 0


def stated_bytes(recipe: str, settings: Sequence[str]) -> int:
    """What a dry run states in all, in a process that has loaded nothing else."""
    code = (
        "import sys; from coplay.recipes import make_config; from coplay.runs.config_input import with_overrides;"
        "from coplay.runs.memory import Memory; import torch, transformers;"
        "print(Memory(with_overrides(make_config(sys.argv[1]), sys.argv[2:])).peak())"
    )
    command = [sys.executable, "-c", code, recipe, *settings, "seeds=[0]", *SMALL]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def taken_bytes(recipe: str, settings: Sequence[str]) -> int:
    """The peak of the run."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", recipe, *settings, *SMALL, "--seeds", "0", "--out", str(Path(folder) / "run"), "--quiet"]
        child = subprocess.Popen([sys.executable, "-m", "coplay", *words])
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"coplay {' '.join(words)}: exit status {child.returncode}")
    return int(used.ru_maxrss) * 1024


if __name__ == "__main__":
    sys.exit(main())
