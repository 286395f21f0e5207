"""The training state: what a config describes, built; and a trial of it, from the seating to the updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coplay.evaluation.match import play_tables, summarise
from coplay.evaluation.metrics import play_metrics, update_metrics
from coplay.evaluation.summary import Aggregate, aggregate
from coplay.games.base import Game
from coplay.games.records import Episode, EpisodeRecord, TrialResult
from coplay.learners.base import DIVERGED, Learner, RngPath, UpdateMetrics, part, prefixed
from coplay.play.loop import RoundClock, StreamNames, play_episode
from coplay.play.past_selves import place_of_snapshot
from coplay.play.records import episode_record
from coplay.play.rules import game_errors
from coplay.play.seating import Seating
from coplay.runs.config import Config
from coplay.runs.divergence import Divergences, as_state, from_state
from coplay.runs.held_out import HeldOut
from coplay.runs.responses import BestResponses
from coplay.runs.shown import shown_trials

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.models.bank import AdapterBank
    from coplay.models.loading import LoadedModel

PAST = "past"
"""How slots of past selves are called: ``past-0``, ``past-1``, ..."""

CO_PLAYER = "co-player"
"""What slots of frozen co-players are called."""


@dataclass
class TrainingState:
    """A run in memory: the game, the learners, and who sits where."""

    config: Config
    """What is run."""
    game: Game
    """The rules."""
    learners: dict[str, Learner]
    """By name."""
    seating: Seating
    """Who sits where."""
    bank: AdapterBank | None = None
    """The adapters of language-model learners, past selves and frozen co-players."""
    loaded: LoadedModel | None = None
    """The language model that they belong to."""
    held_out: HeldOut | None = None
    """The held-out games of a learner with a safety objective; None without."""
    responses: BestResponses | None = None
    """The best responses that a learner meets; None without."""
    single_process: bool = False
    """Whether all seeds must be in one process: an endpoint's budget and its cached answers are one."""
    start: dict[int, dict[str, dict[str, Tensor]]] = field(default_factory=dict)
    """By seed and learner, what learners that are reset every trial are put back to."""
    divergences: Divergences = field(default_factory=Divergences)
    """The seeds that are trained no further."""

    def __post_init__(self) -> None:
        """Keep where learners start that will be put back there. A state is built anew, and alike, for each process and resume."""
        resets = [name for name in self.learners if self.config.learners[name].reset == "trial"]
        if resets:
            self.start = {
                seed: {name: self.learners[name].state_dict(seed) for name in resets} for seed in self.config.seeds
            }

    @property
    def alive(self) -> list[int]:
        """The seeds that have not diverged."""
        return [seed for seed in self.config.seeds if seed not in self.divergences.by_seed]

    # ------------------------------------------------------------------ a trial

    def run_trial(self, trial: int) -> TrialResult:
        """One trial of every seed that has not diverged: E episodes, with each learner updating on its own clock.

        The games for reading are the first and last episode of each seed's first table, in trials of which games are kept. A seed that diverges has nothing but the reason in its
        metrics, under :data:`~coplay.learners.base.DIVERGED`, and no games.
        """
        if not self.alive:
            return TrialResult({}, [])
        with game_errors(self.game):
            return self._trial(trial)

    def _trial(self, trial: int) -> TrialResult:
        config, alive = self.config, self.alive
        self._start_trial(trial)
        tables = [table for table in self.seating.tables(trial) if table.seed in alive]
        updates: dict[str, list[UpdateMetrics]] = {name: [] for name in self.learners}
        played: list[Episode] = []
        shown, kept = [], trial + 1 in shown_trials(config.trials)
        for episode in range(config.episodes):
            games = play_episode(
                self.game,
                tables,
                rounds=config.rounds,
                streams=StreamNames(("train", trial), episode),
                retries=config.retries,
                after_round=self._round_clock((trial, episode), updates),
            )
            played += games
            self.divergences.note_replies(games, trial + 1, _where((trial, episode)))
            if kept and episode in (0, config.episodes - 1):
                shown += [self._record(one, trial, episode) for one in games if one.game == 0]
            for name, learner in self.learners.items():  # all collect before any learns: see Learner
                if config.learners[name].update in ("episode", "trial"):
                    learner.collect(games)
            self._learn("episode", (trial, episode), updates)
        self._learn("trial", (trial,), updates)
        lines = {seed: self._checked_line(seed, trial, played, updates) for seed in alive}
        if self.held_out is not None and self.held_out.is_due(trial) and self.alive:
            for seed, line in self.held_out.after_trial(trial, self.alive).items():
                lines[seed] |= line
        return TrialResult(lines, [game for game in shown if game["seed"] not in self.divergences.by_seed])

    def _start_trial(self, trial: int) -> None:
        for seed, states in self.start.items():
            if seed in self.alive:
                for name, state in states.items():
                    self.learners[name].load_state_dict(seed, state)
        for learner in self.learners.values():
            learner.clear_cache()  # a resumed run has nothing cached, and must end with the same files
        self._take_snapshots(trial)
        if self.responses is not None:
            self.responses.respond(trial, self.alive)

    def _take_snapshots(self, trial: int) -> None:
        """Snapshot current policies every ``snapshot_interval`` trials."""
        settings, past = self.config.past_selves, self.seating.past_selves
        if past is None or trial % settings.snapshot_interval:
            return
        assert self.bank is not None
        learner = self.learners[past.learner]
        for seed in self.alive:
            number = trial // settings.snapshot_interval
            place = place_of_snapshot(seed, number, pool_size=settings.pool_size)
            if place is not None:
                slot = past.occupant(seed, place).slot
                assert slot is not None
                self.bank.load_slot_state(slot, self.bank.slot_state(learner.slots[seed]))

    def _learn(self, clock: str, rng_path: RngPath, updates: dict[str, list[UpdateMetrics]]) -> None:
        """Update the learners whose clock this is."""
        for name, learner in self.learners.items():
            if self.config.learners[name].update == clock:
                update = learner.update(rng_path)
                self.divergences.note_update(name, update, int(rng_path[0]) + 1, _where(rng_path))
                updates[name].append(update)

    def _round_clock(self, rng_path: RngPath, updates: dict[str, list[UpdateMetrics]]) -> RoundClock | None:
        """What to do after each round; None if no learner updates so often."""
        config = self.config
        learners = [learner for name, learner in self.learners.items() if config.learners[name].update == "round"]
        if not learners:
            return None

        def after_round(number: int, games: Sequence[Episode]) -> None:
            last = number == config.rounds - 1
            latest = [game.latest_round(finished=last or self.game.is_over(game.rounds)) for game in games]
            for learner in learners:
                learner.collect(latest)
            self._learn("round", (*rng_path, number), updates)

        return after_round

    def _checked_line(
        self, seed: int, trial: int, played: Sequence[Episode], updates: Mapping[str, Sequence[UpdateMetrics]]
    ) -> dict[str, object]:
        """One seed's metrics of a trial; if it has diverged, the reason."""
        found = self.divergences
        if seed in self.alive:
            line = self._line(seed, played, updates)
            found.note_metrics(seed, line, trial + 1)
            found.note_state(seed, self.state_dict(seed), trial + 1)
            if seed in self.alive:
                return line
        self._clear(seed)
        return {DIVERGED: found.by_seed[seed]["reason"]}

    def _clear(self, seed: int) -> None:
        """Make everything of a seed that has diverged zero: what is not finite would spoil others' numbers even if multiplied by zero."""
        for learner in self.learners.values():
            learner.load_state_dict(seed, _zeros(learner.state_dict(seed)))
        for slot in self._past_slots(seed).values():
            assert self.bank is not None
            self.bank.load_slot_state(slot, _zeros(self.bank.slot_state(slot)))

    def _line(
        self, seed: int, played: Sequence[Episode], updates: Mapping[str, Sequence[UpdateMetrics]]
    ) -> dict[str, object]:
        """One seed's metrics of a trial."""
        line: dict[str, object] = dict(
            play_metrics(
                self.game,
                [one for one in played if one.seed == seed],
                self.learners,
                roaming=self.config.roaming,
                retries=self.config.retries > 0,
                fallback=any(learner.fallback for learner in self.config.learners.values()),
            )
        )
        for name, of_learner in updates.items():
            line |= update_metrics(name, [update[seed] for update in of_learner])
        return line

    def _record(self, episode: Episode, trial: int, number: int) -> EpisodeRecord:
        return episode_record(self.game, episode, step=trial + 1, number=number + 1)

    # ------------------------------------------------------------------ afterwards

    def evaluate(self, *, rounds: int, episodes: int) -> Aggregate:
        """Let everybody play in the seat that the config names: what was trained, and whom it was trained against.

        Seeds that have diverged are named and left out. Raises CoplayError if none is left.
        """
        found = self.divergences
        found.refuse_all_of(self.config.seeds)
        tables = [table for seed in self.alive for table in self.seating.evaluation(seed, episodes)]
        matches = play_tables(self.game, tables, rounds=rounds, retries=self.config.retries)
        for match in matches.values():
            found.note_replies(match.episodes, self.config.trials, "in the evaluation")
        found.refuse_all_of(self.config.seeds)
        return aggregate({seed: summarise(matches[seed]) for seed in self.alive}, dict(sorted(found.by_seed.items())))

    def clear_cache(self) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        for learner in self.learners.values():
            learner.clear_cache()

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self, seed: int) -> dict[str, Tensor]:
        """Everything that learning has changed under one seed, for a checkpoint; if it has diverged, when and why."""
        if seed in self.divergences.by_seed:
            return as_state(self.divergences.by_seed[seed])
        state: dict[str, Tensor] = {}
        for name, learner in self.learners.items():
            state |= prefixed(f"{name}/", learner.state_dict(seed))
        for name, slot in self._past_slots(seed).items():
            assert self.bank is not None
            state |= prefixed(f"{name}/", self.bank.slot_state(slot))
        for one in (self.responses, self.held_out):
            if one is not None:
                state |= one.state_dict(seed)
        return state

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        divergence = from_state(state)
        if divergence is not None:
            self.divergences.by_seed[seed] = divergence
            return
        self.divergences.by_seed.pop(seed, None)
        for name, learner in self.learners.items():
            learner.load_state_dict(seed, part(state, f"{name}/"))
        for name, slot in self._past_slots(seed).items():
            assert self.bank is not None
            self.bank.load_slot_state(slot, part(state, f"{name}/"))
        for one in (self.responses, self.held_out):
            if one is not None:
                one.load_state_dict(seed, state)

    def _past_slots(self, seed: int) -> dict[str, int]:
        """The slots of a seed's past selves, by name."""
        if self.bank is None:
            return {}
        return {
            name.learner: slot
            for slot, name in enumerate(self.bank.slots)
            if name.seed == seed and name.learner.startswith(f"{PAST}-")
        }


def _where(rng_path: RngPath) -> str:
    """The place within a trial at which something happened: ``in episode 2``; ``at the end of the trial`` for the trial as a whole."""
    return f"in episode {int(rng_path[1]) + 1}" if len(rng_path) > 1 else "at the end of the trial"


def _zeros(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.new_zeros(tensor.shape) for name, tensor in state.items()}
