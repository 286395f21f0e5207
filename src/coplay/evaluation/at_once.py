"""Games of automata, many at once: the games that the loop plays, as arrays, with the same random numbers and the same payoffs.

Covered are games in normal form, in which a round is one simultaneous choice and nothing else, with players that say what automaton they are:
strategies, mixtures, and tables that remember a round. All others are played by the loop, :mod:`coplay.play.loop`.

Shapes: B games, S seats, T rounds, J joint actions, Q states, A actions of a seat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from coplay.games.base import Game
from coplay.games.chat_matrix import ChatMatrixGame
from coplay.games.normal_form import ACTION, NormalFormGame
from coplay.games.records import Act, Occupant, Outcome, Round
from coplay.play.loop import StreamNames
from coplay.play.rules import settled
from coplay.players.automaton import Automaton, says_automaton
from coplay.rng import draws_of_many

MOST_JOINTS = 512
"""Of a game; one with more joint actions is left to the loop."""

MOST_WHOLE = 10**6
"""Largest payoff that is a whole number: the sum of :data:`coplay.games.base.MOST_ROUNDS` of them is exact as a float."""

MOST_CELLS = 2**20
"""Rounds that are played together, over all games."""

_RULES = [
    "deal",
    "next_phase",
    "is_over",
    "observe",
    "payoffs",
    "outcome",
    "conducts",
    "choices",
    "perform",
    "own_states",
    "playing_seats",
]
"""The methods of a game that decide how a round goes. A game with another one of its own is left to the loop."""

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StageGame:
    """A game in normal form as arrays; joint actions are counted in the order of :attr:`coplay.games.normal_form.NormalFormGame.states`."""

    game: NormalFormGame
    """The rules."""
    outcomes: tuple[Outcome, ...]
    """What a round comes to, by joint action."""
    payoffs_SJ: Floats
    """What each seat is paid."""
    own_SJ: Ints
    """Which of its own states, in which its own action comes first, each seat sees."""


def stage_game(game: Game) -> StageGame | None:
    """A game as arrays; None if its rounds are more than one simultaneous choice whose payoffs are numbers."""
    if not isinstance(game, NormalFormGame) or game.draws or prod(map(len, game.actions.values())) > MOST_JOINTS:
        return None
    for method in _RULES:
        if all(getattr(type(game), method) is not getattr(kind, method) for kind in (NormalFormGame, ChatMatrixGame)):
            return None
    try:
        rounds = [settled(game, _round(game, joint)) for joint in game.states]
    except Exception:  # the loop says what is wrong when it comes to that
        return None
    paid = [[(one.payoffs or {})[seat] for one, _ in rounds] for seat in game.seats]
    if not _are_plain([x for own in paid for x in own]) or any(outcome.void for _, outcome in rounds):
        return None
    own = [{state: i for i, state in enumerate(game.own_states(seat))} for seat in game.seats]
    own_SJ = [
        [states[(joint[i], *joint[:i], *joint[i + 1 :])] for joint in game.states] for i, states in enumerate(own)
    ]
    return StageGame(game, tuple(outcome for _, outcome in rounds), np.array(paid, dtype=float), np.array(own_SJ))


def _are_plain(payoffs: Sequence[object]) -> bool:
    """Whether an array adds them up as Python does: all are floats, or whole numbers whose sums are exact."""
    if all(type(x) is float for x in payoffs):
        return True
    return all(type(x) is int and abs(x) <= MOST_WHOLE for x in payoffs)


def _round(game: NormalFormGame, joint: Sequence[str | None]) -> Round:
    """A round in which all have acted."""
    return Round(0, None, tuple(Act(ACTION, 0, seat, word) for seat, word in zip(game.seats, joint, strict=True)))


@dataclass(frozen=True)
class Lineup:
    """Games to be played: who sits where, and how often. The games of a lineup differ by their random numbers alone."""

    seated: Mapping[str, Occupant]
    """Who sits in each seat."""
    seed: int
    """Names the random streams, with the number of the game and the seat."""
    episodes: int
    """How many games, from number 0."""


@dataclass(frozen=True)
class Moves:
    """What was done in the games of a lineup."""

    stage: StageGame
    """The game."""
    joints_BT: npt.NDArray[np.uint16]
    """The joint action of each round."""

    def payoffs(self, seat: str) -> list[list[float]]:
        """What a seat was paid, game by game and round by round."""
        paid: list[list[float]] = self.stage.payoffs_SJ[self.stage.game.seats.index(seat)][self.joints_BT].tolist()
        return paid

    def outcomes(self) -> Counter[Outcome]:
        """How many rounds came to what."""
        counts = np.bincount(self.joints_BT.ravel(), minlength=len(self.stage.outcomes)).tolist()
        return Counter({outcome: n for outcome, n in zip(self.stage.outcomes, counts, strict=True) if n})


class AtOnce:
    """Plays lineups of one game, as many together as fit.

    Args:
        game: the rules.
        rounds: T, the rounds of a game.
        streams: what the random streams are called.
    """

    def __init__(self, game: Game, *, rounds: int, streams: StreamNames) -> None:
        self.stage, self.rounds, self.streams = stage_game(game), rounds, streams
        self._known: dict[tuple[int, int | None, str], tuple[Occupant, Automaton | None]] = {}
        self._uniforms: dict[tuple[int, str, int], Floats] = {}

    def automaton(self, seat: str, occupant: Occupant) -> Automaton | None:
        """The player of a seat as an automaton of the game's actions; None if it is none."""
        key = (id(occupant.player), occupant.slot, seat)
        if key not in self._known:  # with the occupant, so that the player's id stays its own
            self._known[key] = (occupant, self._automaton(seat, occupant))
        return self._known[key][1]

    def _automaton(self, seat: str, occupant: Occupant) -> Automaton | None:
        if self.stage is None or not says_automaton(occupant.player):
            return None
        game = self.stage.game
        found: Automaton | None = occupant.player.automaton(seat, occupant.slot, game.own_states(seat))
        return found if found is not None and found.actions == game.actions[seat] else None

    def covers(self, seated: Mapping[str, Occupant]) -> bool:
        """Whether games of these players can be played here."""
        if self.stage is None:
            return False
        return all(self.automaton(seat, seated[seat]) is not None for seat in self.stage.game.seats)

    def play(self, lineups: Iterable[Lineup]) -> Iterator[Moves]:
        """The games of lineups that are covered, in order."""
        batch: list[Lineup] = []
        games = 0
        for lineup in lineups:
            batch.append(lineup)
            games += lineup.episodes
            if games * self.rounds >= MOST_CELLS:
                yield from self._play(batch)
                batch, games = [], 0
        if batch:
            yield from self._play(batch)

    def _play(self, batch: Sequence[Lineup]) -> Iterator[Moves]:
        assert self.stage is not None, "only games that are covered are played at once"
        seats, episodes = self.stage.game.seats, [one.episodes for one in batch]
        sides = [_Side(self, i, batch) for i in range(len(seats))]
        joints_TB = np.empty((self.rounds, sum(episodes)), dtype=np.uint16)
        for t, joint_B in enumerate(joints_TB):
            joint = np.zeros(len(joint_B), dtype=np.intp)
            for side in sides:
                joint = joint * side.width + side.act(t)
            for side in sides:
                side.see(joint)
            joint_B[:] = joint
        joints_BT = np.ascontiguousarray(joints_TB.T)
        for games in np.split(joints_BT, np.cumsum(episodes)[:-1]):
            yield Moves(self.stage, games)

    def uniforms(self, seed: int, seat: str, episodes: int) -> Floats:
        """The numbers that a seat's choices are drawn by, [episodes, T]; those of the loop."""
        key = (seed, seat, episodes)
        if key not in self._uniforms:
            path = self.streams.choices
            games = [(*path, index, seat) for index in range(episodes)]
            self._uniforms[key] = draws_of_many(seed, "play", games, n=self.rounds)
        return self._uniforms[key]


class _Side:
    """The players of one seat in all games of a batch: where each automaton is."""

    def __init__(self, play: AtOnce, seat: int, batch: Sequence[Lineup]) -> None:
        assert play.stage is not None, "only games that are covered are played at once"
        name = play.stage.game.seats[seat]
        found = [play.automaton(name, one.seated[name]) for one in batch]
        automata = [one for one in found if one is not None]
        first: dict[int, int] = {}  # the first state of each automaton among the states of all
        states = 0
        for one in automata:
            if id(one) not in first:
                first[id(one)] = states
                states += len(one.edges_QA)
        distinct = list({id(one): one for one in automata}.values())
        edges_QA = np.concatenate([one.edges_QA for one in distinct])
        own_J = play.stage.own_SJ[seat]
        self.width, self.joints = edges_QA.shape[1], len(own_J)
        self.edges_AQ = np.ascontiguousarray(edges_QA.T[:-1])  # none is behind the last
        self.next_X = np.concatenate([first[id(one)] + one.next_QJ[:, own_J] for one in distinct]).ravel()
        games = [one.episodes for one in batch]
        self.state_B = np.repeat([first[id(one)] for one in automata], games)
        drawn = [
            np.zeros((one.episodes, play.rounds))
            if automaton.is_deterministic
            else play.uniforms(one.seed, name, one.episodes)
            for one, automaton in zip(batch, automata, strict=True)
        ]
        self.uniforms_TB = np.ascontiguousarray(np.concatenate(drawn).T)

    def act(self, t: int) -> Ints:
        """The index of the action in each game."""
        action_B = np.zeros(len(self.state_B), dtype=np.intp)
        for edges_Q in self.edges_AQ:
            action_B += edges_Q[self.state_B] <= self.uniforms_TB[t]
        return action_B

    def see(self, joint_B: Ints) -> None:
        """Go on to the next states."""
        self.state_B = self.next_X[self.state_B * self.joints + joint_B]
