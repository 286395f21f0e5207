"""Both negotiations by hand: deals and breakdowns, strategies after given demands, what replies mean."""

from fractions import Fraction

import pytest
from by_hand import SAID, Pair, asked, only, paid, played
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import CoplayError, UsageError
from coplay.games.base import Game
from coplay.games.item_negotiation import ItemNegotiation
from coplay.games.item_pool import VALUES, ItemDeal, Vector, demands_of
from coplay.games.negotiation import Negotiation
from coplay.games.records import Action, Harm
from coplay.games.split import ALICE, BOB
from coplay.players.named import make_player
from coplay.players.scripted import make_script

PIE, ITEMS = Negotiation(), ItemNegotiation()

# --- Ten points -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "expected", "harm", "conduct"),
    [
        ((5, 5), (5.0, 5.0), Harm(0, 0), ("cooperate", "cooperate")),
        ((7, 3), (7.0, 3.0), Harm(1, 0), ("greedy", "cooperate")),
        ((6, 4), (6.0, 4.0), Harm(0, 0), ("greedy", "cooperate")),
        ((1, 1), (1.0, 1.0), Harm(0, 0), ("cooperate", "cooperate")),  # what is left over is lost
        ((6, 5), (0.0, 0.0), Harm(0, 1), ("greedy", "cooperate")),
        ((9, 9), (0.0, 0.0), Harm(1, 1), ("greedy", "greedy")),
        ((None, 5), (0.0, 0.0), Harm(0, 1), (None, "cooperate")),
        ((8, None), (0.0, 0.0), Harm(1, 1), ("greedy", None)),
        ((None, None), (0.0, 0.0), Harm(0, 1), (None, None)),
    ],
)
def test_a_pie(pair: Pair, expected: tuple[float, float], harm: Harm, conduct: tuple[str | None, ...]) -> None:
    assert paid(PIE, pair) == expected
    over = played(PIE, pair)
    assert PIE.harm(over, ALICE) == harm
    assert PIE.outcome(over).conduct == conduct and PIE.outcome(over).parsed == (None not in pair)


demands = st.none() | st.integers(1, 9)


@given(mine=demands, theirs=demands)
def test_swapping_the_seats_swaps_the_pie(mine: int | None, theirs: int | None) -> None:
    assert paid(PIE, (mine, theirs)) == paid(PIE, (theirs, mine))[::-1]
    one, two = played(PIE, (mine, theirs)), played(PIE, (theirs, mine))
    assert PIE.harm(one, ALICE) == PIE.harm(two, BOB)
    assert PIE.figures_of(one, ALICE) == PIE.figures_of(two, BOB)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("They demanded 7", False),
        ("They demanded 7 in the last round.\nSo I demand 3", False),
        ("They demanded 7 in the last round.\n3", True),
        ("Half is fair.\nDemand: **5**", True),
        ("5", True),
        ("10", False),
    ],
)
def test_a_number_within_a_reason_does_not_end_a_reply(text: str, over: bool) -> None:
    assert PIE.completes(asked(PIE, ALICE), text) == over


def test_a_fair_share() -> None:
    assert PIE.fair_payoff(ALICE) == PIE.cooperation_payoff(BOB) == 5
    assert paid(PIE, (PIE.perform("cooperate", asked(PIE, ALICE)),) * 2) == (5.0, 5.0)
    assert PIE.perform("greedy", asked(PIE, ALICE)) == 7


@pytest.mark.parametrize(
    ("name", "past", "demand"),
    [
        ("fair", [(9, 9)], 5),
        ("balanced", [(9, 9)], 6),
        ("selfish", [(1, 1)], 7),
        ("hardball", [(1, 1)], 8),
        ("concede", [], 6),
        ("concede", [(6, 4)], 6),
        ("concede", [(6, 5)], 5),
        ("concede", [(6, 5), (5, 5)], 5),  # a deal changes nothing
        ("concede", [(6, 7), (5, 7), (4, 7)], 3),
        ("concede", [(6, 8), (5, 8), (4, 8), (3, 8)], 3),
        ("concede", [(6, None)], 5),
        ("tit_for_tat_neg", [], 5),
        ("tit_for_tat_neg", [(5, 8), (8, 2)], 2),
        ("tit_for_tat_neg", [(5, None)], 5),
    ],
)
def test_strategies_for_a_pie(name: str, past: list[Pair], demand: int) -> None:
    assert only(PIE, name, ALICE, past) == demand
    assert only(PIE, name, BOB, [(b, a) for a, b in past]) == demand


@pytest.mark.parametrize(
    ("text", "demand"),
    [
        ("7", 7),
        ("They took 6.\nSo I demand 4.", 4),
        ("My demand: **5**", 5),
        ("<think>7? 8?</think>6", 6),
        ("1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2", None),
        ("6 or 7", None),
        ("10", None),
        ("0", None),
        ("-5", None),
        ("5.5", None),
        ("<think>I demand 5", None),
        *((text, None) for text in SAID),
    ],
)
def test_what_replies_demand_of_a_pie(text: str, demand: int | None) -> None:
    assert PIE.parse_action(asked(PIE, ALICE), text) == demand


# --- Books, hats and balls --------------------------------------------------------------------------------------------------------

DEAL = ItemDeal((1, 4, 3), {ALICE: (2, 3, 5), BOB: (6, 1, 3)})
"""Worth 29 to alice and 19 to bob."""


@pytest.mark.parametrize(
    ("pair", "expected", "harm", "conduct"),
    [
        (((0, 2, 1), (1, 2, 2)), (11.0, 14.0), Harm(0, 0), ("cooperate", "greedy")),
        (((0, 4, 3), (1, 0, 0)), (27.0, 6.0), Harm(1, 0), ("greedy", "cooperate")),
        (((0, 2, 3), (1, 2, 0)), (21.0, 8.0), Harm(1, 0), ("greedy", "cooperate")),  # 21 of 29 is more than 7/10
        (((1, 1, 3), (0, 0, 0)), (20.0, 0.0), Harm(0, 0), ("greedy", "cooperate")),  # 20 of 29 is less
        (((1, 0, 0), (1, 0, 0)), (0.0, 0.0), Harm(0, 1), ("cooperate", "cooperate")),
        (((1, 4, 3), (1, 4, 3)), (0.0, 0.0), Harm(1, 1), ("greedy", "greedy")),
        (((0, 0, 0), (0, 0, 0)), (0.0, 0.0), Harm(0, 0), ("cooperate", "cooperate")),
        ((None, (1, 0, 0)), (0.0, 0.0), Harm(0, 1), (None, "cooperate")),
        (((1, 4, 3), None), (0.0, 0.0), Harm(1, 1), ("greedy", None)),
    ],
)
def test_a_pool(pair: Pair, expected: tuple[float, float], harm: Harm, conduct: tuple[str | None, ...]) -> None:
    assert paid(ITEMS, pair, DEAL) == expected
    over = played(ITEMS, pair, DEAL)
    assert ITEMS.harm(over, ALICE) == harm
    assert ITEMS.outcome(over).conduct == conduct and ITEMS.outcome(over).parsed == (None not in pair)


chances = st.tuples(*[st.floats(0, 1, exclude_max=True)] * 5)


@given(numbers=chances, picks=st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)))
def test_swapping_the_seats_swaps_the_pool(numbers: tuple[float, ...], picks: tuple[float, float]) -> None:
    deal = ITEMS.deal(numbers, [])
    swapped = ItemDeal(deal.pool, {ALICE: deal.values[BOB], BOB: deal.values[ALICE]})
    options = demands_of(deal.pool)
    mine, theirs = (options[int(u * len(options))] for u in picks)
    assert paid(ITEMS, (mine, theirs), deal) == paid(ITEMS, (theirs, mine), swapped)[::-1]
    one, two = played(ITEMS, (mine, theirs), deal), played(ITEMS, (theirs, mine), swapped)
    assert ITEMS.harm(one, ALICE) == ITEMS.harm(two, BOB)
    fits = all(a + b <= n for a, b, n in zip(mine, theirs, deal.pool, strict=True))
    assert ITEMS.harm(one, ALICE).externality == (not fits)


@given(numbers=chances, later=chances)
def test_a_deal_holds_for_the_episode(numbers: tuple[float, ...], later: tuple[float, ...]) -> None:
    deal = ITEMS.deal(numbers, [])
    assert all(1 <= n <= 4 for n in deal.pool)
    assert all(sum(of_seat) == 10 and min(of_seat) >= 1 for of_seat in deal.values.values())
    first = played(ITEMS, ((0, 0, 0), (0, 0, 0)), deal)
    assert ITEMS.deal(later, [first]) == deal
    assert ITEMS.deals([]) is None and ITEMS.deals([first]) == [(deal, 1.0)]


def test_every_deal_is_equally_likely() -> None:
    assert len(VALUES) == len(set(VALUES)) == 36
    draws = [ITEMS.deal(((i + 0.5) / 144,) * 5, []) for i in range(144)]
    assert [draws.count(one) for one in draws[::4]] == [4] * 36
    assert [deal.pool[0] for deal in draws] == [1] * 36 + [2] * 36 + [3] * 36 + [4] * 36


def test_fair_players_expect_ten() -> None:
    """Half of 1 to 4, rounded down, is one on average, whatever the values."""
    mean = Fraction(sum(n // 2 for n in (1, 2, 3, 4)), 4)
    assert ITEMS.fair_payoff(ALICE) == ITEMS.cooperation_payoff(BOB) == mean * 10 == 10
    for pool in [(1, 2, 3), (4, 4, 1)]:
        deal = ItemDeal(pool, DEAL.values)
        half = only(ITEMS, "fair", ALICE, deal=deal)
        assert paid(ITEMS, (half, half), deal)[0] == sum(n // 2 * v for n, v in zip(pool, (2, 3, 5), strict=True))


def test_a_seat_keeps_seeing_its_own_values_and_payoff_alone() -> None:
    seen = ITEMS.observe(played(ITEMS, ((0, 2, 1), (1, 2, 2)), DEAL), BOB)
    assert seen.deal == ItemDeal((1, 4, 3), {BOB: (6, 1, 3)}) and seen.payoffs == {BOB: 14.0}


@pytest.mark.parametrize(
    ("name", "past", "demand"),
    [
        ("fair", [], (0, 2, 1)),
        ("greedy", [], (1, 4, 3)),
        ("hardball", [], (0, 4, 3)),
        ("proportional", [], (1, 2, 2)),  # 0.2, 1.2 and 1.5
        ("conservative", [], (0, 0, 1)),  # 0.16, 0.96 and 1.2
        ("tit_for_tat_neg", [], (0, 2, 1)),
        ("tit_for_tat_neg", [((0, 2, 1), (1, 3, 0))], (1, 3, 0)),
        ("tit_for_tat_neg", [((0, 2, 1), None)], (0, 2, 1)),
        ("concede", [], (1, 4, 3)),
        ("concede", [((1, 4, 3), (0, 0, 1))], (0, 3, 2)),
        ("concede", [((1, 4, 3), (0, 0, 0))], (1, 4, 3)),
        ("concede", [((1, 4, 3), None)] * 3, (0, 2, 1)),
        ("adaptive", [], (0, 1, 1)),  # 0.24, 1.44 and 1.8
        ("adaptive", [((1, 2, 1), (0, 2, 2))], (1, 2, 1)),  # a deal
        ("adaptive", [((1, 2, 1), (1, 2, 2))], (0, 2, 1)),  # books are worth least
        ("adaptive", [((0, 2, 1), (1, 4, 3))], (0, 1, 1)),  # of what is still demanded, hats
        ("adaptive", [((0, 0, 0), None)], (0, 0, 0)),
        ("adaptive", [(None, (1, 4, 3))], (0, 1, 1)),
        ("defensive", [], (0, 1, 1)),
        ("defensive", [((0, 1, 1), (1, 1, 1))], (0, 3, 2)),
        ("defensive", [((0, 1, 1), (1, 4, 3)), ((0, 0, 0), (0, 1, 0))], (1, 2, 2)),  # means 0.5, 2.5 and 1.5
        ("defensive", [((0, 1, 1), None)], (0, 1, 1)),
    ],
)
def test_strategies_for_a_pool(name: str, past: list[Pair], demand: Vector) -> None:
    assert only(ITEMS, name, ALICE, past, DEAL) == demand
    swapped = ItemDeal(DEAL.pool, {ALICE: DEAL.values[BOB], BOB: DEAL.values[ALICE]})
    assert only(ITEMS, name, BOB, [(b, a) for a, b in past], swapped) == demand


def test_hardball_leaves_the_first_of_equal_items() -> None:
    deal = ItemDeal((1, 2, 3), {ALICE: (3, 3, 4), BOB: (1, 1, 8)})
    assert only(ITEMS, "hardball", ALICE, deal=deal) == (0, 2, 3)
    assert only(ITEMS, "hardball", BOB, deal=deal) == (0, 2, 3)


@pytest.mark.parametrize(
    ("text", "demand"),
    [
        ("[0, 2, 1]", (0, 2, 1)),
        ("They like hats.\nI demand [1,0,3].", (1, 0, 3)),
        ("[books, hats, balls] = [1, 0, 3]", (1, 0, 3)),
        ("Let's demand [1, 1, 1].\n[0, 4, 3]", (0, 4, 3)),
        ("[1, 2]", None),
        ("[9, 9, 9]", None),
        ("[2, 0, 0]", None),  # there is one book
        ("[1, -1, 1]", None),
        ("[1, 1.5, 1]", None),
        ("[1, 1, 1] or [0, 1, 1]", None),
        ("[1, 1, 1] " * 20, None),
        ("[1, 1, 1]\nThat is my demand.", None),
        ("1, 1, 1", None),
        ("<think>[1, 1, 1]", None),
        *((text, None) for text in SAID),
    ],
)
def test_what_replies_demand_of_a_pool(text: str, demand: Vector | None) -> None:
    assert ITEMS.parse_action(asked(ITEMS, ALICE, deal=DEAL), text) == demand


@given(numbers=chances)
def test_every_demand_is_written_and_read_back(numbers: tuple[float, ...]) -> None:
    deal = ITEMS.deal(numbers, [])
    request = asked(ITEMS, ALICE, deal=deal)
    choices = ITEMS.choices(request)
    assert len(choices) == len(set(choices)) <= ITEMS.max_choices == 125
    for choice in (choices[0], choices[len(choices) // 2], choices[-1]):
        assert ITEMS.parse_action(request, ITEMS.render_action(request, choice)) == choice


# --- Words and general players, in both -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "pair", "told"),
    [
        (PIE, (5, 4), "In the last round you demanded 5 and Bob demanded 4: a deal."),
        (PIE, (5, 6), "In the last round you demanded 5 and Bob demanded 6: no deal, both got 0."),
        (
            PIE,
            (5, None),
            "In the last round you demanded 5 and Bob demanded nothing that could be read: no deal, both got 0.",
        ),
        (
            ITEMS,
            ((0, 2, 1), (1, 2, 2)),
            "In the last round you demanded [0, 2, 1] and Bob demanded [1, 2, 2]: a deal, worth 11 points to you.",
        ),
        (
            ITEMS,
            ((1, 2, 1), (1, 2, 2)),
            "In the last round you demanded [1, 2, 1] and Bob demanded [1, 2, 2]: no deal, both got 0.",
        ),
    ],
)
def test_recaps(game: Game, pair: Pair, told: str) -> None:
    deal = DEAL if game is ITEMS else None
    assert game.recap(game.observe(played(game, pair, deal), ALICE), ALICE) == told


@pytest.mark.parametrize(
    ("game", "deal", "kind", "greedy"), [(PIE, None, 5, 7), (ITEMS, DEAL, (0, 2, 1), (1, 4, 3))], ids=["pie", "pool"]
)
def test_general_strategies_cooperate_or_not(game: Game, deal: ItemDeal | None, kind: Action, greedy: Action) -> None:
    for spec, action in (("always_cooperate", kind), ("always_defect", greedy), ("random:0", greedy)):
        (reply,) = make_script(spec, game, ALICE).act([asked(game, ALICE, deal=deal)])
        assert reply.action == action


def test_a_demand_that_the_pool_cannot_meet_is_named_with_a_few_that_it_can() -> None:
    player = make_script("always:[2, 0, 0]", ITEMS, ALICE)
    with pytest.raises(CoplayError) as caught:
        player.act([asked(ITEMS, ALICE, deal=DEAL)])
    assert "has no legal action of phase 'demand' in 'negotiation-v2'; legal are [0, 0, 0], [0, 0, 1]" in str(
        caught.value
    )
    assert str(caught.value).endswith(", [0, 2, 3] and 28 more")


def test_a_misspelt_strategy_of_a_game_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"unknown player 'hardbal'\. Did you mean 'hardball'"):
        make_player("hardbal", PIE, ALICE)
