"""Bad input at the command line: whatever is typed, the answer is a result or one line that says what is wrong."""

import contextlib
import io
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from small_runs import small

from coplay.cli.main import main
from coplay.games.base import MOST_PAYOFF
from coplay.runs.config_input import assignments, flat

torch.set_num_threads(1)

FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TEXT = st.text(st.characters(exclude_characters="\x00"), max_size=6)
"""What the system passes on as an argument: anything but a null byte."""

VALUES = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "0",
            "-1",
            "1.5",
            "1e999",
            "NaN",
            "null",
            "true",
            "[]",
            "{}",
            "[1",
            '"',
            "a,b",
            "1,2",
            "x" * 300,
            "[[]]",
            "[" * 100_000,
            "[" * 70 + "]" * 70,
            "9" * 401,
            "1e308",
            "-1e308",
            "1000000000000",
            '"\\ud800"',
            '"\\u0000"',
            "~nosuchuser/x",
            "\0",
        ]
    ),
    st.sampled_from(
        ['{"a": 1}', "a=b", "ünï", "../..", "tiny", "ipd", "nowhere.toml", "os:path", "row", "\udc80", "1\n2"]
    ),
    st.integers(-5, 50).map(str),
    TEXT,
)
KEYS = [*sorted(line.partition("=")[0] for line in assignments(small("tabular"))), "game.n", "game.rounds", "game.name"]
OVERRIDES = st.tuples(
    st.one_of(st.sampled_from(KEYS), st.sampled_from(KEYS).map(lambda key: key[:-1]), TEXT), VALUES
).map("=".join)
GAMES = st.one_of(
    st.sampled_from(["ipd", "ish", "public-goods", "public-goods:n=4", "split-no-comm", "trust-and-split"]),
    st.tuples(st.sampled_from(["trust-and-split:max_characters=", "public-goods:n=", "ipd:rounds="]), VALUES).map(
        "".join
    ),
    VALUES,
)
PLAYERS = st.one_of(st.sampled_from(["tit_for_tat", "random:0.5", "always_defect", "uniform"]), VALUES)

TOML = """name = "mine"
rounds = 5
actions = ["stay", "go"]
labels = ["S", "G"]
payoffs = [[[1, 1], [2, 0]], [[0, 2], [3, 3]]]
"""


def answers(arguments: list[str]) -> int:
    """Run the command line; hold what is promised of its exit status and its errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as exit:  # argparse's way out
            status = int(exit.code or 0)
    text = err.getvalue()
    assert status in (0, 2) or (status == 1 and arguments[0] in ("check", "eval")), (arguments, text)
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if not line.startswith("coplay: see ")]
    if status == 2:
        # A config may have several problems, a line each.
        assert lines and all(line.startswith("coplay: ") and len(line) > 20 for line in lines), (arguments, text)
    return status


@contextlib.contextmanager
def nothing_is_written() -> Iterator[None]:
    before = sorted(Path().rglob("*"))
    yield
    assert sorted(Path().rglob("*")) == before


@FEW
@given(st.lists(OVERRIDES, max_size=3), st.sampled_from(["tabular", "language_model"]), st.randoms())
@example(["game=trust-and-split", "game.max_characters=-1"], "language_model", None)
@example(["game.n=4"], "tabular", None)
@example(["game=[]"], "tabular", None)
@example(["game=null"], "tabular", None)
@example(["learners=null"], "tabular", None)
@example(["seats=null"], "tabular", None)
@example(["learners.row.labels=[]"], "language_model", None)
@example(["seats.row=[[]]"], "tabular", None)
def test_overrides_in_any_order(overrides: list[str], learner: str, order: random.Random | None) -> None:
    for verb, rest in (("train", ["--dry-run"]), ("prompt", [])):
        words = ["shapellm/ipd", "--learner=" + learner, *rest, *overrides]
        if order is not None:
            order.shuffle(words)
        with nothing_is_written():
            answers([verb, *words])


@FEW
@given(GAMES, st.lists(VALUES, max_size=2), st.lists(PLAYERS, max_size=3))
@example("trust-and-split:max_characters=-1", [], ["uniform", "uniform"])
@example("public-goods:n=99999999999999999999", [], [])
@example("ipd:rounds=", ["1e999,0,0,0"], ["tit_for_tat", "tit_for_tat"])
@example("ipd", [], ["random:", "random:nan"])
def test_games_and_players(game: str, payoffs: list[str], players: list[str]) -> None:
    with nothing_is_written():
        answers(["check", game])
        answers(["train", "any/naive", "--dry-run", "--learner", "tabular", f"--game={game}"])
        answers(["prompt", "any/naive", f"--game={game}", f"--history={','.join(payoffs)}"])
        more = [f"--payoffs={payoffs[0]}"] if payoffs else []
        answers(["eval", f"--game={game}", "--rounds=2", "--episodes=2", *more, *players])
        answers(["eval", "--matrix", f"--game={game}", "--rounds=2", "--episodes=2", *players])
        answers(["list", *payoffs])


@FEW
@given(st.integers(0, len(TOML)), st.integers(0, 12), st.one_of(VALUES, st.sampled_from('[]"=.\n-9')))
def test_damaged_game_files(at: int, cut: int, put: str) -> None:
    text = TOML[:at] + put + TOML[at + cut :]
    Path("mine.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with nothing_is_written():
        answers(["check", "mine.toml"])
        answers(["train", "any/naive", "--dry-run", "--learner", "tabular", "--game", "mine.toml"])
        answers(["eval", "--game", "mine.toml", "--rounds", "2", "--episodes", "2", "tit_for_tat", "random:0.5"])


NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([10**9, 10**9 + 1, -(10**10), 10**30, 1e9, 1.1e9, -1e308]),
)


@FEW
@given(st.lists(NUMBERS, min_size=4, max_size=4), st.integers(1, 3))
def test_payoffs_are_numbers_up_to_a_bound(payoffs: list[float], rounds: int) -> None:
    """What is refused is refused everywhere, and what is taken gives finite numbers."""
    taken = all(abs(payoff) <= MOST_PAYOFF for payoff in payoffs)
    listed = ",".join(map(str, payoffs))
    words = ["eval", "random:0.5", "random:0.5", f"--rounds={rounds}", "--episodes=2", f"--payoffs={listed}", "--json"]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(words) == (0 if taken else 2)
    if taken:
        json.loads(out.getvalue(), parse_constant=lambda name: pytest.fail(f"{name} is no number"))
    a, b, c, d = (str(payoff) for payoff in payoffs)
    Path("payoffs.toml").write_text(
        f'name = "mine"\nactions = ["stay", "go"]\npayoffs = [[[{a}, {a}], [{b}, {c}]], [[{c}, {b}], [{d}, {d}]]]\n'
    )
    assert answers(["train", "any/naive", "--dry-run", "--learner", "tabular", "--game", "payoffs.toml"]) == (
        0 if taken else 2
    )


@FEW
@given(st.sampled_from(KEYS), st.integers(3, 40), st.booleans())
def test_large_numbers_are_refused_before_anything_is_made(key: str, digits: int, negative: bool) -> None:
    """Whatever key they are given to, and whatever else the key takes."""
    with nothing_is_written():
        answers(["train", "shapellm/ipd", "--learner=tabular", "--dry-run", f"{key}={'-' * negative}1{'0' * digits}"])


@FEW
@given(st.data())
def test_damaged_configs_of_runs(run: Path, data: st.DataObject) -> None:
    config = json.loads((run / "config.json").read_text())
    keys = sorted(flat(config))
    *parents, leaf = data.draw(st.sampled_from(keys)).split(".")
    parents = parents[: data.draw(st.integers(0, len(parents)))]
    place = config
    for parent in parents:
        place = place[parent]
    leaf = leaf if leaf in place else data.draw(st.sampled_from(sorted(place)))
    place[leaf] = data.draw(st.sampled_from([None, -1, 0, "", [], {}, [[]], "x", 1e300, True, {"x": {}}, 10**30]))
    shutil.rmtree("runs", ignore_errors=True)
    shutil.copytree(run, "runs/one")
    text = json.dumps(config)
    Path("runs/one/config.json").write_text(
        text if data.draw(st.booleans()) else text[: data.draw(st.integers(0, 400))]
    )
    with nothing_is_written():
        answers(["list", "runs"])
        answers(["eval", "runs/one", "--episodes", "2"])
        answers(["eval", "runs/one:row", "tit_for_tat", "--episodes", "2", "--rounds", "2"])
        answers(["train", "--resume", "runs/one", "--dry-run"])
