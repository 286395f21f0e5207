"""An episode in progress at one table: who is asked for what now, what it replies, and what the rounds come to.

The loop plays many of these in step; adapters for other libraries play one, with replies from outside. Errors of the game's own code come as they
are: whoever drives an episode does so within :func:`coplay.play.rules.game_errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.memory import WINDOW_ROUNDS, Observation
from coplay.games.records import Act, Episode, Occupant, Phase, Reply, Request, Round, Turn
from coplay.play.rules import checked_phase, checked_view, settled
from coplay.play.table import StreamNames, Table
from coplay.rng import draws


class EpisodeInProgress:
    """One table's episode while it is played.

    Drive it phase by phase: :meth:`advance` tells the next phase, :meth:`requests` what its seats are asked, :meth:`take` what each replies. No seat
    learns of another's reply before :meth:`advance` has ended the phase. The same table and stream names give the same deals and requests as
    :func:`coplay.play.loop.play_episode`, which is built on the same steps.

    Args:
        game: the rules.
        table: where it is played; its history grows, and a new episode begins in it. Players in its seats are not asked: what they remember
            is all that counts here.
        streams: names the random streams.
        rounds: T, the most rounds.

    Example:
        >>> from coplay.games import make_game
        >>> from coplay.players.named import make_player
        >>> game = make_game("ipd")
        >>> player = make_player("tit_for_tat", game, "row")
        >>> table = Table(game, 0, 0, 0, {seat: Occupant(player, "copycat") for seat in game.seats})
        >>> playing = EpisodeInProgress(game, table, StreamNames(("eval",)), rounds=2)
        >>> while playing.advance() is not None:
        ...     for request in playing.requests():
        ...         action = "cooperate" if request.seat == "row" else "defect"
        ...         playing.take(request, Reply(game.render_action(request, action), action))
        >>> playing.episode.total("row"), playing.episode.total("column")
        (0.0, 8.0)
    """

    def __init__(self, game: Game, table: Table, streams: StreamNames, *, rounds: int) -> None:
        self.game, self.table, self.streams, self.rounds = game, table, streams, rounds
        table.history.start_episode()
        seats = game.seats
        self.episode = Episode(table.seed, table.group, table.index, table.seated, turns={seat: [] for seat in seats})
        """What was played so far; rounds that are over, and all replies."""
        self.phase: Phase | None = None
        """The phase in progress; None before the first one and between rounds."""
        self.now = Round(0)
        """The round in progress, unredacted; between rounds the one that is over."""
        self._seen: dict[str, list[Round]] = {seat: [] for seat in seats}
        self._observe = {seat: _observing(table, seat, i) for i, seat in enumerate(seats)}
        self._chance = {seat: _Uniforms(table.seed, *streams.choices, table.index, seat) for seat in seats}
        self._may_end = type(game).is_over is not Game.is_over
        self._acts: dict[str, Act] = {}

    @property
    def over(self) -> bool:
        """Whether no further round is played; asked between rounds."""
        played = len(self.episode.rounds)
        if played >= self.rounds:
            return True
        return played > 0 and self._may_end and self.game.is_over(tuple(self.episode.rounds))

    # ------------------------------------------------------------------ from phase to phase

    def advance(self) -> Phase | None:
        """End the phase in progress and go to the next one, in this round or a later one.

        Returns:
            The phase, whose seats are asked; None if the episode is over.

        Raises:
            CoplayError: if a seat of the phase in progress has not replied, or the game breaks its protocol.
        """
        if self.phase is not None:
            missing = [seat for seat in self.phase.seats if seat not in self._acts]
            if missing:
                raise CoplayError(f"{missing[0]} has not replied in phase {self.phase.name!r}; take() its reply first")
            self.end_phase()
        elif self.over:
            return None
        else:
            self.begin_round()
        while not self.next_phase():
            if self.over:
                return None
            self.begin_round()
        return self.phase

    def requests(self) -> list[Request]:
        """What each seat of the phase in progress is asked, in the phase's order."""
        return [] if self.phase is None else [self._request(seat, self.phase) for seat in self.phase.seats]

    def take(self, request: Request, reply: Reply) -> None:
        """Keep what a seat replied to its request; the others learn of it when the phase is over.

        Raises:
            CoplayError: if the request is not one of the phase in progress, or was replied to before.
        """
        phase, seat = request.phase, request.seat
        if phase is not self.phase or seat in self._acts:
            raise CoplayError(f"{seat} is not asked for {phase.name!r} now; take() one reply to each of requests()")
        self._acts[seat] = Act(phase.name, phase.turn, seat, reply.action)
        turn = Turn(seat, self.now.number, phase.name, phase.turn, request.observation, reply)
        self.episode.turns[seat].append(turn)

    # ------------------------------------------------------------------ the steps of it, for many tables in step

    def begin_round(self, chance: Sequence[float] | None = None) -> None:
        """Deal the next round.

        Args:
            chance: the uniform numbers to deal by, where they are drawn once for several tables; by default the table's own.
        """
        game, table, number = self.game, self.table, len(self.episode.rounds)
        if chance is None:
            chance = chance_of(game, table.seed, table.group, number, self.streams)
        self.now = Round(number, game.deal(chance, tuple(self.episode.rounds)))

    def next_phase(self) -> bool:
        """Go to the round's next phase; settle the round and say False if there is none."""
        self.phase = checked_phase(self.game, self.now)
        if self.phase is None:
            self._settle()
        return self.phase is not None

    def end_phase(self) -> None:
        """Make the phase's actions known, in the phase's order of seats, in whatever order they were replied."""
        seats = () if self.phase is None else self.phase.seats
        self.now = Round(self.now.number, self.now.deal, (*self.now.acts, *(self._acts[seat] for seat in seats)))
        self._acts = {}

    def _request(self, seat: str, phase: Phase) -> Request:
        """What a seat is asked now."""
        table, turns = self.table, self.episode.turns[seat]
        acts = self.now.acts
        again = sum(act.seat == seat and act.phase == phase.name for act in acts) if acts else 0
        path = (*self.streams.replies, table.index, seat, self.now.number, phase.name, *((again,) if again else ()))
        return make_request(
            self.game,
            table.seated[seat],
            seat,
            phase,
            self.now,
            seed=table.seed,
            index=table.index,
            past=tuple(self._seen[seat]),
            own=tuple(turns),
            observation=self._observe[seat](),
            rng_path=path,
            draw=self._chance[seat].number(len(turns)),
        )

    def _settle(self) -> None:
        """Pay the round, and show each seat what it may see of it."""
        game = self.game
        one, outcome = settled(game, self.now)
        self.now = one
        self.episode.rounds.append(one)
        self.episode.outcomes.append(outcome)
        self.table.history.append(outcome.conduct, void=outcome.void)
        for seat in game.seats:
            self._seen[seat].append(checked_view(game, one, seat))


def make_request(
    game: Game,
    occupant: Occupant,
    seat: str,
    phase: Phase,
    now: Round,
    *,
    seed: int,
    index: int,
    past: tuple[Round, ...],
    own: tuple[Turn, ...],
    observation: Observation,
    rng_path: tuple[int | str, ...],
    draw: float,
) -> Request:
    """What a seat is asked: its view of the round in progress, and of the past what is given; see :class:`coplay.games.records.Request`."""
    return Request(
        seed=seed,
        game=index,
        seat=seat,
        phase=phase,
        now=checked_view(game, now, seat),
        past=past,
        own=own,
        observation=observation,
        slot=occupant.slot,
        rng_path=rng_path,
        draw=draw,
    )


def _observing(table: Table, seat: str, index: int) -> Callable[[], Observation]:
    """What tells a seat's observation now, as its player remembers."""
    player = table.seated[seat].player
    return partial(table.history.observe, index, player.memory, window=getattr(player, "window", WINDOW_ROUNDS))


class _Uniforms:
    """The uniform numbers of one stream, opened when the first is needed."""

    def __init__(self, seed: int, *path: int | str) -> None:
        self.seed, self.path = seed, path
        self.numbers: list[float] = []

    def number(self, i: int) -> float:
        """The i-th number, from 0."""
        if i >= len(self.numbers):  # a stream begins with the same numbers however many are drawn
            self.numbers = draws(self.seed, "play", *self.path, n=max(32, 2 * i)).tolist()
        return self.numbers[i]


def chance_of(game: Game, seed: int, group: int, number: int, streams: StreamNames) -> tuple[float, ...]:
    """The uniform numbers that a round is dealt by."""
    return tuple(map(float, draws(seed, "deal", *streams.replies, group, number, n=game.draws))) if game.draws else ()
