"""Stored games as chats: who speaks in which order, who may know of what, and what nobody else read."""

from __future__ import annotations

from typing import Any

from coplay.view.chats import ROUNDS_AT_ONCE, chat_of


def act(seat: str, prompt: str | None, reply: str, action: str | None, **more: Any) -> dict[str, Any]:
    read = {} if prompt is None else {"prompt": prompt}
    return {"seat": seat, "phase": "action", **read, "reply": reply, "action": action, **more}


def said(seat: str, prompt: str | None, text: str, **more: Any) -> dict[str, Any]:
    return act(seat, prompt, f"<m>{text}</m>", text, phase="message", **more)


def record(*rounds: dict[str, Any], seats: tuple[str, ...] = ("alice", "bob", "carol")) -> dict[str, Any]:
    about = {"step": 1, "seed": 2, "game": 3, "episode": 4, "states": ["CD"] * len(rounds)}
    return {**about, "players": dict.fromkeys(seats, "x"), "rounds": list(rounds)}


BOB_FIRST = record(
    {
        "acts": [
            said("bob", "rules\nhand B", "3 of 30"),
            said("alice", "rules\nhand A\nbob: 3 of 30", "30", turn=1, readers={"bob": "alice: 30"}),
            act("carol", "rules\nhand C", "?", None),
            act("alice", "rules\nhand A\nbob: 3 of 30", "C", "C"),
            act("bob", "rules\nhand B\nalice: 30", "D", "D"),
        ],
        "payoffs": {"alice": 1, "bob": 2, "carol": None},
        "dealt": {"alice": "A", "bob": "B"},
        "void": True,
    }
)


def test_the_order_is_that_of_the_acts() -> None:
    (one,) = chat_of(BOB_FIRST).rounds
    assert [(bubble.seat, bubble.phase, bubble.final) for bubble in one.said] == [
        ("bob", "message", False),
        ("alice", "message", False),
        ("carol", "action", True),
        ("alice", "action", True),
        ("bob", "action", True),
    ]


def test_readers_are_all_others_unless_some_are_named() -> None:
    chat = chat_of(BOB_FIRST)
    first, second, *_ = chat.rounds[0].said
    assert (first.readers, first.told) == (("alice", "carol"), ())
    assert (second.readers, second.told) == (("bob",), (("alice: 30", ("bob",)),))
    assert chat.readers_known


def test_readers_that_were_not_kept_are_not_guessed() -> None:
    chat = chat_of(record({"acts": [said("alice", None, "hm", readers=None), act("bob", "alice: hm", "C", "C")]}))
    assert [bubble.readers for bubble in chat.rounds[0].said] == [None, ("alice", "carol")]
    assert not chat.readers_known and chat.order_known


def test_a_run_of_version_1_kept_no_order() -> None:
    chat = chat_of(record({"acts": [{**said("alice", None, "hm", readers=None), "phase": ""}]}))
    assert not chat.readers_known and not chat.order_known


def test_lines_that_one_seat_alone_read_are_private() -> None:
    (one,) = chat_of(BOB_FIRST).rounds
    own = {bubble.seat: [line.text for line in bubble.lines if line.own] for bubble in one.said if bubble.final}
    assert own == {"alice": ["hand A", "bob: 3 of 30"], "bob": ["hand B", "alice: 30"], "carol": ["hand C"]}
    assert [(seat, text) for seat, _, text in one.dealt] == [("alice", "A"), ("bob", "B")]


def test_what_is_new_is_new_since_the_seat_was_last_asked() -> None:
    prompts = ("rules\nround 1", "rules\nround 1\nround 2")
    rounds = [{"acts": [act("alice", prompt, "C", "C"), act("bob", None, "C", "C")]} for prompt in prompts]
    first, second = chat_of(record(*rounds)).rounds
    assert not any(line.new for line in first.said[0].lines)
    assert [line.text for line in second.said[0].lines if line.new] == ["round 2"]


def test_equal_texts_to_several_seats_stand_together() -> None:
    letters = {"alice": "Cooperate.", "bob": "Cooperate.", "carol": "Well done."}
    sent = act("mediator", None, "INTERVENE", "to alice", readers=letters)
    (one,) = chat_of(record({"acts": [sent]}, seats=("alice", "bob", "carol", "mediator"))).rounds
    assert one.said[0].told == (("Cooperate.", ("alice", "bob")), ("Well done.", ("carol",)))


def test_payoffs_are_summed_and_void_ones_count_nothing() -> None:
    chat = chat_of(BOB_FIRST)
    assert [total for *_, total in chat.seats] == [1.0, 2.0, 0.0]
    assert [payoff for *_, payoff in chat.rounds[0].payoffs] == [1.0, 2.0, None] and chat.rounds[0].void


def test_long_games_are_shown_in_parts() -> None:
    long = record(*[{"acts": [act("alice", None, "C", "C")]}] * 120)
    for first, numbers in ((0, (1, 50)), (50, (51, 100)), (100, (101, 120)), (10**8, (120, 120))):
        rounds = chat_of(long, first=first).rounds
        assert (rounds[0].number, rounds[-1].number) == numbers
    assert ROUNDS_AT_ONCE == 50


def test_records_of_any_form_are_shown_as_far_as_they_go() -> None:
    assert chat_of({}).rounds == ()
    strange = {"acts": [1, {"action": 2, "readers": 7, "probs": [], "prompt": 3}], "payoffs": [], "dealt": 4}
    assert len(chat_of(record(strange, 5)).rounds) == 2  # type: ignore[arg-type]
