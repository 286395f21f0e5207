"""Seating as data: fixed seats, seats that rotate, self-play with past selves, pools of co-players; in games of two seats and of three."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from small_text_runs import tables_config, text_state

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.play.seating import Candidate, PastSelfSeating, Seating
from coplay.runs.factory import build
from coplay.runs.state import PAST

IPD, PUBLIC_GOODS = make_game("ipd"), make_game("public-goods")


@dataclass(frozen=True)
class Somebody:
    """A player that is only looked at."""

    name: str


def script(name: str) -> Candidate:
    return lambda seed, seat: Occupant(Somebody(name), name)


def learner(name: str) -> Candidate:
    return lambda seed, seat: Occupant(Somebody(name), name, slot=seed, learner=name)


def seating(game: Game, *who: Sequence[Candidate], games: int = 6, **more: Any) -> Seating:
    """Who may fill each seat, in order."""
    settings = {"seeds": (0,), "group_size": games, **more}
    return Seating(game, games=games, candidates=dict(zip(game.seats, who, strict=True)), **settings)


def names(one: Seating, trial: int) -> list[tuple[str, ...]]:
    """Who sits where, table by table."""
    return [tuple(table.seated[seat].name for seat in one.game.seats) for table in one.tables(trial)]


def past_selves(probability: float, *, interval: int = 1, pool: int = 4) -> PastSelfSeating:
    def occupant(seed: int, place: int) -> Occupant:
        return Occupant(Somebody("a"), f"{PAST}-{place}", slot=100 + place)

    return PastSelfSeating("a", occupant, probability, interval, pool)


# --- Fixed seats and rotation ---------------------------------------------------------------------------------------------------------


def test_fixed_seats() -> None:
    one = seating(IPD, [learner("a")], [script("b")], seeds=(3, 5), games=4, group_size=2)
    for trial in range(3):
        tables = one.tables(trial)
        assert [(t.seed, t.index, t.group) for t in tables] == [(s, i, i // 2) for s in (3, 5) for i in range(4)]
        assert names(one, trial) == [("a", "b")] * 8
        assert [(t.seated["row"].learner, t.seated["row"].slot, t.seated["column"].learner) for t in tables] == [
            *[("a", 3, None)] * 4,
            *[("a", 5, None)] * 4,
        ]


def test_the_last_group_may_be_smaller() -> None:
    one = seating(IPD, [learner("a")], [script("b")], games=5, group_size=2)
    assert [table.group for table in one.tables(0)] == [0, 0, 1, 1, 2]


def test_rotation_moves_on_by_one_seat_from_group_to_group_through_all_trials() -> None:
    one = seating(IPD, [learner("a")], [script("b")], games=6, group_size=2, rotate=True)
    assert names(one, 0) == [("a", "b")] * 2 + [("b", "a")] * 2 + [("a", "b")] * 2
    assert names(one, 1) == [("b", "a")] * 2 + [("a", "b")] * 2 + [("b", "a")] * 2


def test_rotation_of_three_seats() -> None:
    one = seating(PUBLIC_GOODS, [learner("a")], [script("b")], [script("c")], games=2, group_size=1, rotate=True)
    turned = [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")]
    assert names(one, 0) == turned[:2]
    assert names(one, 1) == [turned[2], turned[0]]


@pytest.mark.parametrize("game", [IPD, PUBLIC_GOODS])
@pytest.mark.parametrize(("games", "group_size"), [(6, 6), (9, 3), (6, 3)])
def test_over_trials_everybody_sits_in_every_seat_as_often(game: Game, games: int, group_size: int) -> None:
    who = [[learner("a")], *[[script(f"b{i}")] for i in range(len(game.seats) - 1)]]
    one = seating(game, *who, games=games, group_size=group_size, rotate=True)
    seats = Counter(row.index("a") for trial in range(6) for row in names(one, trial))
    assert len(seats) == len(game.seats) and len(set(seats.values())) == 1


def test_an_evaluation_has_everybody_in_their_seat_and_no_past_selves() -> None:
    one = seating(IPD, [learner("a")], [learner("a")], rotate=True, group_size=1, past_selves=past_selves(1.0))
    tables = one.evaluation(7, 4)
    assert [(table.seed, table.group, table.index) for table in tables] == [(7, i, i) for i in range(4)]
    assert all(table.seated["row"] == table.seated["column"] == learner("a")(7, "row") for table in tables)


# --- Past selves ----------------------------------------------------------------------------------------------------------------------


def test_in_self_play_the_first_seat_of_the_rotation_is_always_the_present_self() -> None:
    one = seating(
        IPD, [learner("a")], [learner("a")], games=40, group_size=5, rotate=True, past_selves=past_selves(0.5)
    )
    met = Counter[str]()
    for trial in (3, 4):
        for table in one.tables(trial):
            present, other = ("row", "column")[:: 1 if (trial * 8 + table.group) % 2 == 0 else -1]
            assert table.seated[present].learner == "a"
            across = table.seated[other]
            assert (across.learner is None) == across.name.startswith(PAST)
            met[across.name] += 1
    assert set(met) == {"a", "past-0", "past-1", "past-2", "past-3"}
    assert 20 <= met["a"] <= 60


@pytest.mark.parametrize(("probability", "expected"), [(0.0, {"a"}), (1.0, {"past-0"})])
def test_how_often_past_selves_are_met(probability: float, expected: set[str]) -> None:
    past = None if probability == 0 else past_selves(probability)
    one = seating(IPD, [learner("a")], [learner("a")], games=20, past_selves=past)
    assert {row[1] for row in names(one, 0)} == expected and {row[0] for row in names(one, 0)} == {"a"}


def test_in_a_game_of_three_one_seat_is_the_present_self_and_the_others_draw_apart() -> None:
    one = seating(
        PUBLIC_GOODS, *[[learner("a")]] * 3, games=60, group_size=10, rotate=True, past_selves=past_selves(0.5)
    )
    kinds = Counter[tuple[bool, bool]]()
    for table in one.tables(5):
        order = [PUBLIC_GOODS.seats[(i + 5 * 6 + table.group) % 3] for i in range(3)]
        first, *others = (table.seated[seat] for seat in order)
        assert first.learner == "a"
        kinds[others[0].learner == "a", others[1].learner == "a"] += 1
    assert set(kinds) == {(a, b) for a in (True, False) for b in (True, False)}  # neither follows the other
    assert all(5 <= count <= 25 for count in kinds.values())


def test_only_seats_of_the_learner_are_given_to_its_past_selves() -> None:
    one = seating(PUBLIC_GOODS, [learner("a")], [learner("b")], [script("c")], past_selves=past_selves(1.0))
    assert set(names(one, 0)) == {("a", "b", "c")}


def test_in_a_run_snapshots_sit_where_the_seating_says() -> None:
    """Slots of the bank: the present self's, or that of a past self of the same seed."""
    settings = ["games=20", "group_size=5", "past_selves.pool_size=2", "past_selves.snapshot_interval=1"]
    state = text_state("ipd-ab", *settings, "seeds=[4,7]")
    assert state.bank is not None
    for table in state.seating.tables(3):
        for occupant in table.seated.values():
            assert occupant.slot is not None and occupant.player is state.learners["learner"].player
            held = state.bank.slots[occupant.slot]
            assert held.seed == table.seed
            assert held.learner == ("learner" if occupant.learner else occupant.name)


# --- Pools ------------------------------------------------------------------------------------------------------------------------------

POOL = ("always_cooperate", "always_defect", "tit_for_tat", "random:0.3")


def drawn(games: int, *, seeds: Sequence[int] = (0,), trials: Sequence[int] = (0,), **more: Any) -> dict[Any, str]:
    """Who is drawn, by (seed, trial, game)."""
    one = seating(IPD, [learner("a")], [script(name) for name in POOL], games=games, **{"seeds": tuple(seeds), **more})
    return {
        (table.seed, trial, table.index): table.seated["column"].name for trial in trials for table in one.tables(trial)
    }


def test_each_of_a_pool_is_drawn_about_equally() -> None:
    counts = Counter(drawn(100, trials=range(20)).values())
    assert set(counts) == set(POOL)
    assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in counts.values())


def test_a_draw_depends_on_seed_trial_and_game_alone() -> None:
    whole = drawn(12, seeds=(0, 1, 2), trials=range(4))
    for others in (
        drawn(12, seeds=(2, 0), trials=(3, 1)),  # other seeds and trials beside it
        drawn(7, seeds=(1,), trials=(2,)),  # fewer games
        drawn(12, seeds=(0, 1), trials=(0,), group_size=3),  # other groups
    ):
        assert all(whole[key] == name for key, name in others.items())
    by_seed_and_trial = {
        tuple(whole[seed, trial, index] for index in range(12)) for seed in range(3) for trial in range(4)
    }
    assert len(by_seed_and_trial) == 12


def test_in_an_evaluation_pools_are_drawn_from_too() -> None:
    one = seating(IPD, [learner("a")], [script(name) for name in POOL])
    tables = one.evaluation(0, 60)
    assert {table.seated["column"].name for table in tables} == set(POOL)
    few = one.evaluation(0, 5)
    assert [t.seated["column"].name for t in few] == [t.seated["column"].name for t in tables[:5]]


def test_a_pool_in_two_seats_is_drawn_apart() -> None:
    pool = [script(name) for name in POOL]
    one = seating(PUBLIC_GOODS, [learner("a")], pool, pool, games=40)
    pairs = {row[1:] for row in names(one, 0)}
    assert len(pairs) > len(POOL)


def test_a_run_against_a_pool() -> None:
    """A learner against four scripted players: who was met is in the records, and the learner learns from its own seat alone."""
    config = tables_config("ipd", {"a": {}}, {"row": "a", "column": ",".join(POOL)}, games=40, trials=1, episodes=1)
    assert config.seats == {"row": ("a",), "column": POOL}
    state = build(config)
    met = [table.seated["column"].name for table in state.seating.tables(0)]
    assert set(met) == set(POOL)
    result = state.run_trial(0)
    (shown,) = result.episodes
    assert [shown["players"][seat] for seat in ("row", "column")] == ["learner", met[0]]
    evaluated = state.evaluate(rounds=2, episodes=40)
    assert set(evaluated["seats"]["column"]["player"].split(" or ")) == set(POOL)
    assert replace(state.seating, games=3).tables(0)[0].seated["row"].learner == "a"


def test_a_learner_may_be_in_the_pool_it_meets() -> None:
    """Sometimes a co-player of its own kind, sometimes a fixed one; it learns from every seat that it fills."""
    config = tables_config("ipd", {"a": {}}, {"row": "a", "column": ["a", "always_defect"]}, games=30)
    tables = build(config).seating.tables(0)
    seats = Counter(tuple(table.seated[seat].learner for seat in ("row", "column")) for table in tables)
    assert set(seats) == {("a", "a"), ("a", None)} and all(count >= 5 for count in seats.values())
