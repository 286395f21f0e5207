"""Endpoints in runs and on the command line, and what is wrong with a settings file."""

from dataclasses import replace
from pathlib import Path

import pytest
from misbehaving_server import KEY, Server, settings_file
from pydantic import ValidationError
from run_files import read_json
from shell import Shell
from small_text_runs import small_text

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.split import BOB
from coplay.players.endpoint import EndpointFailed, endpoint_from
from coplay.runs.config import Config
from coplay.runs.executors import worker_count
from coplay.runs.factory import build
from coplay.runs.train import resume, train

GAME = make_game("ipd-ab")


def against(file: Path, *overrides: str) -> Config:
    small = ["rounds=2", "games=4", "group_size=2", "trials=2", "eval_games=2"]
    return small_text("ipd-ab-exploiter", *small, f"seats.bob={file}", *overrides)


def test_a_run_against_an_endpoint_that_dies_goes_on_as_if_it_had_not(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    train(against(settings_file(server, tmp_path / "a")), tmp_path / "whole")
    asked = len(server.seen)
    config = against(settings_file(server, tmp_path / "b"))
    alive = len(server.seen) + asked // 2
    server.faults = lambda _: "fine" if len(server.seen) <= alive else "503"
    with pytest.raises(EndpointFailed, match=r"resume it with: coplay train --resume .*part"):
        train(config, tmp_path / "part")
    server.faults = lambda _: "fine"
    resume(tmp_path / "part")
    for name in ("metrics.jsonl", "eval.json"):
        assert (tmp_path / "part" / name).read_text() == (tmp_path / "whole" / name).read_text()
    for path in (tmp_path / "part").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    evaluated = read_json(tmp_path / "whole" / "eval.json")
    assert evaluated["seats"][BOB]["player"] == "m"


def test_all_seeds_are_in_one_process(server: Server, tmp_path: Path) -> None:
    """An endpoint's budget and its cached answers are one."""
    config = against(settings_file(server, tmp_path), "seeds=[0,1,2]", "workers=3")
    assert worker_count(build(config), 4) == 1
    assert worker_count(build(small_text("ipd-ab-grpo", "seeds=[0,1,2]", "workers=3")), 4) == 3


def test_the_runs_config_names_the_file_by_its_absolute_path(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_file(server, tmp_path)
    monkeypatch.chdir(tmp_path)
    run = train(against(Path("them.toml"), "trials=1"), tmp_path / "run")
    assert read_json(run.path / "config.json")["seats"]["bob"] == [str(tmp_path / "them.toml")]


def test_the_command_line_meets_an_endpoint(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell, file = Shell(capsys), str(settings_file(server, tmp_path))
    matrix = ("eval", "always_defect", file, "--game", "ipd-ab", "--matrix", "--episodes", "1")
    found = shell.json(*matrix)
    cells = {(cell["player"], cell["co_player"]): cell["per_round"] for cell in found["cells"]}
    assert cells["always_defect", file] == 5.0
    assert (tmp_path / "them.answers.sqlite").exists()
    asked = len(server.seen)
    assert shell(*matrix) == 0
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
        ('base_url = "http://x"\nmodel = "m"\napi_key = "k"', "Did you mean 'api_key_var'"),
        ('base_url = "http://[::1"\nmodel = "m"', "base_url: invalid IPv6 URL"),
        ('base_url = "http:///v1"\nmodel = "m"', "base_url: should name a host"),
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
        endpoint_from(str(path), GAME)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("concurrency = 0", "concurrency: input should be greater than or equal to 1"),
        ("retries = -1", "retries: input should be greater than or equal to 0"),
        ("timeout = 0", "timeout: input should be greater than 0"),
        ("timeout = inf", "timeout: input should be a finite number"),
        ("max_tokens = 0", "max_tokens: input should be greater than or equal to 1"),
        ("temperature = -0.1", "temperature: input should be greater than or equal to 0"),
        ("token_budget = -1", "token_budget: input should be greater than or equal to 0"),
        ("cost_budget = 1", "them.toml: cost_budget is never spent without a price; set price_in"),
        ("cost_budget = -1", "cost_budget: input should be greater than or equal to 0"),
        ("price_in = -1", "price_in: input should be greater than or equal to 0"),
        ("price_out = nan", "price_out: input should be a finite number"),
    ],
)
def test_an_impossible_setting_is_told(setting: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "them.toml"
    path.write_text(f'base_url = "http://x"\nmodel = "m"\n{setting}\n')
    with pytest.raises(UsageError, match=said):
        endpoint_from(str(path), GAME)


def test_settings_are_checked_wherever_they_come_from(server: Server) -> None:
    with pytest.raises(ValidationError, match="concurrency"):
        replace(server.settings, concurrency=0)


def test_settings_by_their_earlier_names(server: Server, tmp_path: Path) -> None:
    file = settings_file(server, tmp_path, api_key_var=None, key_variable="COPLAY_TEST_KEY", longest=7, most_tokens=9)
    settings = endpoint_from(str(file), GAME).settings
    assert (settings.api_key_var, settings.max_tokens, settings.token_budget) == ("COPLAY_TEST_KEY", 7, 9)
    money = settings_file(server, tmp_path, most_money=2.5, price_in=1.0)
    assert endpoint_from(str(money), GAME).settings.cost_budget == 2.5
