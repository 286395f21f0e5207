"""Copy what a reproduction measured into ``results/``, without what can be made again from it.

    python scripts/publish_results.py runs/reproduce-shapellm-tiny-5seeds results/shapellm/tiny

Takes the request, the claims, and every finished run's settings, machine, evaluations and curves (rewards, states, illegal replies; four
digits). Leaves out checkpoints, adapters and transcripts: the command and its seeds make them again. ``coplay report`` makes pages of the
copy. Whatever else is in the target, such as a note on the command, is left alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CURVES = ("version", "step", "seed", "reward/", "state/", "illegal/")
"""What is kept of a line of ``metrics.jsonl``: keys, and beginnings of keys."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy, and say how much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="directory of `coplay reproduce`")
    parser.add_argument("target", type=Path, help="where to, e.g. results/shapellm/tiny")
    options = parser.parse_args(arguments)
    if not (options.source / "experiment.json").exists():
        parser.error(f"{options.source} is no directory of `coplay reproduce`")
    runs = publish(options.source, options.target)
    print(f"{len(runs)} finished runs in {options.target}")
    return 0


def publish(source: Path, target: Path) -> list[Path]:
    """Copy everything that is worth keeping.

    Args:
        source: an experiment's directory.
        target: made if it is not there; files of the same name are replaced.

    Returns:
        The finished runs, as they lie below ``target``.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in ("experiment.json", "claims.json"):
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    published = []
    for evaluation in sorted(source.rglob("eval.json")):
        run = evaluation.parent
        copy = target / run.relative_to(source)
        copy.mkdir(parents=True, exist_ok=True)
        for file in [run / "config.json", run / "env.json", *run.glob("eval*.json")]:
            shutil.copyfile(file, copy / file.name)
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        (copy / "metrics.jsonl").write_text("".join(map(slim, lines)), encoding="utf-8")
        published.append(copy)
    return published


def slim(line: str) -> str:
    """A line of metrics with the curves alone."""
    return json.dumps({key: rounded(value) for key, value in json.loads(line).items() if key.startswith(CURVES)}) + "\n"


def rounded(value: Any) -> Any:
    """Numbers to four significant digits; everything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    raise SystemExit(main())
