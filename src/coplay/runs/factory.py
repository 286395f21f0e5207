"""From a config to the training state. All that can be wrong with a config is found here, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Occupant
from coplay.models.known import EMBEDDED
from coplay.play.seating import Candidate, PastSelfSeating, Seating
from coplay.players.named import is_endpoint, make_player
from coplay.runs.bank import make_bank
from coplay.runs.checks import check_without_weights, checked, language_models, replies_of, seats_of
from coplay.runs.config import Config
from coplay.runs.frozen import FrozenAdapters, is_run
from coplay.runs.held_out import HeldOut
from coplay.runs.memory_text import refuse_too_large
from coplay.runs.pools import BEST_RESPONSES, POOLS
from coplay.runs.responses import BestResponses, are_met
from coplay.runs.state import CO_PLAYER, PAST, TrainingState

if TYPE_CHECKING:
    from coplay.learners.base import Learner
    from coplay.learners.factory import Trainable
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.models.loading import LoadedModel
    from coplay.models.scoring import Scorer
    from coplay.players.base import Player
    from coplay.players.policy import Policy


MANY = 2**12
"""Adapters times their rank up to which those of an embedded model are small."""


def build(config: Config) -> TrainingState:
    """Build game, model, adapters, players and learners.

    Raises:
        UsageError: for whatever is wrong with the config.
    """
    from coplay.learners.factory import make_learner
    from coplay.models.threads import available_threads, keep_freed_memory, set_threads

    game, frozen = checked(config)
    keep_freed_memory()
    set_threads(config.threads or available_threads())
    models = Models(config, game, frozen)
    learners = {
        name: make_learner(
            name,
            learner,
            models.policy(name),
            game=game,
            rounds=config.rounds,
            seeds=config.seeds,
            slots=models.slots(name),
        )
        for name, learner in config.learners.items()
    }
    responses = _responses(config, game, learners)
    candidates = {
        seat: [
            _from_pool(_candidate(one, config, game, learners, models, frozen, responses), pool)
            for one, pool in pooled(config, seat)
        ]
        for seat in game.seats
    }
    seating = Seating(
        game,
        config.seeds,
        config.games,
        config.group_size or config.games,
        candidates,
        in_turn=config.in_turn,
        rotate=config.rotate_seats,
        past_selves=_past_selves(config, models),
        responses=None if responses is None else responses.seating,
    )
    pools = {
        pool: [_from_pool(_candidate(one, config, game, learners, models, frozen), pool) for one in members]
        for pool, members in config.pools.fixed.items()
    }
    return TrainingState(
        config,
        game,
        learners,
        seating,
        models.bank,
        models.loaded,
        _held_out(config, game, learners, pools),
        responses,
        single_process=_single_process(config),
    )


class Models:
    """The language model of a run with its bank, loaded if any learner needs it; and the policies of all learners.

    Args:
        config: the run.
        game: the rules, which the config may only name.
        frozen: adapters of frozen co-players, by how the config names these.
    """

    def __init__(self, config: Config, game: Game, frozen: Mapping[str, FrozenAdapters]) -> None:
        self.config, self.game = config, game
        self.names = language_models(config)
        self.bank: AdapterBank | None = None
        self.loaded: LoadedModel | None = None
        self._policies: dict[str, Trainable] = {}
        if self.names:
            self._load(frozen)

    def _load(self, frozen: Mapping[str, FrozenAdapters]) -> None:
        from coplay.models.admission import admitted_scorer
        from coplay.models.loading import load_model

        config = self.config
        names = self._slot_names(frozen)
        if config.model not in EMBEDDED or len(names) * config.adapter.rank > MANY:
            refuse_too_large(config)
        self.loaded = loaded = load_model(
            config.model,
            four_bit=config.four_bit,
            chat=config.chat,
            chat_date=config.chat_date,
            precision=config.precision,
        )
        self.bank, references = make_bank(loaded.model, names, config)
        for spec, adapters in frozen.items():
            for seed, directory in adapters.items():
                self.bank.import_peft(self.slot(frozen_name(frozen, spec), seed), directory)
        scorer = admitted_scorer(loaded, self.bank)
        if config.gradient_checkpointing:
            scorer.recompute_layers()
        for name in self.names:
            self._policies[name] = language_policy(config, name, self.game, loaded, scorer, reference=references[name])

    def _slot_names(self, frozen: Mapping[str, FrozenAdapters]) -> list[SlotName]:
        """The learners, their past selves, frozen co-players: of each all seeds."""
        from coplay.models.bank import SlotName

        settings = self.config.past_selves
        past = range(settings.pool_size if settings.probability > 0 else 0)
        names = [*self.names, *(f"{PAST}-{place}" for place in past), *(frozen_name(frozen, spec) for spec in frozen)]
        return [SlotName(name, seed) for name in names for seed in self.config.seeds]

    def policy(self, name: str) -> Trainable:
        """What a learner trains."""
        if name not in self._policies:
            from coplay.learners.factory import make_network, make_table

            learner, seeds = self.config.learners[name], self.config.seeds
            seats = self.game.seats if self.config.rotate_seats else seats_of(self.config, name)
            if learner.policy == "network":
                self._policies[name] = make_network(name, learner, seats, self.game, seeds=seeds)
            else:
                seat = seats_of(self.config, name)[0]
                self._policies[name] = make_table(learner, seat, self.game, slots=len(seeds))
        return self._policies[name]

    def slots(self, name: str) -> list[int]:
        """A learner's slot of each seed."""
        if name not in self.names:
            return list(range(len(self.config.seeds)))
        return [self.slot(name, seed) for seed in self.config.seeds]

    def slot(self, name: str, seed: int) -> int:
        """Where the bank holds what has this name."""
        from coplay.models.bank import SlotName

        assert self.bank is not None
        return self.bank.slots.index(SlotName(name, seed))


def language_policy(
    config: Config, name: str, game: Game, loaded: LoadedModel, scorer: Scorer, *, reference: int
) -> Policy:
    """The policy of a language-model learner: one token where it replies with a label, text otherwise."""
    from coplay.players.choice_model import ChoiceModel
    from coplay.players.text_model import TextModel

    learner = config.learners[name]
    policy: TextModel | ChoiceModel
    if replies_of(learner, game) == "text":
        policy = TextModel(
            learner.role,
            loaded,
            scorer,
            game=game,
            memory=learner.memory,
            max_tokens=learner.max_tokens,
            temperature=learner.temperature,
            reference=reference,
            fallback=learner.fallback,
        )
    else:
        assert isinstance(game, NormalFormGame)
        policy = ChoiceModel(
            learner.role,
            loaded,
            scorer,
            game=game,
            memory=learner.memory,
            seats=game.seats if config.rotate_seats else _reply_seats(config, name),
            labels=learner.labels,
            payoff_format=config.payoff_format,
            spacing=config.spacing,
            reference=reference,
        )
    policy.window = learner.window
    return policy


def _reply_seats(config: Config, name: str) -> list[str]:
    """The seats that a learner's policy replies for: its own, and those of frozen co-players, for whom it replies with their slots."""
    runs = [
        seat for seat in config.seats if any(one not in config.learners and is_run(one) for one in config.sits_in(seat))
    ]
    return list(dict.fromkeys([*seats_of(config, name), *runs]))


def frozen_name(frozen: Mapping[str, FrozenAdapters], spec: str) -> str:
    """What the bank calls the slots of a frozen co-player; several are numbered."""
    number = list(frozen).index(spec)
    return CO_PLAYER if number == 0 else f"{CO_PLAYER}-{number + 1}"


def _held_out(
    config: Config, game: Game, learners: Mapping[str, Learner], pools: Mapping[str, Sequence[Candidate]]
) -> HeldOut | None:
    """The held-out games of the learner that has a safety objective, if they are asked for."""
    if not config.held_out_games:
        return None
    name = next(name for name, one in config.learners.items() if one.algorithm == "group")
    return HeldOut(config, game, learners[name], seats_of(config, name), pools)


def _responses(config: Config, game: Game, learners: Mapping[str, Learner]) -> BestResponses | None:
    """The best responses to the learner opposite the pools, if they are among the co-players."""
    if not are_met(config):
        return None
    seat, name = next((seat, name) for seat, (name, *_) in config.seats.items() if name in learners)
    return BestResponses(config, game, learners[name], seat)


def pooled(config: Config, seat: str) -> list[tuple[str, str]]:
    """Who may sit in a seat, each with the pool it is from; empty for those that are named themselves."""
    found = []
    for who in config.seats[seat]:
        pools = config.pools.trained_against.items() if who == POOLS else [("", (who,))]
        found += [(member, pool) for pool, members in pools for member in members]
    return found


def _from_pool(candidate: Candidate, pool: str) -> Candidate:
    """The same candidate, marked with the pool that it is from."""
    if not pool:
        return candidate
    return lambda seed, seat: replace(candidate(seed, seat), pool=pool)


def _candidate(
    who: str,
    config: Config,
    game: Game,
    learners: Mapping[str, Learner],
    models: Models,
    frozen: Mapping[str, FrozenAdapters],
    responses: BestResponses | None = None,
) -> Candidate:
    """Who may fill a seat, by its name in the config."""
    if who == BEST_RESPONSES and responses is not None:
        return lambda seed, seat: responses.occupant
    if who in learners:
        learner, role = learners[who], config.learners[who].role
        return lambda seed, seat: Occupant(learner.player, role, learner.slots[seed], who)
    if who in frozen:
        name = frozen_name(frozen, who)
        policy = models.policy(models.names[0])
        return lambda seed, seat: Occupant(policy, name, models.slot(name, seed))

    @cache
    def player(seat: str) -> Player:
        return make_player(who, game, seat)

    for seat in game.seats if config.rotate_seats else seats_of(config, who):
        player(seat)
    return lambda seed, seat: Occupant(player(seat), player(seat).name)


def _past_selves(config: Config, models: Models) -> PastSelfSeating | None:
    settings = config.past_selves
    if settings.probability == 0:
        return None
    name = next(
        name for name in models.names if len(seats_of(config, name)) > 1
    )  # there is one, or the config is refused
    policy = models.policy(name)

    def occupant(seed: int, place: int) -> Occupant:
        return Occupant(policy, f"{PAST}-{place}", models.slot(f"{PAST}-{place}", seed))

    return PastSelfSeating(name, occupant, settings.probability, settings.snapshot_interval, settings.pool_size)


def _single_process(config: Config) -> bool:
    return any(is_endpoint(who) for seat in config.seats for who in config.sits_in(seat))


def check_all(configs: Mapping[str, Config]) -> None:
    """Find what is wrong with any of several configs before anything is written.

    Weights take long to load, so each model, with each kind of adapter, is loaded once.

    Args:
        configs: by what to call them in an error.

    Raises:
        UsageError: saying what is wrong with which.
    """
    loaded = set()
    for where, config in configs.items():
        check_without_weights(config)
        starts = tuple(learner.init_adapter for learner in config.learners.values())
        weights = (config.model, config.four_bit, config.precision, config.adapter, starts)
        if weights not in loaded:
            try:
                build(config)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        loaded.add(weights)
