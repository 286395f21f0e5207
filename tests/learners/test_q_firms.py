"""Q-learning firms after Calvano et al. (2020): against a plain reference, known fixed points, and with a mediator's notices in their state."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from coplay.errors import CoplayError, UsageError
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.bertrand import Bertrand
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant
from coplay.learners.q_information import QInformationTable
from coplay.learners.q_initial import values_against_uniform
from coplay.learners.q_learner import QLearner
from coplay.learners.q_learning import QTable
from coplay.learners.settings import QLearning
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.information_table import ROWS, row_of
from coplay.players.scripted import make_script
from coplay.rng import draws
from coplay.runs.config import Config
from coplay.runs.factory import build
from coplay.runs.state import TrainingState

ALPHA, DELTA, BETA = 0.15, 0.95, 5e-3

Q = {
    "learning_rate": ALPHA,
    "discount": DELTA,
    "epsilon_initial": 1.0,
    "epsilon_final": 0.0,
    "epsilon_schedule": "exponential",
    "epsilon_rate": BETA,
    "initial_values": "against_uniform",
    "infinite_horizon": True,
}


def firms(
    game: str, *, rounds: int, others: dict[str, str] | None = None, seeds: tuple[int, ...] = (0,), **q: object
) -> TrainingState:
    """A run in which every firm is a Q-learner that learns after every round."""
    learner = {"policy": "tabular", "algorithm": "q_learning", "memory": "last_round", "update": "round", "q": Q | q}
    seats = {seat: (others or {}).get(seat, seat) for seat in make_game(game).seats}
    learners = {name: learner for seat, name in seats.items() if name == seat}
    sizes = {"seeds": seeds, "trials": 2, "episodes": 1, "rounds": rounds, "games": 1}
    return build(Config.model_validate({"recipe": "test", "game": game, "learners": learners, "seats": seats, **sizes}))


def values(state: TrainingState, name: str, slot: int = 0) -> npt.NDArray[np.float64]:
    return cast(QLearner, state.learners[name]).table.values[slot]


# ---------------------------------------------------------------------- a reference


def reference(prices: npt.NDArray[np.float64], rounds: int, seed: int) -> tuple[list[npt.NDArray[np.float64]], float]:
    """Calvano et al., section II: two Q-learning firms with a memory of one period, from the formulas; their values and mean profit."""
    m = len(prices)
    weights = np.exp((2.0 - prices) / 0.25)
    profit = (prices[:, None] - 1.0) * weights[:, None] / (weights[:, None] + weights[None, :] + 1.0)  # [own, other's]
    table = [np.tile(profit.mean(1) / (1 - DELTA), (1 + m * m, 1)) for _ in range(2)]
    numbers = [draws(seed, "play", "train", 0, 0, 0, f"firm-{i + 1}", n=2 * rounds) for i in range(2)]
    states, earned = [0, 0], 0.0
    for t in range(rounds):
        epsilon, chosen = math.exp(-BETA * t), []
        for i in range(2):
            best = table[i][states[i]] == table[i][states[i]].max()
            chances = epsilon / m + (1 - epsilon) * best / best.sum()
            chosen.append(min(m - 1, int(np.searchsorted(np.cumsum(chances), numbers[i][t], side="right"))))
        after = [1 + chosen[i] * m + chosen[1 - i] for i in range(2)]
        for i in range(2):
            own, r = table[i], profit[chosen[i], chosen[1 - i]]
            old = own[states[i], chosen[i]]
            own[states[i], chosen[i]] = (1 - ALPHA) * old + ALPHA * (r + DELTA * own[after[i]].max())
            earned += r / (2 * rounds)
        states = after
    return table, earned


@pytest.mark.parametrize("seed", [0, 7])
def test_learning_is_that_of_a_plain_reference(seed: int) -> None:
    game, rounds = cast(Bertrand, make_game("bertrand:grid=15")), 900
    state = firms("bertrand:grid=15", rounds=rounds, seeds=(seed,))
    line = state.run_trial(0).lines[seed]
    table, earned = reference(np.array(list(game.pricing.listed.values())), rounds, seed)
    for i, seat in enumerate(game.seats):
        assert values(state, seat) == pytest.approx(table[i], abs=1e-9)
    assert line["profit_gain"] == pytest.approx(game.market.profit_gain(earned))
    assert line["epsilon/firm-1"] == pytest.approx(np.mean(np.exp(-BETA * np.arange(rounds))))


def test_values_at_the_start() -> None:
    """Each price's mean profit over the co-player's prices, discounted; Calvano et al., equation 8."""
    game = cast(Bertrand, make_game("bertrand:grid=5"))
    prices = list(game.pricing.listed.values())
    expected = [np.mean([game.market.profits([p, other])[0] for other in prices]) / (1 - DELTA) for p in prices]
    for seat in game.seats:
        assert values_against_uniform(game, seat, discount=DELTA) == pytest.approx(expected)
    assert values_against_uniform(make_game("ipd"), "column", discount=0.5) == pytest.approx([3.0, 5.0])
    assert values_against_uniform(make_game("public-goods"), "player-2", discount=0.0) == pytest.approx([3.0, 4.5])
    mediated = make_game("bertrand:grid=5+mediator:fine=0.1")
    shortfalls = [min(1, max(0, game.market.price_gain(p))) for p in prices]
    fined = [
        value - 0.1 * s / 3 / (1 - DELTA) for value, s in zip(expected, shortfalls, strict=True)
    ]  # one message of three is strong
    assert values_against_uniform(mediated, "firm-1", discount=DELTA) == pytest.approx(fined)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("bertrand", "phase 'price' lists no choices"),
        ("trust-and-split", "what chance deals in it cannot be listed"),
        ("kuhn", "chooses more than once in a round|does not choose"),
        ("bertrand:grid=100,n=3", "more than 200,000 ways"),
    ],
)
def test_values_that_cannot_be_computed_are_refused(game: str, message: str) -> None:
    one = make_game(game)
    with pytest.raises(UsageError, match=message):
        values_against_uniform(one, one.seats[0], discount=0.5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"infinite_horizon": False}, "against_uniform are those of an infinite game"),
        ({"epsilon_rate": 0.0}, "needs epsilon_rate"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QLearning.model_validate(Q | wrong)


def test_values_against_a_fixed_price_are_known() -> None:
    """Against Nash's price the state says nothing: Q(a) = profit(a) + delta/(1 - delta) max profit."""
    game = cast(Bertrand, make_game("bertrand:grid=5"))
    state = firms(
        "bertrand:grid=5", rounds=3000, others={"firm-2": "nash"}, learning_rate=0.4, discount=0.5, epsilon_rate=1e-9
    )
    state.run_trial(0)
    nash = game.pricing.price(game.pricing.action(game.market.nash.price))
    profits = [game.market.profits([price, nash])[0] for price in game.pricing.listed.values()]
    table = cast(QTable, cast(QLearner, state.learners["firm-1"]).table)
    name = game.pricing.action(game.market.nash.price)
    met = [table.line((own, cast(str, name))) for own in game.pricing.listed]
    assert values(state, "firm-1")[met] == pytest.approx(np.tile([p + max(profits) for p in profits], (5, 1)), abs=1e-6)


def test_convergence_is_the_time_since_a_best_action_changed() -> None:
    quick = {"epsilon_rate": 0.05, "convergence": 50, "discount": 0.5, "learning_rate": 0.5}
    state = firms("bertrand:grid=3", rounds=400, others={"firm-2": "nash"}, **quick)
    first, second = (state.run_trial(trial).lines[0] for trial in range(2))
    learner = cast(QLearner, state.learners["firm-1"])
    assert 0 < learner.changed[0] < 700 and learner.updates[0] == 800
    assert first["stable/firm-1"] < second["stable/firm-1"]  # type: ignore[operator]
    assert first["converged/firm-1"] < second["converged/firm-1"]  # type: ignore[operator]
    (ending,) = learner.update(("later",)).values()
    assert (ending["stable"], ending["converged"]) == (801 - learner.changed[0], 1.0)
    learner.updates[0] -= 1
    other = firms("bertrand:grid=3", rounds=400, others={"firm-2": "nash"}, **quick)
    other.load_state_dict(0, state.state_dict(0))
    assert cast(QLearner, other.learners["firm-1"]).changed == learner.changed
    assert "stable/firm-1" not in firms("bertrand:grid=3", rounds=2).run_trial(0).lines[0]


# ---------------------------------------------------------------------- with a mediator


MEDIATED = "bertrand:grid=4+mediator"


def played(game: Game, player: QInformationTable, *, rounds: int = 30, mediator: str = "random") -> Episode:
    seated = {
        seat: Occupant(player, "q", 0, "q") if seat == "firm-1" else Occupant(make_script(name, game, seat), name)
        for seat, name in zip(game.seats, ("", "match", mediator), strict=True)
    }
    return play_episode(game, [Table(game, 0, 0, 0, seated)], rounds=rounds, streams=StreamNames(("test",)))[0]


def test_notices_are_in_a_firms_state_and_rows_do_not_collide() -> None:
    game = make_game(MEDIATED)
    table = QInformationTable("q", game, Memory.LAST_ROUND, slots=1, rows=60, own_rows=True)
    table.epsilons = [1.0]
    episode = played(game, table, rounds=300)
    known = {turn.reply.information for turn in episode.turns["firm-1"]}
    assert {("REGULATORY NOTICE" in one, "REGULATORY WARNING" in one) for one in known} == {
        (False, False),
        (True, False),
        (False, True),
    }
    assert sorted(table.row(0, one) for one in known) == list(range(len(known)))
    assert 30 < len(known) <= 3 * 17


def test_a_table_that_is_full_says_so() -> None:
    game = make_game(MEDIATED)
    table = QInformationTable("q", game, Memory.LAST_ROUND, slots=1, rows=5, own_rows=True)
    table.epsilons = [1.0]
    with pytest.raises(
        CoplayError, match=r"learner 'q': more information sets came up than its table has rows \(5\); set q.rows"
    ):
        played(game, table, rounds=100)


def test_rows_by_hash_are_as_they_were() -> None:
    game = make_game("kuhn")
    table = QInformationTable("q", game, Memory.NONE, slots=2)
    assert table.values.shape == (2, ROWS, game.max_choices)
    assert [table.row(1, str(i)) for i in range(50)] == [row_of(str(i)) for i in range(50)]
    assert set(table.state(0)) == {"values"}


@pytest.mark.parametrize("own_rows", [False, True])
def test_round_by_round_is_the_same_rule_one_round_later(own_rows: bool) -> None:
    """What is learnt from a game after each of its rounds is what is learnt from the whole at its end."""
    game = make_game(MEDIATED)

    def learner() -> QLearner:
        table = QInformationTable("q", game, Memory.LAST_ROUND, slots=1, rows=80, own_rows=own_rows)
        return QLearner("q", table, seeds=[0], q=QLearning.model_validate(Q | {"epsilon_rate": 1e-9}))

    whole, rounds = learner(), learner()
    episode = played(game, cast(QInformationTable, whole.table), rounds=40)
    whole.collect([episode])
    whole.update((0,))
    for t in range(40):
        so_far = replace(
            episode,
            rounds=episode.rounds[: t + 1],
            outcomes=episode.outcomes[: t + 1],
            turns={seat: [turn for turn in own if turn.round <= t] for seat, own in episode.turns.items()},
        )
        rounds.collect([so_far.latest_round(finished=t == 39)])
        rounds.update((0, t))
    assert np.abs(whole.table.values).max() > 0
    assert cast(QInformationTable, rounds.table)._unlearnt == {}
    if own_rows:  # rows are taken in the order in which information sets come up, in play and in learning alike
        rounds.table.load_state(0, whole.table.state(0) | {"values": rounds.table.state(0)["values"]})
    assert np.array_equal(whole.table.values, rounds.table.values)


def test_firms_that_learn_beside_a_mediator_resume_as_they_were() -> None:
    first, second = (
        firms(MEDIATED, rounds=60, others={"mediator": "always_intervene"}, own_rows=True, rows=100) for _ in range(2)
    )
    line = first.run_trial(0).lines[0]
    assert line["addressed"] == 1.0
    saved = first.state_dict(0)
    assert saved["firm-1/information"].count_nonzero() > 3
    second.load_state_dict(0, saved)
    assert first.run_trial(1).lines == second.run_trial(1).lines
    assert all(bool((first.state_dict(0)[key] == second.state_dict(0)[key]).all()) for key in saved)


@pytest.mark.slow
def test_firms_reach_prices_above_competition() -> None:
    """A short schedule (Calvano's is a hundred times longer), so the gain is smaller than theirs; it is far from 0 all the same."""
    state = firms("bertrand:grid=15", rounds=1000, seeds=(0, 1, 2, 3, 4), epsilon_rate=1e-4)
    state.config = state.config.model_copy(update={"trials": 100})
    for trial in range(99):
        state.run_trial(trial)
    gains = [line["profit_gain"] for line in state.run_trial(99).lines.values()]
    assert np.mean(cast("list[float]", gains)) > 0.15
