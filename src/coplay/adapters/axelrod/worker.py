"""The process that plays Axelrod's strategies. It knows nothing of coplay: lines of JSON in, lines of JSON out.

A move follows from the strategy, its seed and the history alone: a strategy is made anew and led through the history, with the moves that were made. What has
been led somewhere is kept, so that the next round of the same game costs one move.

The process ends when its input does, whatever it is doing: with the process that started it.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

MOST_KEPT = 1024
"""Games in which a strategy is kept; in others it is led through the history anew."""


class Place(NamedTuple):
    """A strategy in a game, that has been asked for its next move."""

    player: Any
    """The ``axelrod.Player``."""
    opponent: Any
    """Who has made the other seat's moves."""
    own: str
    """Its own moves so far."""
    theirs: str
    """The other seat's."""
    move: str
    """Its next move."""


class Strategies:
    """Axelrod's strategies by class name, and the games they are in."""

    def __init__(self) -> None:
        import axelrod

        self.axelrod = axelrod
        self.kept: OrderedDict[str, Place] = OrderedDict()

    def names(self) -> list[dict[str, object]]:
        """All strategies that keep to the rules of Axelrod's tournaments: they look at moves, not at their opponent's code."""
        kinds = self.axelrod.Classifiers
        return [
            {"class": one.__name__, "name": one.name, "stochastic": bool(kinds["stochastic"](one()))}
            for one in self.axelrod.strategies
        ]

    def move(self, asked: dict[str, Any]) -> str:
        """C or D.

        Args:
            asked: ``game``, which names the game; ``strategy``, a class; ``seed``; ``payoffs`` R, S, T, P; ``own`` and
                ``theirs``, the moves so far.
        """
        key = json.dumps([asked[one] for one in ("game", "strategy", "seed", "payoffs")])
        place = self.kept.pop(key, None)
        same = place is not None and (place.own, place.theirs) == (asked["own"], asked["theirs"])
        if place is None or not same:
            goes_on = (
                place is not None and asked["own"].startswith(place.own) and asked["theirs"].startswith(place.theirs)
            )
            place = self.led(
                place if goes_on and place is not None else self.begun(asked), asked["own"], asked["theirs"]
            )
        self.kept[key] = place
        if len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return place.move

    def begun(self, asked: dict[str, Any]) -> Place:
        """A new game."""
        axelrod = self.axelrod
        player, opponent = getattr(axelrod, asked["strategy"])(), axelrod.Player()
        r, s, t, p = asked["payoffs"]
        for one in (player, opponent):
            one.set_match_attributes(length=float("inf"), game=axelrod.Game(r=r, s=s, t=t, p=p), noise=0)
            one.set_seed(asked["seed"])
        return Place(player, opponent, "", "", str(player.strategy(opponent)))

    def led(self, place: Place, own: str, theirs: str) -> Place:
        """Further on in the same game."""
        player, opponent, move = place.player, place.opponent, place.move
        action = self.axelrod.Action.from_char
        for mine, other in zip(own[len(place.own) :], theirs[len(place.theirs) :], strict=True):
            player.update_history(action(mine), action(other))
            opponent.update_history(action(other), action(mine))
            move = str(player.strategy(opponent))
        return Place(player, opponent, own, theirs, move)


def answer(strategies: Strategies, asked: dict[str, Any]) -> dict[str, object]:
    """The answer to one line; an error of a strategy is an answer too."""
    if "names" in asked:
        return {"names": strategies.names()}
    moves = []
    for one in asked["moves"]:
        try:
            moves.append(strategies.move(one))
        except Exception as error:  # whatever a strategy raises
            return {"error": f"{one['strategy']}: {type(error).__name__}: {' '.join(str(error).split())}"}
    return {"moves": moves}


def main() -> None:
    """Answer line by line until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the library prints is no answer
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    strategies = Strategies()
    while True:
        out.write(json.dumps(answer(strategies, json.loads(lines.get()))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
