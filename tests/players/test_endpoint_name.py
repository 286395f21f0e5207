"""Endpoints that are named by model and URL, without a file."""

import json
from pathlib import Path

import pytest
from misbehaving_server import Server

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.players.endpoint import Endpoint
from coplay.players.endpoint_file import read_endpoint
from coplay.players.named import is_endpoint, make_player, with_persona

LOCAL = "openai:some/model@http://127.0.0.1:9/v1"


def test_the_name_has_model_and_url() -> None:
    found = read_endpoint(LOCAL)
    assert (found.settings.model, found.settings.base_url) == ("some/model", "http://127.0.0.1:9/v1")
    assert found.answers is None and found.exists and is_endpoint(LOCAL)


@pytest.mark.parametrize("persona", ["malicious", "standard"])
def test_a_persona_stands_behind_the_url(persona: str) -> None:
    assert with_persona(LOCAL) == (LOCAL, None)
    assert with_persona(f"{LOCAL}@{persona}") == (LOCAL, persona)
    player = make_player(f"{LOCAL}@{persona}", make_game("ipd"), "column")
    assert isinstance(player, Endpoint) and player.name == f"some/model@{persona}" and player.system is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai:", "write openai:MODEL@URL"),
        ("openai:model", "write openai:MODEL@URL"),
        ("openai:@http://localhost:1/v1", "write openai:MODEL@URL"),
        ("openai:model@localhost:8000", "base_url: should begin with http"),
        ("openai:model@http://somewhere.example/v1", "set api_key_var"),
        (f"{LOCAL}@evil", "there is no persona"),
    ],
)
def test_bad_names_are_told(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_player(name, make_game("ipd"), "column")


def test_it_plays_and_is_audited(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.text = "C"
    name = f"openai:m@{server.settings.base_url}"
    assert main(["eval", "always_defect", name, "--episodes", "2", "--rounds", "2", "--json"]) == 0
    seats = json.loads(capsys.readouterr().out)["seats"]
    assert (seats["column"]["player"], seats["row"]["per_round"], seats["column"]["illegal"]) == (name, 4.0, 0.0)
    words = ["audit", name, "--against", "scripted", "--rounds", "1", "--episodes", "1", "--quiet", "--yes"]
    assert main(words) == 0 and "always_defect" in capsys.readouterr().out
    server.text = "I would rather not."
    assert main(words) == 0 and "every reply was illegal" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []  # answers are kept in memory
