"""A person at the terminal: asked what a seat is asked, asked again if it could not be read, told how it ended."""

import io

import pytest

from coplay.cli.main import main


def play(monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["play", *arguments])


def test_the_dilemma_against_one_that_answers_in_kind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, "a\n<B>\nB\n", "ipd-ab", "--rounds", "3") == 0
    shown = capsys.readouterr().out
    assert "you are alice, bob is reciprocate" in shown and "In all: you 9, bob 4 points." in shown
    assert shown.count("You are Alice.") == 1  # the rules are told once
    assert "In the last round you played <B> and Bob played <A>." in shown


def test_messages_and_proposals_without_their_tags(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = "hello there\neleven\n11\n<<proposal_start>>10<<proposal_end>>\n"
    assert play(monkeypatch, typed, "trust-and-split", "--rounds", "1", "--vs", "defect", "--seat", "bob") == 0
    shown = capsys.readouterr().out
    assert shown.count("That could not be read.") == 2
    assert "Alice said: My hand is" in shown and "asked for 10 coins" in shown


def test_a_matrix_game_with_its_labels_or_its_actions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, "C\ndefect\nx\nd\n", "ipd", "--rounds", "3") == 0
    shown = capsys.readouterr().out
    assert "The game: CC DC DD" in shown and "In all: you 8, column 4." in shown and "none of C (cooperate)" in shown
    assert "<STATE>" not in shown


def test_leaving_and_what_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(monkeypatch, "A\n", "ipd-ab") == 0
    assert "left before its end" in capsys.readouterr().err
    for arguments, said in (
        (["ipd-ab", "--seat", "row"], "alice or bob"),
        (["ipd", "--seat", "bob"], "row or column"),
        (["ipd-ab", "--rounds", "0"], "at least 1"),
        (["ipd-ab", "--vs", "reciprocat"], "'reciprocate'"),
        (["ipdd"], "'ipd'"),
    ):
        assert play(monkeypatch, "", *arguments) == 2
        assert said in capsys.readouterr().err
