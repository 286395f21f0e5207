"""Budgets: no request is sent that might go beyond them, whatever the server reports, however many are on their way, and whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_players import play as play_games
from misbehaving_server import Server
from misbehaviours import BEHAVIOURS, completion

from coplay.games import make_game
from coplay.games.split import ALICE, BOB
from coplay.players.endpoint import Endpoint
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_asking import BudgetSpent, EndpointFailed
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import BYTES_A_TOKEN, Spent, fewest_tokens
from coplay.players.scripted import make_script

GAME = make_game("ipd-ab")

RESERVED = 565 + 400
"""Of a first request: its bytes, of which its seed has up to ten, and max_tokens."""

SLACK = 50
"""Tokens that no request fits into."""

USED = 403
"""Tokens of an answer, as the server reports them."""


def patient(server: Server, **changes: Any) -> EndpointSettings:
    """Settings under which a busy machine's answers come in time."""
    return replace(server.settings, timeout=10.0, **changes)


def play(endpoint: Endpoint, *, games: int = 3) -> None:
    players = {ALICE: make_script("always_cooperate", GAME, ALICE), BOB: endpoint}
    play_games(GAME, players, [0] * games, seed=1, rounds=1)


def sizes(server: Server) -> tuple[int, int]:
    """Fewest tokens of the first request, and most."""
    text = "".join(message["content"] for message in server.seen[0]["messages"])
    return fewest_tokens(text), int(server.headers[0]["Content-Length"])


def test_what_is_reserved(server: Server) -> None:
    play(Endpoint(GAME, patient(server)), games=1)
    assert RESERVED - 5 < sizes(server)[1] + 400 <= RESERVED
    assert len(server.seen[0]["messages"][0]["content"].encode()) < sizes(server)[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"token_budget": 3 * USED + RESERVED + SLACK},
            r"of 2,224 \(token_budget, tokens\) 1,612 are spent, and a request may take up to 96\d; raise token_budget",
        ),
        (
            {"cost_budget": 1.5, "price_in": 1000.0, "price_out": 1000.0},
            r"of 1\.5 \(cost_budget, money\) 0\.806 are spent, and a request may take up to 0\.96; raise cost_budget",
        ),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_request_is_sent_that_the_budget_might_not_cover(
    server: Server, changes: dict[str, Any], message: str, concurrency: int
) -> None:
    """A request that does not fit beside those on their way waits for what they leave over."""
    server.faults = lambda _: "slow"
    settings = patient(server, concurrency=concurrency, **changes)
    with pytest.raises(BudgetSpent, match=message):
        play(Endpoint(GAME, settings), games=12)
    assert len(server.seen) == (4 if "token_budget" in changes else 2)
    assert server.most_at_once <= 2


def test_a_budget_that_covers_no_request(server: Server) -> None:
    endpoint = Endpoint(GAME, patient(server, token_budget=RESERVED - 5))
    with pytest.raises(BudgetSpent, match=r"of 960 \(token_budget, tokens\) 0 are spent"):
        play(endpoint)
    assert not server.seen and endpoint.answers.spent == Spent(0, 0)
    play(Endpoint(GAME, patient(server, token_budget=RESERVED)), games=1)
    assert len(server.seen) == 1


@pytest.mark.parametrize("name", [name for name in BEHAVIOURS if name.startswith("usage ") or name.endswith(" tokens")])
def test_whatever_is_reported_the_budget_holds(server: Server, name: str) -> None:
    """What cannot be, or is not told, counts as all that was reserved."""
    server.faults = lambda _: name
    endpoint = Endpoint(GAME, patient(server, token_budget=10 * RESERVED + SLACK))
    with pytest.raises(BudgetSpent):
        play(endpoint, games=1000)
    fewest, _ = sizes(server)
    if name in ("0 tokens", "1 tokens"):
        assert endpoint.answers.spent.tokens >= len(server.seen) * (fewest + 1)
    elif name == f"{2**31 - 1} tokens":
        assert endpoint.answers.spent.tokens == len(server.seen) * 2 * (2**31 - 1) and len(server.seen) <= 10
    else:
        assert len(server.seen) == 10
        assert endpoint.answers.spent == Spent(sum(int(one["Content-Length"]) for one in server.headers), 10 * 400)


def test_a_report_below_the_visible_text_is_not_believed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    told = completion("x" * 8_000, {"prompt_tokens": 1, "completion_tokens": 1})
    monkeypatch.setitem(BEHAVIOURS, "long", lambda x: x.send(told))
    server.faults = lambda _: "long"
    endpoint = Endpoint(GAME, patient(server))
    play(endpoint, games=1)
    assert endpoint.answers.spent == Spent(sizes(server)[1], 8_000 // BYTES_A_TOKEN)


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        *[
            (name, True)
            for name in ("hang", "close", "closed midway", "500", "502", "504", "endless body", "malformed")
        ],
        *[(name, False) for name in ("400", "401", "429", "501", "503", "307")],
    ],
)
def test_what_an_answer_without_a_reply_counts(server: Server, name: str, reserved: bool) -> None:
    """As all that was reserved, since it may be billed, unless the request was refused before work on it began."""
    server.faults = lambda _: name
    endpoint = Endpoint(GAME, patient(server, retries=0))
    with pytest.raises(EndpointFailed):
        play(endpoint, games=1)
    assert endpoint.answers.spent == (Spent(sizes(server)[1], 400) if reserved else Spent(0, 0))


def test_a_request_that_never_left_counts_nothing(server: Server) -> None:
    settings = patient(server, base_url="http://127.0.0.1:9/v1", retries=1)
    endpoint = Endpoint(GAME, settings)
    with pytest.raises(EndpointFailed, match="does not answer"):
        play(endpoint)
    assert endpoint.answers.spent == Spent(0, 0)


def test_a_malformed_answer_is_paid_for(server: Server, tmp_path: Path) -> None:
    server.faults = lambda tries: "paid" if tries < 3 else "fine"
    play(Endpoint(GAME, patient(server), answers=Answers(tmp_path / "answers")), games=2)
    assert Answers(tmp_path / "answers").spent == Spent(2 * 3 * 400, 2 * 3 * 3)


def test_retries_stay_within_the_budget(server: Server) -> None:
    server.faults = lambda _: "paid"
    with pytest.raises(BudgetSpent, match="1,209 are spent"):
        play(Endpoint(GAME, patient(server, token_budget=3 * USED + RESERVED - SLACK)), games=1)
    assert len(server.seen) == 3


def test_a_budget_counts_what_an_earlier_run_has_spent(server: Server, tmp_path: Path) -> None:
    settings = patient(server, token_budget=3 * USED + RESERVED + SLACK, concurrency=1)
    play(Endpoint(GAME, settings, answers=Answers(tmp_path / "answers")))
    again = Endpoint(GAME, settings, answers=Answers(tmp_path / "answers"))
    assert again.answers.spent == Spent(1200, 9)
    with pytest.raises(BudgetSpent):
        play(again, games=6)
    assert len(server.seen) == 3 + 1


KILLED = """
import sys
from pathlib import Path
from coplay.games import make_game
from coplay.players.endpoint import Endpoint
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_settings import EndpointSettings
from fake_players import play, scripts

game = make_game("ipd-ab")
settings = EndpointSettings(sys.argv[1], "m", api_key_var="COPLAY_TEST_KEY", timeout=30.0, concurrency=3)
endpoint = Endpoint(game, settings, answers=Answers(Path(sys.argv[2])))
play(game, {**scripts(game, "always_cooperate", "random"), "bob": endpoint}, (0,), rounds=1)
play(game, {**scripts(game, "always_cooperate", "random"), "bob": endpoint}, range(1, 9), rounds=1)
"""


def test_what_was_on_its_way_when_a_run_was_killed_is_spent(server: Server, tmp_path: Path) -> None:
    """At most ``concurrency`` requests are asked twice, and both times count."""
    file = tmp_path / "answers"
    server.faults = lambda _: "fine" if len(server.seen) == 1 else "hang"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", KILLED, server.settings.base_url, str(file)], env=environment) as run:
        until = time.monotonic() + 60
        while len(server.seen) < 1 + 3 and time.monotonic() < until:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
    assert len(server.seen) == 1 + 3
    most = sum(int(one["Content-Length"]) for one in server.headers[1:])
    assert Answers(file).spent == Spent(400 + most, 3 + 3 * 400)
    server.faults = lambda _: "fine"
    endpoint = Endpoint(GAME, patient(server, token_budget=0), answers=Answers(file))
    with pytest.raises(BudgetSpent, match=f"{403 + most + 1200:,} are spent"):
        play(endpoint)
