"""Endpoints in games with one simultaneous choice: two seats and three; and endpoints that need no key."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_players import actions, play, scripts
from misbehaving_server import KEY, Server, settings_file
from run_files import read_json, read_lines
from shell import Shell
from small_text_runs import tables_config

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.players.endpoint import Endpoint, endpoint_from
from coplay.players.endpoint_key import variable_of
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.named import make_player
from coplay.runs.train import train


def replying_in_kind(request: dict[str, Any]) -> str:
    """Does what its co-player did last; tells the truth about what it was shown."""
    played = re.findall(r"your opponents? played (\w)", request["messages"][-1]["content"])
    return played[-1] if played else "C"


# --- Matrix games -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [Memory.CHAT, Memory.LAST_ROUND])
def test_in_the_prisoners_dilemma(server: Server, memory: Memory) -> None:
    """It is asked in the words of the prompts for one-token replies, and answers with a label."""
    game = make_game("ipd")
    server.replying = replying_in_kind
    endpoint = Endpoint(game, replace(server.settings, memory=memory))
    players = {**scripts(game, "alternator", "random"), "column": endpoint}
    (episode,) = play(game, players, rounds=4)
    assert actions(episode, "row") == ["cooperate", "defect", "cooperate", "defect"]
    assert actions(episode, "column") == ["cooperate", "cooperate", "defect", "cooperate"]
    assert episode.payoffs("column") == [3, 0, 4, 0]
    first = server.seen[0]["messages"][0]["content"]
    assert first.startswith("You are playing a 2-player game with actions: C, D.")
    assert "C/D: 0/4, D/C: 4/0" in first and first.endswith("Reply only with C or D.")
    assert "prisoner" not in str(server.seen).lower()
    lengths = [len(request["messages"]) for request in server.seen]
    assert lengths == ([1, 3, 5, 7] if memory is Memory.CHAT else [1, 1, 1, 1])


@pytest.mark.parametrize("text", ["cooperate", "<C>", "C and D", "", "I choose C because it is kind."])
def test_a_reply_that_is_no_label_is_illegal(server: Server, text: str) -> None:
    """The round is void for the other seat and costs the endpoint's."""
    game = make_game("ipd")
    server.text = text
    players = {**scripts(game, "always_cooperate", "random"), "column": Endpoint(game, server.settings)}
    (episode,) = play(game, players, rounds=2)
    assert [turn.reply.text for turn in episode.turns["column"]] == [text] * 2
    assert actions(episode, "column") == [None, None]
    assert episode.payoffs("row") == [None, None] and episode.payoffs("column") == [-1, -1]


def test_a_table_learns_against_an_endpoint(server: Server, tmp_path: Path) -> None:
    server.text = "D"
    config = tables_config(
        "ipd", {"a": {"memory": "last_round"}}, {"row": "a", "column": str(settings_file(server, tmp_path))}, trials=2
    )
    run = train(config, tmp_path / "run").path
    assert read_json(run / "eval.json")["seats"]["column"]["actions"]["defect"]["mean"] == 1.0
    assert all(line["state/CC"] == line["state/DC"] == 0 for line in read_lines(run / "metrics.jsonl"))
    for path in run.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


# --- Three seats --------------------------------------------------------------------------------------------------------------------------


def test_in_the_public_goods_game(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell, file = Shell(capsys), str(settings_file(server, tmp_path))
    server.text = "K"
    players = ("always_cooperate", file, "always_cooperate")
    found = shell.json("eval", *players, "--game", "public-goods", "--episodes", "2", "--rounds", "3")
    assert {seat: one["per_round"] for seat, one in found["seats"].items()} == {
        "player-1": 3.0,
        "player-2": 6.0,
        "player-3": 3.0,
    }
    assert found["seats"]["player-2"]["player"] == file and found["seats"]["player-2"]["illegal"] == 0
    first, last = server.seen[0]["messages"], server.seen[-1]["messages"]
    assert first[0]["content"].startswith("You are playing a 3-player game with actions: C, K.")
    assert "In the previous round, you played K and your opponents played C, C." in last[-1]["content"]
    assert [message["role"] for message in last] == ["user", "assistant"] * 2 + ["user"]


def test_one_endpoint_in_every_seat(server: Server) -> None:
    """Each seat has a conversation and a seed of its own."""
    game = make_game("public-goods")
    server.text = "C"
    endpoint = Endpoint(game, server.settings)
    episodes = play(game, dict.fromkeys(game.seats, endpoint), (0, 1), rounds=2)
    assert all(episode.payoffs(seat) == [4.5, 4.5] for episode in episodes for seat in game.seats)
    assert len(server.seen) == 2 * 2 * 3 and len({request["seed"] for request in server.seen}) == 12


# --- No key -----------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("COPLAY_TEST_KEY", raising=False)


@pytest.mark.usefixtures("no_keys")
def test_a_server_on_this_machine_needs_no_key(server: Server, tmp_path: Path) -> None:
    """What is not in the file is not demanded."""
    game = make_game("ipd-ab")
    player = make_player(str(settings_file(server, tmp_path, api_key_var=None)), game, "bob")
    (episode,) = play(game, {**scripts(game, "always_cooperate", "random"), "bob": player}, rounds=2)
    assert episode.total("bob") == 6 and len(server.seen) == 2


def test_a_key_for_others_is_not_sent_to_a_server_on_this_machine(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    game = make_game("ipd-ab")
    player = endpoint_from(str(settings_file(server, tmp_path, api_key_var=None)), game)
    play(game, {**scripts(game, "always_cooperate", "random"), "bob": player}, rounds=1)
    assert server.keys == {None}


LOCAL, OPENAI, OTHER = "local", "openai", "other"


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://localhost:8000/v1", LOCAL),
        ("http://LOCALHOST/v1", LOCAL),
        ("http://models.localhost:1/v1", LOCAL),
        ("http://127.0.0.1:8000/v1", LOCAL),
        ("http://127.8.9.1/v1", LOCAL),
        ("https://[::1]:8000/v1", LOCAL),
        ("https://api.openai.com/v1", OPENAI),
        ("https://API.OpenAI.com:443/v1", OPENAI),
        ("http://api.openai.com/v1", OTHER),  # unencrypted
        ("https://api.openai.com.example.com/v1", OTHER),
        ("https://eu.api.openai.com/v1", OTHER),
        ("http://localhost.example.com/v1", OTHER),
        ("http://192.168.0.7:8000/v1", OTHER),
        ("http://[2001:db8::1]/v1", OTHER),
    ],
)
def test_which_servers_get_which_key(url: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's key goes to OpenAI alone, unless the settings name it."""
    game = make_game("ipd-ab")
    monkeypatch.delenv("MINE", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    assert variable_of(EndpointSettings(url, "m", api_key_var="")) is None
    assert variable_of(EndpointSettings(url, "m", api_key_var="OPENAI_API_KEY")) == "OPENAI_API_KEY"
    with pytest.raises(UsageError, match="set the environment variable MINE to the endpoint's key"):
        Endpoint(game, EndpointSettings(url, "m", api_key_var="MINE"))
    file = tmp_path / "them.toml"
    file.write_text(f'base_url = "{url}"\nmodel = "m"\n')
    if where == OTHER:
        told = r'm: set api_key_var to the environment variable that holds the key for .*, or to "" if it has none; OPENAI_API_KEY'
        with pytest.raises(UsageError, match=told):
            endpoint_from(str(file), game)
    else:
        key = endpoint_from(str(file), game)._key
        assert key.value == (None if where == LOCAL else "sk-for-openai-alone")
        monkeypatch.delenv("OPENAI_API_KEY")
        if where == OPENAI:
            with pytest.raises(UsageError, match=r"set the environment variable OPENAI_API_KEY .* set api_key_var to"):
                endpoint_from(str(file), game)


def test_in_a_game_whose_replies_reason_first(server: Server) -> None:
    """The whole reply is parsed by the game's rule, and nothing is made of one that names no action."""
    game = make_game("ipd-8")
    said = [
        "They may cooperate.\n\nCOOPERATE",
        "<think>DEFECT pays more.</think>\nI repeat what worked.\n**Action: COOPERATE**\n",
        "COOPERATE or DEFECT",
        "<think>I am not done:\nDEFECT",
        "I will defect.",
        "DEFECT",
    ]
    server.replying = lambda request: said[len(request["messages"]) // 2]
    (episode,) = play(
        game, {**scripts(game, "tit_for_tat", "random"), "bob": Endpoint(game, server.settings)}, rounds=6
    )
    assert actions(episode, "bob") == ["cooperate", "cooperate", None, None, None, "defect"]
    assert [turn.reply.text for turn in episode.turns["bob"]] == said
    assert not any(turn.reply.fallback for turn in episode.turns["bob"])
    last = server.seen[-1]["messages"]
    assert last[0]["content"].startswith("You are Bob.") and last[0]["content"].endswith(": COOPERATE or DEFECT.")
    assert [one["content"] for one in last if one["role"] == "assistant"] == said[:5]
