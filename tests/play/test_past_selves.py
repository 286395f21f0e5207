"""The buffer of past selves: an even sample of all snapshots in a fixed number of places, met with the right probability."""

from collections import Counter

import pytest

from coplay.play.past_selves import occupied, past_self_drawn, place_of_snapshot

POOL, TAKEN, SEEDS = 4, 20, 2000


def kept_in_the_end(seed: int) -> list[int]:
    """The numbers of the snapshots that are left."""
    places: dict[int, int] = {}
    for number in range(TAKEN):
        place = place_of_snapshot(seed, number, pool_size=POOL)
        if place is not None:
            places[place] = number
    return list(places.values())


def test_every_snapshot_is_kept_as_often() -> None:
    counts = Counter(number for seed in range(SEEDS) for number in kept_in_the_end(seed))
    assert counts.total() == POOL * SEEDS
    expected = POOL * SEEDS / TAKEN
    assert all(abs(counts[number] - expected) < 5 * expected**0.5 for number in range(TAKEN))


def test_places_fill_one_by_one() -> None:
    trials = (0, 9, 10, 25, 30, 500)
    assert [occupied(trial, snapshot_interval=10, pool_size=3) for trial in trials] == [1, 1, 2, 3, 3, 3]
    assert [place_of_snapshot(0, number, pool_size=3) for number in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("names", [(), ("bob",)])
@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_how_often_a_past_self_is_met(probability: float, names: tuple[str, ...]) -> None:
    met = [
        past_self_drawn(trial, 0, index, *names, probability=probability, snapshot_interval=1, pool_size=5)
        for trial in range(10, 50)
        for index in range(100)
    ]
    places = Counter(place for place in met if place is not None)
    assert abs(places.total() - probability * 4000) <= 5 * (4000 * probability * (1 - probability)) ** 0.5
    if probability:
        assert set(places) == set(range(5))
        assert max(places.values()) < 1.35 * min(places.values())


def test_seats_draw_apart() -> None:
    """Where several seats may be filled by past selves, each has a draw of its own."""
    settings = {"probability": 0.5, "snapshot_interval": 1, "pool_size": 4}
    drawn = {
        names: [past_self_drawn(9, 0, index, *names, **settings) for index in range(40)]  # type: ignore[arg-type]
        for names in ((), ("player-2",), ("player-3",))
    }
    assert len(set(map(tuple, drawn.values()))) == 3
