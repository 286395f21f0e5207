"""What runs the documentation finds in a page, and what it compares."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import run_docs
from run_docs import Output, difference, run_file


def console(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


def python(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```", ""])


def failed(tmp_path: Path, page: str) -> int:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    return run_file(tmp_path / "page.md")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ((), "anything\n"),
        (("a", "", "b"), "a  \n\nb\n\n"),
        (("...",), ""),
        (("a", "..."), "a\n"),
        (("a", "..."), "a\nb\nc\n"),
        (("...", "c"), "a\nb\nc\n"),
        (("a", "...", "c"), "a\nc\n"),
        (("took ... s",), "took 3.5 s\n"),
        (("saved (1.0) [x]",), "saved (1.0) [x]\n"),
    ],
)
def test_outputs_that_agree(shown: tuple[str, ...], printed: str) -> None:
    assert difference(Output(1, shown), printed) == ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (("a",), ""),
        (("a",), "a\nb\n"),
        (("a", "b"), "a\n"),
        (("...", "b"), "a\nb\nc\n"),
        (("took ... s",), "took 3.5\n seconds, s\n"),
        (("1x0",), "1.0\n"),
        ((" a",), "a\n"),
    ],
)
def test_outputs_that_differ(shown: tuple[str, ...], printed: str) -> None:
    assert difference(Output(1, shown), printed)


def test_commands_are_compared_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = console("$ echo a \\", "    b", "a b", "$ echo unseen", "$ printf c", "c")
    assert failed(tmp_path, page) == 0
    assert failed(tmp_path, page.replace("a b", "b a")) == 1
    told = capsys.readouterr().out
    assert "line 2 prints something else than the page shows" in told
    assert "-b a\n+a b" in told


def test_a_command_that_fails_ends_its_block(tmp_path: Path) -> None:
    assert failed(tmp_path, console("$ false", "$ touch after") + console("$ ls", "")) == 1
    assert failed(tmp_path, console("$ false | cat")) == 1


def test_blocks_of_a_page_share_a_directory(tmp_path: Path) -> None:
    assert failed(tmp_path, console("$ echo x > f") + python("print(open('f').read())  # → x")) == 0


@pytest.mark.parametrize("value", [1, 2])
def test_comments_are_compared_with_the_lines_printed(tmp_path: Path, value: int) -> None:
    assert failed(tmp_path, python("x = 1", "print(x)  # → 1", f"print(x)  # → {value}")) == value - 1


@pytest.mark.parametrize("value", [1, 2])
def test_a_text_block_is_what_the_python_block_before_it_prints(tmp_path: Path, value: int) -> None:
    page = python("x = 1") + python("for i in range(2):", "    print(x, i)") + f"\n```text\n1 0\n{value} 1\n```\n"
    assert failed(tmp_path, page) == value - 1
    assert failed(tmp_path, page.replace("\n```text", "Unrelated:\n```text")) == 0


@pytest.mark.parametrize(
    ("rows", "failures"),
    [("| a | 1 |\n| b | 2 |\n", 0), ("| a | 1 |\n", 1), ("| a | 1 |\n| b | 2 |\n| c | 3 |\n", 1)],
)
def test_tables_have_the_rows_that_are_printed_and_no_other(tmp_path: Path, rows: str, failures: int) -> None:
    other = "| x | y |\n|---|---|\n| not | printed |\n\n"
    page = f"{other}| key | value |\n|---|---|\n{rows}\n{run_docs.TABLES}\n" + python("print('| a | 1 |\\n| b | 2 |')")
    assert failed(tmp_path, page) == failures


def test_blocks_that_are_not_run(tmp_path: Path) -> None:
    page = "<!-- not run: it would fail -->\n" + console("$ false") + "```toml\nx = 1\n```\n```sh\nfalse\n```\n"
    assert run_docs.scripts("page", page) == []


def test_a_traceback_names_the_line_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(tmp_path, "# Title\n\n" + python("x = 1") + "\n" + python("", "raise ValueError(x)")) == 1
    assert 'File "<string>", line 9' in capsys.readouterr().out


def test_a_block_can_be_a_file_that_the_others_use(tmp_path: Path) -> None:
    page = "<!-- file: mine.py -->\n" + python("VALUE = 3") + console("$ cat mine.py", "VALUE = 3")
    assert failed(tmp_path, page + python("from mine import VALUE", "print(VALUE)  # → 3")) == 0
