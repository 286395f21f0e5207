"""Seating: who sits where in a trial's games. Fixed seats, self-play with past selves, pools of co-players: all are data of this one class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.play.loop import Table
from coplay.play.past_selves import past_self_drawn
from coplay.play.responses import ResponseSeating, response_drawn
from coplay.rng import draws

Candidate = Callable[[int, str], Occupant]
"""Who may fill a seat: from the run's seed and the seat to the occupant."""

PastSelf = Callable[[int, int], Occupant]
"""From the run's seed and a place in the buffer to the occupant."""


@dataclass(frozen=True)
class PastSelfSeating:
    """How past selves take seats of a learner that plays with itself."""

    learner: str
    """The learner whose past selves they are."""
    occupant: PastSelf
    """The past selves."""
    probability: float
    """Probability that a seat is filled by one."""
    snapshot_interval: int
    """Trials between two snapshots."""
    pool_size: int
    """Places in the buffer."""


@dataclass(frozen=True)
class Seating:
    """Who sits where."""

    game: Game
    """The rules."""
    seeds: tuple[int, ...]
    """The run's seeds."""
    games: int
    """Parallel games of each seed."""
    group_size: int
    """Games that are dealt the same."""
    candidates: Mapping[str, Sequence[Candidate]]
    """For each seat who may fill it; of several, each game draws one, or each group of games takes the next."""
    in_turn: bool = False
    """Whether groups of games take the candidates of a seat in turn, so that all games of a group have the same; else each game draws."""
    rotate: bool = False
    """Whether the assignment moves on by one seat from each group of games to the next, counted through all trials."""
    past_selves: PastSelfSeating | None = None
    """How past selves are seated; None for nobody."""
    responses: ResponseSeating | None = None
    """How best responses are seated; None for nobody."""

    def tables(self, trial: int) -> list[Table]:
        """The tables of a trial's games: seed by seed, game by game."""
        groups = -(-self.games // self.group_size)
        tables = []
        for seed in self.seeds:
            for index in range(self.games):
                group = index // self.group_size
                shift = self._shift(trial * groups + group)
                seated = self._seated(seed, index, group, shift, (trial,))
                self._seat_past_selves(seated, trial, seed, index, shift)
                self._seat_responses(seated, trial, seed, group)
                tables.append(Table(self.game, seed, group, index, seated))
        return tables

    def evaluation(self, seed: int, games: int) -> list[Table]:
        """The tables of an evaluation of one seed: everybody in the seat that the config names, present selves alone and no best responses."""
        lasting = self if self.responses is None else self._without_responses(seed)
        return [
            Table(self.game, seed, index, index, lasting._seated(seed, index, index, 0, ("eval",)))
            for index in range(games)
        ]

    def _without_responses(self, seed: int) -> Seating:
        """The same without the co-player that stands for best responses."""
        candidates = {
            seat: [one for one in who if not self._responds(one(seed, seat))] for seat, who in self.candidates.items()
        }
        return replace(self, candidates=candidates, responses=None)

    def _shift(self, groups: int) -> int:
        """By how many seats the assignment has moved on after so many groups; where groups take turns, after each round of all."""
        if not self.rotate:
            return 0
        takes = max(map(len, self.candidates.values())) if self.in_turn else 1
        return groups // takes % len(self.game.seats)

    def _seated(
        self, seed: int, index: int, group: int, shift: int, path: tuple[int | str, ...]
    ) -> dict[str, Occupant]:
        """Who the assignment, moved on by ``shift`` seats, puts where."""
        seats = self.game.seats
        seated = {}
        for i, seat in enumerate(seats):
            who = self.candidates[seats[(i - shift) % len(seats)]]
            chosen = 0
            if self.in_turn:
                chosen = group % len(who)
            elif len(who) > 1:
                (uniform,) = draws(seed, "pool", *path, index, seat, n=1)
                chosen = int(uniform * len(who))
            seated[seat] = who[chosen](seed, seat)
        return seated

    def _seat_past_selves(self, seated: dict[str, Occupant], trial: int, seed: int, index: int, shift: int) -> None:
        """Give seats of the learner to its past selves, all but one: the first one of the rotation."""
        past = self.past_selves
        if past is None:
            return
        seats = self.game.seats
        order = [seats[(i + shift) % len(seats)] for i in range(len(seats))]
        own = [seat for seat in order if seated[seat].learner == past.learner]
        for i, seat in enumerate(own[1:]):
            place = past_self_drawn(
                trial,
                seed,
                index,
                *([seat] if i else []),
                probability=past.probability,
                snapshot_interval=past.snapshot_interval,
                pool_size=past.pool_size,
            )
            if place is not None:
                seated[seat] = past.occupant(seed, place)

    def _responds(self, occupant: Occupant) -> bool:
        """Whether an occupant stands for best responses."""
        return self.responses is not None and occupant.learner is None and occupant.name == self.responses.name

    def _seat_responses(self, seated: dict[str, Occupant], trial: int, seed: int, group: int) -> None:
        """Give the seat of the co-player that stands for best responses to one of them."""
        for seat in [seat for seat, occupant in seated.items() if self._responds(occupant)]:
            assert self.responses is not None
            place = response_drawn(seed, trial, group, places=self.responses.places(seed))
            seated[seat] = replace(seated[seat], slot=self.responses.slot(seed, place))
