"""What a message does to a model's cooperation, from recorded games in which chance chose who read one.

    python scripts/message_effect.py GAMES... [--json]

``GAMES`` are directories of ``coplay eval --record`` with a mediator that speaks at random (``uniform``). Players that tell probabilities are
measured by these: the mean probability of cooperating of seats that read a message less that of those that did not, in the same round and, of the
round after, by what was read before. Intervals resample whole games.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coplay.games.mediation_words import addressed
from coplay.games.mediator_seat import MEDIATION
from coplay.games.records import Episode
from coplay.rng import draws
from coplay.runs.recording import Recording

SAMPLES = 2_000
"""Bootstrap samples of whole games."""


def rows_of(path: Path) -> list[tuple[int, str, bool, bool | None, float]]:
    """Of each decision: the game, the player, whether it read a message, whether it did in the round before, and P(cooperate)."""
    recording = Recording.open(path)
    game = recording.game.lasting(int(recording.asked["rounds"]))
    found = []
    for number, episode in enumerate(recording.episodes(game)):
        for seat in game.playing_seats:
            before: bool | None = None
            for one in episode.rounds:
                told = one.acts[0].action if one.acts and one.acts[0].phase == MEDIATION else None
                reads = seat in addressed(told)
                found.append((number, episode.seated[seat].name, reads, before, _cooperates(episode, seat, one.number)))
                before = reads
    return found


def _cooperates(episode: Episode, seat: str, number: int) -> float:
    turn = next(turn for turn in episode.turns[seat] if turn.round == number and turn.phase == "action")
    if turn.reply.probs is not None:
        return float(turn.reply.probs[0])
    return float(turn.reply.action == "cooperate")


def difference(games: Sequence[int], told: Sequence[bool], p: Sequence[float]) -> dict[str, float]:
    """The difference of means and the 95 % interval over samples of whole games."""
    g, t, y = np.array(games), np.array(told), np.array(p)
    names = sorted(set(games))
    sums = np.array(
        [[y[(g == n) & t].sum(), ((g == n) & t).sum(), y[(g == n) & ~t].sum(), ((g == n) & ~t).sum()] for n in names]
    )
    whole = sums.sum(0)
    uniforms = draws(0, "message-effect", n=SAMPLES * len(names)).reshape(SAMPLES, len(names))
    sampled = sums[(uniforms * len(names)).astype(int)].sum(1)
    values = sampled[:, 0] / sampled[:, 1] - sampled[:, 2] / sampled[:, 3]
    low, high = np.quantile(values, [0.025, 0.975])
    return {
        "difference": float(whole[0] / whole[1] - whole[2] / whole[3]),
        "low": float(low),
        "high": float(high),
        "read": int(whole[1]),
        "not_read": int(whole[3]),
        "p_not_read": float(whole[2] / whole[3]),
    }


def effects(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """What messages changed in a directory of recorded games, by player and in all: in the same round, and in the round after."""
    rows = rows_of(path)
    found = {}
    for player in [*dict.fromkeys(row[1] for row in rows), "all"]:
        own = [row for row in rows if player in (row[1], "all")]
        now = difference([r[0] for r in own], [r[2] for r in own], [r[4] for r in own])
        later = [r for r in own if r[3] is not None and not r[2]]
        after = difference([r[0] for r in later], [bool(r[3]) for r in later], [r[4] for r in later])
        found[player] = {"same_round": now, "round_after": after}
    return found


def main() -> None:
    """Print the differences of each directory and player."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    for path in options.games:
        for player, both in effects(path).items():
            found[f"{path.name}/{player}"] = both
            if not options.json:
                told = "; ".join(
                    f"{name.replace('_', ' ')} {one['difference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}]"
                    for name, one in both.items()
                )
                print(f"{path.name:20} {player:28} {told}")
    if options.json:
        print(json.dumps({"version": 1, "effects": found}, indent=1))


if __name__ == "__main__":
    main()
