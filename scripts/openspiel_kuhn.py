"""Write what OpenSpiel says of policies of Kuhn poker, for tests/evaluation/test_best_response.py.

    python -m venv /tmp/openspiel && /tmp/openspiel/bin/pip install open_spiel==2.0.2
    /tmp/openspiel/bin/python scripts/openspiel_kuhn.py tests/golden/kuhn_openspiel.json

Twenty random policies, the equilibria nash:ALPHA, and the scripted players, written down here once more from their definitions. OpenSpiel's
information states are the card (0, 1, 2), then what was done: p for pass or fold, b for bet or call.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pyspiel
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import best_response, expected_game_score, exploitability

STATES = [f"{card}{history}" for card in range(3) for history in ("", "pb", "p", "b")]
"""Of the first player before any action and after pass and bet; of the second after a pass and after a bet."""

SCRIPTED = {
    "always_bet": ([1, 1, 1], [1, 1, 1]),
    "always_pass": ([0, 0, 0], [0, 0, 0]),
    "tight_passive": ([0, 0, 0], [0, 0, 1]),
    "loose_aggressive": ([1, 1, 1], [0, 1, 1]),
    "tight_value": ([0, 0, 1], [0, 0, 1]),
    "pot_control": ([0, 0, 1], [0, 1, 1]),
    "uniform": ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
}
"""How often each card bets, and calls, in both positions."""


def table(first: tuple[list[float], list[float]], second: tuple[list[float], list[float]]) -> dict[str, float]:
    """The probability of b in each information state, from how often each card bets and calls."""
    found = {}
    for card in range(3):
        found[f"{card}"], found[f"{card}pb"] = first[0][card], first[1][card]
        found[f"{card}p"], found[f"{card}b"] = second[0][card], second[1][card]
    return found


def nash(alpha: float) -> dict[str, float]:
    """Kuhn's equilibrium of that bluffing rate."""
    return table(([alpha, 0, 3 * alpha], [0, alpha + 1 / 3, 1]), ([1 / 3, 0, 1], [0, 1 / 3, 1]))


def cases() -> dict[str, dict[str, float]]:
    """All policies, by name."""
    rng = random.Random(0)
    found = {f"random-{i}": {state: rng.random() for state in STATES} for i in range(20)}
    found |= {f"nash:{alpha}": nash(alpha) for alpha in (0.0, 0.1, 0.2)} | {"nash": nash(1 / 3)}
    found |= {name: table(plan, plan) for name, plan in SCRIPTED.items()}
    queen = nash(1 / 3)
    return found | {"always_pass_queen": queen | {state: 0.0 for state in queen if state[0] == "1"}}


def measured(bets: dict[str, float]) -> dict[str, object]:
    """What OpenSpiel says of a policy that sits in both seats."""
    game = pyspiel.load_game("kuhn_poker")
    own = policies.TabularPolicy(game)
    for state, p in bets.items():
        own.policy_for_key(state)[:] = [1 - p, p]
    root = game.new_initial_state()
    best = [best_response.BestResponsePolicy(game, seat, own).value(root) for seat in range(2)]
    value = expected_game_score.policy_value(root, [own, own])
    return {
        "bets": bets,
        "value": [float(one) for one in value],
        "best_response": [float(one) for one in best],
        "nash_conv": float(exploitability.nash_conv(game, own)),
    }


def main() -> None:
    """Write the file that is named."""
    found = {name: measured(bets) for name, bets in cases().items()}
    Path(sys.argv[1]).write_text(json.dumps({"open_spiel": "2.0.2", "policies": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
