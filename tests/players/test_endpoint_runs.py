"""Endpoints in runs and on the command line, and what is wrong with a settings file."""

from dataclasses import replace
from pathlib import Path

import pytest
from fake_players import play, scripts
from misbehaving_server import KEY, Server, settings_file
from pydantic import ValidationError
from run_files import read_json
from shell import Shell
from small_text_runs import small_text

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.split import BOB
from coplay.players.endpoint import endpoint_from
from coplay.players.endpoint_asking import EndpointFailed
from coplay.players.endpoint_settings import EndpointSettings
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
        ('base_url = "x"\nmodel = "m"', "base_url: should begin with http:// or https://$"),
        ("base_url = ", "is not TOML"),
        (None, "there is no file"),
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
        ("concurrency = 1000", "concurrency: input should be less than or equal to 256"),
        ("timeout = -1", "timeout: input should be greater than 0"),
        ("timeout = 1e6", "timeout: input should be less than or equal to 86400"),
        ("retries = 1000000", "retries: input should be less than or equal to 100"),
        ("max_tokens = 10000000", "max_tokens: input should be less than or equal to 1000000"),
        ("token_budget = 0.5", "token_budget: input should be a valid integer"),
        *[
            (f"extra = {{{name} = 2}}", f"extra: must not hold '{name}'")
            for name in ("n", "stream", "model", "best_of")
        ],
        ("extra = {max_tokens = 401}", "extra.max_tokens should be a whole number from 1 to max_tokens, which is 400"),
        ("extra = {max_tokens = true}", "extra.max_tokens should be a whole number from 1 to max_tokens, which is 400"),
        ("extra = {top_p = nan}", "extra"),
        ("longest = 3\nmax_tokens = 3", "longest is max_tokens by its earlier name; set one of them"),
        ("retries = -1", "retries: input should be greater than or equal to 0"),
        ("timeout = 0", "timeout: input should be greater than 0"),
        ("timeout = inf", "timeout: inf is no finite number"),
        ("max_tokens = 0", "max_tokens: input should be greater than or equal to 1"),
        ("temperature = -0.1", "temperature: input should be greater than or equal to 0"),
        ("token_budget = -1", "token_budget: input should be greater than or equal to 0"),
        ("cost_budget = 1", "them.toml: cost_budget is never spent without a price; set price_in"),
        ("cost_budget = -1", "cost_budget: input should be greater than or equal to 0"),
        ("price_in = -1", "price_in: input should be greater than or equal to 0"),
        ("price_out = nan", "price_out: nan is no finite number"),
    ],
)
def test_an_impossible_setting_is_told(setting: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "them.toml"
    path.write_text(f'base_url = "http://x"\nmodel = "m"\n{setting}\n')
    with pytest.raises(UsageError, match=said):
        endpoint_from(str(path), GAME)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:SECRET@host/v1", "base_url: should not hold a user or password; put the key in an environment"),
        ("https://SECRET@host/v1", "base_url: should not hold a user or password; put the key in an environment"),
        ("https://host/v1?key=SECRET", "base_url: should not hold a query; put the key in an environment variable"),
        ("https://host/v1#SECRET", "base_url: should not hold a query; put the key in an environment variable"),
        ("htps://me:SECRET@host/v1", "base_url: should begin with http:// or https://"),
        ("https://me:SECRET@[::1/v1", "base_url: invalid IPv6 URL"),
        ("https://me:SECRET@/v1", "base_url: should not hold a user or password"),
        ("https://host:SECRET/v1", "base_url: should have a port from 0 to 65535, if it has one"),
        ("https://ho st/SECRET", "base_url: should have ASCII letters and no spaces"),
        ("https://host/\\u001b[2JSECRET", "base_url: should have ASCII letters and no spaces"),
        ("https://höst/SECRET", "base_url: should have ASCII letters and no spaces"),
    ],
)
def test_an_error_does_not_repeat_what_a_url_may_hold(
    url: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "them.toml"
    file.write_text(f'base_url = "{url}"\nmodel = "m"\n'.replace("\\\\u", "\\u"))
    shell = Shell(capsys)
    assert shell("eval", "tit_for_tat", str(file), "--episodes", "1") == 2
    assert f"them.toml: {said}" in shell.err and "SECRET" not in shell.err and shell.err.count("\n") == 1


def test_in_python_an_error_does_not_repeat_it_either() -> None:
    with pytest.raises(ValidationError) as told:
        EndpointSettings("https://me:SECRET@host/v1", "m")
    assert "SECRET" not in str(told.value)


def test_a_url_that_holds_the_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPLAY_TEST_KEY", KEY)
    file = tmp_path / "them.toml"
    file.write_text(f'base_url = "https://host/{KEY}/v1"\nmodel = "m"\napi_key_var = "COPLAY_TEST_KEY"\n')
    with pytest.raises(UsageError, match="m: base_url holds the key, and would be printed with it") as told:
        endpoint_from(str(file), GAME)
    assert KEY not in str(told.value)


@pytest.mark.parametrize("name", ["~nobody-of-this-name/them.toml", "a\0b.toml"])
def test_a_file_that_cannot_be(name: str) -> None:
    with pytest.raises(UsageError):
        endpoint_from(name, GAME)


def test_a_proxy_that_cannot_be_used(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    monkeypatch.delenv("NO_PROXY", raising=False)
    player = endpoint_from(str(settings_file(server, tmp_path)), GAME)
    with pytest.raises(UsageError, match="m: proxy or certificates cannot be used: "):
        play(GAME, {**scripts(GAME, "always_cooperate", "random"), "bob": player}, rounds=1)


def test_settings_are_checked_wherever_they_come_from(server: Server) -> None:
    with pytest.raises(ValidationError, match="concurrency"):
        replace(server.settings, concurrency=0)


def test_settings_by_their_earlier_names(server: Server, tmp_path: Path) -> None:
    file = settings_file(server, tmp_path, api_key_var=None, key_variable="COPLAY_TEST_KEY", longest=7, most_tokens=9)
    settings = endpoint_from(str(file), GAME).settings
    assert (settings.api_key_var, settings.max_tokens, settings.token_budget) == ("COPLAY_TEST_KEY", 7, 9)
    money = settings_file(server, tmp_path, most_money=2.5, price_in=1.0)
    assert endpoint_from(str(money), GAME).settings.cost_budget == 2.5
