"""Whether to follow a mediator's advice is a best reply, given that all others follow it (after CoopEval's delegation).

All players are the same follower, by default one that cooperates when it reads a message. Following is an equilibrium if no seat gains by any other
play of the whole game, which in a game of one round is obedience in the sense of a correlated equilibrium; it is a coarse one if none gains by play
that does not read the messages. A fine (``fine=`` of the game) makes departures dearer: the least one that makes following an equilibrium is found
too. All values are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.deviation import Deviation, best_deviation
from coplay.evaluation.on_policy import on_policy_values
from coplay.evaluation.pasts import NotExact
from coplay.games.mediated import Mediated
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.records import Occupant
from coplay.terminal.tables import align
from coplay.text.rendering import counted, join

VERSION = 1
"""Version of the form of ``coplay exploit --delegation --json``."""

TOLERANCE = 1e-9
"""A gain that is smaller comes from rounding."""

_STEPS = 12
"""Fines that are tried at most; each step solves one linear piece of the gain."""

Seated = Callable[[Mediated], Mapping[str, Occupant]]
"""From a game to who sits where; the mediator's strategy belongs to the game with its fine."""


class SeatRecord(TypedDict):
    """One seat; payoffs are sums over the game."""

    follow: float
    """What it gets if all follow."""
    best_reply: float
    """What it gets at most if all others follow."""
    gain: float
    """The difference."""
    ignoring: float
    """What it gets at most without reading the messages."""


class DelegationRecord(TypedDict):
    """What ``coplay exploit --delegation --json`` prints."""

    version: int
    """Version of this form."""
    game: str
    """Name of the game."""
    mediator: str
    """The mediator."""
    follower: str
    """The player in all other seats."""
    rounds: int
    """Rounds of an episode."""
    fine: float
    """The game's fine."""
    seats: dict[str, SeatRecord]
    """One entry a playing seat."""
    equilibrium: bool
    """Whether nobody gains by another play."""
    coarse: bool
    """Whether nobody gains by play that reads no messages."""
    least_fine: float | None
    """The smallest fine with which nobody gains, all else equal; None if no fine does that."""


@dataclass(frozen=True)
class Delegation:
    """What following a mediator is worth, and what departing from it is."""

    record: DelegationRecord
    """The numbers."""
    departures: Mapping[str, str]
    """What a best reply does in the first round, for each seat that gains; a sentence's end."""

    def table(self) -> str:
        """A card for a person."""
        one = self.record
        head = f"{one['follower']} under {one['mediator']} in {one['game']}, {counted(one['rounds'], 'round')}; payoffs per game"
        rows = [
            [seat, *(_shown(value) for value in (of["follow"], of["best_reply"], of["gain"], of["ignoring"]))]
            for seat, of in one["seats"].items()
        ]
        columns = ["seat", "all follow", "best reply", "gain", "best without messages"]
        return "\n".join([head, "", *align([columns, *rows], numbers=True), "", *self._verdict()])

    def _verdict(self) -> list[str]:
        one = self.record
        gaining = [seat for seat, of in one["seats"].items() if of["gain"] > TOLERANCE]
        if not gaining:
            lines = ["Following is an equilibrium: no seat gains by another play if all others follow."]
        else:
            gains = "gains" if len(gaining) == 1 else "gain"
            lines = [f"Following is no equilibrium: {join(gaining)} {gains} by another play if all others follow."]
            lines += [f"{seat}: in the first round {what}." for seat, what in self.departures.items()]
            if one["least_fine"] is None:
                lines.append("No fine makes it one: there are gains in rounds without a message.")
            else:
                lines.append(
                    f"A fine of {one['least_fine']:.4g} or more makes it one (the game's is {one['fine']:.4g})."
                )
        if one["coarse"] and gaining:
            lines.append("It is a coarse equilibrium: nobody gains by play that reads no messages.")
        return lines


def delegation(game: Mediated, seated: Seated, *, rounds: int) -> Delegation:
    """Whether following a mediator is a best reply to all others' following it (docs/theory/mediation.md).

    Args:
        game: the rules, with chance and choices that can be listed.
        seated: seats the mediator and the followers in a game; all must tell their probabilities.
        rounds: T, the most rounds of an episode.

    Raises:
        NotExact: if the values cannot be enumerated, saying why.
    """
    _refuse_open(game)
    found = _Followed(game, seated(game), rounds)
    names = {seat: occupant.name for seat, occupant in found.seated.items()}
    gains = {seat: best.value - found.value(seat) for seat, best in found.best.items()}
    record: DelegationRecord = {
        "version": VERSION,
        "game": game.name,
        "mediator": names[MEDIATOR],
        "follower": join(list(dict.fromkeys(names[seat] for seat in game.playing_seats))),
        "rounds": rounds,
        "fine": game.fine,
        "seats": {
            seat: {
                "follow": found.value(seat),
                "best_reply": best.value,
                "gain": gains[seat],
                "ignoring": found.deviation(seat, hears=False).value,
            }
            for seat, best in found.best.items()
        },
        "equilibrium": False,
        "coarse": False,
        "least_fine": None,
    }
    record["equilibrium"] = all(gain <= TOLERANCE for gain in gains.values())
    record["coarse"] = all(one["ignoring"] - one["follow"] <= TOLERANCE for one in record["seats"].values())
    record["least_fine"] = _least_fine(game, seated, rounds)
    departures = {
        seat: "it plays " + " or ".join(dict.fromkeys(game.show(action) for action in best.first))
        for seat, best in found.best.items()
        if gains[seat] > TOLERANCE
    }
    return Delegation(record, departures)


def _refuse_open(game: Mediated) -> None:
    for seat in game.playing_seats:
        if not game.most_choices(seat):
            raise NotExact(
                f"game {game.name!r} asks {seat} for replies that cannot be listed, such as messages, so that best replies cannot be enumerated;"
                " name it without them, e.g. ipd-3:talk=0+mediator"
            )


class _Followed:
    """The values of a game in which all follow, and of the best departures of single seats."""

    def __init__(self, game: Mediated, seated: Mapping[str, Occupant], rounds: int) -> None:
        self.game, self.seated, self.rounds = game, seated, rounds
        self.every = ActionProbabilities(game, seated)
        per_round = on_policy_values(game, self.every, rounds=rounds)
        if self.every.sampled:
            raise NotExact("a player tells no probabilities, so that what following is worth is not known exactly")
        self._values = {seat: value * rounds for seat, value in per_round.items()}
        self.best = {seat: self.deviation(seat) for seat in game.playing_seats}

    def value(self, seat: str) -> float:
        """What a seat gets if all follow."""
        return self._values[seat]

    def deviation(self, seat: str, *, hears: bool = True) -> Deviation:
        """What it gets at most if all others follow."""
        others = {one: occupant for one, occupant in self.seated.items() if one != seat}
        told = ActionProbabilities(self.game, others)
        return best_deviation(self.game, seat, told, rounds=self.rounds, hears=hears)


def _least_fine(game: Mediated, seated: Seated, rounds: int) -> float | None:
    """The smallest fine without gains, by Newton's method: a gain falls with the fine along linear pieces that flatten."""
    fine = 0.0
    for _ in range(_STEPS):
        fined = replace(game, fine=fine)
        found = _Followed(fined, seated(fined), rounds)
        steps = []
        for seat, best in found.best.items():
            gain = best.value - found.value(seat)
            if gain > TOLERANCE:
                if best.fined <= TOLERANCE:
                    return None
                steps.append(gain / best.fined)
        if not steps:
            return fine
        fine += max(steps)
    return None


def _shown(value: float) -> str:
    return f"{value + 0.0:.4f}".replace("-0.0000", "0.0000")
