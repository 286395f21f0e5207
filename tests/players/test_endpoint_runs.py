"""Endpoints in runs and on the command line, and what is wrong with a settings file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from coplay.games.rounds import BOB
from coplay.rounds.config import RoundConfig
from coplay.text.rounds import worded
from misbehaving_server import KEY, Server, settings_file
from pydantic import ValidationError

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.players.endpoint import EndpointFailed, endpoint_from
from coplay.recipes import make_config
from coplay.runs.config_input import overridden
from coplay.runs.directory import read_json
from coplay.runs.train import resume, train

SMALL = [
    "rounds=2",
    "games=4",
    "group_size=2",
    "trials=2",
    "eval_games=2",
    "threads=1",
    "checkpoint_every=1",
    "seeds=[0]",
]


def against(file: Path) -> RoundConfig:
    config = overridden(make_config("adalign/ipd-ab-exploiter"), [*SMALL, f"co_player={file}"])
    assert isinstance(config, RoundConfig)
    return config


def test_a_run_against_an_endpoint_that_dies_goes_on_as_if_it_had_not(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    train(against(settings_file(server, tmp_path / "a")), tmp_path / "whole")
    asked = len(server.seen)
    config = against(settings_file(server, tmp_path / "b"))
    alive = len(server.seen) + asked // 2
    server.faults = lambda _: "fine" if len(server.seen) <= alive else "503"
    with pytest.raises(EndpointFailed, match=r"go on with: coplay train --resume .*part"):
        train(config, tmp_path / "part")
    server.faults = lambda _: "fine"
    resume(tmp_path / "part")
    for name in ("metrics.jsonl", "eval.json"):
        assert (tmp_path / "part" / name).read_text() == (tmp_path / "whole" / name).read_text()
    for path in (tmp_path / "part").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    evaluated = read_json(tmp_path / "whole" / "eval.json")
    assert evaluated["seats"][BOB]["player"] == "m"


def test_the_command_line_meets_an_endpoint(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(settings_file(server, tmp_path))
    assert main(["eval", "defect", file, "--game", "ipd-ab", "--matrix", "--episodes", "1", "--json"]) == 0
    cells = {(c["player"], c["co_player"]): c["per_round"] for c in json.loads(capsys.readouterr().out)["cells"]}
    assert cells["defect", file] == 5.0
    assert (tmp_path / "them.answers.sqlite").exists()
    asked = len(server.seen)
    assert main(["eval", "defect", file, "--game", "ipd-ab", "--matrix", "--episodes", "1"]) == 0
    assert len(server.seen) == asked  # everything was known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('base_url = "http://x"\nmodle = "m"', "Did you mean 'model'"),
        ('base_url = "http://x"', "model"),
        ('base_url = "http://x"\nmodel = "m"\nretries = "many"', "retries: input should be a valid integer"),
        (
            'base_url = "http://x"\nmodel = "m"\nextra = {day = 2020-01-01}',
            "extra.day: input was not a valid JSON value",
        ),
        ('base_url = "x"\nmodel = "m"', "base_url: should begin with http:// or https://, which 'x' does not"),
        ("base_url = ", "is not TOML"),
        (None, "No such file"),
    ],
)
def test_what_is_wrong_with_a_settings_file(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "them.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=said):
        endpoint_from(str(path), worded("ipd-ab"))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("concurrency = 0", "concurrency: input should be greater than or equal to 1"),
        ("retries = -1", "retries: input should be greater than or equal to 0"),
        ("timeout = 0", "timeout: input should be greater than 0"),
        ("timeout = inf", "timeout: input should be a finite number"),
        ("longest = 0", "longest: input should be greater than or equal to 1"),
        ("temperature = -0.1", "temperature: input should be greater than or equal to 0"),
        ("most_tokens = -1", "most_tokens: input should be greater than or equal to 0"),
        ("most_money = 1", "them.toml: most_money is never spent without a price; set price_in"),
        ("most_money = -1", "most_money: input should be greater than or equal to 0"),
        ("price_in = -1", "price_in: input should be greater than or equal to 0"),
        ("price_out = nan", "price_out: input should be a finite number"),
    ],
)
def test_an_impossible_setting_is_told(setting: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "them.toml"
    path.write_text(f'base_url = "http://x"\nmodel = "m"\n{setting}\n')
    with pytest.raises(UsageError, match=said):
        endpoint_from(str(path), worded("ipd-ab"))


def test_settings_are_checked_wherever_they_come_from(server: Server) -> None:
    with pytest.raises(ValidationError, match="concurrency"):
        replace(server.settings, concurrency=0)
