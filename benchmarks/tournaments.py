"""Tournaments of strategies and tables in the IPD: how many matches of ten rounds a second, on one core.

    python benchmarks/tournaments.py [--players 200] [--repeat 5] [--out benchmarks/results/tournaments.json]

A match is ten rounds between two players; every match is played. *At once* is what ``coplay eval`` does, from players to the matrix of means with
intervals, or to the summary of one pair. *Loop* plays matches of the same players by the ordinary loop and takes nothing of them but the payoffs.
Where the package ``axelrod`` is installed, its ``Match`` plays the strategies that it has too. All take turns. Times are CPU times of this process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import machine

from coplay.evaluation.cross_play import cross_play
from coplay.evaluation.match import loop_match, play_match
from coplay.evaluation.meetings import meetings_of
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Occupant
from coplay.players.named import make_player
from coplay.players.tabular import TabularPolicy
from coplay.rng import draws

ROUNDS = 10
GAME = make_game("ipd")
SIDES = ("at once", "loop", "axelrod")
STRATEGIES = {
    "always_cooperate": "Cooperator",
    "always_defect": "Defector",
    "tit_for_tat": "TitForTat",
    "suspicious_tit_for_tat": "SuspiciousTitForTat",
    "tit_for_two_tats": "TitFor2Tats",
    "grim_trigger": "Grudger",
    "win_stay_lose_shift": "WinStayLoseShift",
    "alternator": "Alternator",
}
"""Deterministic strategies, and what Axelrod calls them."""

Players = Callable[[int, str], Occupant]
"""From a player's number and a seat to who sits there."""


def named(names: Sequence[str]) -> Players:
    """Players by name."""
    made = {name: Occupant(make_player(name, GAME, "row"), name) for name in names}
    return lambda one, seat: made[names[one]]


def names_of(number: int) -> list[str]:
    """So many strategies: the deterministic ones, and others that draw."""
    drawing = [f"{kind}:{i / number:g}" for i in range(1, number) for kind in ("generous_tit_for_tat", "random")]
    return [*STRATEGIES, *drawing][:number]


def tables(number: int) -> Players:
    """Random tables with a memory of one round, each in a slot."""
    policy = TabularPolicy("table", GAME, "row", Memory.LAST_ROUND, slots=number)
    logits = draws(0, "tables", n=policy.theta.numel()) * 8.0 - 4.0
    policy.theta.data.copy_(policy.theta.new_tensor(logits).view_as(policy.theta))
    return lambda one, seat: Occupant(policy, f"table {one}", slot=one)


def tournament(players: Players, number: int, episodes: int) -> float:
    """Matches a second of a cross-play, its matrix included."""
    begin = time.process_time()
    meetings = meetings_of(
        GAME, lambda one, _, seat: players(one, seat), rounds=ROUNDS, episodes=episodes, seed=lambda _: 0
    )
    names = [str(i) for i in range(number)]
    cross_play(names, meetings, game=GAME.name, rounds=ROUNDS, episodes=episodes, replicates=1)
    return number * number * episodes / (time.process_time() - begin)


def one_pair(players: Players, episodes: int) -> float:
    """Matches a second of one pair, with its summary."""
    begin = time.process_time()
    seated = {seat: players(i, seat) for i, seat in enumerate(GAME.seats)}
    play_match(GAME, seated, rounds=ROUNDS, episodes=episodes, seed=0).summary()
    return episodes / (time.process_time() - begin)


def by_loop(players: Players, number: int, episodes: int, pairs: int) -> float:
    """Matches a second of some of the pairs by the loop."""
    chosen = random.Random(0).sample(list(combinations_with_replacement(range(number), 2)), pairs)
    begin = time.process_time()
    for pair in chosen:
        seated = {seat: players(one, seat) for one, seat in zip(pair, GAME.seats, strict=True)}
        played = loop_match(GAME, seated, rounds=ROUNDS, episodes=episodes, seed=0)
        for seat in GAME.seats:
            played.payoffs(seat)
    return pairs * episodes / (time.process_time() - begin)


def by_axelrod(names: Sequence[str], pairs: int, episodes: int) -> float | None:
    """Matches a second of Axelrod's, of the strategies that have a name there; None where it is not installed."""
    try:
        import axelrod
    except ImportError:
        return None
    kinds = [_axelrods(axelrod, name) for name in names]
    chosen = random.Random(0).sample(list(combinations_with_replacement(range(len(kinds)), 2)), pairs)
    begin = time.process_time()
    for one, other in chosen:
        for seed in range(episodes):
            axelrod.Match((kinds[one](), kinds[other]()), turns=ROUNDS, seed=seed).play()
    return pairs * episodes / (time.process_time() - begin)


def _axelrods(axelrod: Any, name: str) -> Callable[[], Any]:
    head, _, parameter = name.partition(":")
    if head in STRATEGIES:
        return lambda: getattr(axelrod, STRATEGIES[head])()
    return lambda: axelrod.Random(float(parameter)) if head == "random" else axelrod.GTFT(float(parameter))


def cases(number: int) -> dict[str, tuple[Callable[[], float], Callable[[], float], Callable[[], float | None]]]:
    """By name: at once, by the loop, by Axelrod."""
    names, fixed = names_of(number), list(STRATEGIES)
    strategies, deterministic, learnt = named(names), named(fixed), tables(number)
    few = {"pairs": 6, "episodes": 20}
    return {
        f"{number} strategies, 50 matches each way": (
            lambda: tournament(strategies, number, 50),
            lambda: by_loop(strategies, number, **few),
            lambda: by_axelrod(names, **few),
        ),
        f"{number} strategies, 1 match each way": (
            lambda: tournament(strategies, number, 1),
            lambda: by_loop(strategies, number, 1, 100),
            lambda: by_axelrod(names, 100, 1),
        ),
        f"{len(fixed)} deterministic strategies, 200 matches each way": (
            lambda: tournament(deterministic, len(fixed), 200),
            lambda: by_loop(deterministic, len(fixed), **few),
            lambda: by_axelrod(fixed, **few),
        ),
        f"{number} tables, 50 matches each way": (
            lambda: tournament(learnt, number, 50),
            lambda: by_loop(learnt, number, **few),
            lambda: None,
        ),
        "one pair without chance, 10,000 matches": (
            lambda: one_pair(named(["tit_for_tat", "alternator"]), 10_000),
            lambda: by_loop(named(["tit_for_tat", "alternator"]), 2, 40, 3),
            lambda: by_axelrod(["tit_for_tat", "alternator"], 3, 40),
        ),
        "one pair that draws, 10,000 matches": (
            lambda: one_pair(named(["random:0.3", "generous_tit_for_tat:0.3"]), 10_000),
            lambda: by_loop(named(["random:0.3", "generous_tit_for_tat:0.3"]), 2, 40, 3),
            lambda: by_axelrod(["random:0.3", "generous_tit_for_tat:0.3"], 3, 40),
        ),
    }


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """A line for each case: medians, and the median ratio of neighbouring runs."""
    lines = ["| matches of ten rounds, a second | at once | loop | axelrod | at once / loop |", "|---|---|---|---|---|"]
    for name, rates in found.items():
        medians = [f"{statistics.median(rates[side]):,.0f}" if rates[side] else "-" for side in SIDES]
        ratios = [a / b for a, b in zip(rates["at once"], rates["loop"], strict=True)]
        lines.append(f"| {name} | {' | '.join(medians)} | **{statistics.median(ratios):.0f}** |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=200, help="players of the large tournaments (default: 200)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each, after one to warm up (default: 5)")
    parser.add_argument("--out", type=Path, help="write JSON here as well")
    options = parser.parse_args()
    rates: dict[str, dict[str, list[float]]] = {}
    load = os.getloadavg()[0]
    for name, sides in cases(options.players).items():
        runs = [[side() for side in sides] for _ in range(options.repeat + 1)][1:]
        rates[name] = {
            side: [one for one in column if one is not None]
            for side, column in zip(SIDES, zip(*runs, strict=True), strict=True)
        }
    print(table(rates))
    if options.out is not None:
        found = {"version": 1, "machine": machine(), "load_before": load, "rounds": ROUNDS, "rates": rates}
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
