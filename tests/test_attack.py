"""The attack's short form: a few tries of every kind. ``make attack`` runs more than a thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_runs import source_environment

from coplay.cli.arguments import parser

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the short form, in a process of its own: it forks, which a process with threads had better not."""
    out = tmp_path_factory.mktemp("attack") / "results.json"
    argv = [sys.executable, "-m", "attack", "--short", "--processes", "2", "--json", str(out)]
    done = subprocess.run(argv, cwd=ROOT, env=source_environment(), capture_output=True, text=True, timeout=500)
    assert out.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return {**found, "text": done.stdout, "status": done.returncode}


def test_every_kind_is_tried(short: dict[str, Any]) -> None:
    files = {path.stem.replace("_", "-") for path in (ROOT / "attack" / "kinds").glob("[!_]*.py")}
    assert {one["kind"] for one in short["results"]} == files


def test_everything_there_is_is_attacked(short: dict[str, Any]) -> None:
    """Every verb of the parser, every declared kind of file, and no file beyond those."""
    verbs = {str(name) for action in parser()._actions for name in action.choices or ()}
    assert "train" in verbs
    assert {verb for one in short["results"] for verb in one["verbs"]} >= verbs
    assert [one["falls"] for one in short["results"] if one["kind"] == "coverage"] == [[], [], []]


def test_the_attack_itself_does_not_fail(short: dict[str, Any]) -> None:
    assert [one for one in short["results"] for fall in one["falls"] if fall["kind"] == "attack"] == []
    assert short["status"] == any(one["falls"] for one in short["results"])


def test_nothing_falls(short: dict[str, Any]) -> None:
    assert not any(one["falls"] for one in short["results"]), short["text"]
