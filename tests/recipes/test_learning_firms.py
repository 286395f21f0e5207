"""Learning firms and their mediators: what the arms are, and what a notice can change at all."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import claims_of, experiments_of
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.records import Act, Round
from coplay.recipes import make_config
from coplay.recipes.mediation import firms
from coplay.recipes.mediation.firms_table import random_gain, settled
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.factory import build
from coplay.runs.train import train

SHORT = {"seeds": [0], "trials": 2, "rounds": 60, "eval_games": 1, "workers": 1, "threads": 1}
"""A run of 120 rounds."""

GREEDY = {f"{seat}.q.epsilon_initial": 0.2 for seat in firms.MARKET.seats}
"""Firms that follow their tables from the beginning."""


def short(name: str, **changes: object) -> Config:
    return with_values(make_config(f"mediation/{name}"), {**SHORT, **changes})


def profits(config: Config) -> list[dict[str, object]]:
    """What the firms of the only seed are paid in each trial, a number each."""
    state = build(config)
    lines = [state.run_trial(trial).lines[0] for trial in range(config.trials)]
    return [{seat: line[f"reward/{seat}"] for seat in firms.MARKET.seats} for line in lines]


def test_the_arms_differ_by_their_mediator_alone() -> None:
    (experiment,) = experiments_of("mediation/firms")
    assert experiment.extra and experiment not in experiments_of("mediation")
    assert len(claims_of("firms/bertrand")) >= 5
    for arm in experiment.arms:
        config = make_config(arm.recipe)
        assert [config.learners[seat] for seat in firms.MARKET.seats] == [firms.FIRM, firms.FIRM]
        assert make_game(config.game).seats == (*firms.MARKET.seats, MEDIATOR)
        assert config.trials * config.rounds == firms.ROUNDS * firms.EPISODES


@pytest.mark.parametrize("mediator", ["always:MILD", "always_intervene", "gain_thresh:0.3"])
def test_a_notice_that_says_nothing_new_changes_nothing(mediator: str) -> None:
    """Without a fine: a notice that is always there, or follows from the last prices, which firms know, leaves what they learn as it is."""
    silent = profits(short("q-firms", **GREEDY))
    assert profits(short("q-firms", **GREEDY, **{f"seats.{MEDIATOR}": mediator})) == silent


def test_a_notice_by_chance_changes_what_firms_learn() -> None:
    assert profits(short("q-firms-coin", **GREEDY)) != profits(short("q-firms", **GREEDY))


def test_the_fine_is_more_than_a_common_price_gains() -> None:
    market = firms.MARKET.market
    extra = market.monopoly.profit - market.nash.profit
    assert pytest.approx(2 * extra, abs=1e-4) == firms.FINE
    for price in firms.MARKET.pricing.listed.values():
        if price > market.nash.price:
            shortfall = min(1.0, market.price_gain(price))
            assert market.at(price).profit - firms.FINE * shortfall < market.nash.profit


def test_what_a_round_came_to_is_before_fines() -> None:
    game: Game = make_game("bertrand:grid=7+mediator:targets=everyone,fine=0.2")
    plain: Game = make_game("bertrand:grid=7+mediator:targets=everyone")
    said = tuple((seat, "Beware.") for seat in firms.MARKET.seats)
    high = list(firms.MARKET.pricing.listed)[-1]
    acts = (Act("mediation", 0, MEDIATOR, ("strong", said)), *(Act("price", 0, s, high) for s in firms.MARKET.seats))
    now = Round(0, None, acts)
    fined, free = (Round(0, None, acts, one.payoffs(now)) for one in (game, plain))
    assert fined.payoffs["firm-1"] == pytest.approx(free.payoffs["firm-1"] - 0.2)  # type: ignore[index,operator]
    assert fined.payoffs[MEDIATOR] == free.payoffs[MEDIATOR]  # type: ignore[index]
    assert game.collective(fined) == plain.collective(free)
    seen = game.observe(fined, MEDIATOR)
    assert firms.MARKET.collective(seen)["profit_gain"] == pytest.approx(plain.collective(free)["profit_gain"])
    assert game.observe(fined, "firm-1").payoffs == {"firm-1": fined.payoffs["firm-1"]}  # type: ignore[index]


def test_when_firms_collude_for_good() -> None:
    assert settled([0.5, 0.1, 0.5, *[0.6] * 17], 0.4) == 2 * firms.ROUNDS
    assert settled([0.6] * 20, 0.4) == 0
    assert math.isnan(settled([0.6] * 19 + [0.3], 0.4))
    assert 0.4 < random_gain() < 0.5


def test_a_learned_mediator_learns_beside_the_firms(tmp_path: Path) -> None:
    run = train(short("q-firms-ppo"), tmp_path / "run")
    report = run.evaluation()
    assert set(report["mediation"]["notices"]) == {"none", "mild", "strong"}
    (experiment,) = experiments_of("mediation/firms")
    lines = run.metrics()
    results = Results({"q-firms-ppo": report}, lambda arm, key: [[float(str(line.get(key))) for line in lines]])
    for row in experiment.table:
        if row.arm == "q-firms-ppo":
            assert row.measure is not None and len(row.measure(results)) == 1
