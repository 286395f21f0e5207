"""The buffer of past selves: an even sample of all snapshots in a fixed number of places, met with the right probability."""

from collections import Counter

import pytest
from coplay.play.loop.past_selves import occupied, past_self_met, place_of_snapshot
from coplay.rounds.config import PastSelves

KEPT, TAKEN, SEEDS = 4, 20, 2000


def kept_in_the_end(seed: int) -> list[int]:
    """The numbers of the snapshots that are left."""
    places: dict[int, int] = {}
    for number in range(TAKEN):
        place = place_of_snapshot(seed, number, kept=KEPT)
        if place is not None:
            places[place] = number
    return list(places.values())


def test_every_snapshot_is_kept_as_often() -> None:
    counts = Counter(number for seed in range(SEEDS) for number in kept_in_the_end(seed))
    assert counts.total() == KEPT * SEEDS
    expected = KEPT * SEEDS / TAKEN
    assert all(abs(counts[number] - expected) < 5 * expected**0.5 for number in range(TAKEN))


def test_places_fill_one_by_one() -> None:
    settings = PastSelves(share=0.5, every=10, kept=3)
    assert [occupied(trial, settings) for trial in (0, 9, 10, 25, 30, 500)] == [1, 1, 2, 3, 3, 3]
    assert [place_of_snapshot(0, number, kept=3) for number in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_how_often_a_past_self_is_met(share: float) -> None:
    settings = PastSelves(share=share, every=1, kept=5)
    met = [past_self_met(trial, 0, index, settings) for trial in range(10, 50) for index in range(100)]
    places = Counter(place for place in met if place is not None)
    assert abs(places.total() - share * 4000) <= 5 * (4000 * share * (1 - share)) ** 0.5
    if share:
        assert set(places) == set(range(5))
        assert max(places.values()) < 1.35 * min(places.values())
