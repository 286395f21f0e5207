"""Keep what tuning runs did, and render it as a table.

    python scripts/tuning_runs.py keep s9 "R = .75, falling rate" runs/s9-100 runs/s9-101   # a try, from its runs
    python scripts/tuning_runs.py write                                                     # the table of the page about tuning

A try has its words, and of each seed the config and curves of rewards, states and losses, rounded; all tries are one compressed file in ``results/``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from results_table import REPOSITORY, between

TRIES = REPOSITORY / "results" / "shapellm" / "smollm2-tuning" / "tries.json.gz"
PAGE = REPOSITORY / "docs" / "recipes" / "tuning_smollm2.md"

CURVES = ("state/", "reward/", "illegal/", "value_loss/", "kl/")
"""Beginnings of the names of the metrics that are kept."""

HEAD = ("try", "settings", "seed", "trials", "rewards in row's best trial", "in the last")


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep a try, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    keep = commands.add_parser("keep", help="keep a try; one of that name is replaced")
    keep.add_argument("name")
    keep.add_argument("words", help="what was changed")
    keep.add_argument("runs", nargs="+", type=Path)
    commands.add_parser("write", help="put the table into the page")
    options = parser.parse_args(arguments)
    if options.command == "keep":
        new = [seed for run in options.runs for seed in of_run(run, options.name, options.words)]
        write([*(one for one in read() if one["try"] != options.name), *new])
    PAGE.write_text(between(PAGE.read_text(encoding="utf-8"), table(read())), encoding="utf-8")
    return 0


def read() -> list[dict[str, Any]]:
    """The tries that were kept, a row a seed."""
    if not TRIES.exists():
        return []
    tries: list[dict[str, Any]] = json.loads(gzip.decompress(TRIES.read_bytes()))["tries"]
    return tries


def write(tries: Sequence[dict[str, Any]]) -> None:
    """Keep these tries."""
    TRIES.parent.mkdir(parents=True, exist_ok=True)
    TRIES.write_bytes(gzip.compress(json.dumps({"version": 1, "tries": tries}).encode(), mtime=0))


def of_run(run: Path, name: str, words: str) -> list[dict[str, Any]]:
    """A row a seed of a run, finished or not."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = []
    for seed in sorted({line["seed"] for line in lines}):
        own = [line for line in lines if line["seed"] == seed]
        names = [key for key in own[0] if key.startswith(CURVES)]
        curves = {key: [_rounded(line.get(key)) for line in own] for key in names}
        rows.append({"try": name, "settings": words, "seed": seed, "config": config, "curves": curves})
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def table(tries: Sequence[dict[str, Any]]) -> str:
    """Markdown, a line a seed of a try."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for one in tries:
        row, column = (one["curves"][f"reward/{seat}"] for seat in ("row", "column"))
        best = max(range(len(row)), key=lambda trial: -math.inf if row[trial] is None else row[trial])
        rewards = (f"{_shown(row[trial])} / {_shown(column[trial])}" for trial in (best, -1))
        found, last = rewards
        cells = [one["try"], one["settings"], str(one["seed"]), str(len(row)), f"{found} (trial {best + 1})", last]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
