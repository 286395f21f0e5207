"""Turns a second in PettingZoo's own performance benchmark: coplay's games as its environments beside environments of its own.

    python benchmarks/pettingzoo_turns.py                # a minute; prints Markdown
    python benchmarks/pettingzoo_turns.py --repeat 5

The benchmark plays legal actions by chance for five seconds. The environments take turns, so that what else the machine does is shared.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import statistics
from collections.abc import Callable
from typing import Any

from machine import cpu_model
from pettingzoo.classic import rps_v2, tictactoe_v3
from pettingzoo.test import performance_benchmark

from coplay.adapters.pettingzoo import CoplayAECEnv

ROUNDS = 20

ENVIRONMENTS: dict[str, Callable[[], Any]] = {
    "PettingZoo's rock, paper, scissors": lambda: rps_v2.env(max_cycles=ROUNDS),
    "PettingZoo's tic-tac-toe": tictactoe_v3.env,
    "coplay's prisoner's dilemma": lambda: CoplayAECEnv("ipd", rounds=ROUNDS),
    "coplay's Kuhn poker": lambda: CoplayAECEnv("kuhn", rounds=1),
}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="how often each is measured (default: 3)")
    options = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in ENVIRONMENTS}
    for _ in range(options.repeat):
        for name, make in ENVIRONMENTS.items():
            found[name].append(turns_a_second(make()))
    first = statistics.median(next(iter(found.values())))
    print(f"{cpu_model()}, {options.repeat} runs of each in turn\n")
    print("| environment | turns a second, median | range | of the first |\n|---|---|---|---|")
    for name, values in found.items():
        median = statistics.median(values)
        print(f"| {name} | {median:,.0f} | {min(values):,.0f} to {max(values):,.0f} | {median / first:.2f} |")


def turns_a_second(env: Any) -> float:
    """What PettingZoo's benchmark prints of an environment."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        performance_benchmark(env)
    return float(re.findall(r"([\d.]+) turns per second", told.getvalue())[0])


if __name__ == "__main__":
    main()
