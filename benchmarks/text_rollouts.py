"""Games with text: coplay's rollouts and training beside the straightforward ways, on one machine in one run.

    python benchmarks/text_rollouts.py --out benchmarks/results/text_rollouts.json
    python benchmarks/text_rollouts.py --render    # those results into docs/benchmarks.md

Rollouts in games per second, training in tokens of replies per second. The others are described in ``throughput.py``. TRL comes with
``pip install -e '.[bench]'``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from throughput import (
    HEAD,
    LEARNER,
    RowByRow,
    begin,
    end,
    in_turn,
    parser,
    play,
    render,
    results,
    row,
    setting,
    training,
)

GAMES = ("ipd-ab", "split-no-comm", "trust-and-split")

TRL_BATCH = 64
"""Replies that TRL computes gradients of at a time, as many as coplay."""

UNITS = {"rollouts": "games/s", "training": "reply tokens/s"}
"""What is measured, and in what."""

NAME = "text_rollouts"


def main() -> None:
    options = _arguments()
    if options.render:
        render("text rollouts", table(results(NAME)))
        return
    found = begin(options) | {"games": options.games, "rounds": options.rounds}
    found["cases"] = {game: measured(game, options) for game in options.of}
    end(found, table(found), options.out)


def measured(game: str, options: argparse.Namespace) -> dict[str, Any]:
    """Rates of one game's recipe."""
    state = state_of(game, options)
    player = state.learners[LEARNER].player
    few, slow = max(1, options.games // 8), RowByRow(player)
    jobs = {
        "coplay": lambda: float(len(play(state, player, options.games, options.rounds))),
        "row by row": lambda: float(len(play(state, slow, few, options.rounds))),
    }
    found = {"rollouts": in_turn(jobs, options.repeat)}
    if not options.without_training:
        found["training"] = training(state, options, batch=TRL_BATCH)
    return found


def state_of(game: str, options: argparse.Namespace) -> Any:
    """The recipe's training state with one seed."""
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_values
    from coplay.runs.factory import build

    values = {
        "seeds": [0],
        "games": options.games,
        "rounds": options.rounds,
        "threads": options.threads,
        "model": options.model,
        "workers": 1,
    }
    return build(with_values(make_config(f"adalign/{game}-grpo"), values))


def table(found: Mapping[str, Any]) -> str:
    """Markdown."""
    lines = [
        f"{found['games']} games of {found['rounds']} rounds. {setting(found)}",
        "",
        f"| what | game {HEAD[0]}",
        f"|---|---{HEAD[1]}",
    ]
    for what, unit in UNITS.items():
        for game, rates in found["cases"].items():
            measured = rates.get(what, {})
            lines += [row([f"{what}, {unit}", game], measured, other) for other in measured if other != "coplay"]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    found = parser(__doc__)
    found.add_argument("--games", type=int, default=64, help="games at a time (default: 64)")
    found.add_argument("--rounds", type=int, default=10, help="rounds of a game (default: 10)")
    found.add_argument("--of", nargs="+", choices=GAMES, default=GAMES, metavar="GAME", help="these games alone")
    found.add_argument("--without-training", action="store_true", help="measure rollouts alone")
    found.add_argument("--model", default="tiny-talk", help="a model of `coplay models`, a directory or a Hub id")
    return found.parse_args()


if __name__ == "__main__":
    main()
