"""How often the intervals of an audit cover the truth: a hundred audits of each player whose answers can be enumerated.

    python scripts/audit_coverage.py                                             # a table
    python scripts/audit_coverage.py --json results/audits/coverage.json         # what the documentation shows

Each audit measures a player in games with ``random``, on seeds of its own. The truth comes from enumeration: payoffs of all courses of a game with
their probabilities, and for conduct the probabilities that a strategy of one round's memory has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from coplay.auditing.conduct import against_scripted
from coplay.auditing.plan import SCRIPTED, Plan
from coplay.auditing.record import PROFILE
from coplay.auditing.run import seats_of_co_players
from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.on_policy import on_policy_values
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.named import make_player
from coplay.players.strategies import ZD_EXTORT_2
from coplay.runs.contestants import contestants

AUDITS = 100
"""Audits of each player."""

CO_PLAYER = "random"
"""It brings about every state, so that there is something to estimate about every player."""

PLAYERS: Mapping[str, tuple[str, ...]] = {
    "ipd": ("tit_for_tat", "always_cooperate", "win_stay_lose_shift", "zd_extort_2", "random:0.7"),
    "kuhn": ("uniform", "nash:0.2"),
}
"""By game."""

CONDUCT: Mapping[str, Mapping[str, float]] = {
    "zd_extort_2": {
        PROFILE + "".join("DC"[cooperated] for cooperated in state): rate for state, rate in ZD_EXTORT_2.items()
    },
    "random:0.7": dict.fromkeys((PROFILE + state for state in ("CC", "CD", "DC", "DD")), 0.7),
}
"""The rate of cooperation after each state, own action first, of players whose conduct is left to chance."""


@dataclass(frozen=True)
class Row:
    """A measure of a player, and how often its interval covers the truth."""

    game: str
    """The game."""
    player: str
    """The player."""
    measure: str
    """The measure, of games with :data:`CO_PLAYER`."""
    truth: float
    """Its true value."""
    covered: int
    """Audits whose interval covers it."""
    audits: int
    """All audits."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print, and keep the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=AUDITS, help="audits of each player, on seeds from 0 up")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the counts there")
    options = parser.parse_args(arguments)
    rows = [
        row for name, players in PLAYERS.items() for player in players for row in coverage(name, player, options.audits)
    ]
    for row in rows:
        print(f"{row.game:5} {row.player:20} {row.measure:14} {row.truth:7.3f}  {row.covered} of {row.audits}")
    covered, audits = sum(row.covered for row in rows), sum(row.audits for row in rows)
    least = min(row.covered for row in rows)
    print(f"all: {covered} of {audits}, {covered / audits:.1%}; the least is {least} of {options.audits}")
    if options.json is not None:
        whole = {"covered": covered, "audits": audits, "share": covered / audits, "least": least, "measures": len(rows)}
        text = json.dumps({"version": 1, "whole": whole, "rows": [asdict(row) for row in rows]}, indent=1)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    return 0


def coverage(name: str, player: str, audits: int) -> list[Row]:
    """Of each measure of a player with a known truth, in how many audits its interval covers that."""
    game = make_game(name)
    (audited,) = contestants([player], game)
    seats, plan = seats_of_co_players(game, audited), Plan(rounds=game.rounds, against=(SCRIPTED,))
    truth = {**payoffs(game, player, seats), **CONDUCT.get(player, {})}
    covered = dict.fromkeys(truth, 0)
    for seed in range(audits):
        found = against_scripted(
            game,
            lambda seat: audited.occupant(0, seat),
            seats,
            [CO_PLAYER],
            rounds=plan.rounds,
            episodes=plan.episodes,
            seed=seed,
        )
        for one in found:
            if one.name in truth and one.interval is not None:
                low, high = one.interval
                covered[one.name] += low <= truth[one.name] <= high
    return [Row(name, player, measure, value, covered[measure], audits) for measure, value in truth.items()]


def payoffs(game: Game, player: str, seats: Sequence[str]) -> dict[str, float]:
    """What the co-player takes and the player gets per round, the mean over the co-player's seats; their difference and sum."""
    takes, gets = [], []
    for seat in seats:
        seated = {one: Occupant(make_player(player, game, one), player) for one in game.seats}
        seated[seat] = Occupant(make_player(CO_PLAYER, game, seat), CO_PLAYER)
        values = on_policy_values(game, ActionProbabilities(game, seated), rounds=game.rounds)
        (other,) = (one for one in game.seats if one != seat)
        takes.append(values[seat])
        gets.append(values[other])
    taken, got = mean(takes), mean(gets)
    return {"takes": taken, "gets": got, "margin": taken - got, "welfare": taken + got}


if __name__ == "__main__":
    raise SystemExit(main())
