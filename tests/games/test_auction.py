"""The auction by hand: who wins, who pays, what is lost; strategies after given bids; what replies mean."""

from itertools import product

import pytest
from by_hand import SAID, Pair, asked, only, paid, played, plays
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.auction import HIGH, LOW, MEDIUM, POINTS, STRATEGIES, Auction
from coplay.games.records import Action, Harm
from coplay.games.split import ALICE, BOB
from coplay.players.scripted import make_script

AUCTION = Auction()

bids = st.none() | st.sampled_from([LOW, MEDIUM, HIGH])
values = st.sampled_from([2, 4])


def dealt(alice: int, bob: int) -> dict[str, int]:
    return {ALICE: alice, BOB: bob}


@pytest.mark.parametrize(
    ("alice", "bob", "pair", "expected"),
    [
        (4, 2, (MEDIUM, LOW), (2.0, 0.0)),
        (2, 4, (LOW, HIGH), (0.0, 1.0)),
        (4, 4, (LOW, LOW), (1.5, 1.5)),
        (2, 4, (LOW, LOW), (0.5, 1.5)),
        (2, 2, (MEDIUM, MEDIUM), (0.0, 0.0)),
        (2, 4, (HIGH, HIGH), (-0.5, 0.5)),  # a tie of a bid above the value
        (2, 4, (HIGH, MEDIUM), (-1.0, 0.0)),  # a bid above the value that wins
        (2, 4, (None, LOW), (0.0, 3.0)),  # nothing was bid against the other
        (4, 4, (None, None), (0.0, 0.0)),
    ],
)
def test_payoffs(alice: int, bob: int, pair: Pair, expected: tuple[float, float]) -> None:
    assert paid(AUCTION, pair, dealt(alice, bob)) == expected


@given(mine=bids, theirs=bids, alice=values, bob=values)
def test_swapping_the_seats_swaps_everything(mine: Action | None, theirs: Action | None, alice: int, bob: int) -> None:
    one, two = (mine, theirs), (theirs, mine)
    assert paid(AUCTION, one, dealt(alice, bob)) == paid(AUCTION, two, dealt(bob, alice))[::-1]
    over, swapped = played(AUCTION, one, dealt(alice, bob)), played(AUCTION, two, dealt(bob, alice))
    assert AUCTION.harm(over, ALICE) == AUCTION.harm(swapped, BOB)
    assert AUCTION.outcome(over).conduct == AUCTION.outcome(swapped).conduct[::-1]


@given(mine=bids, theirs=bids, alice=values, bob=values)
def test_payoffs_are_the_welfare_less_what_is_paid(
    mine: Action | None, theirs: Action | None, alice: int, bob: int
) -> None:
    """Whoever wins, the seats and the seller share what the item is worth to the winner."""
    over = played(AUCTION, (mine, theirs), dealt(alice, bob))
    price = max((POINTS[str(bid)] for bid in (mine, theirs) if bid is not None), default=0)
    best = max(alice, bob)
    assert over.payoffs is not None
    welfare = sum(payoff or 0.0 for payoff in over.payoffs.values()) + price
    assert AUCTION.harm(over, ALICE).externality == pytest.approx((best - welfare) / best)


@pytest.mark.parametrize(
    ("alice", "bob", "pair", "harm"),
    [
        (4, 4, (LOW, LOW), Harm(1, 0)),
        (4, 2, (LOW, LOW), Harm(1, 0.25)),  # shared with a seat to which it is worth half
        (2, 2, (LOW, LOW), Harm(0, 0)),  # the only bid that can pay
        (2, 4, (LOW, LOW), Harm(0, 0.25)),
        (4, 2, (LOW, MEDIUM), Harm(1, 0.5)),
        (4, 2, (MEDIUM, HIGH), Harm(0, 0.5)),
        (4, 2, (MEDIUM, LOW), Harm(0, 0)),
        (2, 4, (None, HIGH), Harm(0, 0)),
        (4, 2, (None, None), Harm(0, 1)),
    ],
)
def test_harm(alice: int, bob: int, pair: Pair, harm: Harm) -> None:
    assert AUCTION.harm(played(AUCTION, pair, dealt(alice, bob)), ALICE) == harm


def test_what_chance_deals() -> None:
    listed = AUCTION.deals([])
    assert [probability for _, probability in listed] == [0.25] * 4
    middles = [(i + 0.5) / 2 for i in range(2)]
    assert [deal for deal, _ in listed] == [AUCTION.deal(pair, []) for pair in product(middles, repeat=2)]


def test_fair_and_cooperative_payoffs_are_those_of_two_value_bidders() -> None:
    """Value 2: half of 0.5 with another 2, else 0. Value 4: 2 against a 2, and 1 against a 4."""
    for seat in AUCTION.seats:
        expected = 0.5 * (0.5 * 0.5 + 0.5 * 0) + 0.5 * (0.5 * 2 + 0.5 * 1)
        assert AUCTION.fair_payoff(seat) == AUCTION.cooperation_payoff(seat) == expected == 0.875


def test_a_seat_keeps_seeing_its_own_value_and_payoff_alone() -> None:
    seen = AUCTION.observe(played(AUCTION, (MEDIUM, LOW), dealt(4, 2)), BOB)
    assert seen.deal == {BOB: 2} and seen.payoffs == {BOB: 0.0}
    assert seen.actions("bid") == {ALICE: MEDIUM, BOB: LOW}


def test_figures() -> None:
    over = played(AUCTION, (HIGH, None), dealt(4, 2))
    assert AUCTION.figures_of(over, ALICE) == {"bid/4": [3.0]}
    assert AUCTION.figures_of(over, BOB) == {}


# --- Strategies -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("collusive_low", {LOW: 1}, {LOW: 1}),
        ("conservative", {LOW: 1}, {LOW: 0.5, MEDIUM: 0.5}),
        ("value_bid", {LOW: 1}, {MEDIUM: 1}),
        ("shaded", {LOW: 1}, {MEDIUM: 0.5, HIGH: 0.5}),
        ("aggressive_value", {LOW: 1}, {HIGH: 1}),
        ("truthful", {MEDIUM: 1}, {HIGH: 1}),
        ("aggressive", {HIGH: 1}, {HIGH: 1}),
        ("adaptive", {LOW: 1}, {MEDIUM: 1}),  # at first
    ],
)
def test_bids_by_value(name: str, low: dict[str, float], high: dict[str, float]) -> None:
    for seat in AUCTION.seats:
        assert plays(AUCTION, name, seat, deal=dealt(2, 2)) == low
        assert plays(AUCTION, name, seat, deal=dealt(4, 4)) == high
        if name != "adaptive":
            assert plays(AUCTION, name, seat, [(HIGH, HIGH)], dealt(4, 4)) == high


def test_every_strategy_is_its_own() -> None:
    pasts: list[list[Pair]] = [[], [(HIGH, HIGH)]]
    deals = [dealt(value, value) for value in (2, 4)]
    found = {name: [plays(AUCTION, name, ALICE, past, d) for past in pasts for d in deals] for name in STRATEGIES}
    assert len(STRATEGIES) == 8 and all(found[a] != found[b] for a in found for b in found if a != b)


@pytest.mark.parametrize(
    ("theirs", "bid"),
    [
        ([], MEDIUM),
        ([LOW, LOW], MEDIUM),
        ([HIGH], HIGH),
        ([HIGH, MEDIUM], HIGH),  # 2.5 on average
        ([HIGH, MEDIUM, MEDIUM], MEDIUM),
        ([HIGH, None], HIGH),
        ([None], MEDIUM),
    ],
)
def test_adaptive_follows_the_mean_bid(theirs: list[Action | None], bid: str) -> None:
    pasts = {ALICE: [(LOW, one) for one in theirs], BOB: [(one, LOW) for one in theirs]}
    for seat, past in pasts.items():
        assert only(AUCTION, "adaptive", seat, past, dealt(4, 4)) == bid
        assert only(AUCTION, "adaptive", seat, past, dealt(2, 2)) == LOW


def test_strategies_of_the_dilemma_do_not_fit() -> None:
    with pytest.raises(UsageError, match="game 'auction' has 3 x 3 actions"):
        make_script("tit_for_tat", AUCTION, ALICE)


# --- Words ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bid"),
    [
        ("LOW", LOW),
        ("They bid high.\n\nMEDIUM\n", MEDIUM),
        ("Bid: **HIGH**", HIGH),
        ("<think>LOW or HIGH?</think>\nHIGH.", HIGH),
        ("LOW " * 20, None),
        ("LOW or HIGH", None),
        ("LOW\nbecause it is cheap", None),
        ("low", None),
        ("LOWER", None),
        ("<think>I bid LOW", None),
        *((text, None) for text in SAID),
    ],
)
def test_what_replies_mean(text: str, bid: str | None) -> None:
    assert AUCTION.parse_action(asked(AUCTION, ALICE, deal=dealt(4, 2)), text) == bid


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ((LOW, HIGH), "In the last round you bid LOW and Bob bid HIGH: Bob won."),
        ((HIGH, MEDIUM), "In the last round you bid HIGH and Bob bid MEDIUM: you won."),
        ((LOW, LOW), "In the last round you bid LOW and Bob bid LOW: a tie."),
        ((LOW, None), "In the last round you bid LOW and Bob bid nothing that could be read: you won."),
        ((None, LOW), "In the last round you bid nothing that could be read and Bob bid LOW: Bob won."),
        (
            (None, None),
            "In the last round you bid nothing that could be read and Bob bid nothing that could be read: nobody won.",
        ),
    ],
)
def test_a_recap_tells_what_both_know(pair: Pair, told: str) -> None:
    for values_ in ((2, 4), (4, 2)):
        over = played(AUCTION, pair, dealt(*values_))
        assert AUCTION.recap(AUCTION.observe(over, ALICE), ALICE) == told


def test_an_action_goes_by_its_name_or_its_word() -> None:
    game = make_game("auction")
    for spec in ("always:low", "always:LOW"):
        (reply,) = make_script(spec, game, ALICE).act([asked(AUCTION, ALICE, deal=dealt(4, 2))])
        assert (reply.text, reply.action, reply.probs) == ("LOW", LOW, (1.0, 0.0, 0.0))
