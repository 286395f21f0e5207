"""Dilemmas in pairs: every round's payoffs from Table 3 by hand, replies read strictly, seats alike, and the message of appendix A.4."""

from __future__ import annotations

from itertools import permutations, product
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.conformance.games import check_game
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.memory import START
from coplay.games.notices import Standing
from coplay.games.pairwise import PairwiseDilemma
from coplay.games.records import Act, Action, Phase, Request, Round

TABLE_3 = {
    "ipd-3": {"CC": 3, "DD": 1, "CD": 0, "DC": 5},
    "chicken-3": {"CC": 6, "DD": 0, "CD": 2, "DC": 7},
    "stag-hunt-3": {"CC": 4, "DD": 2, "CD": 0, "DC": 3},
}
"""What the first of a pair is paid, as the paper prints it."""

WORDS = {"C": "cooperate", "D": "defect"}


def dilemma(spec: str) -> PairwiseDilemma:
    return cast(PairwiseDilemma, make_game(spec))


def towards(game: PairwiseDilemma, seat: str, letters: str | None) -> Action | None:
    """``CD``: cooperates with the first co-player and not with the second; with ``shared`` one letter; None cannot be parsed."""
    if letters is None:
        return None
    if game.shared:
        return WORDS[letters]
    return tuple(zip(game.others[seat], [WORDS[one] for one in letters], strict=True))


def decided(game: PairwiseDilemma, *letters: str | None, number: int = 0) -> Round:
    """A round that is over."""
    acts = tuple(
        Act("action", 0, seat, towards(game, seat, one)) for seat, one in zip(game.seats, letters, strict=True)
    )
    return Round(number, None, acts, game.payoffs(Round(number, None, acts)))


def paid(game: PairwiseDilemma, *letters: str | None) -> list[float | None]:
    payoffs = decided(game, *letters).payoffs
    assert payoffs is not None and tuple(payoffs) == game.seats
    return list(payoffs.values())


def request(game: PairwiseDilemma, seat: str = "player-1", phase: str = "action") -> Request:
    return Request(0, 0, seat, Phase(phase, game.seats), Round(0), (), (), START, None, (), 0.0)


# --- Payoffs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE_3)
def test_all_64_rounds_of_three_seats_are_paid_as_table_3_says(name: str) -> None:
    """Written out pair by pair: 1 with 2, 1 with 3, 2 with 3."""
    game, pay = dilemma(f"{name}:talk=0"), TABLE_3[name]
    for a12, a13, a21, a23, a31, a32 in product("CD", repeat=6):
        expected = [
            pay[a12 + a21] + pay[a13 + a31],
            pay[a21 + a12] + pay[a23 + a32],
            pay[a31 + a13] + pay[a32 + a23],
        ]
        assert paid(game, a12 + a13, a21 + a23, a31 + a32) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ipd-3", {"CCC": [6, 6, 6], "CCD": [3, 3, 10], "CDD": [0, 6, 6], "DDD": [2, 2, 2]}),
        ("chicken-3", {"CCC": [12, 12, 12], "CCD": [8, 8, 14], "CDD": [4, 7, 7], "DDD": [0, 0, 0]}),
        ("stag-hunt-3", {"CCC": [8, 8, 8], "CCD": [4, 4, 6], "CDD": [0, 5, 5], "DDD": [4, 4, 4]}),
    ],
)
def test_shared_actions_by_hand(name: str, expected: dict[str, list[float]]) -> None:
    game = dilemma(f"{name}:talk=0,shared=true")
    for letters, amounts in expected.items():
        for order in permutations(range(3)):
            assert paid(game, *(letters[i] for i in order)) == [amounts[i] for i in order]


@pytest.mark.parametrize("name", TABLE_3)
@given(letters=st.lists(st.sampled_from("CD"), min_size=12, max_size=12))
def test_four_seats_are_six_pairs(name: str, letters: list[str]) -> None:
    game = dilemma(f"{name}:talk=0,n=4")
    edges = [(i, j) for i in range(4) for j in range(4) if i != j]
    did = dict(zip(edges, letters, strict=True))
    expected = [sum(TABLE_3[name][did[i, j] + did[j, i]] for j in range(4) if j != i) for i in range(4)]
    assert paid(game, *("".join(did[i, j] for j in range(4) if j != i) for i in range(4))) == expected


@pytest.mark.parametrize(("name", "null"), [("ipd-3", -1.0), ("chicken-3", -1.0), ("stag-hunt-3", -1.0)])
def test_a_decision_that_cannot_be_read(name: str, null: float) -> None:
    """The seat gets one below the lowest payoff; its pairs pay the other nothing; the pair without it is paid as always."""
    game, pay = dilemma(f"{name}:talk=0"), TABLE_3[name]
    assert paid(game, None, "CC", "DD") == [null, pay["CD"], pay["DC"]]
    assert paid(game, "CC", None, None) == [0.0, null, null]
    assert null < min(paid(game, *some)[0] or 0.0 for some in product(("CC", "CD", "DC", "DD"), repeat=3))
    one = decided(game, None, "CC", "CD")
    assert game.outcome(one).conduct == (None, "cooperate", "mixed") and not game.outcome(one).parsed
    assert game.state_name(game.outcome(one)) == "I"
    assert [game.shortfall(one, seat) for seat in game.seats] == [None, 0.0, 0.5]
    assert "cooperation" not in game.collective(one)  # it cannot be said of every seat


@given(st.permutations(range(3)), st.lists(st.sampled_from(["CC", "CD", "DC", "DD", None]), min_size=3, max_size=3))
def test_seats_are_alike(order: list[int], letters: list[str | None]) -> None:
    """Who moves to another seat is paid the same there."""
    game = dilemma("ipd-3:talk=0")
    did = [
        None if one is None else dict(zip([j for j in range(3) if j != i], one, strict=True))
        for i, one in enumerate(letters)
    ]
    moved: list[str | None] = [None] * 3
    for i, one in enumerate(did):
        if one is not None:
            seats = sorted((order[j], letter) for j, letter in one.items())
            moved[order[i]] = "".join(letter for _, letter in seats)
    before, after = paid(game, *letters), paid(game, *moved)
    assert [after[order[i]] for i in range(3)] == before


@pytest.mark.parametrize(
    "spec", ["ipd-3", "stag-hunt-3:talk=2", "chicken-3:talk=0", "ipd-3:n=4,shared=true", "ipd-3:talk=0,n=2"]
)
def test_conformance(spec: str) -> None:
    assert check_game(make_game(spec)) == []


def test_what_a_round_comes_to_for_all() -> None:
    game = dilemma("ipd-3:talk=0")
    one = decided(game, "CC", "CD", "DD")
    assert one.payoffs == {"player-1": 3.0, "player-2": 4.0, "player-3": 6.0}  # 3+0, 3+1, 5+1
    assert game.collective(one) == {"welfare": 13.0, "cooperation": pytest.approx(0.5)}
    assert game.state_name(game.outcome(one)) == "CMD"


def test_talk_comes_in_turn_before_simultaneous_decisions() -> None:
    game = dilemma("ipd-3:talk=2")
    now, asked = Round(0), []
    while (phase := game.next_phase(now)) is not None:
        asked.append((phase.name, phase.turn, phase.seats))
        acts = tuple(Act(phase.name, phase.turn, seat, "hello") for seat in phase.seats)
        now = Round(0, None, (*now.acts, *acts))
    one_by_one = [("message", turn, (f"player-{turn % 3 + 1}",)) for turn in range(6)]
    assert asked == [*one_by_one, ("action", 0, game.seats)]


# --- Replies ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[2 cooperate] [3 defect]", "CD"),
        ("[3 defect][2 cooperate]", "CD"),
        ("I trust 2.\n[2 COOPERATE] but not 3: [ 3  Defect ]", "CD"),
        ("[2 cooperate] [2 cooperate] [3 defect]", "CD"),
        ("[02 cooperate] [3 defect]", "CD"),
        ("<think>[2 defect]</think>[2 cooperate] [3 defect]", "CD"),
        ("[2 defect] so far.</think> [2 cooperate] [3 defect]", "CD"),
        ("[2 cooperate] [2 defect] [3 defect]", None),
        ("[2 cooperate]", None),
        ("[2 cooperate] [3 defect] [4 defect]", None),
        ("[1 cooperate] [2 cooperate] [3 defect]", None),
        ("[0 cooperate] [2 cooperate] [3 defect]", None),
        ("[1002 cooperate] [3 defect]", None),
        ("[\u0662 cooperate] [3 defect]", None),
        ("[2 betray] [3 defect]", None),
        ("2 cooperate 3 defect", None),
        ("[cooperate]", None),
        ("<think>[2 cooperate] [3 defect]", None),
        ("", None),
    ],
)
def test_decisions_are_read_strictly(reply: str, expected: str | None) -> None:
    game = dilemma("ipd-3")
    assert game.parse_action(request(game), reply) == towards(game, "player-1", expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[cooperate]", "cooperate"),
        ("I will [Defect], yes [defect]", "defect"),
        ("[cooperate] [defect]", None),
        ("[2 cooperate]", None),
        ("cooperate", None),
        ("<think>[cooperate]</think>", None),
    ],
)
def test_a_shared_decision_is_read_strictly(reply: str, expected: str | None) -> None:
    game = dilemma("ipd-3:shared=true")
    assert game.parse_action(request(game), reply) == expected


@pytest.mark.parametrize("spec", ["ipd-3", "ipd-3:n=6", "ipd-3:shared=true"])
def test_what_is_written_is_read_back(spec: str) -> None:
    game = dilemma(spec)
    for seat in game.seats:
        asked = request(game, seat)
        for action in game.choices(asked) or ():
            text = game.render_action(asked, action)
            assert game.parse_action(asked, text) == action
            assert game.completes(asked, text) and not game.completes(asked, text[:-1])


def test_a_message_is_one_line_that_others_can_be_shown() -> None:
    game = dilemma("ipd-3")
    asked = request(game, phase="message")
    assert game.parse_action(asked, " Let us\n\ncooperate.  ") == "Let us cooperate."
    assert game.parse_action(asked, "<think>I lie.</think>Trust me.") == "Trust me."
    assert game.parse_action(asked, "<think>I lie.") is None
    assert game.parse_action(asked, "a\x1b[31mb") is None and game.parse_action(asked, "a\u202eb") is None
    assert game.parse_action(asked, "x" * 2000) == "x" * 1000


# --- Settings -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ipd-3:n=1", "ipd-3: n must be 2 to 6 seats, got 1"),
        ("ipd-3:n=7", "ipd-3: n must be 2 to 6 seats, got 7"),
        ("chicken-3:talk=11", "chicken-3: talk must be 0 to 10 messages a round, got 11"),
        ("chicken-3:talk=-1", "talk must be at least 0, got -1"),
        ("ipd-3:talks=1", "there is no setting 'talks'. Did you mean 'talk'"),
        ("ipd-3:shared=2", "shared must be true or false, got 2"),
        ("ipd-3:reward=nan", "reward must be a finite number"),
    ],
)
def test_impossible_settings_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_game(spec)


# --- The message of appendix A.4 ----------------------------------------------------------------------------------------------

_HEAD = """\
STRATEGIC ANALYSIS: Based on game theory analysis of the current situation:
- Mutual Action 0 (cooperation): {R} points EACH
- Mutual Action 1 (defection): {P} points EACH
- If you defect alone: you get {T}, but risk retaliation
"""
_LONG = "With {k} rounds left, consistent mutual cooperation could earn you up to {more} MORE points than mutual defection.\n"
_URGENT = "URGENT: Only {k} round(s) remaining. Mutual cooperation yields the highest guaranteed outcome.\n"
_RARELY = "Your defection rate is high. Switching to Action 0 can rebuild trust and lead to higher total scores.\n"
_SELDOM = "Your current score is {s}. Choosing Action 0 consistently from now will maximize your final score.\n"
_END = "RECOMMENDATION: Choose Action 0 with all opponents this round to maximize your score."


@pytest.mark.parametrize(
    ("name", "standing", "expected"),
    [
        ("ipd-3", Standing("player-1", 5, None, 0.0), _HEAD.format(R=3, P=1, T=5) + _LONG.format(k=5, more=10) + _END),
        ("ipd-3", Standing("player-1", 2, 1.0, 18.0), _HEAD.format(R=3, P=1, T=5) + _URGENT.format(k=2) + _END),
        (
            "chicken-3",
            Standing("player-2", 4, 0.4, 7.0),
            _HEAD.format(R=6, P=0, T=7) + _LONG.format(k=4, more=24) + _SELDOM.format(s=7) + _END,
        ),
        (
            "stag-hunt-3",
            Standing("player-3", 3, 0.2, 6.5),
            _HEAD.format(R=4, P=2, T=3) + _LONG.format(k=3, more=6) + _RARELY + _SELDOM.format(s=6.5) + _END,
        ),
        (
            "ipd-3",
            Standing("player-1", 1, 0.0, 8.0),
            _HEAD.format(R=3, P=1, T=5) + _URGENT.format(k=1) + _RARELY + _SELDOM.format(s=8) + _END,
        ),
        ("ipd-3", Standing("player-1", 3, 0.5, 4.0), _HEAD.format(R=3, P=1, T=5) + _LONG.format(k=3, more=6) + _END),
        (
            "ipd-3",
            Standing("player-1", 3, 0.3, 4.0),
            _HEAD.format(R=3, P=1, T=5) + _LONG.format(k=3, more=6) + _SELDOM.format(s=4) + _END,
        ),
    ],
    ids=[
        "first round",
        "two rounds left",
        "cooperation .4",
        "cooperation .2",
        "last round",
        "exactly .5",
        "exactly .3",
    ],
)
def test_the_message_character_for_character(name: str, standing: Standing, expected: str) -> None:
    mediation = make_game(name).mediation
    assert mediation is not None and list(mediation.notices) == ["intervene"]
    assert mediation.notices["intervene"].text(standing) == expected
