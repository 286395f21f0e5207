"""The arena of a matrix game: what its config describes, built, and all that can be wrong with it found before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from coplay.config import Config, Seat
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.matrix import SEATS, MatrixGame, game_from_dict
from coplay.games.memory import Memory, Observation, own_view
from coplay.players.base import Player
from coplay.run_bank import count_fixed, make_bank

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.algorithms.base import Learner
    from coplay.evaluation import Aggregate
    from coplay.models.bank import AdapterBank
    from coplay.play import Table
    from coplay.types import Trial


@dataclass
class Arena:
    """What a config describes, built: the game, its players, and what the learners among them share."""

    config: Config
    game: MatrixGame
    players: dict[str, Player]
    learners: dict[str, Learner]
    """The learners among the players, by seat."""
    bank: AdapterBank | None
    """The adapters of language-model learners, all seats and seeds."""
    beginning: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    """By seat, what learners that are reset every trial are put back to."""

    def __post_init__(self) -> None:
        """Keep where learners begin that will be put back there. An arena is built anew, and alike, for each process and resume."""
        self.beginning = {
            seat: self._tensors_of(seat) for seat in self.learners if self.config.seats[seat].reset == "trial"
        }

    @cached_property
    def tables(self) -> list[Table]:
        """Where the games of all seeds are played."""
        from coplay.play import Table

        return [Table(self.game, seed, i) for seed in self.config.seeds for i in range(self.config.games)]

    @property
    def indivisible(self) -> bool:
        """Whether all seeds must be in one process; never."""
        return False

    @property
    def fixed_slots(self) -> int:
        """The bank's slots that are never trained and are the same for all seeds."""
        return 0 if self.bank is None else count_fixed(self.bank)

    def run_trial(self, trial: int) -> Trial:
        """Train all seeds for one trial."""
        from coplay.trial import run_trial

        return run_trial(self, self.tables, trial)

    def evaluate(self, *, rounds: int, episodes: int) -> Aggregate:
        """Let the trained pairs meet."""
        from coplay.evaluate import evaluate_seeds
        from coplay.evaluation import aggregate

        return aggregate(
            evaluate_seeds(self.game, self.players, seeds=self.config.seeds, rounds=rounds, episodes=episodes)
        )

    def start_trial(self) -> None:
        """Put learners that are reset every trial back to where the run began: parameters, optimisers and all they carry."""
        for seat, state in self.beginning.items():
            learner = self.learners[seat]
            learner.load_tensors(state)
            slots = self._slots_of(seat)
            if self.bank is not None and slots:
                self.bank.load_slots(
                    slots, {k.removeprefix("bank."): v for k, v in state.items() if k.startswith("bank.")}
                )
            else:
                learner.policy.parameters()[0].data.copy_(state["policy"])

    def _tensors_of(self, seat: str) -> dict[str, Tensor]:
        """All that one learner has learnt, its adapters included."""
        learner, slots = self.learners[seat], self._slots_of(seat)
        state = dict(learner.tensors())
        if self.bank is not None and slots:
            return state | {f"bank.{key}": value[slots] for key, value in self.bank.state_dict().items()}
        return state | {"policy": learner.policy.parameters()[0].detach().clone()}

    def _slots_of(self, seat: str) -> list[int]:
        """The bank's slots of a seat; none if its learner is a table."""
        return [] if self.bank is None else [i for i, slot in enumerate(self.bank.slots) if slot.learner == seat]

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed, for a checkpoint."""
        state: dict[str, Tensor] = {}
        if self.bank is not None:
            state |= {f"bank.{key}": value for key, value in self.bank.state_dict().items()}
        for seat, learner in self.learners.items():
            state |= {f"{seat}.{key}": value for key, value in learner.tensors().items()}
            if self.config.seats[seat].learner == "tabular":
                state[f"{seat}.policy"] = learner.policy.parameters()[0].detach().clone()
        return state

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}

        if self.bank is not None:
            self.bank.load_state_dict(part("bank."))
        for seat, learner in self.learners.items():
            learner.load_tensors(part(f"{seat}."))
            if self.config.seats[seat].learner == "tabular":
                learner.policy.parameters()[0].data.copy_(state[f"{seat}.policy"])


def game_of(config: Config) -> MatrixGame:
    """The game a config names or spells out."""
    return make_game(config.game) if isinstance(config.game, str) else game_from_dict(config.game)


def build(config: Config) -> Arena:
    """Build game, model, adapters and players. All that can be wrong with a config is found here, before anything is written."""
    from coplay.algorithms.making import make_language_learner, make_tabular_learner
    from coplay.models.bank import REFERENCE, SlotName
    from coplay.models.loading import available_threads, load_model, set_threads
    from coplay.players.scripted import make_player

    game = game_of(config)
    set_threads(config.threads or available_threads())
    _check_seats(config, game)
    talking = _talking(config)
    bank, scorer, loaded, reference = None, None, None, REFERENCE
    if talking:
        from coplay.models.scoring import Scorer

        loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat)
        names = [SlotName(seat, seed) for seat in talking for seed in config.seeds]
        bank, reference = make_bank(loaded.model, names, config.adapter)
        scorer = Scorer(loaded.model, bank)
    players: dict[str, Player] = {}
    learners: dict[str, Learner] = {}
    for seat, setting in config.seats.items():
        if setting.player != "learner":
            players[seat] = make_player(setting.player, game, seat)
        elif seat in talking:
            from coplay.players.language_model import LanguageModelPolicy

            assert loaded is not None and scorer is not None
            policy = LanguageModelPolicy(
                loaded,
                scorer,
                game=game,
                seat=seat,
                labels=setting.labels,
                layout=config.layout,
                reference=reference,
            )
            first_slot = talking.index(seat) * len(config.seeds)
            players[seat] = learners[seat] = make_language_learner(config, seat, policy, game, first_slot=first_slot)
        else:
            players[seat] = learners[seat] = make_tabular_learner(config, seat, game, players)
    return Arena(config, game, players, learners, bank)


def _talking(config: Config) -> list[str]:
    """The seats of language-model learners."""
    return [s for s in SEATS if (config.seats[s].player, config.seats[s].learner) == ("learner", "language_model")]


def _check_seats(config: Config, game: MatrixGame) -> None:
    for seat, setting in config.seats.items():
        if setting.labels is not None and len(setting.labels) != len(game.actions[seat]):
            raise UsageError(
                f"{seat}.labels: game {game.name!r} needs {len(game.actions[seat])} labels"
                f" (for {', '.join(game.actions[seat])}), got {len(setting.labels)}"
            )
        if (setting.player, setting.learner) == ("learner", "tabular"):
            _check_tabular(seat, setting, game)


def _check_tabular(seat: str, setting: Seat, game: MatrixGame) -> None:
    if setting.memory is Memory.TRANSCRIPT:
        raise UsageError(f"{seat}.memory: a tabular learner cannot read transcripts; use counts, or a language model")
    if setting.initial is None:
        return
    states = [game.state_name(own_view(seat, state)) for state in game.own_states(seat)]
    if len(game.actions[seat]) != 2:
        raise UsageError(f"{seat}.initial: game {game.name!r} has more than two actions; learners start from uniform")
    if len(setting.initial) != 1 + len(states):
        raise UsageError(
            f"{seat}.initial: game {game.name!r} needs {1 + len(states)} probabilities"
            f" (at the start, then after {', '.join(states)}), got {len(setting.initial)}"
        )


def check_words(config: Config) -> None:
    """Find what is wrong with a config as far as it shows without the model's weights: the game, the seats, labels that are no single tokens.

    Raises:
        UsageError: saying which.
    """
    from coplay.models.loading import chat_format, load_tokenizer, reply_tokens
    from coplay.text.chat import renderer
    from coplay.text.prompts import write_message

    game = game_of(config)
    _check_seats(config, game)
    talking = _talking(config)
    if not talking:
        return
    tokenizer, render = load_tokenizer(config.model), renderer(*chat_format(config.model, config.chat))
    for seat in talking:
        message = write_message(game, seat, Observation(), labels=config.seats[seat].labels, layout=config.layout)
        reply_tokens(tokenizer, render(message), message.labels)
