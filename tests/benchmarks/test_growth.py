"""The simulated cluster: what can be computed by hand, and that nothing is lost but time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from growth import DAY, Cluster, Driver, Work, simulated

FREE = Driver(0.0, 0.0, 0.0)
EVEN = Work("even", 100.0, 1, 4, spread=0.0)
NEVER = 1e12


def test_tasks_that_fill_the_processors_take_their_work() -> None:
    found = simulated(EVEN, 12, Cluster(4, start=10.0, days_between_losses=NEVER), FREE)
    assert (found.seconds, found.lost, found.driver) == (pytest.approx(310.0), 0, 0.0)
    assert found.used == pytest.approx(300.0 / 310.0)


def test_a_driver_that_is_too_slow_decides() -> None:
    """Each task costs the driver as long as the work itself, so that more processors bring nothing."""
    slow = Driver(hand_out=100.0, look=0.0, end=0.0)
    few, many = (simulated(EVEN, 40, Cluster(n, start=0.0, days_between_losses=NEVER), slow) for n in (4, 40))
    assert few.driver > 0.9 and many.seconds == pytest.approx(few.seconds, rel=0.1) and few.seconds >= 4000.0


def test_what_was_lost_is_done_again_from_the_last_checkpoint() -> None:
    cluster = Cluster(64, per_machine=8, start=0.0, days_between_losses=500.0 / DAY)
    kept = simulated(EVEN, 640, Cluster(64, per_machine=8, start=0.0, days_between_losses=NEVER), FREE)
    found = simulated(EVEN, 640, cluster, FREE)
    assert found.lost > 20 and found.seconds > kept.seconds and found.used < kept.used
    rare = simulated(Work("one checkpoint", 100.0, 1, 1, spread=0.0), 640, cluster, FREE)
    assert rare.used < found.used


def test_the_same_seed_is_the_same_cluster() -> None:
    work = Work("uneven", 100.0, 1, 4)
    assert simulated(work, 50, Cluster(8), Driver(), seed=3) == simulated(work, 50, Cluster(8), Driver(), seed=3)
    assert simulated(work, 50, Cluster(8), Driver(), seed=3) != simulated(work, 50, Cluster(8), Driver(), seed=4)
