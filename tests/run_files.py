"""Files of runs as tests read and write them: without the checks of the program."""

import hashlib
import json
from pathlib import Path
from typing import Any

from torch import Tensor

from coplay.files.kinds import Owner
from coplay.files.reading import parse_lines
from coplay.files.store import Store
from coplay.runs.directory import RunDirectory


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, or of its compressed copy; none without either."""
    file = path if path.exists() else path.with_name(f"{path.name}.gz")
    return parse_lines(file.read_bytes(), file) if file.exists() else []


def as_older(run: Path) -> Path:
    """Make a run directory one of the time before manifests, whose files may be edited; returns it."""
    (run / "manifest.json").unlink()
    write_json(run / "env.json", {**read_json(run / "env.json"), "version": 1})
    for about in run.glob("checkpoints/*/checkpoint.json"):
        sha256 = hashlib.sha256((about.parent / "state.safetensors").read_bytes()).hexdigest()
        write_json(about, {"version": 1, "step": read_json(about)["step"], "sha256": sha256})
    return run


def unfinished(run: Path) -> Path:
    """Make a finished run one that was stopped after its last trial, before its evaluation; returns it."""
    directory = RunDirectory.open(run)
    again, checkpoint = RunDirectory.at_checkpoint(run, directory.checkpoints()[-1].name)
    again.return_to(checkpoint)
    return run


def never_written(directory: Path, owner: Owner, *names: str) -> None:
    """Make a directory one that was stopped before it wrote these files."""
    store = Store.open(directory, owner)
    for name in names:
        del store.entries[name]
        (directory / name).unlink()
    store.commit()


def latest_states(run: RunDirectory) -> tuple[int, dict[int, dict[str, Tensor]]]:
    """The step of the latest checkpoint and what it holds, by seed."""
    found = RunDirectory.open(run.path).load_checkpoint()
    assert found is not None
    return found.step, run.states(found)
