"""The arena of a game in rounds: what its config describes, built; and a trial of it, from the seating to the update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coplay.evaluation import Aggregate, Summary, aggregate
from coplay.games.rounds import ALICE, BOB, other
from coplay.metrics import update_metrics
from coplay.rounds.agents import without_parameters
from coplay.rounds.config import ENDPOINT, SELF, RoundConfig
from coplay.rounds.evaluate import match_rounds, summary_of_rounds
from coplay.rounds.frozen import frozen_run
from coplay.rounds.metrics import round_metrics
from coplay.rounds.past_selves import past_self_met, place_of_snapshot
from coplay.rounds.play import RoundPlayer, RoundTable, play_rounds
from coplay.rounds.records import game_record
from coplay.rounds.types import RoundEpisode, Situation
from coplay.run_bank import count_fixed, make_bank
from coplay.text.rounds import Worded, worded
from coplay.types import Trial

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.algorithms.group_learner import GroupLearner
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.players.round_language_model import RoundLanguageModel

LEARNER, PAST, CO_PLAYER = "learner", "past", "co-player"
"""What the bank's slots hold."""

Seating = dict[tuple[int, int, str], int]
"""The slot that speaks at a place, where that is not the seed's learner: (seed, index of the game, seat) to slot."""


@dataclass
class RoundArena:
    """What a config describes, built. One language model speaks for the learner, its past selves and a frozen run alike."""

    config: RoundConfig
    words: Worded
    player: RoundLanguageModel
    learner: GroupLearner
    bank: AdapterBank
    scripted: RoundPlayer | None
    """The co-player, if it is one without parameters."""
    seating: Seating = field(default_factory=dict)

    @property
    def learners(self) -> dict[str, GroupLearner]:
        """What learns, by name."""
        return {LEARNER: self.learner}

    @property
    def indivisible(self) -> bool:
        """Whether all seeds must be in one process: an endpoint's budget and its answers are one."""
        return self.config.co_player.endswith(ENDPOINT)

    @property
    def fixed_slots(self) -> int:
        """See :meth:`coplay.arena.Arena.fixed_slots`."""
        return count_fixed(self.bank)

    # ------------------------------------------------------------------ a trial

    def run_trial(self, trial: int) -> Trial:
        """Seat the players, play all games of all seeds in step, learn once from what the learner did itself."""
        self.take_snapshots(trial)
        tables, trained = self.seat(trial)
        config = self.config
        games = play_rounds(self.words, tables, rounds=config.rounds, occasion=("train", trial), retries=config.retries)
        self.learner.collect(games, trained)
        updates = self.learner.update()
        own = {(game.seed, game.index): seats for game, seats in zip(games, trained, strict=True)}
        lines: dict[int, dict[str, Any]] = {}
        for seed in config.seeds:
            of_seed = [game for game in games if game.seed == seed]
            line = round_metrics(self.words, of_seed, of=lambda game, seat: seat in own[game.seed, game.index])
            lines[seed] = {**line, **update_metrics(LEARNER, [updates[seed]])}
        shown = [self.record(game, step=trial + 1, own=own[game.seed, game.index]) for game in games if game.index == 0]
        return Trial(lines, shown)

    def take_snapshots(self, trial: int) -> None:
        """Keep the present selves as past ones, if it is time and they are kept at all."""
        settings = self.config.past_selves
        if settings.share == 0 or trial % settings.every:
            return
        for seed in self.config.seeds:
            place = place_of_snapshot(seed, trial // settings.every, kept=settings.kept)
            if place is not None:
                self.learner.remember(seed, self._slot(f"{PAST}-{place}", seed))

    def seat(self, trial: int) -> tuple[list[RoundTable], list[tuple[str, ...]]]:
        """Who sits where in a trial's games.

        Returns:
            The tables, and for each the seats that the learner fills itself, which are those it learns from.
        """
        config, names = self.config, (ALICE, BOB)
        groups = -(-config.games // config.group_size)
        self.seating = {}
        tables: list[RoundTable] = []
        trained: list[tuple[str, ...]] = []
        for seed in config.seeds:
            for index in range(config.games):
                group = index // config.group_size
                # against another than itself: alice in one group, bob in the next, counted through all trials
                own = names[(trial * groups + group) % 2]
                across = self._across(trial, seed, index)
                if across is None:
                    tables.append(RoundTable(seed, group, index, dict.fromkeys(names, self.player)))
                    trained.append(names)
                    continue
                if isinstance(across, str):
                    self.seating[seed, index, other(own)] = self._slot(across, seed)
                seated = {own: self.player, other(own): self.player if isinstance(across, str) else across}
                tables.append(RoundTable(seed, group, index, seated))
                trained.append((own,))
        return tables, trained

    def _across(self, trial: int, seed: int, index: int) -> RoundPlayer | str | None:
        """Who sits across from the learner in a game: None for the learner itself, else a player, or whose slot speaks."""
        config = self.config
        if config.co_player != SELF:
            return self.scripted or CO_PLAYER
        place = past_self_met(trial, seed, index, config.past_selves)
        return None if place is None else f"{PAST}-{place}"

    def record(self, game: RoundEpisode, *, step: int, own: Sequence[str]) -> dict[str, Any]:
        """A complete game, as ``episodes.jsonl`` keeps it.

        Args:
            game: what was played.
            step: the trial, from 1.
            own: the seats that the learner filled itself.
        """
        seats = self.words.game.seats
        names = {seat: LEARNER if seat in own else self._sat(game, seat) for seat in seats}
        return game_record(self.words, game, step=step, names=names, decode=dict.fromkeys(seats, self.player.decode))

    def _sat(self, game: RoundEpisode, seat: str) -> str:
        """Who filled a seat that the learner did not: what its slot is called, or the scripted player's name."""
        slot = self.seating.get((game.seed, game.index, seat))
        if slot is not None:
            return self.bank.slots[slot].learner
        assert self.scripted is not None
        return self.scripted.name

    # ------------------------------------------------------------------ afterwards

    def evaluate(self, *, rounds: int, episodes: int) -> Aggregate:
        """Let every seed's learner play with itself; or as alice with the co-player that it was trained against."""
        return aggregate({seed: self._evaluated(seed, rounds, episodes) for seed in self.config.seeds})

    def _evaluated(self, seed: int, rounds: int, episodes: int) -> Summary:
        self.seating = {}
        players: dict[str, RoundPlayer] = dict.fromkeys(self.words.game.seats, self.player)
        names = dict.fromkeys(players, LEARNER)
        if self.config.co_player != SELF:
            names[BOB] = CO_PLAYER if self.scripted is None else self.scripted.name
            if self.scripted is not None:
                players[BOB] = self.scripted
            else:
                slot = self._slot(CO_PLAYER, seed)
                self.seating = {(seed, index, BOB): slot for index in range(episodes)}
        retries = self.config.retries
        games = match_rounds(self.words, players, seed=seed, rounds=rounds, episodes=episodes, retries=retries)
        return summary_of_rounds(self.words, games, names)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed, for a checkpoint."""
        state = {f"bank.{key}": value for key, value in self.bank.state_dict().items()}
        return state | {f"{LEARNER}.{key}": value for key, value in self.learner.tensors().items()}

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}

        self.bank.load_state_dict(part("bank."))
        self.learner.load_tensors(part(f"{LEARNER}."))

    def slot_of(self, situation: Situation) -> int:
        """The slot that speaks in a situation."""
        place = (situation.seed, situation.index, situation.seat)
        return self.seating.get(place, self.learner.slots[situation.seed])

    def _slot(self, name: str, seed: int) -> int:
        from coplay.models.bank import SlotName

        return self.bank.slots.index(SlotName(name, seed))


def build_rounds(config: RoundConfig) -> RoundArena:
    """Build model, adapters and players. All that can be wrong with a config is found here, before anything is written."""
    from coplay.algorithms.group_learner import GroupLearner
    from coplay.models.loading import available_threads, load_model, set_threads
    from coplay.models.scoring import Scorer
    from coplay.players.round_language_model import RoundLanguageModel

    words = worded(config.game)
    set_threads(config.threads or available_threads())
    frozen = frozen_run(config)
    loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat)
    names = _slots(config, frozen=frozen is not None)
    bank, reference = make_bank(loaded.model, names, config.adapter)
    if frozen is not None:
        for seed, directory in frozen.items():
            bank.import_peft(names.index(_name(CO_PLAYER, seed)), directory)
    arena: RoundArena
    player = RoundLanguageModel(
        LEARNER,
        loaded,
        Scorer(loaded.model, bank),
        words,
        slot=lambda situation: arena.slot_of(situation),
        past=config.past,
        longest=config.longest,
        temperature=config.temperature,
    )
    learner = GroupLearner(
        player, seeds=config.seeds, slots=range(len(config.seeds)), reference=reference, settings=config.learner
    )
    scripted = None if config.co_player == SELF or frozen is not None else without_parameters(config.co_player, words)
    arena = RoundArena(config, words, player, learner, bank, scripted)
    return arena


def _slots(config: RoundConfig, *, frozen: bool) -> list[SlotName]:
    """The learners, their past selves, frozen co-players: for each all seeds."""
    kept = config.past_selves.kept if config.past_selves.share > 0 else 0
    names = [LEARNER, *(f"{PAST}-{place}" for place in range(kept)), *([CO_PLAYER] if frozen else [])]
    return [_name(name, seed) for name in names for seed in config.seeds]


def _name(name: str, seed: int) -> SlotName:
    from coplay.models.bank import SlotName

    return SlotName(name, seed)
