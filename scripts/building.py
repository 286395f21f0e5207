"""What the scripts that build models share: how they are called, how the rate falls, and how a model is put in place."""

from __future__ import annotations

import argparse
import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def arguments(
    parser: argparse.ArgumentParser, *, steps: int, seed: str, reciprocity: str | None = None
) -> argparse.Namespace:
    """Read the command line of a script that builds an embedded model.

    Args:
        parser: with what is the script's own.
        steps: the default number of optimiser steps.
        seed: what ``--seed`` is the seed of.
        reciprocity: what ``--reciprocity`` means to this model; None if there is no such argument.
    """
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--out", type=Path, required=True, help="directory of the model; an older model there is replaced"
    )
    if reciprocity is not None:
        parser.add_argument("--reciprocity", type=float, default=1.0, help=f"0 to 1: {reciprocity}")
    parser.add_argument("--seed", type=int, default=0, help=f"seed of {seed}")
    parser.add_argument("--steps", type=int, default=steps, help="optimiser steps")
    args = parser.parse_args()
    if reciprocity is not None and not 0 <= args.reciprocity <= 1:
        parser.error(f"--reciprocity must lie between 0 and 1, got {args.reciprocity}")
    if args.out.exists() and any(args.out.iterdir()) and not (args.out / "config.json").exists():
        parser.error(f"--out {args.out} holds something that is not a model; give another directory")
    return args


def rate_factor(step: int, *, warmup: int, steps: int) -> float:
    """What the peak rate is multiplied by: a linear rise, then half a cosine down to nothing.

    Args:
        step: the optimiser step, from 0.
        warmup: steps of the rise.
        steps: all steps, the rise included.
    """
    if step < warmup:
        return (step + 1) / warmup
    done = (step - warmup) / max(steps - warmup, 1)
    return 0.5 * (1 + math.cos(math.pi * done))


@contextlib.contextmanager
def put_in_place(model: Any, tokenizer: Any, out: Path) -> Iterator[Path]:
    """Save a model beside ``out`` and, when the block has ended well, move it there, so that nobody ever sees half a model.

    Args:
        model: the model.
        tokenizer: its tokenizer.
        out: where it belongs; an older model there is replaced.

    Yields:
        The directory with model and tokenizer, for what is still to be added.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        new = Path(scratch) / "new"
        model.save_pretrained(new)
        tokenizer.save_pretrained(new, save_jinja_files=False)
        yield new
        for file in new.iterdir():
            file.chmod(0o644)
        if out.exists():
            out.rename(Path(scratch) / "old")
        new.rename(out)
