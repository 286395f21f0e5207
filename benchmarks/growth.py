"""How many seed-trials a day a Ray cluster does as it grows: the scheduler of coplay simulated, with task times that were measured.

    python benchmarks/growth.py                # a minute or two; prints Markdown
    python benchmarks/growth.py --measure      # what handing out, looking and ending cost on this machine; needs Ray

The simulation has what decides how a cluster is used: one driver, which in each pass hands out what it may, looks at every attempt that runs, and
reads the ends of those that are over; processors that take what was handed out in order; processes that start once a processor; machines that are
lost at random, and with them the work since the last checkpoints. It does not have storage that slows down as more machines write to it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DAY = 86_400.0


@dataclass(frozen=True)
class Driver:
    """Seconds of the command's own process."""

    hand_out: float = 0.004
    """For each task that begins."""
    look: float = 0.00002
    """For each attempt that runs, in each pass."""
    end: float = 0.0005
    """For each task that is over."""
    tick: float = 0.25
    """Between two passes where nothing ends."""


@dataclass(frozen=True)
class Cluster:
    """Machines, and what goes wrong with them."""

    processors: int
    per_machine: int = 32
    start: float = 10.0
    """Seconds until the first task of a processor begins: a process that imports the libraries."""
    days_between_losses: float = 30.0
    """Mean time until a machine is lost; another one is there at once."""


@dataclass(frozen=True)
class Work:
    """Tasks that are all alike but for chance."""

    name: str
    seconds: float
    """Of a task, on one processor."""
    seed_trials: int
    """Of a task."""
    checkpoints: int
    """Of a task; of a lost attempt the work since the last is done again."""
    spread: float = 0.1
    """Standard deviation of a task's time, as a share of it."""


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    seconds: float
    """Until all tasks were over."""
    used: float
    """The share of the processors' time that went into work that was kept."""
    driver: float
    """The share of its time that the driver was busy."""
    lost: int
    """Attempts that were lost with their machines."""


def simulated(work: Work, tasks: int, cluster: Cluster, driver: Driver, *, seed: int = 0) -> Outcome:
    """Carry out so many tasks."""
    chance = random.Random(seed)
    waiting = deque(max(0.2, chance.gauss(1.0, work.spread)) * work.seconds for _ in range(tasks))
    whole = sum(waiting)
    most = 2 * max(
        4, cluster.processors
    )  # attempts that are handed out at a time; those beyond the processors wait there
    free: list[tuple[float, int]] = [(0.0, one) for one in range(cluster.processors)]  # from when each is free
    fresh = set(range(cluster.processors))
    machines = -(-cluster.processors // cluster.per_machine)
    loss_at = [chance.expovariate(1.0 / (cluster.days_between_losses * DAY)) for _ in range(machines)]
    running: list[tuple[float, float]] = []  # the end of each attempt, and what is left of its task then
    now, busy, lost = 0.0, 0.0, 0
    while waiting or running:
        cost = 0.0
        while waiting and len(running) < most:
            cost += driver.hand_out
            left = waiting.popleft()
            begin, processor = heapq.heappop(free)
            begin = max(begin, now + cost) + (cluster.start if processor in fresh else 0.0)
            fresh.discard(processor)
            machine = processor // cluster.per_machine
            while loss_at[machine] <= begin:
                loss_at[machine] += chance.expovariate(1.0 / (cluster.days_between_losses * DAY))
            end, then = begin + left, 0.0
            if loss_at[machine] < end:
                piece = work.seconds / work.checkpoints
                end = loss_at[machine]
                then = left - piece * int((end - begin) / piece)
                fresh.add(processor)
                lost += 1
            heapq.heappush(free, (end, processor))
            heapq.heappush(running, (end, then))
        cost += driver.look * len(running)
        now += cost
        busy += cost
        now = max(now, min(running[0][0], now + driver.tick))
        while running and running[0][0] <= now:
            _, then = heapq.heappop(running)
            now += driver.end
            busy += driver.end
            if then:
                waiting.appendleft(then)
    return Outcome(now, whole / (now * cluster.processors), busy / now, lost)


WORKS = (
    Work("SmolLM2, a shaper's arm of five seeds and 50 trials", 2400.0, 250, 5),
    Work("tiny, a shaper's arm of five seeds and 60 trials", 170.0, 300, 3),
    Work("tables, a cell of five seeds and 60 trials", 90.0, 300, 3),
)
"""Measured on one core: see docs/howto/cluster.md."""

SIZES = (2, 16, 128, 1024, 4096)
"""Processors."""

PER_PROCESSOR = 20
"""Tasks for each processor, so that beginning and end do not decide."""

WANTED = 100_000
"""Seed-trials a day."""


def page(driver: Driver) -> str:
    """The simulations as Markdown."""
    lines = [
        "| tasks | processors | seed-trials a day | processors used | driver busy | attempts lost |",
        "|---|---|---|---|---|---|",
    ]
    for work in WORKS:
        for size in SIZES:
            tasks = PER_PROCESSOR * size
            found = simulated(work, tasks, Cluster(size), driver)
            rate = tasks * work.seed_trials / found.seconds * DAY
            lines.append(
                f"| {work.name} | {size:,} | {rate:,.0f} | {found.used:.0%} | {found.driver:.1%} | {found.lost} of {tasks:,} |"
            )
        needed = WANTED * work.seconds / work.seed_trials / DAY
        lines.append(f"| | | **{WANTED:,} need {needed:.1f} processors** | | | |")
    return "\n".join(lines)


def measured(count: int = 200) -> Driver:
    """What the driver's work costs here, with a Ray of one processor whose tasks do nothing."""
    import tempfile

    import ray

    from coplay.files.fence import task_folder
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_overrides
    from coplay.runs.tasks import PartTask
    from coplay.tasks.ray_attempt import PROGRESS, read_report
    from coplay.tasks.ray_schedule import Schedule

    os.environ.update(RAY_USAGE_STATS_ENABLED="0")
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=50)
    with tempfile.TemporaryDirectory() as scratch:
        config = with_overrides(make_config("shapellm/ipd", learner="tabular"), ["trials=1", "seeds=[0]"])
        tasks = [PartTask(name=str(i), directory=Path(scratch, str(i)), config=config) for i in range(count)]
        schedule = Schedule(tasks, [task.needs(1, 0) for task in tasks], over=(), patience=60.0, resume="", quiet=True)
        schedule._hand_out()  # Ray's first call is slow
        begun = len(schedule.running)
        started = time.perf_counter()
        for task in schedule.waiting[:50]:
            schedule._begin(task)
        hand_out = (time.perf_counter() - started) / 50
        reported = tasks[: begun + 50]
        for task in reported:
            report = {"token": "", "beat": 1, "machine": "", "pid": 0, "step": 1, "steps": 9, "numbers": ""}
            (task_folder(task.directory) / PROGRESS).write_text(json.dumps(report), encoding="utf-8")
        started = time.perf_counter()
        for task in reported:
            assert read_report(task.directory) is not None
        look = (time.perf_counter() - started) / len(reported)
        started = time.perf_counter()
        for ref in list(schedule.running)[:50]:
            schedule._let_go(ref)
        end = (time.perf_counter() - started) / 50
        schedule._abandon()
    ray.shutdown()
    return Driver(hand_out, look, end)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="measure the driver's costs first")
    options = parser.parse_args(arguments)
    driver = measured() if options.measure else Driver()
    print(
        f"The driver: {driver.hand_out * 1e3:.1f} ms to hand out a task, {driver.look * 1e3:.2f} ms a look, {driver.end * 1e3:.1f} ms an end.\n"
    )
    print(page(driver))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
