"""Bertrand competition: scripted firms, and what they get beside a mediator."""

from __future__ import annotations

import math
from typing import cast

import pytest
from bertrand_by_hand import GAME, MONOPOLY, NASH, PRINTED, asked, played, request_of, settled

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.bertrand import Bertrand
from coplay.players.scripted import make_script

# ---------------------------------------------------------------------- scripted firms


def test_fixed_prices() -> None:
    episode = played("bertrand", "price:1.5", "monopoly")
    assert asked(episode, "firm-1") == [1.5] * 6
    assert asked(episode, "firm-2") == [MONOPOLY.price] * 6
    assert set(asked(played("bertrand:grid=15", "price:1.5", "nash"), "firm-1")) == {"1.51"}  # the nearest


def test_firms_that_answer_prices() -> None:
    episode = played("bertrand", "match", "undercut:0.1")
    down = [MONOPOLY.price, MONOPOLY.price - 0.1, MONOPOLY.price - 0.1, MONOPOLY.price - 0.2, MONOPOLY.price - 0.2]
    assert asked(episode, "firm-2")[:5] == pytest.approx([down[0], down[1], down[1], down[3], down[3]])
    assert asked(episode, "firm-1")[:5] == pytest.approx([down[0], down[0], down[1], down[1], down[3]])
    assert min(asked(played("bertrand", "undercut:1", "match"), "firm-1")) == NASH.price
    assert asked(played("bertrand", "trigger", "undercut:0.1"), "firm-1") == [MONOPOLY.price] * 2 + [NASH.price] * 4
    assert asked(played("bertrand", "trigger", "trigger"), "firm-1") == [MONOPOLY.price] * 6


def test_best_responses_go_to_nash() -> None:
    episode = played("bertrand", "best_response", "price:1.9", rounds=3)
    assert asked(episode, "firm-1") == pytest.approx([NASH.price, *[GAME.market.best_response([1.9])] * 2])
    assert asked(played("bertrand:n=3", *["best_response"] * 3), "firm-1")[-1] == pytest.approx(
        Bertrand(n=3).market.nash.price
    )


@pytest.mark.parametrize("spec", ["bertrand", "bertrand:grid=15"])
def test_logit_responses(spec: str) -> None:
    """The odds of two prices are exp(lambda x the difference of their profits)."""
    game = cast(Bertrand, make_game(spec))
    request = request_of(game, "firm-1", settled(game, game.pricing.action(1.5), game.pricing.action(1.6)))
    rule = game.strategies["logit_response"].rule
    odds = rule(request, 20.0)
    other = cast(float, game.pricing.price(game.pricing.action(1.6)))
    assert sum(odds.values()) == pytest.approx(1)
    profits = {action: game.market.profits([game.pricing.price(action), other])[0] for action in odds}
    (first, p), *rest = odds.items()
    assert all(q / p == pytest.approx(math.exp(20 * (profits[one] - profits[first]))) for one, q in rest)
    assert list(rule(request, 0.0).values()) == pytest.approx([1 / len(odds)] * len(odds))
    sharp = rule(request, 1e6)
    assert max(sharp, key=sharp.__getitem__) == max(profits, key=profits.__getitem__)


@pytest.mark.parametrize("spec", ["price:9", "price:-1", "price:x", "logit_response:-1", "nash:2"])
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        make_script(spec, GAME, "firm-1")


# ---------------------------------------------------------------------- beside a mediator


@pytest.mark.parametrize("grid", ["", ":grid=15"])
def test_notices_reach_firms_and_fines_are_taken_off(grid: str) -> None:
    spec = f"bertrand{grid}+mediator:fine=0.5,cost=0.01"
    game, episode = make_game(spec), played(spec, "monopoly", "nash", "always_intervene", rounds=2)
    one = episode.rounds[-1]
    seen = game.observe(one, "firm-2")
    assert PRINTED["strong"] in game.announce(seen.acts[0], "firm-2")
    inner = cast(Bertrand, game.game)  # type: ignore[attr-defined]
    profits = inner.market.profits([inner.pricing.price(one.actions("price")[seat]) for seat in inner.seats])
    shortfalls = [inner.shortfall(one, seat) or 0.0 for seat in inner.seats]
    assert shortfalls == pytest.approx([1, 0], abs=0.1)
    paid = [profit - 0.5 * shortfall for profit, shortfall in zip(profits, shortfalls, strict=True)]
    worth = inner.collective(one)["proximity"] - 2 * 0.01
    assert one.payoffs == pytest.approx(dict(zip(game.seats, [*paid, worth], strict=True)))
    assert worth == pytest.approx(0.5 - 0.02, abs=0.1)
