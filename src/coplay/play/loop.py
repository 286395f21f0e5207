"""Play: one loop for every game, many tables at once, every seat with its own memory and its own random streams.

Chance that belongs to the game is drawn by group: games of one group are dealt the same (common random numbers), so that their returns differ by
what the players did alone. Names of streams are a contract: a change of them changes every published number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.memory import WINDOW_ROUNDS, History, Observation
from coplay.games.records import Act, Episode, Occupant, Phase, Reply, Request, Round, Turn
from coplay.play.collecting import seldom_collected
from coplay.play.rules import checked_phase, checked_view, game_errors, settled
from coplay.rng import draws

RoundClock = Callable[[int, Sequence[Episode]], None]
"""Called after each round with the round's number, from 0, and the games so far."""


@dataclass
class Table:
    """A place where one game after another is played: one of the parallel games of one seed."""

    game: Game
    """The rules."""
    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's parallel games this is."""
    seated: Mapping[str, Occupant]
    """Who sits where."""
    history: History = field(init=False)
    """What was done in the current trial."""

    def __post_init__(self) -> None:
        """Set up an empty table."""
        self.start_trial()

    def start_trial(self) -> None:
        """Clear the memory: a new trial begins."""
        game = self.game
        self.history = History(lambda index: game.own_states(game.seats[index]))


@dataclass(frozen=True)
class StreamNames:
    """What the random streams of an episode are called, after the run's seed and their purpose.

    An episode of a trial of several has its number in the name. Deals and generated replies of the first one do not: there, trials had one
    episode before they could have several.
    """

    path: tuple[int | str, ...]
    """E.g. ``("train", trial)`` or ``("eval",)``."""
    episode: int | None = None
    """The episode within the trial; None outside trials."""

    @property
    def choices(self) -> tuple[int | str, ...]:
        """Of choices among actions; purpose ``play``."""
        return self.path if self.episode is None else (*self.path, self.episode)

    @property
    def replies(self) -> tuple[int | str, ...]:
        """Of deals and of generated replies; purposes ``deal`` and ``reply``."""
        return (*self.path, self.episode) if self.episode else self.path


def play_episode(
    game: Game,
    tables: Sequence[Table],
    *,
    rounds: int,
    streams: StreamNames,
    retries: int = 0,
    after_round: RoundClock | None = None,
) -> list[Episode]:
    """Play one episode at every table, all tables in step, asking each player once for all its replies of a phase.

    Args:
        game: the rules.
        tables: where to play, of one seed or several; their histories grow, and a new episode begins in each.
        rounds: T, the most rounds of an episode.
        streams: names the random streams: the same names give the same games whatever else is played beside them.
        retries: how often a reply that cannot be parsed is asked for again. What stands is then no longer what the player would have replied,
            but that on condition that it can be parsed; each reply tells how many were discarded.
        after_round: called after each round; learners that update so often do it here.

    Returns:
        One complete episode a table, in order.

    Raises:
        CoplayError: if the game or a player breaks its protocol or fails, saying which and how.
    """
    seats = [_Seats(game, table, streams) for table in tables]
    with seldom_collected(), game_errors(game):
        for number in range(rounds):
            live = [one for one in seats if not one.over(number)]
            if not live:
                break
            _deal(game, live, number, streams)
            _play_round(live, retries)
            if after_round is not None:
                after_round(number, [one.episode for one in live])
    return [one.episode for one in seats]


def _play_round(live: Sequence[_Seats], retries: int) -> None:
    """Phase by phase, until the round is over at every table."""
    waiting = live
    while waiting := [one for one in waiting if one.next_phase()]:
        asked = [(one, seat) for one in waiting for seat in one.phase.seats]
        replies = _ask([(one.table.seated[seat], one.request(seat)) for one, seat in asked], retries)
        for (one, seat), (request, reply) in zip(asked, replies, strict=True):
            one.note(seat, request, reply)
        for one in waiting:
            one.close_phase()


class _Seats:
    """One table in play: its episode, the round in progress, and what each seat has seen."""

    def __init__(self, game: Game, table: Table, streams: StreamNames) -> None:
        self.game, self.table, self.streams = game, table, streams
        table.history.start_episode()
        self.episode = Episode(
            table.seed, table.group, table.index, table.seated, turns={seat: [] for seat in game.seats}
        )
        self.seen: dict[str, list[Round]] = {seat: [] for seat in game.seats}
        self.observe = {seat: _observing(table, seat, i) for i, seat in enumerate(game.seats)}
        self.chance = {seat: _Uniforms(table.seed, *streams.choices, table.index, seat) for seat in game.seats}
        self.may_end = type(game).is_over is not Game.is_over
        self.acts: list[Act] = []
        self.now = Round(0)
        self.phase = Phase("", ())

    def over(self, number: int) -> bool:
        """Whether the episode ends before this round."""
        if number == 0:
            return False
        return len(self.episode.rounds) < number or (self.may_end and self.game.is_over(tuple(self.episode.rounds)))

    def next_phase(self) -> bool:
        """Go to the round's next phase; settle the round and say False if there is none."""
        phase = checked_phase(self.game, self.now)
        if phase is None:
            self._settle()
            return False
        self.phase = phase
        return True

    def request(self, seat: str) -> Request:
        """What a seat is asked now."""
        game, phase, table, turns = self.game, self.phase, self.table, self.episode.turns[seat]
        occupant = table.seated[seat]
        acts = self.now.acts
        again = sum(act.seat == seat and act.phase == phase.name for act in acts) if acts else 0
        path = (*self.streams.replies, table.index, seat, self.now.number, phase.name, *((again,) if again else ()))
        return make_request(
            game,
            occupant,
            seat,
            phase,
            self.now,
            seed=table.seed,
            index=table.index,
            past=tuple(self.seen[seat]),
            own=tuple(turns),
            observation=self.observe[seat](),
            rng_path=path,
            draw=self.chance[seat].number(len(turns)),
        )

    def note(self, seat: str, request: Request, reply: Reply) -> None:
        """Keep what a seat replied; the others learn of it when the phase is over."""
        self.acts.append(Act(self.phase.name, self.phase.turn, seat, reply.action))
        turn = Turn(seat, self.now.number, self.phase.name, self.phase.turn, request.observation, reply)
        self.episode.turns[seat].append(turn)

    def close_phase(self) -> None:
        """Make the phase's actions known."""
        self.now = Round(self.now.number, self.now.deal, (*self.now.acts, *self.acts))
        self.acts = []

    def _settle(self) -> None:
        """Pay the round, and show each seat what it may see of it."""
        game = self.game
        one, outcome = settled(game, self.now)
        self.episode.rounds.append(one)
        self.episode.outcomes.append(outcome)
        if not outcome.void:
            self.table.history.append(outcome.conduct)
        for seat in game.seats:
            self.seen[seat].append(checked_view(game, one, seat))


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


def _deal(game: Game, live: Sequence[_Seats], number: int, streams: StreamNames) -> None:
    """Begin a round at these tables."""
    dealt: dict[tuple[int, int], tuple[float, ...]] = {}
    for one in live:
        key = (one.table.seed, one.table.group)
        if key not in dealt:
            dealt[key] = chance_of(game, *key, number, streams)
        one.now = Round(number, game.deal(dealt[key], tuple(one.episode.rounds)))


def chance_of(game: Game, seed: int, group: int, number: int, streams: StreamNames) -> tuple[float, ...]:
    """The uniform numbers that a round is dealt by."""
    return tuple(map(float, draws(seed, "deal", *streams.replies, group, number, n=game.draws))) if game.draws else ()


Asked = tuple[Occupant, Request]
"""Who is asked what."""


def _ask(asked: Sequence[Asked], retries: int) -> list[tuple[Request, Reply]]:
    """Every request with its reply; what cannot be parsed is asked for again, so often."""
    replies = ask_once(asked)
    requests = [request for _, request in asked]
    for attempt in range(1, retries + 1):
        failed = [i for i, reply in enumerate(replies) if reply.action is None]
        if not failed:
            break
        again = [(asked[i][0], _again(requests[i], attempt)) for i in failed]
        for i, reply in zip(failed, ask_once(again), strict=True):
            replies[i] = reply._replace(retries=attempt)
    return list(zip(requests, replies, strict=True))


def _again(request: Request, attempt: int) -> Request:
    """The same request once more, with a stream of its own."""
    path = (*request.rng_path, "again", attempt)
    return replace(request, rng_path=path, draw=float(draws(request.seed, "play", *path, n=1)[0]), attempt=attempt)


def ask_once(asked: Sequence[Asked]) -> list[Reply]:
    """Ask each player for all its replies in one call, players in the order in which they come up; those of a shared engine in one call too."""
    places: dict[int, list[int]] = {}
    for i, (occupant, _) in enumerate(asked):
        places.setdefault(id(occupant.player), []).append(i)
    engines: dict[int, list[list[int]]] = {}
    for player_id, own in places.items():
        engine = getattr(asked[own[0]][0].player, "shared_engine", None)
        engines.setdefault(player_id if engine is None else id(engine), []).append(own)
    replies: dict[int, Reply] = {}
    for together in engines.values():
        players = [(asked[own[0]][0].player, tuple(asked[i][1] for i in own)) for own in together]
        first = players[0][0]
        answers = first.shared_engine.answer(players) if len(players) > 1 else [first.act(players[0][1])]
        for own, (player, requests), given in zip(together, players, answers, strict=True):
            if len(given) != len(own):
                where = f"player {player.name!r} ({requests[0].seat}, round {requests[0].now.number + 1})"
                raise CoplayError(f"{where} gave {len(given)} replies to {len(own)} requests")
            replies.update(zip(own, given, strict=True))
    return [replies[i] for i in range(len(asked))]
