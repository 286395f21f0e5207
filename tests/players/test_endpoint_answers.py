"""The file of answers: whatever is wrong with it is one line that names it and says what to do."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from misbehaving_server import Server, settings_file
from shell import Shell

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.players.endpoint import endpoint_from
from coplay.players.endpoint_answers import Answers, AnswersFailed
from coplay.players.endpoint_usage import Spent

MOST, USED = Spent(500, 400), Spent(30, 4)


def filled(path: Path) -> Answers:
    answers = Answers(path)
    for i in range(200):
        number = answers.reserve(MOST)
        assert number is not None
        answers.settle(number, USED, f"request {i}", "x" * 100)
    return answers


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as base:
        for statement in statements:
            base.execute(statement)


def test_what_is_kept(tmp_path: Path) -> None:
    answers = filled(tmp_path / "answers")
    assert answers.get("request 7") == "x" * 100 and answers.get("another") is None
    assert answers.spent == Spent(200 * 30, 200 * 4)
    first, second = answers.reserve(MOST), answers.reserve(MOST)
    assert first is not None and second is not None
    assert answers.spent == Spent(6000 + 1000, 800 + 800)
    answers.settle(first, USED)
    assert answers.spent == Spent(6000 + 530, 800 + 404)
    answers.settle(second, USED, "request 7", "another reply")
    assert answers.get("request 7") == "x" * 100, "the first stays, and the second is paid for"
    assert Answers(tmp_path / "answers").spent == answers.spent == Spent(6060, 808)


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, ending: str, linked: bool) -> None:
    """SQLite opens its own files beside the answers, and beside where a link to them leads."""
    path = tmp_path / "answers"
    if ending:
        filled(path)
    (tmp_path / f"answers{ending}").unlink(missing_ok=True)
    os.mkfifo(tmp_path / f"answers{ending}")
    if linked and ending:
        path = tmp_path / "link"
        path.symlink_to("answers")
    with pytest.raises(UsageError, match=f"answers{ending} is not a regular file"):
        Answers(path)


def test_what_does_not_fit_is_not_written_down() -> None:
    answers = Answers()
    assert answers.reserve(MOST, lambda spent: spent.tokens < 900) is None
    assert answers.spent == Spent(0, 0)
    assert answers.reserve(MOST, lambda spent: spent.tokens <= 900) is not None


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    change(
        tmp_path / "answers",
        "CREATE TABLE answers (request TEXT PRIMARY KEY, reply TEXT, tokens_in INTEGER, tokens_out INTEGER)",
        "CREATE TABLE unusable (tokens_in INTEGER, tokens_out INTEGER)",
        "INSERT INTO answers VALUES ('q', 'r', 10, 3)",
        "INSERT INTO unusable VALUES (1, 1)",
    )
    answers = Answers(tmp_path / "answers")
    assert answers.get("q") == "r" and answers.spent == Spent(11, 4)
    assert answers.reserve(MOST) is not None
    assert Answers(tmp_path / "answers").spent == Spent(511, 404)


def overwritten(path: Path) -> None:
    """Its second half is noise."""
    filled(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + os.urandom(len(data) - len(data) // 2))


def cut(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes()[:9000])


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "a directory": (lambda path: path.mkdir(), "is not a regular file; name another file as answers"),
    "a pipe": (os.mkfifo, "is not a regular file; name another file as answers"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is not a regular file; name another file as answers"),
    "text": (lambda path: path.write_text("x" * 5000), "file is not a database; name another file as answers"),
    "another database": (lambda path: change(path, "CREATE TABLE t (x)"), "is a database of something else; name"),
    "other columns": (
        lambda path: change(path, "CREATE TABLE answers (request TEXT, reply TEXT)"),
        "is a database of something else; name another file as answers",
    ),
    "a trigger": (
        lambda path: (
            Answers(path),
            change(path, "CREATE TRIGGER x AFTER INSERT ON asked BEGIN DELETE FROM asked; END"),
        ),
        "is a database of something else; name another file as answers",
    ),
    "a newer version": (
        lambda path: change(path, "PRAGMA user_version = 2"),
        "has version 2; this coplay reads up to 1. Upgrade coplay.",
    ),
    "overwritten": (overwritten, "; restore it from a copy, or move it away, which forgets its answers and what was"),
    "cut": (cut, "; restore it from a copy, or move it away, which forgets its answers and what was spent"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_file_that_cannot_be_used(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "answers"
    WRONG[kind][0](path)
    with pytest.raises(UsageError) as told:
        Answers(path)
    line = str(told.value)
    assert line.startswith(str(path)) and WRONG[kind][1] in line and "\n" not in line


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"answers: there is no directory .*nowhere; make it, or name another file"):
        Answers(tmp_path / "nowhere" / "answers")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    Answers(tmp_path / "answers")
    (tmp_path / "answers").chmod(0o400)
    with pytest.raises(UsageError, match="make it writable, and its directory too"):
        Answers(tmp_path / "answers")


def test_a_link_is_followed(tmp_path: Path) -> None:
    filled(tmp_path / "there")
    (tmp_path / "here").symlink_to(tmp_path / "there")
    assert Answers(tmp_path / "here").spent.tokens == 200 * 34


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE answers SET reply = NULL", "a reply in it is no text"),
        ("UPDATE answers SET reply = x'00ff'", "a reply in it is no text"),
        ("UPDATE answers SET tokens_in = 'many'", "a number of tokens in it is none"),
        ("UPDATE answers SET tokens_out = NULL", "a number of tokens in it is none"),
        ("UPDATE answers SET tokens_in = -1000000", "a number of tokens in it is none"),
        ("INSERT INTO unusable VALUES (0.5, 1)", "a number of tokens in it is none"),
        ("INSERT INTO asked VALUES (9, 1, x'00')", "a number of tokens in it is none"),
    ],
)
def test_damaged_rows(statement: str, told: str, tmp_path: Path) -> None:
    answers = filled(tmp_path / "answers")
    change(tmp_path / "answers", statement)
    with pytest.raises(AnswersFailed, match=f"answers is damaged: {told}; restore it from a copy"):
        _ = answers.get("request 1"), answers.spent


def test_a_full_disk(tmp_path: Path) -> None:
    answers = filled(tmp_path / "answers")
    ((pages,),) = answers._base.execute("PRAGMA page_count")
    answers._base.execute(f"PRAGMA max_page_count = {pages}")
    number = answers.reserve(MOST)
    assert number is not None
    with pytest.raises(AnswersFailed, match=r"answers: database or disk is full; free some space$"):
        answers.settle(number, USED, "request", "x" * 100_000)
    assert answers.spent == Spent(6500, 1200), "what was asked still counts"


def test_another_process_that_writes(tmp_path: Path) -> None:
    answers = filled(tmp_path / "answers")
    answers._base.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(tmp_path / "answers", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(AnswersFailed, match="database is locked; end the other process that uses it"):
        answers.reserve(MOST)
    other.execute("ROLLBACK")
    assert answers.reserve(MOST) is not None


@pytest.mark.parametrize("name", ['""', "7", "[]", '"a\\u0000b"', '"a\\nb"'])
def test_a_name_that_is_none(server: Server, name: str, tmp_path: Path) -> None:
    file = settings_file(server, tmp_path)
    file.write_text(file.read_text() + f"answers = {name}\n")
    with pytest.raises(UsageError, match=r"them\.toml: answers should be the name of a file, which .* is not$"):
        endpoint_from(str(file), make_game("ipd-ab"))


def test_on_the_command_line(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell, file = Shell(capsys), settings_file(server, tmp_path, answers="nowhere/answers")
    arguments = ("eval", "always_cooperate", str(file), "--game", "ipd-ab", "--episodes", "1")
    assert shell(*arguments) == 2
    assert shell.err.startswith("coplay: ") and shell.err.count("\n") == 1
    answers = tmp_path / "them.answers.sqlite"
    file = settings_file(server, tmp_path)
    assert shell(*arguments) == 0
    change(answers, "UPDATE answers SET reply = NULL")
    assert shell(*arguments) == 1
    estimate, error = shell.err.split("\ncoplay: ")
    assert estimate.startswith("Estimate, ") and f"{answers} is damaged" in error and error.count("\n") == 1
