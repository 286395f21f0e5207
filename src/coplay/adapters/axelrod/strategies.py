"""Axelrod's strategies as players of coplay.

A strategy sees what it sees in Axelrod: all moves of the episode so far and the payoffs of its seat. It is not told how many rounds there are, as no other
player of a matrix game is. Its chance comes from the seat's stream: the same seed gives the same game, whatever is played beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from coplay.adapters.axelrod.process import worker
from coplay.errors import UsageError, suggestion
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.players.scripted import past_of
from coplay.rng import stream_seed

PREFIX = "axelrod"
"""What names of these players begin with, before a colon."""

LARGEST_SEED = 2**32
"""Axelrod's seeds are below this."""


@dataclass(frozen=True)
class Listed:
    """A strategy that Axelrod has."""

    class_name: str
    """Its class, e.g. ``ZDExtort2``."""
    name: str
    """What Axelrod calls it, e.g. ``ZD-Extort-2``."""
    stochastic: bool
    """Whether it draws lots."""


@cache
def listed() -> tuple[Listed, ...]:
    """All strategies that keep to the rules of Axelrod's tournaments, in its order.

    Raises:
        UsageError: if Axelrod is not installed.
    """
    return tuple(Listed(one["class"], one["name"], one["stochastic"]) for one in worker().ask({"names": True})["names"])


def axelrod_player(name: str, game: Game, seat: str) -> AxelrodStrategy:
    """A strategy of Axelrod, for one seat of a game.

    Args:
        name: its name or class; case, spaces and punctuation do not matter.
        game: a two-seat matrix game that is a social dilemma for both seats.
        seat: the seat to be filled.

    Raises:
        UsageError: for another game, an unknown name (with the nearest known one), or if Axelrod is not installed.
    """
    payoffs = dilemma(game, seat)
    known = {_bare(key): one for one in reversed(listed()) for key in (one.name, one.class_name)}
    found = known.get(_bare(name))
    if found is None:
        near = suggestion(_bare(name), known)
        meant = known[near.split("'")[1]].name if "'" in near else ""
        hint = f" Did you mean '{PREFIX}:{meant}'?" if meant else ""
        where = "https://axelrod.readthedocs.io/en/stable/reference/strategy_index.html"
        raise UsageError(f"Axelrod has no strategy {name!r}.{hint} All {len(listed())}: {where}")
    assert isinstance(game, MatrixGame)
    return AxelrodStrategy(f"{PREFIX}:{name}", game, found, payoffs)


def dilemma(game: Game, seat: str) -> tuple[float, float, float, float]:
    """A seat's payoffs R, S, T, P, its first action being to cooperate.

    A social dilemma (Macy & Flache, 2002): R > P, R > S, 2R ≥ T + S (there >), and T > R or P > S.

    Raises:
        UsageError: if the game is no social dilemma of two seats and two actions.
    """
    what = f"Axelrod's strategies are for dilemmas of two seats with two actions each; game {game.name!r}"
    if not isinstance(game, MatrixGame):
        raise UsageError(f"{what} is no matrix game")
    if any(len(game.actions[one]) != 2 for one in game.seats):
        raise UsageError(f"{what} has {' x '.join(str(len(game.actions[one])) for one in game.seats)} actions")
    own, other = game.actions[seat], game.actions[game.other(seat)]
    r, s, t, p = (game.payoff(seat, own=own[i], other=other[j]) for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    if not (r > p and r > s and 2 * r >= t + s and (t > r or p > s)):
        raise UsageError(f"{what} is none for {seat}: R, S, T, P are {r:g}, {s:g}, {t:g}, {p:g}")
    return r, s, t, p


def _bare(name: str) -> str:
    """A name without what is often written otherwise."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


@dataclass(frozen=True)
class AxelrodStrategy:
    """A strategy of Axelrod in a seat. It is asked in batches, in the process of :mod:`coplay.adapters.axelrod.process`."""

    name: str
    """As it was asked for, e.g. ``axelrod:ZD-Extort-2``."""
    game: MatrixGame
    """The game that is played."""
    strategy: Listed
    """What plays."""
    payoffs: tuple[float, float, float, float]
    """R, S, T, P of its seat."""
    memory: ClassVar[Memory] = Memory.TRANSCRIPT

    @property
    def tells_probabilities(self) -> bool:
        """Whether it always does the same after the same history; others do not tell how they draw."""
        return not self.strategy.stochastic

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        moves = worker().ask({"moves": [self._asked(request) for request in requests]})["moves"]
        return [self._reply(request, move) for request, move in zip(requests, moves, strict=True)]

    def _asked(self, request: Request) -> dict[str, object]:
        past = past_of(self.game, request.seat, request.observation)
        path = _of_game(request)
        return {
            "game": [request.seed, *path],
            "strategy": self.strategy.class_name,
            "seed": stream_seed(request.seed, "axelrod", *path) % LARGEST_SEED,
            "payoffs": self.payoffs,
            "own": "".join("C" if own else "D" for own, _ in past),
            "theirs": "".join("C" if theirs else "D" for _, theirs in past),
        }

    def _reply(self, request: Request, move: str) -> Reply:
        actions = self.game.actions[request.seat]
        place = "CD".index(move)
        text = self.game.render_action(request, actions[place])
        if self.strategy.stochastic:
            return Reply(text, actions[place])
        return Reply(text, actions[place], logprobs=(0.0,), probs=tuple(float(i == place) for i in range(2)))


def _of_game(request: Request) -> tuple[int | str, ...]:
    """The part of a request's random path that is the same in all rounds of a game: up to the seat."""
    path = request.rng_path
    places = [i for i, word in enumerate(path) if word == request.seat]
    return path[: places[-1] + 1] if places else path
