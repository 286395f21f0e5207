"""Tables as text: the same everywhere, and what stands in a cell is shown as it is."""

from __future__ import annotations

import sys

import pytest
from terminal import terminal

from coplay.terminal.tables import align


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert align([["seat", "player", "total"], ["row", "tit_for_tat", "48.15"], ["column", "x", ""]]) == [
        "seat    player       total",
        "row     tit_for_tat  48.15",
        "column  x",
    ]


def test_numbers_stand_to_the_right_and_rows_may_end_early() -> None:
    rows = [["labels", "start", "KL"], ["H/K", "0.60", "0.5429"], ["  paper", "0.6"]]
    assert align(rows, numbers=True, least=[9, 8]) == [
        "labels        start      KL",
        "H/K            0.60  0.5429",
        "  paper         0.6",
    ]


def test_no_rows_are_no_lines() -> None:
    assert align([]) == []


@pytest.mark.parametrize("text", ["[red]C[/red]", "[/]", "[bold", ":smile:", "\\[x]", "https://example.org 0.5 'D'"])
def test_what_stands_in_a_cell_is_no_markup(text: str) -> None:
    assert align([["a", text, "b"]]) == [f"a  {text}  b"]


def test_a_character_of_double_width_counts_twice() -> None:
    assert align([["合作", "x"], ["DEFECT", "y"]]) == ["合作    x", "DEFECT  y"]


def test_a_row_is_a_line_and_commands_to_the_terminal_are_none() -> None:
    assert align([["a\nb", "\x1b[31m", "c\u2028d", "e\tf"]]) == [r"a\nb  \x1b[31m  c\u2028d  e\tf"]


def test_nothing_is_wrapped_cut_or_coloured_on_any_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["word " * 200, "y" * 500, "z"], ["1", "2", "3"]]
    expected = align(rows)
    assert expected[0] == f"{'word ' * 200}  {'y' * 500}  z" and len(expected) == 2
    for name, value in {"COLUMNS": "20", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
        assert align(rows) == expected
    with terminal() as tty, tty.stream() as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert align(rows) == expected
