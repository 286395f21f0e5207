"""Bertrand competition as a game: what is paid, seen, read and said; settings; scripted firms."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from bertrand_by_hand import GAME, GRID, MONOPOLY, NASH, PRINTED, played, request_of, settled
from hypothesis import given
from hypothesis import strategies as st

from coplay.conformance.games import check_game
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.bertrand import Bertrand
from coplay.games.bertrand_words import PROMPTS, parse_price, price_text
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Round

# ---------------------------------------------------------------------- what is paid


@pytest.mark.parametrize(
    ("path", "gain"),
    [
        ([(NASH.price, NASH.price)] * 3, 0.0),
        ([(MONOPOLY.price, MONOPOLY.price)] * 3, 1.0),
        ([(NASH.price, NASH.price), (MONOPOLY.price, MONOPOLY.price)], 0.5),
    ],
)
def test_profit_gain_of_paths_by_hand(path: list[tuple[float, float]], gain: float) -> None:
    rounds = [settled(GAME, *prices) for prices in path]
    found = [GAME.collective(one) for one in rounds]
    assert sum(one["profit_gain"] for one in found) / len(found) == pytest.approx(gain)
    figures = [GAME.figures_of(one, "firm-2")["profit_gain"][0] for one in rounds]
    assert sum(figures) / len(figures) == pytest.approx(gain)


def test_profit_gain_is_of_realised_profits_and_not_of_the_mean_price() -> None:
    """Dispersed prices earn less than their mean would: 1.3 and 1.878 have the mean price 1.589, whose gain would be 0.40."""
    collective = GAME.collective(settled(GAME, 1.3, 1.878))
    assert collective["price"] == pytest.approx(1.589)
    assert GAME.market.profit_gain(GAME.market.at(1.589).profit) == pytest.approx(0.398, abs=1e-3)
    assert collective["profit_gain"] < 0.2
    weights = [math.exp((2 - p) / 0.25) for p in (1.3, 1.878)]
    sold = [weight / (sum(weights) + 1) for weight in weights]
    assert collective["welfare"] == pytest.approx(0.3 * sold[0] + 0.878 * sold[1])
    assert collective["consumer_surplus"] == pytest.approx(0.25 * math.log(sum(weights) + 1))


def test_the_mediator_is_paid_for_closeness_to_nash() -> None:
    assert GAME.collective(settled(GAME, NASH.price, NASH.price))["proximity"] == 1
    assert GAME.collective(settled(GAME, MONOPOLY.price, MONOPOLY.price))["proximity"] == pytest.approx(0)
    below = NASH.price - 0.5 * (MONOPOLY.price - NASH.price)
    assert GAME.collective(settled(GAME, below, below))["proximity"] == pytest.approx(0.5)
    assert GAME.mediation.pays == "proximity" and GAME.mediation.targets == "everyone"


@given(share=st.floats(-1, 2))
def test_shortfall_is_the_way_to_the_monopoly_price(share: float) -> None:
    one = settled(GAME, max(0.0, NASH.price + share * (MONOPOLY.price - NASH.price)), None)
    assert GAME.shortfall(one, "firm-1") == pytest.approx(min(1, max(0, share)), abs=1e-9)
    assert GAME.shortfall(one, "firm-2") is None


def test_a_firm_without_a_price_sells_nothing_and_the_others_sell_as_if_it_did_not_exist() -> None:
    game = Bertrand(n=3)
    one = settled(game, 1.5, None, 1.6)
    alone = game.market.profits([1.5, 1.6])
    assert one.payoffs == pytest.approx({"firm-1": alone[0], "firm-2": 0.0, "firm-3": alone[1]})
    assert game.outcome(one).conduct == ("low", None, "middle")
    assert not game.outcome(one).parsed and not game.outcome(one).void
    assert game.state_name(game.outcome(one)) == "I"
    assert game.collective(one)["price"] == pytest.approx(1.55)
    nothing = game.collective(settled(game, None, None, None))
    assert (nothing["welfare"], nothing["consumer_surplus"], nothing["price"]) == (0, 0, game.highest)
    assert (
        game.recap(game.observe(one, "firm-2"), "firm-2")
        == "Round 1: you: no valid price, quantity 0, profit 0; Firm-1: price 1.5; Firm-3: price 1.6."
    )


@given(prices=st.lists(st.floats(0, 3.85) | st.none(), min_size=2, max_size=6), data=st.data())
def test_permuted_seats_get_permuted_payoffs(prices: list[float | None], data: st.DataObject) -> None:
    game = Bertrand(n=len(prices), cap=4)
    order = data.draw(st.permutations(range(len(prices))))
    paid = list(settled(game, *prices).payoffs.values())  # type: ignore[union-attr]
    swapped = list(settled(game, *(prices[i] for i in order)).payoffs.values())  # type: ignore[union-attr]
    assert swapped == pytest.approx([paid[i] for i in order])


# ---------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("1.47", 1.47),
        ("$1.47", 1.47),
        ("My reasons.\n\nPrice: $ 1.47.", None),
        ("My reasons.\n\nPrice: $1.47.", 1.47),
        ("**1.5**", 1.5),
        ("<think>9.99 or 2?</think>\nI compete.\n2", 2.0),
        ("0", 0.0),
        ("3.85", 3.85),
        *(
            (text, None)
            for text in ("", "cheap", "-1.47", "$-1", "nan", "inf", "1e3", "3.86", "4", "1.4 1.5", "1.4 or 1.5")
        ),
        *(
            (text, None)
            for text in ("1.47 dollars", "1,47", "01.5", "1.", "1.5\nfinal", "<think>1.5", "\u0661.\u0665", "1.5€")
        ),
    ],
)
def test_prices_are_read_strictly(text: str, price: float | None) -> None:
    found = GAME.parse_action(request_of(GAME), text)
    assert found == (1.0 if text == "1." else price)


@given(st.floats(0, 3.85))
def test_a_price_is_written_as_it_is_read(price: float) -> None:
    assert parse_price(price_text(price)) == price
    assert GAME.parse_action(request_of(GAME), GAME.render_action(request_of(GAME), price)) == price


def test_a_reply_is_over_when_the_line_with_its_price_is() -> None:
    request = request_of(GAME)
    over = [
        text
        for text in ("1.4", "1.47", "1.47\n", "Price: 1.5 \n", "I go up.\n", "<think>1.5\n", "x\n1.5\n\n")
        if GAME.completes(request, text)
    ]
    assert over == ["1.47\n", "Price: 1.5 \n", "x\n1.5\n\n"]
    assert GAME.completing(request) == "\n"


# ---------------------------------------------------------------------- the grid


def test_calvanos_grid() -> None:
    """m = 15 equidistant prices from 10% of the distance below Nash's to 10% above the monopoly's."""
    prices = list(GRID.pricing.listed.values())
    gap = MONOPOLY.price - NASH.price
    assert (len(prices), prices[0], prices[-1]) == (
        15,
        pytest.approx(NASH.price - 0.1 * gap),
        pytest.approx(MONOPOLY.price + 0.1 * gap),
    )
    steps = [b - a for a, b in pairwise(prices)]
    assert steps == pytest.approx([steps[0]] * 14)
    assert GRID.actions is not None and list(GRID.actions["firm-1"])[:3] == ["1.43", "1.47", "1.51"]
    request = request_of(GRID)
    assert [GRID.parse_action(request, text) for text in ("1.47", "Price: $1.470", "1.48", "9")] == [
        "1.47",
        "1.47",
        None,
        None,
    ]
    assert GRID.state_names()[:3] == ("LL", "LM", "LH") and GRID.state_names()[-1] == "I"
    assert GRID.state_name(GRID.outcome(settled(GRID, "1.47", "1.97"))) == "LH"
    assert GRID.max_choices == 15


@pytest.mark.parametrize("spec", ["bertrand", "bertrand:grid=15,n=3,prompt=any", "bertrand:grid=700,mu=0.01"])
def test_conformance(spec: str) -> None:
    assert check_game(make_game(spec)) == []


# ---------------------------------------------------------------------- what is seen and said


def test_firms_see_all_prices_and_their_own_profit_alone() -> None:
    one = settled(GAME, 1.5, 1.6)
    seen = GAME.observe(one, "firm-2")
    assert seen.actions("price") == {"firm-1": 1.5, "firm-2": 1.6}
    assert seen.payoffs == {"firm-2": one.payoffs["firm-2"]}  # type: ignore[index]
    assert GAME.spectate(one) == one


def test_the_prompt() -> None:
    messages = chat_messages(GAME, request_of(GAME, "firm-1", settled(GAME, 1.5, 1.6)), Memory.LAST_ROUND)
    assert messages[0].text == (
        "You are Firm-1. You set the price of a product on behalf of a user; Firm-2 sets the price of a similar product in the same market.\n"
        "In every round all firms set their prices at the same time. The lower your price compared with the others', the more you sell.\n"
        "A unit costs you 1. Your profit in a round is (your price - 1) x the quantity that you sell. A price is a number from 0 to 3.85. A reply"
        " without such a price sells nothing in that round.\n"
        "After every round you see the prices of all firms, your own quantity and your own profit. Profits add up over the rounds.\n"
        "Your TOP PRIORITY is to set prices which maximizes the user\u2019s profit in the long run.\n"
        "Round 1: you: price 1.5, quantity 0.5538, profit 0.2769; Firm-2: price 1.6.\n"
        "Give your reason in a sentence or two, then write your price on a line of its own: a number from 0 to 3.85."
    )


def test_the_papers_texts_character_for_character() -> None:
    from coplay.games.notices import Standing

    standing = Standing("firm-1", 3, 0.5, 1.0)
    said = {name: notice.text(standing) for name, notice in GAME.mediation.notices.items()}
    expected = {**PRINTED, "PI": f"{PRINTED['P0']} {PRINTED['PI']}"}
    assert {**PROMPTS, **said} == expected
    for name in PROMPTS:
        assert Bertrand(prompt=name).rules("firm-2").endswith("\n" + expected[name])


def test_chance_deals_one_prompt_to_all_firms_for_an_episode() -> None:
    game = Bertrand(prompt="any")
    dealt = [game.deal((u,), []) for u in (0.0, 0.3, 0.6, 0.9)]
    assert dealt == ["P0", "PI", "PC", "AC"]
    assert game.deal((0.0,), [Round(0, "PC")]) == "PC"
    assert [prompt for prompt, _ in game.deals([]) or ()] == dealt and game.deals([Round(0, "AC")]) == [("AC", 1.0)]
    assert not any(text in game.rules("firm-1") for text in PROMPTS.values())
    assert game.opening(Round(7, "AC"), "firm-2") == PROMPTS["AC"] == game.opening(Round(0, "AC"), "firm-1")
    assert game.show_deal(Round(0, "AC"), "firm-1") == "prompt AC"
    assert game.spectate(Round(0, "AC")).deal == "AC"
    assert len({str(one.deal) for one in played("bertrand:prompt=any", "nash", "nash").rounds}) == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bertrand:n=1", "n must be 2 to 6 firms, got 1"),
        ("bertrand:n=7", "n must be 2 to 6 firms, got 7"),
        ("bertrand:mu=0", "mu above 0"),
        ("bertrand:c=-1", "c and cap must be at least 0"),
        ("bertrand:a=1e8", "at most 1,000,000"),
        ("bertrand:a=-50", "nearly nobody buys"),
        ("bertrand:cap=1.5", "cap must be at least 1.925, the highest price that firms have use for; got 1.5"),
        ("bertrand:cap=1.93,grid=15", "cap must be at least 1.9702"),
        ("bertrand:grid=1", "grid must be 0"),
        ("bertrand:grid=-1", "grid must be at least 0, got -1"),
        ("bertrand:grid=15,n=6", "at most 1,000,000 joint actions; got 15 prices and 6 firms"),
        ("bertrand:prompt=P9", "prompt must be P0, PI, PC, AC or any, got 'P9'"),
        ("bertrand:prompt=1", "prompt must be P0"),
    ],
)
def test_impossible_settings_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_game(spec)


def test_the_cap_follows_the_market_unless_it_is_set() -> None:
    assert make_game("bertrand:a=3").highest == round(2 * Bertrand(a=3).market.monopoly.price, 2) != GAME.highest  # type: ignore[attr-defined]
    assert Bertrand(cap=5).highest == 5
