"""What tests of the command line share: a directory of their own, a shell, a finished run."""

from pathlib import Path

import pytest
from shell import Shell
from small_runs import small

from coplay.runs.train import train as train_run
from coplay.terminal.progress import Progress


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory of its own."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def coplay(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tabular run."""
    path = tmp_path_factory.mktemp("runs") / "ipd"
    return train_run(small("tabular", "trials=2", "seeds=[0,1]"), path, progress=Progress(quiet=True)).path
