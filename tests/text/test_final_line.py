"""Replies that may reason first: where the action stands, and where a reply can end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.conformance.players import example_requests
from coplay.games import GAMES, make_game
from coplay.games.memory import Memory
from coplay.games.reasoned import ReasonedGame
from coplay.text.final_line import ends_with_word, final_line, last_characters, parse_final, without_thoughts

WORDS = {"COOPERATE": "c", "DEFECT": "d"}

REASONED = [name for name in GAMES if isinstance(make_game(name), ReasonedGame)]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("COOPERATE", "c"),
        ("Action: **DEFECT**.", "d"),
        ("They took COOPERATE.\nDEFECT\n\n \t\n", "d"),
        ("DEFECT\nI am sure.", None),
        ("COOPERATE or DEFECT", None),
        ("COOPERATE " * 20, None),
        ("DEFECTED", None),
        ("defect", None),
        ("<think>DEFECT</think>\nCOOPERATE", "c"),
        ("<think>They will DEFECT.\nDEFECT</think>", None),
        ("<think>DEFECT\n", None),
        ("<think>one</think><think>two\nDEFECT", None),
        ("it began before\nDEFECT</think>COOPERATE", "c"),
        ("", None),
        (" \n\r\n\t", None),
        ("\u2028DEFECT\u2028", "d"),
        ("Entscheidung „DEFECT“ 合作 \U0001f91d", "d"),
        ("DEFECT\u0301", "d"),
        ("ÄDEFECT", None),
        ("\ud800DEFECT", "d"),
    ],
)
def test_the_action_is_the_one_word_on_the_last_line(text: str, action: str | None) -> None:
    assert parse_final(text, WORDS) == action
    # where it can be read it is over, since no word here begins another
    assert ends_with_word(text, WORDS) == (action is not None)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("BET", False),
        ("BET ", False),
        ("BET\n", True),
        ("BET.", True),
        ("BET HALF", True),
        ("BET H", False),
        ("BET HE", True),
        ("1", False),
        ("1.", False),
        ("10", True),
        ("1.5", True),
        ("2", True),
    ],
)
def test_a_word_that_may_become_a_longer_one_is_waited_for(text: str, over: bool) -> None:
    words = ["BET", "BET HALF", "1", "10", "1.5", "2"]
    assert ends_with_word(text, words) == over
    assert last_characters(words) == ""


def test_digits_end_a_reply_at_once_where_there_are_no_longer_numbers() -> None:
    digits = [str(number) for number in range(1, 10)]
    assert ends_with_word("I demand 1", digits) and last_characters(digits) == "123456789"
    assert not ends_with_word("round 2.5", digits) and not ends_with_word("10", digits)


@given(st.text(), st.lists(st.text(min_size=1), unique=True))
@settings(max_examples=50, deadline=None)
def test_no_text_and_no_words_make_it_fail(text: str, words: list[str]) -> None:
    final_line(text), without_thoughts(text), last_characters(words)
    actions = {word: word for word in words}
    if ends_with_word(text, words):
        assert parse_final(text, actions) in words


PIECES = st.sampled_from(["COOPERATE", "DEFECT", "DEF", "ECT", "\n", " ", ".", "-", "<think>", "</think>", "1", "ED"])


@given(st.lists(PIECES, max_size=12))
@settings(max_examples=100, deadline=None)
def test_text_without_the_last_characters_of_a_word_does_not_end_a_reply(pieces: list[str]) -> None:
    """So that a model need not be asked about most tokens. Text that takes one of two words away is the exception."""
    for end in range(1, len(pieces)):
        before, after = "".join(pieces[:end]), "".join(pieces[: end + 1])
        if ends_with_word(before, WORDS):
            return
        if ends_with_word(after, WORDS) and not set(pieces[end]) & set(last_characters(WORDS)):
            line = final_line(before) or ""
            assert len([word for word in WORDS if word in line]) == 2


@pytest.mark.parametrize("name", REASONED)
def test_every_action_is_read_as_it_is_written(name: str) -> None:
    game = make_game(name)
    for seat in game.seats:
        for request in example_requests(game, seat, Memory.CHAT):
            for choice in game.choices(request) or ():
                written = game.render_action(request, choice)
                reasons = f"Perhaps not {game.render_action(request, (game.choices(request) or ())[0])}.\n{written}\n"
                for text in (written, f"<think>x\ny</think>\nAction: {written}", reasons):
                    assert game.parse_action(request, text) == choice
                    assert game.completes(request, f"{text}\n")
                assert not game.completes(request, f"<think>{written}\n")
                awaited = game.completing(request)
                assert not awaited or written[-1] in awaited


@pytest.mark.parametrize("name", ["ipd", "ipd-ab", "split-no-comm", "trust-and-split", "public-goods"])
def test_other_games_leave_the_end_of_a_reply_to_the_model(name: str) -> None:
    game = make_game(name)
    request = example_requests(game, game.seats[0], Memory.CHAT)[0]
    written = [game.render_action(request, one) for one in (*(game.choices(request) or ()), *game.examples(request))]
    assert not any(game.completes(request, one) for one in written)
