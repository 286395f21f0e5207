"""The conformance kit for players finds what it says it finds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from coplay.conformance.players import check_player, example_requests
from coplay.games import GAMES, make_game
from coplay.games.matrix import ROW
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request

IPD = make_game("ipd")


@dataclass
class Custom:
    """A player made of one function."""

    act: Callable[[Sequence[Request]], list[Reply]]
    name: str = "custom"
    memory: Memory = Memory.LAST_ROUND


def check(act: Callable[[Sequence[Request]], list[Reply]]) -> list[str]:
    return check_player(Custom(act), IPD, ROW)


def cooperate(request: Request) -> Reply:
    return Reply("C", "cooperate")


def by_draw(request: Request) -> Reply:
    p = 0.7 if request.observation.last is None else 0.2
    probs = (p, 1 - p)
    i = int(request.draw >= p)
    return Reply("CD"[i], IPD.actions[ROW][i], logprobs=(math.log(probs[i]),), probs=probs)


def token_by_token(request: Request) -> Reply:
    """The probability of a reply is that of all its tokens."""
    return Reply("C", "cooperate", tokens=(5, 7), logprobs=(math.log(0.5), math.log(0.5)), probs=(0.25, 0.75))


@pytest.mark.parametrize("reply", [cooperate, by_draw, token_by_token])
def test_good_players(reply: Callable[[Request], Reply]) -> None:
    assert check(lambda requests: [reply(request) for request in requests]) == []


@dataclass
class Stateful:
    """Alternates over calls, whatever it is shown."""

    name: str = "stateful"
    memory: Memory = Memory.NONE
    calls: int = field(default=0)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        replies = []
        for _ in requests:
            self.calls += 1
            replies.append(Reply("C", "cooperate") if self.calls % 5 else Reply("D", "defect"))
        return replies


def test_state_between_calls_is_found() -> None:
    problems = check_player(Stateful(), IPD, ROW)
    assert any("changed when asked again; take all chance from the request" in found for found in problems)


def test_dependence_on_the_batch_is_found() -> None:
    first = check(lambda requests: [Reply("", "cooperate" if one is requests[0] else "defect") for one in requests])
    assert any("asked in reverse order" in found for found in first)
    size = check(lambda requests: [Reply("", "cooperate" if len(requests) > 1 else "defect") for _ in requests])
    assert size == ["48 of 48 replies changed when asked one by one; let no reply depend on the batch"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply("B", "betray"), "'betray' is not a legal action (cooperate, defect)"),
        (Reply("?"), "warning: 48 of 48 replies were illegal"),
        (Reply("C", "cooperate", logprobs=(0.5,)), "natural log"),
        (Reply("C", "cooperate", logprobs=(math.nan,)), "natural log"),
        (Reply("C", "cooperate", probs=(0.9, 0.9)), "summing to at most 1"),
        (Reply("C", "cooperate", probs=(1.0,)), "for each of cooperate, defect"),
        (Reply("C", "cooperate", probs=(0.0, 1.0)), "but probs gives it 0.0"),
        (Reply("C", "cooperate", logprobs=(math.log(0.5),), probs=(0.9, 0.1)), "but probs gives it 0.9"),
    ],
)
def test_bad_replies_are_found(reply: Reply, problem: str) -> None:
    problems = check(lambda requests: [reply] * len(requests))
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize("action", [{"coins": 99}, {"hats": 1}, "all", 3])
def test_open_replies_must_be_legal_too(action: Any) -> None:
    """In games without a list of legal actions, what is done must be what its own text is parsed as."""
    game = GAMES["trust-and-split"]

    def act(requests: Sequence[Request]) -> list[Reply]:
        return [Reply("", "hello" if one.phase.name == "message" else action) for one in requests]

    problems = check_player(Custom(act), game, "alice")
    assert [f"{action!r} is not a legal action" in found for found in problems] == [True]
    action = {"coins": 9}
    assert check_player(Custom(act), game, "alice") == []


def test_wrong_returns_and_failures_are_found() -> None:
    assert check(lambda requests: []) == ["act() must return one reply to each request: 48 requests gave 0 replies"]
    assert "got str" in check(lambda requests: "C")[0]  # type: ignore[arg-type, return-value]
    assert "got list" in check(lambda requests: ["C"] * len(requests))[0]  # type: ignore[list-item]
    assert "ZeroDivisionError" in check(lambda requests: [1 / 0 for _ in requests])[0]  # type: ignore[misc]

    def batches_only(requests: Sequence[Request]) -> list[Reply]:
        if len(requests) == 1:
            raise RuntimeError("too small")
        return [cooperate(request) for request in requests]

    (problem,) = check(batches_only)
    assert problem.startswith("act() failed when asked one by one: RuntimeError: too small (")


def test_what_is_no_player_is_told_what_is_missing() -> None:
    problems = check_player(object(), IPD, ROW)  # type: ignore[arg-type]
    assert len(problems) == 3
    assert "Memory.TRANSCRIPT" in problems[1]


def test_example_requests_cover_the_ground() -> None:
    requests = example_requests(IPD, ROW, Memory.TRIAL_COUNTS)
    assert requests == example_requests(IPD, ROW, Memory.TRIAL_COUNTS)
    assert requests[0].draw == 0
    assert requests[-1].draw == math.nextafter(1, 0)
    shown = {(request.observation.last is None, request.observation.counts is None) for request in requests}
    assert shown == {(True, True), (False, True), (False, False)}
    assert {request.observation for request in example_requests(IPD, ROW, Memory.NONE)} == {requests[0].observation}
    assert {len(request.past) for request in requests} == {0, 1, 2, 3}
    assert {request.seat for request in requests} == {ROW}


@pytest.mark.parametrize("name", GAMES)
def test_every_phase_of_every_game_is_asked(name: str) -> None:
    game = GAMES[name]
    for seat in game.seats:
        requests = example_requests(game, seat, Memory.LAST_ROUND)
        several = {"trust-and-split": {"message", "proposal"}, "kuhn": {"bet", "call"}}
        several |= {one: {"message", "action"} for one in ("ipd-3", "stag-hunt-3", "chicken-3")}
        assert {one.phase.name for one in requests} == several.get(name, {requests[0].phase.name})
        assert len({one.rng_path for one in requests if one.seed == 0}) == sum(one.seed == 0 for one in requests)
