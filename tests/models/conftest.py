"""Checkpoints on disk, written once a session."""

from pathlib import Path

import pytest
import torch
from small_models import FAMILIES, Bench, make_bench, write_checkpoint

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One directory a family."""
    parent = tmp_path_factory.mktemp("checkpoints")
    return {family: write_checkpoint(parent / family, family) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """Each family in turn."""
    return str(request.param)


@pytest.fixture
def bench(checkpoints: dict[str, Path], family: str) -> Bench:
    """A loaded checkpoint of each family with three adapters, fresh for every test."""
    return make_bench(checkpoints[family])


@pytest.fixture
def llama(checkpoints: dict[str, Path]) -> Bench:
    """A loaded checkpoint of one family."""
    return make_bench(checkpoints["llama"])
