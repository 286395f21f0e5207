"""From a config to the training state. All that can be wrong with a config is found here, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from coplay.errors import UsageError, unknown
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Occupant
from coplay.learners.config import LearnerConfig
from coplay.models.loading import model_path
from coplay.play.seating import Candidate, PastSelfSeating, Seating
from coplay.players.named import is_endpoint, make_player
from coplay.players.scripted import is_script, make_script
from coplay.runs.bank import make_bank
from coplay.runs.config import Config
from coplay.runs.frozen import FrozenAdapters, frozen_adapters, is_run
from coplay.runs.state import CO_PLAYER, PAST, TrainingState

if TYPE_CHECKING:
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.models.loading import LoadedModel
    from coplay.models.scoring import Scorer


def build(config: Config) -> TrainingState:
    """Build game, model, adapters, players and learners.

    Raises:
        UsageError: for whatever is wrong with the config.
    """
    from coplay.learners.factory import make_learner
    from coplay.models.loading import available_threads, set_threads

    game = make_game(config.game)
    set_threads(config.threads or available_threads())
    check_seats(config, game)
    frozen = frozen_adapters(config)
    models = _Models(config, game, frozen)
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
    candidates = {
        seat: [_candidate(one, config, game, learners, models, frozen) for one in config.seats[seat]]
        for seat in game.seats
    }
    seating = Seating(
        game,
        config.seeds,
        config.games,
        config.group_size or config.games,
        candidates,
        rotate=config.rotate_seats,
        past_selves=_past_selves(config, models),
    )
    return TrainingState(config, game, learners, seating, models.bank, single_process=_single_process(config))


class _Models:
    """The language model of a run with its bank, loaded if any learner needs it; and the policies of all learners."""

    def __init__(self, config: Config, game: Game, frozen: Mapping[str, FrozenAdapters]) -> None:
        self.config, self.game = config, game
        self.names = [name for name, learner in config.learners.items() if learner.policy == "language_model"]
        self.bank: AdapterBank | None = None
        self._policies: dict[str, Any] = {}
        if self.names:
            self._load(frozen)

    def _load(self, frozen: Mapping[str, FrozenAdapters]) -> None:
        from coplay.models.loading import load_model
        from coplay.models.scoring import Scorer

        config = self.config
        loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat)
        names = self._slot_names(frozen)
        self.bank, reference = make_bank(loaded.model, names, config.adapter)
        for spec, adapters in frozen.items():
            for seed, directory in adapters.items():
                self.bank.import_peft(self.slot(frozen_name(frozen, spec), seed), directory)
        scorer = Scorer(loaded.model, self.bank)
        for name in self.names:
            self._policies[name] = language_policy(config, name, self.game, loaded, scorer, reference=reference)

    def _slot_names(self, frozen: Mapping[str, FrozenAdapters]) -> list[SlotName]:
        """The learners, their past selves, frozen co-players: of each all seeds."""
        from coplay.models.bank import SlotName

        settings = self.config.past_selves
        past = range(settings.pool_size if settings.probability > 0 else 0)
        names = [*self.names, *(f"{PAST}-{place}" for place in past), *(frozen_name(frozen, spec) for spec in frozen)]
        return [SlotName(name, seed) for name in names for seed in self.config.seeds]

    def policy(self, name: str) -> Any:
        """What a learner trains."""
        if name not in self._policies:
            from coplay.learners.factory import make_table

            learner, seat = self.config.learners[name], seats_of(self.config, name)[0]
            self._policies[name] = make_table(learner, seat, self.game, slots=len(self.config.seeds))
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
) -> Any:
    """The policy of a language-model learner: one token where it replies with a label, text otherwise."""
    from coplay.players.choice_model import ChoiceModel
    from coplay.players.text_model import TextModel

    learner = config.learners[name]
    if replies_of(learner, game) == "text":
        return TextModel(
            learner.role,
            loaded,
            scorer,
            game=game,
            memory=learner.memory,
            max_tokens=learner.max_tokens,
            temperature=learner.temperature,
            reference=reference,
        )
    assert isinstance(game, NormalFormGame)
    return ChoiceModel(
        learner.role,
        loaded,
        scorer,
        game=game,
        memory=learner.memory,
        seats=game.seats if config.rotate_seats else _reply_seats(config, name),
        labels=learner.labels,
        payoff_format=config.payoff_format,
        reference=reference,
    )


def replies_of(learner: LearnerConfig, game: Game) -> str:
    """How a language model replies."""
    return learner.replies or ("choice" if game.one_token else "text")


def seats_of(config: Config, name: str) -> list[str]:
    """The seats that a player may fill, by its name in the config."""
    return [seat for seat, who in config.seats.items() if name in who]


def _reply_seats(config: Config, name: str) -> list[str]:
    """The seats that a learner's policy replies for: its own, and those of frozen co-players, for whom it replies with their slots."""
    runs = [
        seat for seat, who in config.seats.items() if any(one not in config.learners and is_run(one) for one in who)
    ]
    return list(dict.fromkeys([*seats_of(config, name), *runs]))


def frozen_name(frozen: Mapping[str, FrozenAdapters], spec: str) -> str:
    """What the bank calls the slots of a frozen co-player; several are numbered."""
    number = list(frozen).index(spec)
    return CO_PLAYER if number == 0 else f"{CO_PLAYER}-{number + 1}"


def _candidate(
    who: str,
    config: Config,
    game: Game,
    learners: Mapping[str, Any],
    models: _Models,
    frozen: Mapping[str, FrozenAdapters],
) -> Candidate:
    """Who may fill a seat, by its name in the config."""
    if who in learners:
        learner, role = learners[who], config.learners[who].role
        return lambda seed, seat: Occupant(learner.player, role, learner.slots[seed], who)
    if who in frozen:
        name = frozen_name(frozen, who)
        policy = models.policy(models.names[0])
        return lambda seed, seat: Occupant(policy, name, models.slot(name, seed))

    @cache
    def player(seat: str) -> Any:
        return make_player(who, game, seat)

    for seat in game.seats if config.rotate_seats else seats_of(config, who):
        player(seat)
    return lambda seed, seat: Occupant(player(seat), player(seat).name)


def _past_selves(config: Config, models: _Models) -> PastSelfSeating | None:
    settings = config.past_selves
    if settings.probability == 0:
        return None
    (name,) = [name for name in models.names if len(seats_of(config, name)) > 1][:1] or [""]
    if not name:
        raise UsageError("past_selves: tables have no past selves; set past_selves.probability=0")
    policy = models.policy(name)

    def occupant(seed: int, place: int) -> Occupant:
        return Occupant(policy, f"{PAST}-{place}", models.slot(f"{PAST}-{place}", seed))

    return PastSelfSeating(name, occupant, settings.probability, settings.snapshot_interval, settings.pool_size)


def _single_process(config: Config) -> bool:
    return any(is_endpoint(who) for of_seat in config.seats.values() for who in of_seat)


# ---------------------------------------------------------------------- checks


def check_seats(config: Config, game: Game) -> None:
    """Find what is wrong with seats and learners; raises UsageError."""
    for seat in config.seats:
        if seat not in game.seats:
            raise unknown(f"seat of game {game.name!r}", seat, game.seats)
    for seat in game.seats:
        if seat not in config.seats:
            raise UsageError(f"seats: nobody sits in {seat!r} of game {game.name!r}; set seats.{seat}=PLAYER")
    for name, learner in config.learners.items():
        _check_learner(name, learner, seats_of(config, name), game)
    for seat, who in config.seats.items():
        for one in who:
            if one not in config.learners and not is_run(one):
                make_script(one, game, seat) if is_script(one) else make_player(one, game, seat)


def _check_learner(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    if game.actions is None:
        _check_without_actions(name, learner, game)
        return
    actions = game.actions[seats[0]]
    if learner.policy == "tabular" and any(game.actions[seat] != actions for seat in seats):
        raise UsageError(f"learners.{name}: one table cannot sit in seats with different actions ({', '.join(seats)})")
    if learner.labels is not None and len(learner.labels) != len(actions):
        raise UsageError(
            f"learners.{name}.labels: game {game.name!r} needs {len(actions)} labels (for {', '.join(actions)}), got {len(learner.labels)}"
        )
    if learner.policy == "tabular":
        _check_tabular(name, learner, seats, game)


def _check_without_actions(name: str, learner: LearnerConfig, game: Game) -> None:
    """A game that is not one choice among a few actions a round."""
    where = f"learners.{name}"
    if learner.policy == "language_model" and replies_of(learner, game) == "choice":
        raise UsageError(
            f"{where}: replies=choice is one label a round; game {game.name!r} asks for more. Use replies=text"
        )
    if learner.policy != "tabular":
        return
    if not game.max_choices:
        raise UsageError(
            f"{where}: a table chooses among a few actions; game {game.name!r} also asks for open replies, such as messages or amounts."
            " Use policy=language_model"
        )
    if learner.algorithm in ("exact", "lola"):
        raise UsageError(f"{where}.algorithm: exact gradients are of two-seat matrix games; {game.name!r} is none")
    if learner.update == "round":
        raise UsageError(f"{where}.update: update=round is for games with one choice a round; use episode or trial")
    if learner.initial is not None:
        raise UsageError(f"{where}.initial: tables of game {game.name!r} start from uniform; set initial=null")


def _check_tabular(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    where = f"learners.{name}"
    if learner.memory in (Memory.TRANSCRIPT, Memory.CHAT):
        raise UsageError(f"{where}.memory: a tabular learner cannot read transcripts; use counts, or a language model")
    if learner.algorithm in ("exact", "lola") and not isinstance(game, MatrixGame):
        raise UsageError(f"{where}.algorithm: exact gradients are of two-seat matrix games; {game.name!r} is none")
    if learner.algorithm in ("exact", "lola") and len(seats) > 1:
        raise UsageError(
            f"{where}.algorithm: {learner.algorithm} learns in one seat; give the other a learner of its own"
        )
    if learner.initial is None:
        return
    if len(game.conducts(seats[0])) != 2:
        raise UsageError(f"{where}.initial: game {game.name!r} has more than two actions; learners start from uniform")
    states = game.own_states(seats[0])
    if len(learner.initial) != 1 + len(states):
        words = ", ".join("/".join(map(str, state)) for state in states)
        raise UsageError(
            f"{where}.initial: game {game.name!r} needs {1 + len(states)} probabilities"
            f" (at the start, then after {words}), got {len(learner.initial)}"
        )


def check_without_weights(config: Config) -> None:
    """Find what is wrong with a config as far as it shows without the model's weights: game, seats, players, labels that are no single tokens.

    Raises:
        UsageError: saying which.
    """
    game = make_game(config.game)
    check_seats(config, game)
    frozen_adapters(config)
    models = [name for name, learner in config.learners.items() if learner.policy == "language_model"]
    if not models:
        return
    model_path(config.model)
    choosing = [name for name in models if replies_of(config.learners[name], game) == "choice"]
    if choosing and isinstance(game, NormalFormGame):
        _check_labels(config, game, choosing)


def _check_labels(config: Config, game: NormalFormGame, names: Sequence[str]) -> None:
    from coplay.games.memory import START
    from coplay.models.loading import chat_format, load_tokenizer, reply_tokens
    from coplay.text.chat import renderer

    tokenizer, render = load_tokenizer(config.model), renderer(*chat_format(config.model, config.chat))
    for name in names:
        for seat in seats_of(config, name):
            parts = game.prompt_parts(
                seat, START, labels=config.learners[name].labels, payoff_format=config.payoff_format
            )
            reply_tokens(tokenizer, render(parts), parts.labels)


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
        weights = (config.model, config.four_bit, config.adapter)
        if weights not in loaded:
            try:
                build(config)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        loaded.add(weights)
