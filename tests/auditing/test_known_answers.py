"""Audits of players for which the answers are known: closed forms, enumeration, and intervals that cover them."""

from pathlib import Path

import pytest

import coplay
from coplay.auditing.conduct import against_scripted
from coplay.auditing.record import Measure, latest
from coplay.games import make_game
from coplay.games.records import Occupant, Request
from coplay.players.named import make_player


def measured(player: object, *, game: str = "ipd", **plan: object) -> dict[tuple[str, str], Measure]:
    found = coplay.audit(game, player, **plan)  # type: ignore[arg-type]
    return latest(found.audit.measures)


CEILINGS = {  # of twenty rounds of 3, 0, 4, 1
    "tit_for_tat": (19 * 3 + 4) / 20,
    "grim_trigger": (19 * 3 + 4) / 20,
    "win_stay_lose_shift": (19 * 3 + 4) / 20,
    "always_cooperate": 4.0,
    "always_defect": 1.0,
    "random": 2.5,
}


@pytest.mark.parametrize("name", CEILINGS)
def test_the_ceiling_is_that_of_the_closed_form(name: str) -> None:
    one = measured(name, against=["best_response"])["takes", "best_response"]
    assert one.value == pytest.approx(CEILINGS[name]) and one.kind == "exact" and one.ci95 == 0.0


@pytest.mark.parametrize(
    "name",
    ["tit_for_tat", *(pytest.param(one, marks=pytest.mark.slow) for one in ("always_cooperate", "grim_trigger"))],
)
def test_trained_exploiters_come_near_the_ceiling(name: str) -> None:
    found = measured(name, against=["policy_gradient"], trials=32, seeds=3)
    one = found["takes", "policy_gradient"]
    assert one.value is not None and 0.95 * CEILINGS[name] <= one.value <= CEILINGS[name] + 1e-9
    assert one.kind == "lower_bound" and one.n_seeds == one.effective_n == 3
    got = found["gets", "policy_gradient"].value
    assert found["margin", "policy_gradient"].value == pytest.approx(one.value - (got or 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["policy_gradient", "ppo"])
@pytest.mark.parametrize("game", ["ipd", "kuhn"])
def test_after_64_trials_they_reach_95_percent(kind: str, game: str) -> None:
    """The default budget of two minutes has time for more."""
    player = {"ipd": "win_stay_lose_shift", "kuhn": "uniform"}[game]
    found = measured(player, game=game, against=["best_response", kind], trials=64)
    ceiling, reached = found["takes", "best_response"].value, found["takes", kind].value
    assert ceiling is not None and reached is not None and reached >= 0.95 * ceiling


def test_what_scripted_co_players_take_is_exact_where_nothing_is_left_to_chance() -> None:
    found = measured("tit_for_tat", against=["scripted"])
    for name, takes, gets in (
        ("always_cooperate", 3.0, 3.0),
        ("always_defect", (4 + 19) / 20, 19 / 20),
        ("grim_trigger", 3.0, 3.0),
    ):
        one = found["takes", name]
        assert (one.value, one.ci95, one.kind, one.effective_n) == (pytest.approx(takes), 0.0, "exact", 1)
        assert found["gets", name].value == pytest.approx(gets)
        assert found["welfare", name].value == pytest.approx(takes + gets)
    assert found["takes", "random"].kind == "estimate" and found["takes", "random"].effective_n == 40


def test_the_profile_of_strategies_of_memory_one() -> None:
    for name, expected in {"tit_for_tat": (1, 0, 1, 0), "win_stay_lose_shift": (1, 0, 0, 1)}.items():
        found = measured(name, against=["scripted"], episodes=10)
        states = ("CC", "CD", "DC", "DD")  # own action first
        assert [found[f"cooperates/{state}", "random"].value for state in states] == list(expected)


def test_intervals_cover_what_they_are_of() -> None:
    """What a coin takes from tit for tat: half of 3 and 4 in the first round, a quarter of 3, 0, 4 and 1 in all others."""
    truth = (3.5 + 19 * 2.0) / 20
    game = make_game("ipd")
    player = Occupant(make_player("tit_for_tat", game, "column"), "tit_for_tat")
    covered = 0
    for seed in range(100):
        one = next(against_scripted(game, lambda seat: player, ["row"], ["random"], rounds=20, episodes=20, seed=seed))
        assert one.name == "takes" and one.interval is not None
        covered += one.interval[0] <= truth <= one.interval[1]
    assert covered >= 90  # of 95 expected; fewer have a chance of one in a hundred


@pytest.mark.slow
def test_intervals_of_conduct_cover_the_strategys_probabilities() -> None:
    """An extortioner's states depend on its conduct, so that the mean of games' shares would be biased: it covered the truth in three of four audits."""
    game = make_game("ipd")
    player = Occupant(make_player("zd_extort_2", game, "column"), "zd_extort_2")
    truth = {"cooperates/CC": 8 / 9, "cooperates/CD": 1 / 2, "cooperates/DC": 1 / 3, "cooperates/DD": 0.0}
    covered = dict.fromkeys(truth, 0)
    for seed in range(60):
        found = against_scripted(game, lambda seat: player, ["row"], ["random"], rounds=20, episodes=40, seed=seed)
        for one in found:
            if one.name in truth and one.interval is not None:
                covered[one.name] += one.interval[0] <= truth[one.name] <= one.interval[1]
    assert min(covered.values()) >= 52  # of 57 expected


def copycat(request: Request) -> str:
    """Tit for tat, as a function that tells no probabilities."""
    return "cooperate" if not request.past else str(request.past[-1].acts[request.seat == "row"].action)


def test_games_that_all_go_the_same_way_are_one_game() -> None:
    found = measured(copycat, against=["scripted"], rounds=5)
    one = found["takes", "always_defect"]
    assert (
        one.effective_n == 2 and one.ci95 is None and one.kind == "estimate"
    )  # one for each seat: nobody says that it is alike in both
    assert found["takes", "random"].effective_n == 80


def test_a_function_is_bounded_from_sampled_replies() -> None:
    one = measured(copycat, against=["best_response"], rounds=3, samples=4)["takes", "best_response"]
    assert one.kind == "lower_bound" and one.value == pytest.approx((3 + 3 + 4) / 3) and one.effective_n > 0


def test_seats_of_a_game_are_audited_in_turn() -> None:
    found = measured("always_bet", game="kuhn", against=["best_response"])
    assert found["takes", "best_response"].value == pytest.approx(1 / 3)  # in both seats


def test_more_than_two_seats() -> None:
    """The co-player is alone among free riders."""
    found = measured("always_defect", game="public-goods", against=["scripted"], episodes=2)
    alone = found["takes", "always_cooperate"]
    assert (
        alone.kind == "exact"
        and alone.value is not None
        and alone.value < (found["gets", "always_cooperate"].value or 0)
    )


def test_a_budget_of_seconds_ends_training() -> None:
    found = coplay.audit("ipd", "tit_for_tat", against=["ppo", "policy_gradient"], seconds=0.01, seeds=2, rounds=4)
    budgets = [one.budget["trials"] for one in found.audit.measures if one.name == "takes"]
    assert budgets == [1, 1]  # the first trial is always played


def test_a_run_is_audited_over_its_seeds(tmp_path: Path) -> None:
    """Each seed's ceiling is exact; that of the run has an interval over seeds."""
    coplay.train(
        "any/naive",
        learner="tabular",
        out=tmp_path / "run",
        quiet=True,
        trials=2,
        games=2,
        rounds=4,
        episodes=1,
        seeds=(0, 1, 2),
    )
    whole = measured(f"{tmp_path / 'run'}:row", against=["best_response", "scripted"], episodes=4, rounds=4)
    alone = [
        measured(f"{tmp_path / 'run'}:row:{seed}", against=["best_response"], rounds=4)["takes", "best_response"].value
        for seed in (0, 1, 2)
    ]
    one = whole["takes", "best_response"]
    assert (
        one.value == pytest.approx(sum(x for x in alone if x is not None) / 3) and one.n_seeds == one.effective_n == 3
    )
    assert one.ci95 is not None and one.ci95 > 0 and one.kind == "estimate"
    assert whole["takes", "random"].n_seeds == 3 and whole["takes", "random"].budget["episodes"] == 12


def test_a_language_model_learns_too() -> None:
    """Its payoff against a strategy is enumerated, and no more than a best response's."""
    found = coplay.audit("ipd", "tit_for_tat", against=["language_model"], trials=2, seeds=2, rounds=4)
    (one,) = [one for one in found.audit.measures if one.name == "takes"]
    assert one.value is not None and 0.0 < one.value <= (3 * 3 + 4) / 4 and one.kind == "lower_bound"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tit_for_tat", "always_cooperate"])
def test_a_language_model_comes_near_the_ceiling(name: str) -> None:
    one = measured(name, against=["language_model"], trials=64, seeds=2)["takes", "language_model"]
    assert one.value is not None and 0.95 * CEILINGS[name] <= one.value <= CEILINGS[name] + 1e-9


def test_a_player_that_learns_is_steered() -> None:
    """A shaper gets from random what no co-player gets from it as it is, and four times what a naive learner gets beside it."""
    found = measured("random", against=["steering"], seeds=2)
    shaper, naive = found["takes", "shaper"], found["takes", "naive"]
    assert shaper.value is not None and shaper.value > 3.2 > CEILINGS["random"] and shaper.kind == "lower_bound"
    assert naive.value is not None and naive.value < 1.3 and naive.kind == "estimate"
    assert found["margin", "naive"].value == pytest.approx(0.0)


def test_steering_tells_what_it_rests_on() -> None:
    def notes(player: object, game: str = "ipd") -> str:
        return " ".join(coplay.audit(game, player, against=["steering"], seeds=2, rounds=3, episodes=2).audit.notes)  # type: ignore[arg-type]

    assert "after each of 50 episodes" in notes("tit_for_tat") and "counted" not in notes("tit_for_tat")
    assert "counted in games with random" in notes(copycat)
    assert "'kuhn' is no matrix game" in notes("always_bet", "kuhn")
