"""Players for evaluations: scripted ones, endpoints, your own, and what runs have learnt. Runs of one model share its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.evaluation.cross_play import CrossPlay, Meetings, cross_play, replicates_of
from coplay.evaluation.meetings import meetings_of
from coplay.evaluation.summary import Divergence, told_of
from coplay.games.base import Game
from coplay.games.memory import Joint
from coplay.games.records import Action, Occupant, Reply, Request
from coplay.players.automaton import Automaton, says_automaton
from coplay.players.base import Player, PlayerWrapper
from coplay.players.named import PlayerSpec, check_personas, make_player
from coplay.runs.config_input import with_values
from coplay.runs.factory import language_policy
from coplay.runs.restore import restored
from coplay.runs.trained import TrainedLearner, parse_run, trained_learner

if TYPE_CHECKING:
    from coplay.players.policy import Policy  # imports torch


@dataclass(frozen=True)
class Contestant:
    """Somebody who can be seated in an evaluation."""

    name: str
    """As the user named it."""
    seeds: tuple[int, ...]
    """The seeds it was trained on; none for one that is not trained."""
    seats: tuple[str, ...]
    """The seats it can fill."""
    occupant: Callable[[int, str], Occupant]
    """From the replicate and the seat to the occupant: of a run, that of its i-th seed."""
    named: bool = True
    """Whether it is found by its name; an object in Python is not."""


def contestants(
    specs: Sequence[PlayerSpec], game: Game, *, temperature: float | None = None, max_tokens: int | None = None
) -> list[Contestant]:
    """Find and load players. Runs of one model share its weights.

    Args:
        specs: a player as :func:`coplay.players.named.make_player` takes it, or what a run has learnt.
        game: the game they are to play.
        temperature: at which trained players sample text; None for each run's own, at which it was trained.
        max_tokens: tokens that a reply in text of an untrained model may have; None for the usual number.

    Raises:
        UsageError: for what is neither, or a run of another game.
    """
    named = [spec for spec in specs if isinstance(spec, str)]
    check_personas(spec for spec in named if parse_run(spec) is None)
    runs = {spec: trained_learner(spec, game) for spec in dict.fromkeys(named) if parse_run(spec) is not None}
    for own in runs.values():
        _refuse_diverged(own, own.diverged)
    occupants = _occupants(runs, game, temperature)
    found = []
    for spec in specs:
        if not isinstance(spec, str):
            found.append(_object(spec, game))
        elif spec in runs:
            own = runs[spec]
            seats = game.seats if _may_change_seats(own, game) else own.seats
            found.append(Contestant(spec, own.seeds, seats, occupants[spec]))
        else:
            found.append(_untrained(spec, game, max_tokens))
    return found


def all_meet(
    found: Sequence[Contestant],
    game: Game,
    *,
    rounds: int,
    episodes: int,
    seed: int,
    meetings: Meetings | None = None,
) -> CrossPlay:
    """Play all pairs, each with itself too, with seats swapped; what runs have learnt with all its seeds.

    Args:
        found: who meets; each can fill every seat.
        game: the game.
        rounds: most rounds of a game.
        episodes: number of games for each seating.
        seed: the seed of the first replicate; the others follow.
        meetings: who plays the games; None for this process.
    """
    play = meetings or meetings_of_all(
        found, game, rounds=rounds, episodes=episodes, seed=lambda replicate: seed + replicate
    )
    names = [one.name for one in found]
    return cross_play(
        names, play, game=game.name, rounds=rounds, episodes=episodes, replicates=replicates_of_all(found)
    )


def meetings_of_all(
    found: Sequence[Contestant], game: Game, *, rounds: int, episodes: int, seed: Callable[[int], int]
) -> Meetings:
    """The meetings of a cross-play in this process.

    Args:
        found: who meets.
        game: the game.
        rounds: most rounds of a game.
        episodes: number of games for each seating.
        seed: from a replicate to the seed of its games.
    """
    return meetings_of(
        game,
        lambda one, replicate, seat: found[one].occupant(replicate, seat),
        rounds=rounds,
        episodes=episodes,
        seed=seed,
    )


def replicates_of_all(found: Sequence[Contestant]) -> int:
    """How often everything is played, so that all seeds of those that were trained meet."""
    return replicates_of([one.seeds for one in found], [one.name for one in found])


def _refuse_diverged(own: TrainedLearner, diverged: Mapping[int, Divergence]) -> None:
    """A run that is named as a whole plays with all its seeds, so that the n-th replicate is the same seed in every run.

    Raises:
        UsageError: if a seed that is named, by itself or with all others, has diverged.
    """
    named = parse_run(own.spec)
    meant = own.config.seeds if named is None or named.seed is None else (named.seed,)
    for seed in meant:
        if seed in diverged:
            others = [f"{own.path}:{own.learner}:{one}" for one in meant if one not in diverged]
            instead = f"; name a seed that has not, such as {others[0]}" if others else ""
            raise UsageError(f"{own.spec}: {told_of(seed, diverged[seed])}{instead}")


def _may_change_seats(own: TrainedLearner, game: Game) -> bool:
    return len(own.seats) > 1 or bool(getattr(game, "is_symmetric", False))


def _object(spec: Player | Callable[[Request], Action], game: Game) -> Contestant:
    """A player that is no name but an object, in any seat."""
    players = {seat: make_player(spec, game, seat) for seat in game.seats}
    name = players[game.seats[0]].name
    return Contestant(name, (), tuple(game.seats), lambda replicate, seat: Occupant(players[seat], name), named=False)


def _untrained(spec: str, game: Game, max_tokens: int | None) -> Contestant:
    own = game.strategies.get(spec.partition(":")[0])
    seats = (own.seats if own is not None else ()) or tuple(game.seats)
    players = {seats[0]: make_player(spec, game, seats[0], max_tokens=max_tokens)}  # errors come now

    def occupant(replicate: int, seat: str) -> Occupant:
        if seat not in players:
            players[seat] = make_player(spec, game, seat, max_tokens=max_tokens)
        return Occupant(players[seat], spec)

    return Contestant(spec, (), seats, occupant)


def _occupants(
    runs: Mapping[str, TrainedLearner], game: Game, temperature: float | None
) -> dict[str, Callable[[int, str], Occupant]]:
    """For every run, from the i-th of its seeds and a seat to the occupant. Each model is loaded once."""
    occupants: dict[str, Callable[[int, str], Occupant]] = {}
    for spec, own in runs.items():
        if own.is_table:
            occupants[spec] = _table_occupant(own, game)
    models = [own for own in runs.values() if not own.is_table]
    for kind in dict.fromkeys(own.model for own in models):
        occupants |= _model_occupants([own for own in models if own.model == kind], game, temperature)
    return occupants


def _table_occupant(own: TrainedLearner, game: Game) -> Callable[[int, str], Occupant]:
    state = restored(own.path)
    _refuse_diverged(own, state.divergences.by_seed)  # the run may not be evaluated yet
    learner = state.learners[own.learner]

    def occupant(replicate: int, seat: str) -> Occupant:
        seed = own.seeds[replicate % len(own.seeds)]
        player = _InSeat(learner.player, own.seats[0]) if seat not in own.seats else learner.player
        return Occupant(player, f"{own.spec} (seed {seed})", learner.slots[seed])

    return occupant


def _model_occupants(
    alike: Sequence[TrainedLearner], game: Game, temperature: float | None
) -> dict[str, Callable[[int, str], Occupant]]:
    from coplay.models.admission import admitted_scorer
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName
    from coplay.models.loading import load_model

    config = alike[0].config
    loaded = load_model(
        config.model, four_bit=config.four_bit, chat=config.chat, chat_date=config.chat_date, precision=config.precision
    )
    names = [SlotName(own.spec, seed) for own in alike for seed in own.seeds]
    bank = AdapterBank(loaded.model, names, **alike[0].adapter_form)
    scorer = admitted_scorer(loaded, bank)
    found: dict[str, Callable[[int, str], Occupant]] = {}
    for own in alike:
        for seed in own.seeds:
            bank.import_peft(names.index(SlotName(own.spec, seed)), own.adapter(seed))
        run = own.config
        if temperature is not None:
            run = with_values(run, {f"learners.{own.learner}.temperature": temperature})
        policy = language_policy(run, own.learner, game, loaded, scorer, reference=REFERENCE)

        def occupant(replicate: int, seat: str, own: TrainedLearner = own, policy: Policy = policy) -> Occupant:
            seed = own.seeds[replicate % len(own.seeds)]
            player = policy if seat in own.seats else _InSeat(policy, own.seats[0])
            return Occupant(player, f"{own.spec} (seed {seed})", names.index(SlotName(own.spec, seed)))

        found[own.spec] = occupant
    return found


@dataclass(frozen=True)
class _InSeat(PlayerWrapper):
    """A player that is asked as from the seat where it learnt; in a symmetric game it cannot tell one seat from another."""

    seat: str

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return self.player.act([replace(request, seat=self.seat) for request in requests])

    def automaton(self, seat: str, slot: int | None, joints: Sequence[Joint]) -> Automaton | None:
        """See :class:`coplay.players.automaton.Automatic`."""
        return self.player.automaton(self.seat, slot, joints) if says_automaton(self.player) else None
