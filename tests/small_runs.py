"""Runs of a few seconds, and how to run Python in a process that may be killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import coplay
import coplay.experiments.request
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.terminal.progress import Progress

SMALL = ["rounds=4", "episodes=2", "games=2", "eval_games=2", "threads=1", "trials=4", "checkpoint_every=2"]
"""Overrides that make a run small."""

KINDS = ["tabular", "language_model"]
"""Of learners."""

QUIET = Progress(quiet=True)
"""Nothing is shown."""

LARGER_RATES = ["row.ppo.learning_rate=0.003", "column.ppo.learning_rate=0.003"]
"""So that a few trials of a language model change something."""


def small(learner: str, *overrides: str) -> Config:
    """The IPD recipe, small."""
    config = make_config("shapellm/ipd", learner=learner)  # type: ignore[arg-type]
    rates = LARGER_RATES if learner == "language_model" else []
    return with_overrides(config, [*SMALL, *rates, "seeds=[0]", *overrides])


@contextlib.contextmanager
def small_arms(overrides: Sequence[str]) -> Iterator[None]:
    """Games of seconds in every arm of whatever is reproduced meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        make = coplay.experiments.request.make_config
        patch.setattr(
            coplay.experiments.request, "make_config", lambda *a, **k: with_overrides(make(*a, **k), list(overrides))
        )
        yield


def run_python(code: str, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with this coplay."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=source_environment(), capture_output=True, text=True, timeout=300
    )


def source_environment() -> dict[str, str]:
    """The environment of a process that is to use this coplay, on one thread."""
    source = str(Path(coplay.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def files(directory: Path) -> list[str]:
    """Everything under a directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
