"""Endpoints, against a server that misbehaves on purpose: no reply is lost, none is paid for twice, and keys stay where they are."""

import json
import re
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fake_players import actions
from fake_players import play as play_games
from misbehaving_server import KEY, Server, settings_file

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Episode
from coplay.games.split import ALICE, BOB
from coplay.players.endpoint import Endpoint, endpoint_from
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_asking import EndpointFailed
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import Spent
from coplay.players.scripted import make_script

GAME = make_game("ipd-ab")


def play(endpoint: Endpoint, *, games: int = 3, rounds: int = 2) -> list[Episode]:
    players = {ALICE: make_script("always_cooperate", GAME, ALICE), BOB: endpoint}
    return play_games(GAME, players, [0] * games, seed=1, rounds=rounds)


def test_a_whole_game(server: Server) -> None:
    episodes = play(Endpoint(GAME, server.settings))
    assert [episode.total(BOB) for episode in episodes] == [6.0] * 3
    assert len(server.seen) == 6 and server.keys == {f"Bearer {KEY}"}
    first, last = server.seen[0], server.seen[-1]
    assert first["model"] == "m" and first["messages"][0]["content"].startswith("You are Bob.")
    assert [one["role"] for one in last["messages"]] == ["user", "assistant", "user"]
    assert len({one["seed"] for one in server.seen}) == 6


def test_further_fields_are_sent(server: Server, tmp_path: Path) -> None:
    path = settings_file(server, tmp_path)
    for extra in ("top_k = 5", "top_k = 6", "top_k = 6"):
        with path.open("a") as file:
            file.write(f"\n[extra]\n{extra}\nstop = ['x']\n")
        play(endpoint_from(str(path), GAME), games=1, rounds=1)
        path = settings_file(server, tmp_path)
    assert [(one["top_k"], one["stop"], "extra_body" in one) for one in server.seen] == [
        (5, ["x"], False),
        (6, ["x"], False),  # another question; the third was known
    ]


FAULTS = [
    "429",
    "500",
    "503",
    "408",
    "hang",
    "trickle",
    "close",
    "truncated",
    "malformed",
    "other",
    "list",
    "null",
    "html",
    "deep",
    "message",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_waited_for(server: Server, fault: str) -> None:
    server.faults = lambda tries: fault if tries == 1 else "fine"
    episodes = play(Endpoint(GAME, server.settings), rounds=1)
    assert [episode.total(BOB) for episode in episodes] == [3.0] * 3
    assert set(server.tries.values()) == {2}


@pytest.mark.parametrize("fault", ["500", "close", "malformed", "401", "400", "404"])
def test_a_dead_endpoint_ends_the_run_and_what_was_answered_is_kept(server: Server, fault: str, tmp_path: Path) -> None:
    settings = replace(server.settings, retries=1)
    play(Endpoint(GAME, settings, answers=Answers(tmp_path / "answers")), rounds=1)
    asked = len(server.seen)
    server.faults = lambda tries: fault
    with pytest.raises(EndpointFailed, match=r"m at http://127\.0\.0\.1:.*what was answered is kept") as told:
        play(Endpoint(GAME, settings, answers=Answers(tmp_path / "answers")))
    assert KEY not in str(told.value)
    server.faults = lambda tries: "fine"
    seen = len(server.seen)
    episodes = play(Endpoint(GAME, settings, answers=Answers(tmp_path / "answers")))
    assert [episode.total(BOB) for episode in episodes] == [6.0] * 3
    assert asked == 3 and len(server.seen) == seen + 3  # the first round was known, the second was asked for again
    assert KEY.encode() not in (tmp_path / "answers").read_bytes()


@pytest.mark.parametrize(
    ("fault", "tries"), [("401", 1), ("403", 1), ("404", 1), ("503", 2), ("close", 2), ("hang", 2), ("trickle", 2)]
)
def test_a_dead_endpoint_is_not_asked_for_the_rest(server: Server, fault: str, tries: int) -> None:
    server.faults = lambda _: fault
    settings = replace(server.settings, retries=1, concurrency=2)
    with pytest.raises(EndpointFailed):
        play(Endpoint(GAME, settings), games=20)
    assert len(server.seen) <= 2 * tries  # those at a time, and no other of the 20


def test_what_is_on_its_way_when_another_fails_is_kept(server: Server) -> None:
    server.faults = lambda _: "401" if len(server.seen) == 1 else "slow"
    endpoint = Endpoint(GAME, replace(server.settings, concurrency=3, timeout=5.0))
    with pytest.raises(EndpointFailed, match="refuses: 401"):
        play(endpoint, games=20)
    assert endpoint.answers.spent == Spent(800, 6)
    assert len(server.seen) == 3


def test_what_is_on_its_way_when_another_fails_is_not_waited_for_beyond_an_answer(server: Server) -> None:
    server.faults = lambda _: "401" if len(server.seen) == 1 else "hang"
    started = time.monotonic()
    with pytest.raises(EndpointFailed, match="refuses: 401"):
        play(Endpoint(GAME, replace(server.settings, retries=50, concurrency=3)), games=20)
    assert time.monotonic() - started < 10
    assert len(server.seen) <= 2 * 3


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = EndpointSettings(f"http://127.0.0.1:{port}/v1", "m", api_key_var="", retries=0, timeout=1.0)
    with pytest.raises(EndpointFailed, match="does not answer"):
        play(Endpoint(GAME, settings))


@pytest.mark.parametrize("text", ["", None, "I refuse.", "<script>alert(1)</script>"])
def test_an_odd_reply_is_data(server: Server, text: str | None) -> None:
    server.text = text
    episodes = play(Endpoint(GAME, server.settings))
    for episode in episodes:
        assert actions(episode, BOB) == [None, None]
        assert [turn.reply.text for turn in episode.turns[BOB]] == [text or ""] * 2
    assert len(server.seen) == 6  # none was asked for twice


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("text", ["\ud800", "<A>\udfff", "\udc00\ud83d"])
def test_half_a_character_is_data(server: Server, tmp_path: Path, text: str, kept: bool) -> None:
    server.text = text
    for _ in range(2):
        answers = Answers(tmp_path / "answers") if kept else None
        episodes = play(Endpoint(GAME, server.settings, answers=answers))
        for reply in (turn.reply for episode in episodes for turn in episode.turns[BOB]):
            assert reply.action is None
            assert reply.text.encode().decode() == re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert len(server.seen) == (6 if kept else 12)  # the second round's requests show the first's replies


def test_a_reply_that_repeats_the_key_does_not_give_it_away(server: Server, tmp_path: Path) -> None:
    server.text = f"Authorization: Bearer {KEY}"
    for _ in range(2):
        episodes = play(Endpoint(GAME, server.settings, answers=Answers(tmp_path / "answers")))
        assert {turn.reply.text for turn in episodes[0].turns[BOB]} == {"Authorization: Bearer ***"}
    assert len(server.seen) == 6 and not any(KEY in json.dumps(one) for one in server.seen)
    assert KEY.encode() not in (tmp_path / "answers").read_bytes()


def test_a_placeholder_for_a_key_changes_no_reply(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPLAY_TEST_KEY", "A")
    assert [episode.total(BOB) for episode in play(Endpoint(GAME, server.settings))] == [6.0] * 3


def test_no_more_requests_at_a_time_than_wanted(server: Server) -> None:
    server.faults = lambda tries: "slow"
    play(Endpoint(GAME, replace(server.settings, concurrency=3)), games=12, rounds=1)
    assert 1 < server.most_at_once <= 3


def test_another_server_is_asked_even_if_its_model_has_the_same_name(server: Server, tmp_path: Path) -> None:
    elsewhere = f"{server.settings.base_url}/elsewhere"
    for url in (server.settings.base_url, elsewhere, elsewhere):
        settings = replace(server.settings, base_url=url)
        play(Endpoint(GAME, settings, answers=Answers(tmp_path / "answers")), rounds=1)
    assert len(server.seen) == 3 + 3


def test_the_past_can_be_short(server: Server) -> None:
    play(Endpoint(GAME, replace(server.settings, memory=Memory.LAST_ROUND)))
    assert all(len(one["messages"]) == 1 for one in server.seen)


def test_no_key_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPLAY_TEST_KEY", raising=False)
    with pytest.raises(UsageError, match="set the environment variable COPLAY_TEST_KEY"):
        Endpoint(GAME, EndpointSettings("http://localhost:1/v1", "m", api_key_var="COPLAY_TEST_KEY"))


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_told(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("COPLAY_TEST_KEY", key)
    with pytest.raises(UsageError, match="COPLAY_TEST_KEY has line breaks or characters") as told:
        Endpoint(GAME, EndpointSettings("http://localhost:1/v1", "m", api_key_var="COPLAY_TEST_KEY"))
    assert key not in str(told.value)
