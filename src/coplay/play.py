"""Play: many games at once, each seat with its own memory and its own stream of chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coplay.games.matrix import SEATS, Joint, MatrixGame, other
from coplay.games.memory import History
from coplay.players.base import Player
from coplay.rng import draws
from coplay.types import Episode, Trace, Turn, View

RoundClock = Callable[[int, Sequence[Episode]], None]
"""Called after each round with the round's number, from 0, and the games so far."""


@dataclass
class Table:
    """A place where one game after another is played: one of the N parallel games of one seed."""

    game: MatrixGame
    """The rules."""
    seed: int
    """The run's seed."""
    index: int
    """Which of the N parallel games of the seed this is."""
    history: History = field(init=False)
    """The joint actions of the current trial."""

    def __post_init__(self) -> None:
        """Lay an empty table."""
        self.start_trial()

    def start_trial(self) -> None:
        """Forget everything: a new trial begins."""
        self.history = History(self.game)


def play_episode(
    tables: Sequence[Table],
    players: Mapping[str, Player],
    *,
    rounds: int,
    occasion: tuple[int | str, ...],
    after_round: RoundClock | None = None,
) -> list[Episode]:
    """Play one episode at every table, all tables in step.

    Args:
        tables: where to play; their histories grow, and a new episode is begun in each.
        players: the player of each seat.
        rounds: T, the number of rounds.
        occasion: what this episode is called within its seed, e.g. ``("train", trial, episode)``. With the table's seed and index and
            the seat it names the stream of chance, so the same call gives the same games whatever else is played beside it.
        after_round: called after each round; learners that update so often do it here.

    Returns:
        One complete episode a table, in order.
    """
    chance_BST = _chance(tables, rounds, occasion)
    episodes = []
    for table in tables:
        table.history.start_episode()
        episodes.append(Episode(table.seed, table.index, {seat: Trace(seat) for seat in SEATS}))
    for t in range(rounds):
        turns = {}
        for s, seat in enumerate(SEATS):
            memory = players[seat].memory
            views = [
                View(
                    seed=table.seed,
                    game=table.index,
                    seat=seat,
                    round=t,
                    observation=table.history.observe(seat, memory),
                    draw=float(chance_BST[b, s, t]),
                )
                for b, table in enumerate(tables)
            ]
            turns[seat] = list(zip(views, players[seat].act(views), strict=True))
        for b, (table, episode) in enumerate(zip(tables, episodes, strict=True)):
            actions = {seat: turns[seat][b][1].action for seat in SEATS}
            joint = legal_joint(actions)
            if joint is not None:
                table.history.append(joint)
            episode.states.append(joint)
            for seat in SEATS:
                view, move = turns[seat][b]
                turn = Turn(view.observation, move, settle(table.game, seat, actions))
                episode.traces[seat].turns.append(turn)
        if after_round is not None:
            after_round(t, episodes)
    return episodes


def legal_joint(actions: Mapping[str, str | None]) -> Joint | None:
    """The joint action, row first, or None if any reply was illegal."""
    row, column = (actions[seat] for seat in SEATS)
    return None if row is None or column is None else (row, column)


def settle(game: MatrixGame, seat: str, actions: Mapping[str, str | None]) -> float | None:
    """What ``seat`` gets for a round (ShapeLLM, Table 6).

    The payoff if both replies are legal; ``game.null_payoff`` if its own is not; None (the transition is discarded) if only its
    co-player's is not.
    """
    own, theirs = actions[seat], actions[other(seat)]
    if own is None:
        return game.null_payoff
    return None if theirs is None else game.payoff(seat, own=own, other=theirs)


def _chance(tables: Sequence[Table], rounds: int, occasion: tuple[int | str, ...]) -> npt.NDArray[np.float64]:
    """One stream for each (seed, game, seat): uniform draws of shape [B, S, T]."""
    return np.stack(
        [
            np.stack([draws(table.seed, "play", *occasion, table.index, seat, n=rounds) for seat in SEATS])
            for table in tables
        ]
    )
