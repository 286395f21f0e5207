"""``coplay check MODULE:GAME`` of modules that are broken in every way: a finding or a line, never a crash, and never a pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import Shell

from coplay.conformance.players import check_player
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Reply
from coplay.games.trust_and_split import TrustAndSplit

GAME = """
from coplay.games.normal_form import NormalFormGame
SEATS = ("row", "column")

class G(NormalFormGame):
    name, description, seats, rounds, null_payoff = "g", "A game.", SEATS, 5, -1.0
    actions = {seat: ("stay", "go") for seat in SEATS}
    labels = {seat: ("S", "G") for seat in SEATS}

    def joint_payoffs(self, joint):
        return (1.0, 1.0) if joint[0] == joint[1] else (0.0, 2.0)
"""


def changed(line: str) -> str:
    """A game with another field or method."""
    return f"{GAME}\n    {line}\n"


BROKEN: dict[str, tuple[str, int, str]] = {
    "ends the program": ("import sys\nsys.exit(0)", 2, "ended the program while being imported with sys.exit(0)"),
    "ends the program with words": ("raise SystemExit('bye')", 2, "with sys.exit('bye')"),
    "raises what is no Exception": (
        "class Odd(BaseException): pass\nraise Odd('x')",
        2,
        "failed while being imported: Odd: x",
    ),
    "raises an error without words": (
        "class Mute(Exception):\n def __str__(self): 1 / 0\nraise Mute",
        2,
        "failed while being imported: Mute",
    ),
    "is no Python": ("def", 2, "failed while being imported: SyntaxError"),
    "recurses": ("def f(): f()\nf()", 2, "failed while being imported: RecursionError"),
    "has no game": ("x = 1", 2, "module 'broken' has no 'G'"),
    "fails when a name is asked for": (
        "def __getattr__(name): raise OSError('no')",
        2,
        "module 'broken' failed: OSError: no",
    ),
    "has something else": ("G = 5", 2, "is of type int; a game is a subclass"),
    "ends the program when it is made": (
        "def G(): raise SystemExit(3)",
        2,
        "broken:G() ended the program with sys.exit(3)",
    ),
    "fails when it is made": (changed("def __init__(self): 1 / 0"), 2, "broken:G() failed: ZeroDivisionError"),
    "makes something else": ("def G(): return 5", 2, "is of type int"),
    "has a number for a name": (changed("name = 5"), 2, "name must be text"),
    "has a list of seats": (changed("seats = ['row', 'column']"), 2, "seats must be a tuple of names"),
    "has text for rounds": (changed("rounds = '5'"), 2, "rounds must be a whole number"),
    "has many rounds": (changed("rounds = 10**12"), 2, "rounds must be at most 10,000,000"),
    "has fields that fail": (
        changed("rounds = property(lambda self: 1 / 0)"),
        2,
        "game broken:G failed: ZeroDivisionError",
    ),
    "has a list of actions": (
        changed("actions = ['stay', 'go']"),
        2,
        "actions must have an entry for each of row, column",
    ),
    "has numbers for actions": (changed("actions = {seat: (0, 1) for seat in SEATS}"), 2, "must be a tuple of words"),
    "has one word of actions": (changed("actions = {seat: 'stay' for seat in SEATS}"), 2, "must be a tuple of words"),
    "has a list of labels": (
        changed("labels = ['S', 'G']"),
        1,
        "labels must have a tuple of words for each of row, column",
    ),
    "has numbers for labels": (
        changed("labels = {seat: (1, 2) for seat in SEATS}"),
        1,
        "labels must have a tuple of words",
    ),
    "has no labels": (changed("labels = None"), 1, "labels must have a tuple of words"),
    "has text for the null payoff": (changed("null_payoff = 'low'"), 1, "null_payoff must be a finite number"),
    "has an infinite null payoff": (changed("null_payoff = float('inf')"), 1, "null_payoff must be a finite number"),
    "cannot pay": (
        changed("def joint_payoffs(self, joint): raise KeyError('x')"),
        1,
        "joint_payoffs failed: KeyError: 'x'",
    ),
    "ends the program when it pays": (
        changed("def joint_payoffs(self, joint): raise SystemExit(0)"),
        1,
        "joint_payoffs failed: SystemExit",
    ),
    "pays text": (changed("def joint_payoffs(self, joint): return ('1', '2')"), 1, "failed: TypeError"),
    "pays nothing": (changed("def joint_payoffs(self, joint): return None"), 1, "failed: TypeError"),
    "pays one": (changed("def joint_payoffs(self, joint): return (1.0,)"), 1, "failed: ValueError"),
    "pays NaN": (changed("def joint_payoffs(self, joint): return (float('nan'), 0.0)"), 1, "pays row nan"),
    "recurses when it asks": (changed("def question(self, *a): return self.question(*a)"), 1, "failed: RecursionError"),
    "says nothing of an action": (changed("def prompt_parts(self, *a, **k): return None"), 1, "failed: AttributeError"),
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a module that can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "broken", raising=False)
    return tmp_path / "broken.py"


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_module_is_a_line_or_a_finding(module: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    text, status, found = BROKEN[case]
    module.write_text(text)
    coplay = Shell(capsys)
    assert coplay("check", "broken:G") == status, coplay.out + coplay.err
    assert found in (coplay.out if status == 1 else coplay.err), coplay.out + coplay.err
    assert "Traceback" not in coplay.err and "internal error" not in coplay.err
    if status == 2:
        assert len(coplay.err.splitlines()) == 1


def test_what_a_module_prints_is_no_result(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text("print('hello')\n" + changed("def question(self, *a): print('asked'); return 'What?'"))
    coplay = Shell(capsys)
    assert coplay("check", "broken:G", "--json") == 0
    assert json.loads(coplay.out)["ok"] is True
    assert "hello" in coplay.err and "asked" in coplay.err


def test_a_module_that_ends_the_program_ends_nothing_elsewhere(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text("import sys\nsys.exit(0)")
    coplay = Shell(capsys)
    tables = ["shapellm/ipd", "--learner", "tabular"]
    for arguments in (
        ["train", "any/naive", "--game", "broken:G", "--dry-run"],
        ["train", *tables, "seats.row=broken:player", "--dry-run"],
        ["eval", "broken:player", "tit_for_tat"],
    ):
        assert coplay(*arguments) == 2
        assert "ended the program while being imported" in coplay.err


class Odd:
    """A player that replies as it is told to, the first time or later."""

    name, memory = "odd", Memory.LAST_ROUND

    def __init__(self, later: bool, reply: Any) -> None:
        self.later, self.reply, self.calls = later, reply, 0

    def act(self, requests: Any) -> Any:
        self.calls += 1
        if self.later and self.calls == 1:
            return [Reply("C", "cooperate")] * len(requests)
        return [self.reply] * len(requests) if isinstance(self.reply, Reply) else self.reply


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (Reply("C", "cooperate", logprobs=("-0.5",)), "logprobs must be natural logs of probabilities, as numbers"),  # type: ignore[arg-type]
        (Reply("C", "cooperate", logprobs="text"), "logprobs must be natural logs"),  # type: ignore[arg-type]
        (Reply("C", "cooperate", logprobs=None), "logprobs must be natural logs"),  # type: ignore[arg-type]
        (Reply("C", "cooperate", probs=("1", "0")), "probs must be probabilities, as numbers"),  # type: ignore[arg-type]
        (Reply("C", "cooperate", probs=3), "probs must be probabilities, as numbers"),  # type: ignore[arg-type]
        (Reply(5, "cooperate"), "a reply's text must be text, got 5"),  # type: ignore[arg-type]
        (None, "act() must return a list of Reply, got NoneType"),
        ([], "act() must return one reply to each request"),
        ([None], "act() must return a list of Reply, got list"),
    ],
)
def test_a_player_of_odd_replies_is_found(later: bool, reply: Any, found: str) -> None:
    problems = check_player(Odd(later, reply), make_game("ipd"), "row")
    assert any(found in problem for problem in problems), problems


def test_whole_numbers_are_probabilities() -> None:
    certain = Reply("C", "cooperate", logprobs=(0,), probs=(1, 0))
    assert check_player(Odd(False, certain), make_game("ipd"), "row") == []


def test_a_player_that_ends_the_program_is_found() -> None:
    class Leaves(Odd):
        def act(self, requests: Any) -> Any:
            raise SystemExit(0)

    (problem,) = check_player(Leaves(False, None), TrustAndSplit(), "alice")
    assert "failed on" in problem and "SystemExit: 0" in problem


def test_a_large_game_is_checked_at_once(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = 30
    labels = [chr(65 + i // 26) + chr(65 + i % 26) for i in range(n)]
    payoffs = [[[i * j % 7, (i + j) % 5] for j in range(n)] for i in range(n)]
    Path("big.toml").write_text(
        f"name = 'big'\nactions = {[f'a{i}' for i in range(n)]}\nlabels = {labels}\npayoffs = {payoffs}\n"
    )
    coplay = Shell(capsys)
    assert coplay("check", "big.toml") == 0
    assert (
        "big: all checks pass\n(its prompts were looked at after 64 of its 900 joint actions, or fewer)" in coplay.out
    )
