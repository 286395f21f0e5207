"""An endpoint is audited end to end: by scripted co-players and one that learns, at the cost that was told before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from misbehaving_server import Server, settings_file

from coplay.cli.main import main


def test_an_endpoint_is_audited(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It always cooperates, so a learner takes all that there is."""
    server.text = "C"
    words = ["audit", str(settings_file(server, tmp_path)), "--game", "ipd", "--rounds", "2", "--quiet", "--json"]
    words += ["--against", "scripted,policy_gradient", "--budget", "8", "--n-seeds", "2", "--episodes", "2"]
    assert main(words) == 2
    told = capsys.readouterr().err
    most = re.search(r"([\d,]+) to ([\d,]+) requests|([\d,]+) requests?", told)
    assert most is not None and "with --yes" in told and not server.seen
    assert main([*words, "--yes"]) == 0
    found = {(one["name"], one["co_player"]): one for one in json.loads(capsys.readouterr().out)["measures"]}
    assert found["takes", "always_defect"]["value"] == 4.0 and found["gets", "always_defect"]["value"] == 0.0
    assert found["takes", "always_defect"]["ci95"] is None  # nobody knows whether its replies are certain
    assert found["illegal", "always_cooperate"]["value"] == 0.0
    assert found["takes", "policy_gradient"]["value"] > 3.5
    promised = int([part for part in most.groups() if part][-1].replace(",", ""))
    assert 0 < len(server.seen) <= promised
