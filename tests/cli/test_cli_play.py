"""A person at the terminal: asked what a seat is asked, asked again if it could not be parsed, told how it ended."""

import io

import pytest
from shell import Shell


class Terminal:
    """``coplay play`` with something typed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.shell = monkeypatch, Shell(capsys)

    def __call__(self, typed: str, *arguments: str) -> int:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return self.shell("play", *arguments)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(monkeypatch, capsys)


def test_the_dilemma_against_one_that_answers_in_kind(terminal: Terminal) -> None:
    assert terminal("a\n<B>\nB\n", "ipd-ab", "--rounds", "3") == 0
    shown = terminal.shell.out
    assert "you are alice, bob is tit_for_tat" in shown and "Total: you 9, bob 4 points." in shown
    assert shown.count("You are Alice.") == 1  # the rules are told once
    assert "In the last round you played <B> and Bob played <A>." in shown
    assert "[round 3]" in shown and "[round 4]" not in shown
    assert shown.count("Points of round") == 2 and "Points of round 2: you 5, bob 0." in shown
    assert "The game: CC DC DD (alice, bob)" in shown


def test_messages_and_proposals_without_their_tags(terminal: Terminal) -> None:
    typed = "hello there\neleven\n11\n<<proposal_start>>10<<proposal_end>>\n"
    assert terminal(typed, "trust-and-split", "--rounds", "1", "--vs", "always_defect", "--seat", "bob") == 0
    shown = terminal.shell.out
    assert shown.count("could not be read") == 2 and "'eleven' could not be read. Reply with" in shown
    assert "Alice said: My hand is" in shown and "asked for 10 coins" in shown


def test_what_is_private_is_not_shown(terminal: Terminal) -> None:
    """Only the own hand is told before the round is over."""
    assert terminal("", "trust-and-split", "--vs", "always_defect", "--seat", "bob") == 0
    shown = terminal.shell.out
    assert shown.count("Your hand is") == 1 and "held" not in shown


def test_a_matrix_game_with_its_labels_or_its_actions(terminal: Terminal) -> None:
    assert terminal("C\ndefect\nx\nd\n", "ipd", "--rounds", "3") == 0
    shown = terminal.shell.out
    assert "The game: CC DC DD (row, column)" in shown and "Total: you 8, column 4 points." in shown
    assert "'x' could not be read." in shown and "C or D" in shown
    assert "<STATE>" not in shown and "In the previous round, you played C and your opponent played C." in shown


def test_three_seats(terminal: Terminal) -> None:
    """One co-player for all other seats, or one each."""
    alone = ["public-goods", "--rounds", "2", "--seat", "player-2"]
    assert terminal("keep\nK\n", *alone, "--vs", "always_cooperate") == 0
    assert "player-1 is always_cooperate, player-3 is always_cooperate" in terminal.shell.out
    assert "The game: CKC CKC" in terminal.shell.out
    assert "Total: you 12, player-1 6, player-3 6 points." in terminal.shell.out
    assert terminal("C\nC\n", *alone, "--vs", "always_cooperate", "always_defect") == 0
    assert "Total: you 6, player-1 6, player-3 12 points." in terminal.shell.out
    assert terminal("C\nC\n", *alone) == 0
    assert "player-1 is tit_for_tat, player-3 is tit_for_tat" in terminal.shell.out


def test_leaving(terminal: Terminal) -> None:
    assert terminal("A\n", "ipd-ab") == 0
    assert "You left the game before its end." in terminal.shell.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ipd-ab", "--seat", "row"], "alice or bob"),
        (["ipd", "--seat", "bob"], "row or column"),
        (["ipd-ab", "--rounds", "0"], "at least 1"),
        (["ipd-ab", "--vs", "tit_for_tta"], "Did you mean 'tit_for_tat'"),
        (["ipd", "--vs", "random", "random"], "has 1 other seats; name one player for all, or 1"),
        (["ipdd"], "'ipd'"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, terminal: Terminal) -> None:
    assert terminal("", *arguments) == 2
    assert said in terminal.shell.err


def test_where_models_may_reason_a_person_need_not(terminal: Terminal) -> None:
    typed = "cooperate\nthey were kind, so COOPERATE\nCOOPERATE or DEFECT\n\nd\nDefect\n"
    assert terminal(typed, "ipd-8", "--rounds", "3", "--vs", "tit_for_tat") == 0
    shown = terminal.shell.out
    assert "The game: CC CC DC (alice, bob)" in shown
    assert shown.count("\nThe action alone is enough: COOPERATE or DEFECT.") == 3
    assert shown.count("could not be read. The action alone is enough: COOPERATE or DEFECT.") == 3
    assert "Tags" not in shown and "In the last round you played COOPERATE and Bob played COOPERATE." in shown
