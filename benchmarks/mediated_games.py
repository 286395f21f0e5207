"""Mediated games of scripted players: how many a second, on one core.

    python benchmarks/mediated_games.py [--repeat 20] [--out benchmarks/results/mediated_games.json]

A game is five rounds of ``ipd-3`` with a mediator's seat: three scripts and a mediator by rule, with talk and without. Times are CPU times of this
process. On a busy machine they vary; the best of the repeats is nearest to what a free core does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import machine

from coplay.games import make_game
from coplay.games.records import Occupant
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.named import make_player
from coplay.runs.workers import collect_seldom

GAMES, ROUNDS = 100, 5
CASES = {
    "without talk, tit for tat, a mediator that never speaks": ("ipd-3:talk=0+mediator", "never", "tit_for_tat"),
    "without talk, tit for tat, a mediator that always speaks": (
        "ipd-3:talk=0+mediator",
        "always_intervene",
        "tit_for_tat",
    ),
    "without talk, at random, a mediator that looks at cooperation": ("ipd-3:talk=0+mediator", "coop_thresh", "random"),
    "with talk, tit for tat, a mediator that never speaks": ("ipd-3+mediator", "never", "tit_for_tat"),
    "with talk, at random, a mediator that always speaks": ("ipd-3+mediator", "always_intervene", "random"),
}
"""By name: the game, the mediator, the players."""


def rates(spec: str, mediator: str, player: str, repeat: int) -> list[float]:
    """Games per second of CPU time, a number for each repeat, after one to warm up."""
    game = make_game(spec)
    names = {seat: mediator if seat == "mediator" else player for seat in game.seats}
    seated = {seat: Occupant(make_player(name, game, seat), name) for seat, name in names.items()}

    def one(number: int) -> float:
        tables = [Table(game, 0, index, index, seated) for index in range(GAMES)]
        begin = time.process_time()
        play_episode(game, tables, rounds=ROUNDS, streams=StreamNames(("train", number)))
        return GAMES / (time.process_time() - begin)

    return [one(number) for number in range(repeat + 1)][1:]


def table(found: Mapping[str, Any]) -> str:
    """A line for each case."""
    lines = ["| games of five rounds | per second, median | best |", "|---|---|---|"]
    for name, of_case in found["rates"].items():
        lines.append(f"| {name} | {statistics.median(of_case):.0f} | {max(of_case):.0f} |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20, help="runs of each, after one to warm up (default: 20)")
    parser.add_argument("--out", type=Path, help="write JSON here as well")
    options = parser.parse_args()
    collect_seldom()  # as a run does
    found: dict[str, Any] = {"version": 1, "machine": machine(), "load_before": os.getloadavg()[0], "games": GAMES}
    found["rates"] = {name: rates(*case, options.repeat) for name, case in CASES.items()}
    print(table(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
