"""Games of one's own that fail or break their protocol: one line names the game, the method and what is wrong; nothing is left half-written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_files import read_lines
from shell import Shell
from small_runs import QUIET, files

import coplay
from coplay import Action, CoplayError, Game, Outcome, Phase, Request, Round
from coplay.runs.config import Config
from coplay.runs.train import resume, train

GAMES = """
import os
from my_polite import Polite, fail
class Fragile(Polite):
    name = "fragile"
    def payoffs(self, now):
        return fail() if os.path.exists("broken") else super().payoffs(now)
"""


class Polite(Game):
    """Two seats choose one of two actions at once."""

    name, description, seats, rounds, draws, max_choices = "polite", "Does as it should.", ("a", "b"), 2, 1, 2

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> Any:
        return {"a": chance[0], "b": -chance[0]}

    def next_phase(self, now: Round) -> Phase | None:
        return None if now.acts else Phase("move", self.seats)

    def choices(self, request: Request) -> Sequence[Action] | None:
        return ("left", "right")

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return dict.fromkeys(self.seats, 1.0)

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return "Reply with <left> or <right>."


def fail(*args: Any) -> Any:
    raise LookupError("no luck\nat all")


def changed(method: str, function: Callable[..., Any]) -> Game:
    """The polite game with another method."""
    return type("Rude", (Polite,), {method: function, "name": "rude"})()


def played(game: Game) -> None:
    coplay.match(game, "uniform", "uniform", episodes=3).summary()


def test_the_polite_game_is_played() -> None:
    assert coplay.check_game(Polite()) == []
    played(Polite())


METHODS = (
    "deal",
    "next_phase",
    "observe",
    "payoffs",
    "outcome",
    "choices",
    "is_over",
    "state_name",
    "conducts",
    "label",
)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_fails_is_named(method: str) -> None:
    def rude(self: Game, *args: Any) -> Any:
        return fail()

    with pytest.raises(CoplayError) as error:
        played(changed(method, rude))
    text = str(error.value)
    assert text.startswith("game 'rude': ") and "failed: LookupError: no luck at all (" in text and "\n" not in text
    assert f" {method} failed" in text or method in ("choices", "conducts", "label")


WRONG: list[tuple[str, Callable[..., Any], str]] = [
    (
        "next_phase",
        lambda self, now: "move",
        "next_phase returned 'move', which is neither a Phase nor None, in round 1",
    ),
    ("next_phase", lambda self, now: Phase("move", ("c",)), "phase 'move' asks ('c',), which are not its seats"),
    ("next_phase", lambda self, now: Phase("move", ("a",), len(now.acts)), "a round has more than 20 acts"),
    ("observe", lambda self, one, seat: None, "observe returned None for a, which is not that round, in round 1"),
    ("observe", lambda self, one, seat: replace(one, number=7), "for a, which is not that round, in round 1"),
    ("payoffs", lambda self, now: None, "payoffs returned None, which is no mapping from seats to numbers, in round 1"),
    ("payoffs", lambda self, now: [1.0, 1.0], "payoffs returned [1.0, 1.0], which is no mapping"),
    ("payoffs", lambda self, now: {"a": 1.0, "carol": 0.0}, "pays a, carol; its seats are a, b"),
    ("payoffs", lambda self, now: {"a": 1.0}, "pays a; its seats are a, b"),
    (
        "payoffs",
        lambda self, now: {"a": 1.0, "b": float("nan")},
        "payoffs pays b nan, which is neither a finite number",
    ),
    ("payoffs", lambda self, now: {"a": "1", "b": 0}, "payoffs pays a '1', which is neither a finite number nor None"),
    ("outcome", lambda self, one: "CC", "outcome returned 'CC', which is no Outcome, in round 1"),
    (
        "outcome",
        lambda self, one: Outcome(("C",)),
        "outcome has the conduct ('C',), which is not a word or None for each",
    ),
    ("outcome", lambda self, one: Outcome(("C", ["D"])), "outcome has the conduct ('C', ['D']), which is not a word"),
    (
        "deal",
        lambda self, chance, past: chance.pop(),
        "deal failed: AttributeError: 'tuple' object has no attribute 'pop'",
    ),
    (
        "is_over",
        lambda self, past: past.clear(),
        "is_over failed: AttributeError: 'tuple' object has no attribute 'clear'",
    ),
]


@pytest.mark.parametrize(
    ("method", "function", "said"), WRONG, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_answer_of_the_wrong_form_is_named(
    method: str, function: Callable[..., Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coplay.play.rules._MAX_ACTS", 20)
    game = changed(method, function)
    with pytest.raises(CoplayError) as error:
        played(game)
    assert said in str(error.value) and "'rude'" in str(error.value) and "\n" not in str(error.value)
    assert any(said[:12] in problem for problem in coplay.check_game(game))


def test_what_a_game_pays_is_not_changed_by_who_is_told() -> None:
    """A table that the game keeps is not the one that players are shown."""
    table = {"a": 1.0, "b": 1.0}
    game = changed("payoffs", lambda self, now: table)

    def greedy(request: Request) -> str:
        if request.past:
            request.past[-1].payoffs["a"] = 100.0  # type: ignore[index]
        return "left"

    coplay.match(game, greedy, "uniform", episodes=2)
    assert table == {"a": 1.0, "b": 1.0}


# --- Named on the command line, and in runs -------------------------------------------------------------------------------------------


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own modules, which is the current one."""
    directory = tmp_path / "here"
    directory.mkdir()
    (directory / "my_polite.py").write_text(f"from {__name__} import Polite, fail\n")
    (directory / "my_fragile_games.py").write_text(GAMES)
    monkeypatch.chdir(directory)
    monkeypatch.syspath_prepend(str(directory))
    return directory


MALFORMED: list[tuple[Mapping[str, Any], str]] = [
    ({"seats": ["a", "b"]}, "seats must be a tuple of names"),
    ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
    ({"name": None}, "name must be text"),
    ({"actions": {"a": ("left", "right")}}, "actions must have an entry for each of a, b"),
]


@pytest.mark.parametrize(("attributes", "said"), MALFORMED)
def test_a_malformed_game_is_wrong_usage(
    attributes: Mapping[str, Any], said: str, here: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(pytest)("my_malformed")
    module.GAME = type("Malformed", (Polite,), dict(attributes))  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "my_malformed", module)
    before = files(here)
    assert shell("eval", "uniform", "uniform", "--game", "my_malformed:GAME") == 2
    assert shell.err.startswith(f"coplay: game my_malformed:GAME: {said}") and shell.err.count("\n") == 1
    train_it = ("train", "any/naive", "--learner", "tabular", "--game", "my_malformed:GAME", "--out", "run")
    assert shell(*train_it) == 2
    assert files(here) == before


def config() -> Config:
    return coplay.make_config(
        "any/naive", game="my_fragile_games:Fragile", learner="tabular", seeds=(0, 1), trials=2, games=2, threads=1
    )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_whose_game_fails_says_so_and_is_resumed_when_it_is_repaired(workers: int, here: Path) -> None:
    settings = config().model_copy(update={"workers": workers})
    whole = train(settings, here / "whole", progress=QUIET).path
    (here / "broken").touch()
    with pytest.raises(CoplayError, match=r"^game 'fragile': payoffs failed: LookupError: no luck at all \(.*\)$"):
        train(settings, here / "run", progress=QUIET)
    assert files(here / "run") == [".lock", "config.json", "env.json", "manifest.json"]
    (here / "broken").unlink()
    resume(here / "run", progress=QUIET)
    assert read_lines(here / "run" / "metrics.jsonl") == read_lines(whole / "metrics.jsonl")


def test_the_command_line_says_it_in_a_line(here: Path, shell: Shell) -> None:
    (here / "broken").touch()
    assert shell("eval", "uniform", "uniform", "--game", "my_fragile_games:Fragile") == 1
    assert shell.err.startswith("coplay: game 'fragile': payoffs failed: LookupError: no luck at all")
    assert shell.err.count("\n") == 1 and shell.out == ""
