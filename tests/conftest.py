"""Settings of every test, and finished runs to look at."""

from pathlib import Path

import pytest
from hypothesis import settings
from small_runs import KINDS, QUIET, small

from coplay.runs.train import train

# No deadline: machines that share their cores would fail tests for being slow. Derandomised: the same examples on every run.
settings.register_profile("coplay", max_examples=40, deadline=None, derandomize=True)
settings.load_profile("coplay")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An uninterrupted run of each kind; copy it before you change it."""
    parent = tmp_path_factory.mktemp("finished")
    return {kind: train(small(kind), parent / kind, progress=QUIET).path for kind in KINDS}
