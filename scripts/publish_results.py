"""Copy what a reproduction measured into ``results/``, without what can be made again from it.

    python scripts/publish_results.py runs/reproduce-shapellm-tiny-5seeds results/shapellm
    python scripts/publish_results.py runs/reproduce-shapellm-controls-tiny-5seeds results/shapellm/controls

Of a whole paper it makes, for each finished table, a directory with its command, its claims and its picture of training; and ``runs/``,
which tables share. Of a single experiment all that is in one directory. A run is its settings, machine, evaluations and curves (rewards,
states, illegal replies, cooperation; four digits); meetings and watched games are copied as they are. Leaves out checkpoints, adapters and
transcripts: the commands make them again. Paths into the source lead on from there. ``coplay report`` makes pages of the copy. Whatever else is
in the target is left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coplay.catalog import claims_of
from coplay.experiments import Experiment
from coplay.request import Request, requests_of

CURVES = ("version", "step", "seed", "reward/", "state/", "illegal/", "cooperate", "asked/", "truthful")
"""What is kept of a line of ``metrics.jsonl``: keys, and beginnings of keys."""

COLOURS = 64
"""Of a picture, so that it takes a fifth of the room."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy, and say how much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="directory of `coplay reproduce`")
    parser.add_argument("target", type=Path, help="where to, e.g. results/shapellm")
    options = parser.parse_args(arguments)
    if not (options.source / "experiment.json").exists():
        parser.error(f"{options.source} is no directory of `coplay reproduce`")
    runs, tables = publish_runs(options.source, options.target), publish_tables(options.source, options.target)
    print(f"{len(runs)} runs and {len(tables)} tables in {options.target}")
    return 0


def publish_runs(source: Path, target: Path) -> list[Path]:
    """Copy the finished runs' numbers; returns their new places."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "experiment.json", target / "experiment.json")
    copies = []
    for evaluation in sorted([*source.glob("*/eval.json"), *source.glob("runs/*/eval.json")]):
        run = evaluation.parent
        copy = target / run.relative_to(source)
        copy.mkdir(parents=True, exist_ok=True)
        for file in [run / "config.json", run / "env.json", *run.glob("eval*.json")]:
            text = file.read_text(encoding="utf-8")
            (copy / file.name).write_text(text.replace(f"{source.resolve()}{os.sep}", ""), encoding="utf-8")
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        (copy / "metrics.jsonl").write_text("".join(map(slim, lines)), encoding="utf-8")
        copies.append(copy)
    for afterwards in ("meetings", "watched"):
        if (source / afterwards).is_dir():
            shutil.copytree(source / afterwards, target / afterwards, dirs_exist_ok=True)
    return copies


def publish_tables(source: Path, target: Path) -> list[Path]:
    """Make a directory for each finished table; returns them."""
    from PIL import Image

    requests = requests_of(source)
    experiments = list({one.name: one for asked in requests for one in asked.experiments}.values())
    alone = len(experiments) == 1 and not (source / experiments[0].name).exists()
    claims = {claim["id"]: claim for claim in json.loads((source / "claims.json").read_text(encoding="utf-8"))}
    places = []
    for experiment in experiments:
        found = [
            claims[claim.id]
            for claim in claims_of(f"{experiment.id.partition('/')[2]}/{experiment.game}")
            if claim.id in claims
        ]
        if not found:
            continue
        place, page = (target, source) if alone else (target / experiment.name, source / experiment.name)
        place.mkdir(exist_ok=True)
        (place / "command.txt").write_text(command(requests[0], experiment) + "\n", encoding="utf-8")
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        (place / "claims.json").write_text(text, encoding="utf-8")
        with Image.open(page / "figures" / "training.png") as picture:
            picture.convert("RGB").quantize(COLOURS).save(place / "training.png", optimize=True)
        places.append(place)
    return places


def command(request: Request, experiment: Experiment) -> str:
    """What makes this table again."""
    words = ["coplay", "reproduce", experiment.id, "--game", experiment.game]
    words += ["--seeds", ",".join(map(str, request.seeds))]
    words += ["--scale", request.scale] if request.scale != "tiny" else []
    words += ["--learner", request.learner] if request.learner != "language_model" else []
    words += ["--model", request.model] if request.model is not None else []
    words += ["--trials", str(request.trials)] if request.trials is not None else []
    return " ".join(words)


def slim(line: str) -> str:
    """A line of metrics with the curves alone."""
    return json.dumps({key: rounded(value) for key, value in json.loads(line).items() if key.startswith(CURVES)}) + "\n"


def rounded(value: Any) -> Any:
    """Numbers to four significant digits; everything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    raise SystemExit(main())
