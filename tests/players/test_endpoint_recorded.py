"""An endpoint in a mediated game that is recorded: it dies in the middle, and the same command goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from misbehaving_server import Server, settings_file

from coplay.cli.main import main
from coplay.runs.recording import GAMES


def record(path: Path, players: list[str]) -> int:
    game = "ipd-3:talk=0+mediator"
    return main(["eval", *players, "--game", game, "--episodes", "3", "--record", str(path), "--json"])


def test_an_endpoint_that_dies_in_round_4_of_5(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No game is lost, the same command goes on where it was stopped, and nothing is paid twice."""
    server.text = "[2 cooperate] [3 defect]"
    alive = True

    def faults(tries: int) -> str:
        body = server.seen[-1]
        return "fine" if alive or "Round 4 of 5" not in body["messages"][-1]["content"] else "503"

    path = settings_file(server, tmp_path)
    players = [f"{path}@malicious", "tit_for_tat", "always_defect", "always_intervene"]
    assert record(tmp_path / "whole", players) == 0
    expected = capsys.readouterr().out
    (tmp_path / "them.answers.sqlite").unlink()
    server.seen.clear()
    server.faults, alive = faults, False
    assert record(tmp_path / "games", players) == 1
    err = capsys.readouterr().err
    assert "player 'm@malicious' (player-1, round 4) has no answer" in err and "what was answered is kept" in err
    paid = [asked(one) for one in server.seen if "Round 4 of 5" not in one["messages"][-1]["content"]]
    assert len(paid) == len(set(paid)) == 9
    server.seen.clear()
    alive = True
    assert record(tmp_path / "games", players) == 0
    assert capsys.readouterr().out == expected
    again = [asked(one) for one in server.seen]
    assert len(again) == 6 and not set(again) & set(paid)
    assert (tmp_path / "games" / GAMES).read_bytes() == (tmp_path / "whole" / GAMES).read_bytes()


def asked(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)
