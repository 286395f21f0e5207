"""Write down how Axelrod's strategies play, so that the tests can compare ours with them on every run.

    python -m venv /tmp/axelrod
    /tmp/axelrod/bin/pip install 'axelrod==4.14.*'
    /tmp/axelrod/bin/python scripts/axelrod_transcripts.py tests/data/axelrod_transcripts.json

Axelrod (Knight et al., 2016) is the reference implementation of the classical strategies. It is not a dependency of ours, not even of the
tests: its import takes half a minute and it brings a dozen packages. This script imports nothing but Axelrod and the standard library. Its
output is the same every time; commit it when a strategy or the version of Axelrod changes.

- Strategies without chance are compared move by move: each plays each of them, and two fixed sequences of moves.
- Strategies with chance are compared by their probabilities: the first move's, and those after CC, CD, DC and DD.

Two peculiarities of Axelrod 4.14. ``AsymmetricGame.__eq__`` calls different games equal, so games are told apart here by their payoffs.
A ``GTFT`` keeps the forgiveness that follows from the first game it is told, and that is the standard one, told to every new player; so
it forgives a third in any game. Here it forgets that before it is told another game.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import axelrod as axl

TURNS = 24
"""Rounds of a match."""

DETERMINISTIC: dict[str, Callable[[], axl.Player]] = {
    "always_cooperate": axl.Cooperator,
    "always_defect": axl.Defector,
    "tit_for_tat": axl.TitForTat,
    "suspicious_tit_for_tat": axl.SuspiciousTitForTat,
    "tit_for_two_tats": axl.TitFor2Tats,
    "grim_trigger": axl.Grudger,
    "win_stay_lose_shift": axl.WinStayLoseShift,
    "alternator": axl.Alternator,
    "alternator_defect_first": axl.CyclerDC,
    "generous_tit_for_tat:0": lambda: axl.GTFT(p=0),
    "generous_tit_for_tat:1": lambda: axl.GTFT(p=1),
    "random:0": lambda: axl.Random(0),
    "random:1": lambda: axl.Random(1),
}
"""Our names of the strategies without chance, and Axelrod's."""

GAMES = {"ipd": (3, 0, 5, 1), "shapellm": (3, 0, 4, 1), "lola": (-1, -3, 0, -2), "harsh": (7, 0, 8, 5)}
"""Payoffs after CC, CD, DC and DD. In the last one it is exploiters that limit forgiveness, not the gain from defecting."""


def sequences() -> dict[str, str]:
    """Fixed moves to play against: as many defections as cooperations, and one defection in five."""
    chance = random.Random("coplay")
    return {
        name: "".join("D" if chance.random() < share else "C" for _ in range(TURNS))
        for name, share in (("even", 0.5), ("mostly_cooperative", 0.2))
    }


def moves_against(player: axl.Player, opponent: axl.Player) -> str:
    """The player's moves in a match with the opponent."""
    match = axl.Match((player, opponent), turns=TURNS, game=axl.Game(r=3, s=0, t=5, p=1))
    return "".join(own.name for own, _ in match.play())


def transcripts() -> dict[str, dict[str, str]]:
    """The moves of every strategy without chance against each of them and against the sequences: strategy, opponent, moves."""
    opponents = dict(DETERMINISTIC)
    for name, moves in sequences().items():
        opponents[name] = lambda moves=moves: axl.Cycler(cycle=moves)  # type: ignore[misc]
    return {
        name: {other: moves_against(player(), opponent()) for other, opponent in opponents.items()}
        for name, player in DETERMINISTIC.items()
    }


def memory_one(player: axl.MemoryOnePlayer, payoffs: tuple[float, ...]) -> list[float]:
    """P(cooperate) in the first round and after CC, CD, DC and DD (own move first), in the game with these payoffs."""
    r, s, t, p = payoffs
    game = axl.Game(r=r, s=s, t=t, p=p)
    player.set_match_attributes(game=game)
    told = player.match_attributes["game"].RPST()
    if told != (r, p, s, t):
        raise RuntimeError(f"the player was told the payoffs {told}")
    first = float(player._initial == axl.Action.C)
    return [first, *(float(player._four_vector[own, theirs]) for own in axl.Action for theirs in axl.Action)]


def generous(payoffs: tuple[float, ...]) -> list[float]:
    """The probabilities of ``GTFT`` with the forgiveness that Axelrod's formula gives for these payoffs."""
    player = axl.GTFT()
    player.p = None
    return memory_one(player, payoffs)


def four_vectors() -> dict[str, dict[str, list[float]]]:
    """The probabilities of the strategies with chance: game, strategy, probabilities."""
    vectors = {game: {"generous_tit_for_tat": generous(payoffs)} for game, payoffs in GAMES.items()}
    vectors["ipd"]["generous_tit_for_tat:0.1"] = memory_one(axl.GTFT(p=0.1), GAMES["ipd"])
    vectors["ipd"]["zd_extort_2"] = memory_one(axl.ZDExtort2(), GAMES["ipd"])
    for p in (0.5, 0.3):
        vectors["ipd"][f"random:{p}"] = [axl.Random(p).p] * 5
    return vectors


def main() -> int:
    """Write the file named on the command line."""
    (out,) = sys.argv[1:]
    found = {
        "axelrod": axl.__version__,
        "games": {name: list(payoffs) for name, payoffs in GAMES.items()},
        "sequences": sequences(),
        "transcripts": transcripts(),
        "four_vectors": four_vectors(),
    }
    Path(out).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
