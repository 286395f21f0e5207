"""The split rule by hand and by properties; what chance deals, counted; the paper's printed round."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.games.records import Act, Action, Round
from coplay.games.split import ALICE, BOB, ITEMS, SEATS, SplitDeal, SplitGame, SplitNoComm, other, split
from coplay.games.trust_and_split import BEATEN_BY, COINS, TrustAndSplit

amounts = st.integers(0, 10)
proposals = st.fixed_dictionaries(dict.fromkeys(ITEMS, amounts))
uniforms = st.floats(0, 1, exclude_max=True)


def payoffs(game: SplitGame, deal: SplitDeal, proposals: dict[str, Action | None]) -> dict[str, float | None]:
    """What a round pays in which this was dealt and these proposals were made."""
    return game.payoffs(Round(0, deal, tuple(Act("proposal", 0, seat, asked) for seat, asked in proposals.items())))


def phases(game: SplitGame, number: int) -> list[tuple[str, tuple[str, ...]]]:
    """All phases of a round, in order: what is asked for, and of whom."""
    now, found = Round(number), []
    while (phase := game.next_phase(now)) is not None:
        found.append((phase.name, phase.seats))
        acts = tuple(Act(phase.name, phase.turn, seat, None) for seat in phase.seats)
        now = Round(number, None, (*now.acts, *acts))
    return found


@pytest.mark.parametrize(
    ("own", "theirs", "received"),
    [
        (10, 0, 10),
        (0, 10, 0),
        (5, 5, 5),
        (10, 10, 5),
        (9, 1, 9),
        (3, 4, 3),
        (0, 0, 0),
        (10, 5, 20 / 3),
        (1, 10, 10 / 11),
    ],
)
def test_the_rule(own: int, theirs: int, received: float) -> None:
    assert split(10, own, theirs) == pytest.approx(received)


@given(own=amounts, theirs=amounts, quantity=st.integers(1, 20))
def test_nothing_is_made_and_nobody_gets_more_than_asked(own: int, theirs: int, quantity: int) -> None:
    mine, others = split(quantity, own, theirs), split(quantity, theirs, own)
    assert 0 <= mine <= own
    assert mine + others <= quantity * (1 + 1e-12)
    exact = Fraction(quantity * own, max(quantity, own + theirs))
    assert mine == pytest.approx(float(exact))
    if own + theirs <= quantity:
        assert mine == own


@given(own=amounts, theirs=amounts)
def test_asking_for_more_never_gives_less(own: int, theirs: int) -> None:
    received = [split(10, asked, theirs) for asked in range(11)]
    assert received == sorted(received)
    assert max(received) == received[10]  # so keeping everything is the best reply to anything


def test_the_papers_round() -> None:
    """Figure 9: the lower hand asks for nine coins, the upper for one: +9 and +10."""
    game = TrustAndSplit()
    deal = next(deal for deal in (game.deal([i / 6], []) for i in range(6)) if deal.values[BOB][COINS] == 10)
    assert payoffs(game, deal, {ALICE: {COINS: 9}, BOB: {COINS: 1}}) == {ALICE: 9.0, BOB: 10.0}


def test_what_split_no_comm_deals() -> None:
    seen = Counter()
    for uniform in (np.arange(12_000) + 0.5) / 12_000:
        deal = SplitNoComm().deal([float(uniform)], [])
        seen[tuple(tuple(deal.values[seat][item] for item in ITEMS) for seat in SEATS)] += 1
    expected = [
        (alice, bob)
        for alice in product((1, 10), repeat=3)
        for bob in product((1, 10), repeat=3)
        if any(a != b for a, b in zip(alice, bob, strict=True)) and sum(alice) == sum(bob)
    ]
    assert seen == dict.fromkeys(expected, 1000)


def test_what_trust_and_split_deals() -> None:
    game, upper = TrustAndSplit(), Counter()
    for i in range(600):
        deal = game.deal([i / 600], [])
        assert deal.hands is not None and deal.hands[ALICE] != deal.hands[BOB]
        for seat in SEATS:
            wins = BEATEN_BY[deal.hands[other(seat)]] == deal.hands[seat]
            assert deal.values[seat][COINS] == (10 if wins else 1)
            upper[seat] += wins
    assert upper == {ALICE: 300, BOB: 300}


@given(uniform=uniforms)
@pytest.mark.parametrize("game", [SplitNoComm(), TrustAndSplit()])
def test_any_chance_deals(game: SplitNoComm | TrustAndSplit, uniform: float) -> None:
    deal = game.deal([uniform], [])
    assert {value for of_seat in deal.values.values() for value in of_seat.values()} <= {1, 10}
    everything = {seat: dict.fromkeys(game.items, 10) for seat in SEATS}
    greedy = payoffs(game, deal, everything)
    assert sum(greedy.values()) < game.most_together(deal)  # a dilemma in every round


def test_the_starter_alternates() -> None:
    game = TrustAndSplit()
    assert phases(game, 0) == [("message", (ALICE,)), ("message", (BOB,)), ("proposal", (ALICE, BOB))]
    assert phases(game, 1) == [("message", (BOB,)), ("message", (ALICE,)), ("proposal", (ALICE, BOB))]
    assert phases(SplitNoComm(), 3) == [("proposal", (ALICE, BOB))]


@given(mine=proposals, theirs=proposals, uniform=uniforms)
def test_swapping_the_seats_swaps_the_payoffs(mine: dict[str, int], theirs: dict[str, int], uniform: float) -> None:
    game = SplitNoComm()
    deal = game.deal([uniform], [])
    swapped = type(deal)({seat: deal.values[other(seat)] for seat in SEATS})
    one, two = payoffs(game, deal, {ALICE: mine, BOB: theirs}), payoffs(game, swapped, {ALICE: theirs, BOB: mine})
    assert (one[ALICE], one[BOB]) == (two[BOB], two[ALICE])


def test_a_reply_that_cannot_be_parsed_takes_nothing_and_leaves_the_other_its_own() -> None:
    game = SplitNoComm()
    received = game.allocation({ALICE: None, BOB: dict.fromkeys(ITEMS, 10)})
    assert received == {ALICE: dict.fromkeys(ITEMS, 0.0), BOB: dict.fromkeys(ITEMS, 10.0)}


@pytest.mark.parametrize(
    "proposal", [{"hats": 1}, {"hats": 11, "books": 0, "balls": 0}, {"hats": -1, "books": 0, "balls": 0}, "all"]
)
def test_no_other_proposal_moves_an_allocation(proposal: object) -> None:
    with pytest.raises(ValueError, match="a proposal"):
        SplitNoComm().allocation({ALICE: proposal, BOB: None})  # type: ignore[dict-item]


@given(uniform=uniforms, asked=st.tuples(*[st.none() | amounts] * 6))
@pytest.mark.parametrize("game", [SplitNoComm(), TrustAndSplit()])
def test_every_round_has_one_of_the_declared_names(
    game: SplitGame, uniform: float, asked: tuple[int | None, ...]
) -> None:
    deal = game.deal([uniform], [])
    acts = []
    for seat, own in zip(SEATS, (asked[:3], asked[3:]), strict=True):
        amounts = dict(zip(game.items, own, strict=False))
        acts.append(Act("proposal", 0, seat, None if None in amounts.values() else amounts))
    outcome = game.outcome(Round(0, deal, tuple(acts)))
    assert game.state_name(outcome) in game.state_names()
    assert outcome.parsed == all(act.action is not None for act in acts)
    for act, conduct in zip(acts, outcome.conduct, strict=True):
        worth = {item: (deal.values[act.seat][item], deal.values[other(act.seat)][item]) for item in game.items}
        left = [act.action[item] for item, (mine, theirs) in worth.items() if theirs > mine] if act.action else []
        assert conduct == (None if not left else "cooperate" if max(left) <= 5 else "greedy")
