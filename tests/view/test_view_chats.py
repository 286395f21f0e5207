"""Recorded games as chats: who speaks in which order, who read what, and what nobody else read."""

from __future__ import annotations

from typing import Any

from coplay.view.chats import ROUNDS_AT_ONCE, chat_of


def turn(prompt: str | None, reply: str, action: str | None, payoff: float | None, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "reply": reply, "action": action, "payoff": payoff, "probs": None, **more}


def said(prompt: str | None, text: str) -> dict[str, Any]:
    return {"phase": "message", "prompt": prompt, "reply": f"<m>{text}</m>", "action": text}


def record(*seats: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    names = ("alice", "bob", "carol")
    of = {name: {"player": "x", "turns": turns} for name, turns in zip(names, seats, strict=False)}
    return {"step": 1, "seed": 2, "game": 3, "episode": 4, "states": ["CD"] * len(seats[0]), "seats": of, **more}


BOB_FIRST = record(
    [turn("rules\nhand A\nbob: 3 of 30", "C", "C", 1, dealt="A", before=[said("rules\nhand A\nbob: 3 of 30", "30")])],
    [turn("rules\nhand B\nalice: 30", "D", "D", 2, dealt="B", before=[said("rules\nhand B", "3 of 30")])],
    [turn("rules\nhand C\nalice: 300", "?", None, None)],
)


def test_the_order_is_that_in_which_they_read_each_other() -> None:
    (one,) = chat_of(BOB_FIRST).rounds
    assert [(bubble.seat, bubble.phase) for bubble in one.said] == [
        ("bob", "message"),
        ("alice", "message"),
        ("alice", ""),
        ("bob", ""),
        ("carol", ""),
    ]


def test_recorded_acts_decide_the_order() -> None:
    seats = ("alice", "bob", "alice", "carol", "bob")
    acts = [{"phase": "p", "turn": 0, "seat": seat, "action": None} for seat in seats]
    (one,) = chat_of(BOB_FIRST | {"rounds": [{"acts": acts, "payoffs": {}}]}).rounds
    assert [bubble.seat for bubble in one.said] == list(seats)


def test_who_read_a_message_stands_in_their_prompts() -> None:
    """``30`` stands in bob's prompt; in carol's stands ``300``, which is another message."""
    (one,) = chat_of(BOB_FIRST).rounds
    readers = {(bubble.seat, bubble.action): bubble.readers for bubble in one.said}
    assert readers["alice", "30"] == ("bob",)
    assert readers["bob", "3 of 30"] == ("alice",)
    assert readers["alice", "C"] is None


def test_of_a_seat_without_prompts_nothing_is_said() -> None:
    (one,) = chat_of(record([turn("hi", "C", "C", 1, before=[said("hi", "yes")])], [turn(None, "D", "D", 1)])).rounds
    assert (one.said[0].readers, one.said[0].silent) == ((), ("bob",))


def test_lines_that_one_seat_alone_read_are_private() -> None:
    (one,) = chat_of(BOB_FIRST).rounds
    own = {bubble.seat: [line.text for line in bubble.lines if line.own] for bubble in one.said if not bubble.phase}
    assert own == {
        "alice": ["hand A", "bob: 3 of 30"],
        "bob": ["hand B", "alice: 30"],
        "carol": ["hand C", "alice: 300"],
    }
    assert [(seat, text) for seat, _, text in one.dealt] == [("alice", "A"), ("bob", "B")]


def test_what_is_new_is_new_since_the_seat_was_last_asked() -> None:
    turns = [turn("rules\nround 1", "C", "C", 1), turn("rules\nround 1\nround 2", "D", "D", 1)]
    first, second = chat_of(record(turns, [turn(None, "C", "C", 1)] * 2)).rounds
    assert not any(line.new for line in first.said[0].lines)
    assert [line.text for line in second.said[0].lines if line.new] == ["round 2"]


def test_a_mediators_letter_has_the_readers_that_are_recorded() -> None:
    asked = turn(None, "INTERVENE", "to alice", 0, to={"alice": "Cooperate.", "bob": "Cooperate."})
    (one,) = chat_of(record([turn("x", "C", "C", 1)], [turn("x", "C", "C", 1)], [asked])).rounds
    letter = one.said[0]
    assert (letter.letter, letter.readers, letter.reply) == (True, ("alice", "bob"), "Cooperate.")


def test_payoffs_are_summed_and_void_rounds_count_nothing() -> None:
    chat = chat_of(BOB_FIRST)
    assert [total for *_, total in chat.seats] == [1.0, 2.0, 0.0]
    assert [payoff for *_, payoff in chat.rounds[0].payoffs] == [1.0, 2.0, None]


def test_long_games_are_shown_in_parts() -> None:
    long = record([turn(None, "C", "C", 1)] * 120)
    for first, numbers in ((0, (1, 50)), (50, (51, 100)), (100, (101, 120)), (10**8, (120, 120))):
        rounds = chat_of(long, first=first).rounds
        assert (rounds[0].number, rounds[-1].number) == numbers
    assert ROUNDS_AT_ONCE == 50


def test_records_of_any_form_are_shown_as_far_as_they_go() -> None:
    assert chat_of({}).rounds == ()
    odd = record([{"prompt": 3, "before": [1, {"action": 2}], "payoff": "x", "probs": [], "to": 7, "told": {}}, None])
    assert len(chat_of(odd).rounds) == 2
