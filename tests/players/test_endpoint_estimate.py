"""The estimate before anything is asked, against what a server on this machine is then asked."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from misbehaving_server import Server, settings_file
from shell import Shell
from small_text_runs import tables_config

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.evaluation import estimate as module
from coplay.evaluation.estimate import Estimate, Games, estimate
from coplay.evaluation.estimate_text import estimate_text
from coplay.evaluation.match import play_match
from coplay.experiments.estimate import games_of_request
from coplay.experiments.request import Request
from coplay.games import make_game
from coplay.games.pairwise_strategies import PROMISE, THREAT
from coplay.games.records import Occupant
from coplay.players.endpoint_file import TO_FILL_IN, NoEndpointFile, endpoint_to_come, read_endpoint
from coplay.players.named import make_player
from coplay.runs.estimate import games_of_run
from coplay.runs.train import train

PATIENT = {"timeout": 60.0, "concurrency": 2}
"""Settings under which a busy machine's answers come in time."""

SEATED = {
    "ipd": ("ENDPOINT", "tit_for_tat"),
    "public-goods": ("ENDPOINT", "ENDPOINT", "ENDPOINT"),
    "ipd-3": ("ENDPOINT@malicious", "ENDPOINT", "always_defect"),
    "ipd-3:talk=0": ("ENDPOINT", "ENDPOINT@standard", "ENDPOINT"),
    "ipd-3:talk=0,shared=true+mediator:targets=everyone": ("ENDPOINT", "ENDPOINT", "uniform", "always_intervene"),
    "bertrand": ("ENDPOINT", "ENDPOINT"),
    "bertrand+mediator": ("ENDPOINT", "nash", "always:strong"),
}
"""Games of a fixed length, and who sits in them."""

ROUNDS = 3


def legal(request: dict[str, Any]) -> str:
    """A reply of the kind that is asked for, drawn from all of them."""
    asked, draw = request["messages"][-1]["content"], Random(request["seed"])
    if "write a short message" in asked:
        return draw.choice([PROMISE, THREAT, ""])
    if "one decision for each" in asked:
        others = re.findall(r"\[(\d) \w+\]", asked)
        return " ".join(f"[{one} {draw.choice(['cooperate', 'defect'])}]" for one in others)
    if "[cooperate]" in asked:
        return draw.choice(["[cooperate]", "[defect]"])
    labels = re.search(r"Reply only with (\w) or (\w)\.", asked)
    return draw.choice(labels.groups()) if labels is not None else f"{1 + draw.random():.3f}"


def named(game: str, file: Path) -> dict[str, str]:
    seats = make_game(game).seats
    return {seat: who.replace("ENDPOINT", str(file)) for seat, who in zip(seats, SEATED[game], strict=True)}


def estimated(game: str, file: Path, *, number: int) -> Estimate:
    (found,) = estimate([Games(make_game(game).lasting(ROUNDS), named(game, file), ROUNDS, number)])
    return found


def played(game: str, file: Path, *, number: int) -> None:
    rules = make_game(game).lasting(ROUNDS)
    seated = {seat: Occupant(make_player(who, rules, seat), who) for seat, who in named(game, file).items()}
    play_match(rules, seated, rounds=ROUNDS, episodes=number, seed=3)


def read(server: Server) -> int:
    """Characters that the server was sent to read."""
    return sum(len(one["content"]) for request in server.seen for one in request["messages"])


@pytest.mark.parametrize(
    ("game", "memory"),
    [*((game, "chat") for game in SEATED), ("ipd-3", "window"), ("bertrand", "window"), ("ipd", "last_round")],
)
def test_short_replies(game: str, memory: str, server: Server, tmp_path: Path) -> None:
    """Requests are exact, and prompts as long as estimated within what chance does: who is told what depends on what was played."""
    file = settings_file(server, tmp_path, memory=memory, window=2, **PATIENT)
    server.replying = legal
    found = estimated(game, file, number=2)
    assert not server.seen
    played(game, file, number=2)
    assert found.requests == found.most_requests == len(server.seen)
    assert found.least.tokens_in == pytest.approx(read(server) / 4, rel=0.06)
    assert found.least.tokens_in <= found.most.tokens_in
    assert found.most.tokens_out == 400 * found.requests


@pytest.mark.parametrize("game", ["ipd-3", "ipd-3:talk=0", "bertrand+mediator"])
def test_the_longest_replies(game: str, server: Server, tmp_path: Path) -> None:
    """Replies that reason for all of ``max_tokens``: prompts are as long as the larger number says, and no longer."""
    file = settings_file(server, tmp_path, max_tokens=100, **PATIENT)

    def reasoning(request: dict[str, Any]) -> str:
        reply = legal(request)
        return f"{'hm ' * 200}"[: 399 - len(reply)] + f"\n{reply}"

    server.replying = reasoning
    found = estimated(game, file, number=1)
    played(game, file, number=1)
    assert found.requests == len(server.seen)
    assert found.most.tokens_in == pytest.approx(read(server) / 4, rel=0.03)
    assert found.least.tokens_in < 0.9 * found.most.tokens_in


@pytest.mark.parametrize("memory", ["chat", "window"])
def test_long_games_are_sampled(memory: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every prompt of a long game is rendered; the sum is about that of all: a window is long or short by chance, a conversation grows."""
    file = settings_file(server, tmp_path, memory=memory)
    game = make_game("bertrand+mediator").lasting(100)
    players = dict(zip(game.seats, (str(file), str(file), "uniform"), strict=True))
    (sampled,) = estimate([Games(game, players, 100, 1)])
    monkeypatch.setattr(module, "ROUNDS_RENDERED", 100)
    (whole,) = estimate([Games(game, players, 100, 1)])
    assert sampled.requests == whole.requests == 200
    assert sampled.least.tokens_in == pytest.approx(whole.least.tokens_in, rel={"chat": 0.01, "window": 0.05}[memory])
    assert sampled.most.tokens_in == pytest.approx(whole.most.tokens_in, rel=0.05)


def test_games_whose_length_is_chance(server: Server, tmp_path: Path) -> None:
    """Hands of poker take one, two or three bets: the mean over some of them counts."""
    file = settings_file(server, tmp_path)
    game = make_game("kuhn")
    (found,) = estimate([Games(game, dict.fromkeys(game.seats, str(file)), 1, 100)])
    assert 200 <= found.requests <= 300


# --- Runs and experiments --------------------------------------------------------------------------------------------------------------------


def test_a_run(server: Server, tmp_path: Path) -> None:
    """Trials, seeds and the evaluation; a resumed run asks for the rest."""
    file = settings_file(server, tmp_path, **PATIENT)
    server.text = "D"
    config = tables_config(
        "ipd", {"a": {"memory": "last_round"}}, {"row": "a", "column": str(file)}, trials=2, seeds=[0, 1]
    )
    (found,) = estimate(games_of_run(config))
    (rest,) = estimate(games_of_run(config, first_trial=1))
    train(config, tmp_path / "run")
    assert found.requests == len(server.seen)
    trial = config.games * config.episodes * config.rounds * 2
    assert found.requests - rest.requests == trial


def test_who_is_drawn(server: Server, tmp_path: Path) -> None:
    """Of several players each game draws one, and replies are asked for again where the config says so."""
    file = settings_file(server, tmp_path)
    seats = {"row": "a", "column": f"{file},tit_for_tat"}
    config = tables_config("ipd", {"a": {"memory": "last_round"}}, seats, trials=0, retries=2)
    (found,) = estimate(games_of_run(config))
    assert found.requests == config.eval_games * config.rounds * len(config.seeds) / 2
    assert found.most_requests == 3 * found.requests
    assert f"{found.requests:,} to {found.most_requests:,} requests" in estimate_text([found])


def test_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 1 at the paper's scale, one trial of one seed: 30 requests a game, 20 games a trial, 50 after training."""
    monkeypatch.chdir(tmp_path)
    request = Request("mediation/table1", game="ipd-3", scale="paper", seeds=(0,), trials=1)
    (found,) = estimate(games_of_request(request, tmp_path / "out"))
    assert found.file.file == "llama-3.3-70b.toml" and not found.file.exists
    assert found.requests == 30 * (6 * 50 + 4 * (20 + 50))


def test_nothing_is_told_where_nobody_is_an_endpoint(tmp_path: Path) -> None:
    request = Request("mediation/table1", game="ipd-3", seeds=(0,))
    assert games_of_request(request, tmp_path / "out") == []


# --- On the command line ----------------------------------------------------------------------------------------------------------------------


def test_what_is_printed(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is asked, on standard error: requests, tokens and price, and a budget that may not do."""
    file = settings_file(server, tmp_path, price_in=1.0, price_out=4.0, cost_budget=1.0, token_budget=100, **PATIENT)
    argv = ["eval", str(file), "tit_for_tat", "--episodes", "1", "--rounds", "1", "--json"]
    assert main(argv) == 1
    said = capsys.readouterr().err
    assert not server.seen
    assert re.search(
        r"them\.toml: 1 request, \d+ tokens read, 1 to 400 written .*; price 0\.0000\d+ to 0\.00\d+\n", said
    )
    assert "token_budget = 100 (spent so far: 0) may not cover that: asking stops before it is exceeded" in said
    assert "cost_budget = " not in said
    file = settings_file(server, tmp_path, **PATIENT)
    server.replying = legal
    found = Shell(capsys).json(*argv[:-1])
    assert found["episodes"] == 1 and len(server.seen) == 1


def test_a_file_without_prices(server: Server, tmp_path: Path) -> None:
    found = estimated("ipd", settings_file(server, tmp_path, characters_per_token=2.0), number=1)
    said = estimate_text([found])
    assert "no price, as the file has no price_in and price_out" in said and "a token is 2 characters" in said
    assert found.least.tokens_in == pytest.approx(
        2 * estimated("ipd", settings_file(server, tmp_path), number=1).least.tokens_in, abs=2
    )


def test_what_is_spent_counts(server: Server, tmp_path: Path) -> None:
    """The budget is for all that was ever asked: here three answers of 403 tokens, as the server reports."""
    server.replying = legal
    played("ipd", settings_file(server, tmp_path, **PATIENT), number=1)
    most = estimated("ipd", settings_file(server, tmp_path), number=1).most.tokens
    enough = settings_file(server, tmp_path, token_budget=most + 3 * 403)
    assert "spent so far" not in estimate_text([estimated("ipd", enough, number=1)])
    less = settings_file(server, tmp_path, token_budget=most + 3 * 403 - 1)
    assert "(spent so far: 1,210) may not cover that" in estimate_text([estimated("ipd", less, number=1)])
    least = settings_file(server, tmp_path, token_budget=1000)
    assert "(spent so far: 1,210) does not cover that" in estimate_text([estimated("ipd", least, number=1)])


@pytest.mark.parametrize(
    "verb", [("train", "mediation/ipd-3-never"), ("reproduce", "mediation/table1", "--game", "ipd-3")]
)
def test_a_file_that_does_not_exist(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says so, after the estimate and a file to fill in; with --quiet the error alone."""
    monkeypatch.chdir(tmp_path)
    argv = [*verb, "--scale", "paper", "--seeds", "0", "--out", "out"]
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert re.search(r"llama-3\.3-70b\.toml: [\d,]+ requests", said) and TO_FILL_IN in said
    error = "coplay: seats.player-1: there is no file llama-3.3-70b.toml; write one with the endpoint's settings"
    assert said.splitlines()[-1].startswith(error)
    assert main([*argv, "--quiet"]) == 2
    assert capsys.readouterr().err.startswith(error)
    assert not list(tmp_path.iterdir())


def test_the_file_to_fill_in_is_one(tmp_path: Path) -> None:
    path = tmp_path / "them.toml"
    with pytest.raises(NoEndpointFile):
        read_endpoint(str(path))
    expected = endpoint_to_come(str(path))
    path.write_text(TO_FILL_IN)
    assert read_endpoint(str(path)).settings == expected.settings
    path.write_text(re.sub(r"(?m)^# ", "", TO_FILL_IN).replace("price_in = 0.0", "price_in = 1.0"))
    assert read_endpoint(str(path)).settings.memory == "window"


def test_all_pairs_of_three_seats(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With itself three seats, alone among the others one in each of three, the other alone among it two in each of three."""
    file = settings_file(server, tmp_path, **PATIENT)
    server.replying = legal
    argv = [
        "eval",
        str(file),
        "always_cooperate",
        "--game",
        "public-goods",
        "--matrix",
        "--episodes",
        "1",
        "--rounds",
        "1",
    ]
    assert main(argv) == 0
    assert "them.toml: 12 requests" in capsys.readouterr().err
    assert len(server.seen) == 3  # before the first round each seat is asked the same in all of them


# --- What an endpoint is shown --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory", "lengths"), [("none", [1] * 3), ("window", [1, 3, 3]), ("chat", [1, 3, 5])])
def test_memory(memory: str, lengths: list[int], server: Server, tmp_path: Path) -> None:
    server.replying = legal
    played("ipd", settings_file(server, tmp_path, memory=memory, window=1, **PATIENT), number=1)
    assert [len(request["messages"]) for request in server.seen] == lengths
    counted = "You are playing a 2-player game"
    assert all(request["messages"][0]["content"].startswith(counted) for request in server.seen)


def test_counts(server: Server, tmp_path: Path) -> None:
    server.replying = legal
    played("ipd", settings_file(server, tmp_path, memory="episode_counts", **PATIENT), number=1)
    assert "Rounds so far by what was done" in server.seen[-1]["messages"][0]["content"]
    file = settings_file(server, tmp_path, memory="episode_counts")
    with pytest.raises(
        UsageError, match="can end in 512 states, and counts are shown of at most 256; use memory=last_round"
    ):
        make_player(str(file), make_game("public-goods:n=9"), "player-1")


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("memory", "transcript", "memory: should be 'chat' or 'window'"),
        ("memory", "all", "memory: input should be 'none', 'last_round'"),
        ("window", 0, "window: input should be greater than or equal to 1"),
        ("characters_per_token", 0, "characters_per_token: input should be greater than or equal to 0.1"),
        ("characters_per_token", "four", "characters_per_token: input should be a valid number"),
    ],
)
def test_what_is_wrong(setting: str, value: object, said: str, server: Server, tmp_path: Path) -> None:
    file = settings_file(server, tmp_path, **{setting: value})
    for read_it in (lambda: read_endpoint(str(file)), lambda: estimated("ipd", file, number=1)):
        with pytest.raises(UsageError, match=re.escape(said)):
            read_it()
