"""The attack's short form: a few tries of every kind. ``make attack`` runs more than a thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_runs import source_environment

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the short form, in a process of its own: it forks, which a process with threads had better not."""
    out = tmp_path_factory.mktemp("attack") / "results.json"
    argv = [sys.executable, "-m", "attack", "--short", "--processes", "2", "--json", str(out)]
    done = subprocess.run(argv, cwd=ROOT, env=source_environment(), capture_output=True, text=True, timeout=300)
    assert out.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return {**found, "text": done.stdout, "status": done.returncode}


def test_nothing_falls(short: dict[str, Any]) -> None:
    fallen = [one for one in short["results"] if one["falls"]]
    assert not fallen, short["text"]
    assert short["status"] == 0


def test_every_kind_is_tried(short: dict[str, Any]) -> None:
    files = {path.stem.replace("_", "-") for path in (ROOT / "attack" / "kinds").glob("*.py")} - {"--init--"}
    assert {one["kind"] for one in short["results"]} == files


def test_every_verb_is_run(short: dict[str, Any]) -> None:
    from coplay.cli.arguments import parser

    verbs = {name for action in parser()._actions for name in (action.choices or ()) if action.dest == "==SUPPRESS=="}
    assert verbs
    assert {verb for one in short["results"] for verb in one["verbs"]} >= verbs
