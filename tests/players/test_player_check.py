"""The conformance kit for players finds what it says it finds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from coplay.players.check import check_player, example_views

from coplay.games import make_game
from coplay.games.matrix import ROW
from coplay.games.memory import Memory
from coplay.types import Move, View

IPD = make_game("ipd")


@dataclass
class Custom:
    """A player made of one function."""

    act: Callable[[Sequence[View]], list[Move]]
    name: str = "custom"
    memory: Memory = Memory.LAST_ROUND


def check(act: Callable[[Sequence[View]], list[Move]]) -> list[str]:
    return check_player(Custom(act), IPD, ROW)


def cooperate(view: View) -> Move:
    return Move("cooperate", "C")


def by_draw(view: View) -> Move:
    p = 0.7 if view.observation.last is None else 0.2
    probs = (p, 1 - p)
    i = int(view.draw >= p)
    return Move(IPD.actions[ROW][i], "CD"[i], logprob=math.log(probs[i]), probs=probs)


@pytest.mark.parametrize("move", [cooperate, by_draw])
def test_good_players(move: Callable[[View], Move]) -> None:
    assert check(lambda views: [move(view) for view in views]) == []


@dataclass
class Stateful:
    """Alternates over calls, whatever it is shown."""

    name: str = "stateful"
    memory: Memory = Memory.NONE
    calls: int = field(default=0)

    def act(self, views: Sequence[View]) -> list[Move]:
        moves = []
        for _ in views:
            self.calls += 1
            moves.append(Move("cooperate", "C") if self.calls % 5 else Move("defect", "D"))
        return moves


def test_state_between_calls_is_found() -> None:
    problems = check_player(Stateful(), IPD, ROW)
    assert any("changed when asked again; take all chance from view.draw" in found for found in problems)


def test_dependence_on_the_batch_is_found() -> None:
    first = check(lambda views: [Move("cooperate" if view is views[0] else "defect", "") for view in views])
    assert any("asked in reverse order" in found for found in first)
    size = check(lambda views: [Move("cooperate" if len(views) > 1 else "defect", "") for _ in views])
    assert size == ["24 of 24 moves changed when asked one by one; let no move depend on the batch"]


@pytest.mark.parametrize(
    ("move", "problem"),
    [
        (Move("betray", "B"), "'betray' is not an action of row (cooperate, defect)"),
        (Move(None, "?"), "warning: 24 of 24 replies were illegal"),
        (Move("cooperate", "C", logprob=0.5), "natural log"),
        (Move("cooperate", "C", logprob=math.nan), "natural log"),
        (Move("cooperate", "C", probs=(0.9, 0.9)), "summing to at most 1"),
        (Move("cooperate", "C", probs=(1.0,)), "for each of cooperate, defect"),
        (Move("cooperate", "C", probs=(0.0, 1.0)), "but probs gives it 0.0"),
        (Move("cooperate", "C", logprob=math.log(0.5), probs=(0.9, 0.1)), "but probs gives it 0.9"),
    ],
)
def test_bad_moves_are_found(move: Move, problem: str) -> None:
    problems = check(lambda views: [move] * len(views))
    assert len(problems) == 1
    assert problem in problems[0]


def test_wrong_returns_and_failures_are_found() -> None:
    assert check(lambda views: []) == ["act() must return one move for each view: 24 views gave 0 moves"]
    assert "got str" in check(lambda views: "C")[0]  # type: ignore[arg-type, return-value]
    assert "got list" in check(lambda views: ["C"] * len(views))[0]  # type: ignore[list-item]
    assert "ZeroDivisionError" in check(lambda views: [1 / 0 for _ in views])[0]  # type: ignore[misc]

    def batches_only(views: Sequence[View]) -> list[Move]:
        if len(views) == 1:
            raise RuntimeError("too small")
        return [cooperate(view) for view in views]

    assert check(batches_only) == ["act() failed when asked one by one: RuntimeError: too small"]


def test_what_is_no_player_is_told_what_is_missing() -> None:
    problems = check_player(object(), IPD, ROW)  # type: ignore[arg-type]
    assert len(problems) == 3
    assert "Memory.TRANSCRIPT" in problems[1]


def test_example_views_cover_the_ground() -> None:
    views = example_views(IPD, ROW, Memory.TRIAL_COUNTS)
    assert views == example_views(IPD, ROW, Memory.TRIAL_COUNTS)
    assert views[0].draw == 0
    assert views[-1].draw == math.nextafter(1, 0)
    shown = {(view.observation.last is None, view.observation.counts is None) for view in views}
    assert shown == {(True, True), (False, False)}
    assert {view.observation for view in example_views(IPD, ROW, Memory.NONE)} == {views[0].observation}
