"""Bertrand competition's exact values: against an independent solver, published numbers, and what defines them."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coplay.games.bertrand_values import LogitMarket

PUBLISHED = {  # price, quantity and profit of a firm, consumer surplus: a = 2, c = 1, mu = 0.25, a0 = 0, two firms
    "nash": (1.4729266600, 0.4713768093, 0.2229266600, 0.7150977112),
    "monopoly": (1.9249809190, 0.3648620772, 0.3374904595, 0.3270780478),
}

markets = st.builds(
    LogitMarket,
    n=st.integers(2, 6),
    a=st.floats(0.5, 5),
    c=st.floats(0, 2),
    mu=st.floats(0.05, 2),
    a0=st.floats(-2, 1),
)


def margin(market: LogitMarket, price: float, firms: int) -> float:
    """``p - c - mu/(1 - k q)`` at a price that all ask: 0 at Nash's for k = 1, at the monopoly's for k = n."""
    weight = math.exp((market.a - price) / market.mu)
    quantity = weight / (market.n * weight + math.exp(market.a0 / market.mu))
    return price - market.c - market.mu / (1 - firms * quantity)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_values(name: str) -> None:
    point = getattr(LogitMarket(), name)
    found = (point.price, point.quantity, point.profit, point.consumer_surplus)
    assert found == pytest.approx(PUBLISHED[name], abs=1e-9)
    cost = LogitMarket().at(1.0)
    assert (cost.quantity, cost.profit, cost.consumer_surplus) == pytest.approx(
        (0.4954626426, 0, 1.1755658304), abs=1e-9
    )
    assert 2 * found[2] + found[3] == pytest.approx({"nash": 1.1609510313, "monopoly": 1.0020589669}[name], abs=1e-9)


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize(
    ("a", "c", "mu", "a0"), [(2, 1, 0.25, 0), (3, 0.5, 0.1, -1), (1.2, 1, 1, 0.5), (5, 0, 0.25, 0)]
)
def test_prices_against_an_independent_solver(n: int, a: float, c: float, mu: float, a0: float) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    market = LogitMarket(n, a, c, mu, a0)
    for firms, point in ((1, market.nash), (n, market.monopoly)):
        expected = optimize.brentq(
            lambda p, k=firms: margin(market, p, k), c + mu, c + 2 * mu + abs(a) + 10, xtol=1e-13, rtol=1e-14
        )
        assert point.price == pytest.approx(expected, abs=1e-9)
        assert abs(margin(market, point.price, firms)) < 1e-9 * max(1, point.price)


@settings(deadline=None)
@given(market=markets, factor=st.floats(0.2, 3))
def test_nobody_gains_by_leaving_nash_nor_all_by_leaving_the_monopoly(market: LogitMarket, factor: float) -> None:
    nash, monopoly = market.nash, market.monopoly
    others = [nash.price] * (market.n - 1)
    assert market.best_response(others) == pytest.approx(nash.price, abs=1e-9)
    assert market.profits([nash.price * factor, *others])[0] <= nash.profit + 1e-12
    assert market.at(monopoly.price * factor).profit <= monopoly.profit + 1e-12
    assert market.c + market.mu < nash.price <= monopoly.price + 1e-9


@given(market=markets, others=st.lists(st.none() | st.floats(0, 6), min_size=1, max_size=5), price=st.floats(0, 6))
def test_the_best_response_earns_most(market: LogitMarket, others: list[float | None], price: float) -> None:
    best = market.best_response(others)
    assert market.profits([price, *others])[0] <= market.profits([best, *others])[0] + 1e-12


@given(market=markets, prices=st.lists(st.none() | st.floats(0, 8), min_size=2, max_size=6), data=st.data())
def test_firms_can_be_swapped_and_shares_are_shares(
    market: LogitMarket, prices: list[float | None], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(prices))))
    sold, swapped = market.quantities(prices), market.quantities([prices[i] for i in order])
    assert swapped == pytest.approx([sold[i] for i in order])
    assert sum(sold) <= 1 + 1e-12
    assert all(
        (price is None) == (q == 0) for price, q in zip(prices, sold, strict=True) if q > 1e-300 or price is None
    )


@given(market=markets, prices=st.lists(st.floats(0.5, 4), min_size=2, max_size=4), step=st.floats(1e-5, 1e-4))
def test_consumer_surplus_falls_by_what_is_sold(market: LogitMarket, prices: list[float], step: float) -> None:
    """Its slope in a price is minus the quantity (Shephard's lemma for logit demand)."""
    higher = [prices[0] + step, *prices[1:]]
    slope = (market.consumer_surplus(higher) - market.consumer_surplus(prices)) / step
    assert slope == pytest.approx(-market.quantities(prices)[0], abs=1e-4 / market.mu + 1e-6)


def test_extreme_numbers_do_not_overflow() -> None:
    narrow = LogitMarket(mu=1e-3)
    assert narrow.quantities([-50.0, 1.5]) == [1.0, 0.0]
    assert narrow.profits([0.0, 3.0]) == [-1.0, 0.0]
    assert narrow.quantities([500.0, 500.0]) == [0.0, 0.0]
    assert narrow.quantities([None, None]) == [0.0, 0.0]
    assert narrow.consumer_surplus([None, 500.0]) == pytest.approx(0.0)
    assert LogitMarket(a=1e6).monopoly.price == pytest.approx(1e6, rel=1e-4)
    assert LogitMarket(a=-1e6).monopoly.price == LogitMarket(a=-1e6).nash.price == pytest.approx(1.25)


@given(market=markets)
def test_gains_are_0_at_nash_and_1_at_the_monopoly(market: LogitMarket) -> None:
    assume(market.monopoly.price - market.nash.price > 1e-3 * market.mu)
    assert market.profit_gain(market.nash.profit) == market.price_gain(market.nash.price) == 0
    assert market.profit_gain(market.monopoly.profit) == market.price_gain(market.monopoly.price) == 1
