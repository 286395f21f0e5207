"""Training: trials of episodes, two clocks. The loop reads top to bottom: play, learn, log, save."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from coplay.config import Adapter, Config, Seat
from coplay.errors import CoplayError, UsageError
from coplay.games import make_game
from coplay.games.matrix import SEATS, MatrixGame, game_from_dict, game_to_dict
from coplay.games.memory import Memory, Observation, own_view
from coplay.metrics import episode_record, play_metrics, update_metrics
from coplay.play import RoundClock, Table, play_episode
from coplay.players.base import Player
from coplay.progress import Progress
from coplay.runs import RunDirectory, locked, refuse_existing, write_json
from coplay.types import Episode
from coplay.workers import crew_for

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.algorithms.base import Learner, Occasion, UpdateMetrics
    from coplay.models.bank import AdapterBank, SlotName

SHOWN_TRIALS = 5
"""Trials, evenly spread from first to last, of which complete games are kept for reading."""


class Interrupted(CoplayError):
    """Ctrl-C: the run was saved and can be resumed. The command line exits with 130."""


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


def self_contained(config: Config) -> Config:
    """The same config with files it refers to spelled out: a run can be resumed from anywhere, whatever becomes of a game's file."""
    changes: dict[str, Any] = {}
    if isinstance(config.game, str) and config.game.endswith(".toml"):
        changes["game"] = game_to_dict(make_game(config.game))
    directory = Path(config.model).expanduser()
    if directory.is_dir() and config.model != "tiny":
        changes["model"] = str(directory.resolve())
    if config.adapter.start is not None:
        start = str(Path(config.adapter.start).expanduser().resolve())
        changes["adapter"] = config.adapter.model_copy(update={"start": start})
    return config.model_copy(update=changes)


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
        bank, reference = _bank(loaded.model, names, config.adapter)
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


def _bank(model: Any, learners: list[SlotName], adapter: Adapter) -> tuple[AdapterBank, int]:
    """The learners' adapters, and the slot of the reference policy.

    With a start that is the reference as well, one more slot holds the start and is never trained.
    """
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    kept = adapter.start is not None and adapter.reference == "start"
    names = [*learners, SlotName("reference", 0)] if kept else learners
    bank = AdapterBank(model, names, rank=adapter.rank, alpha=adapter.alpha, targets=adapter.targets)
    if adapter.start is not None:
        directory = Path(adapter.start).expanduser()
        if not directory.is_dir():
            raise UsageError(
                f"adapter.start: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
            )
        for slot in range(len(names)):
            bank.import_peft(slot, directory)
    return bank, len(learners) if kept else REFERENCE


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


def check(config: Config, *, where: str = "") -> None:
    """Find what is wrong with a config before anything is written; raises UsageError."""
    try:
        build(config)
    except UsageError as error:
        raise UsageError(f"{where}: {error}" if where else str(error)) from None


def check_without_weights(config: Config) -> None:
    """What :func:`check` finds, as far as it shows without the model's weights: the game, the seats, labels that are no single tokens.

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


def train(config: Config, out: Path, *, progress: Progress | None = None) -> RunDirectory:
    """Train from the beginning into a new run directory.

    Raises:
        UsageError: for anything wrong with the config or the directory, before anything is written.
        Interrupted: on Ctrl-C, after saving.
    """
    refuse_existing(out)
    config = self_contained(config)
    arena = build(config)
    run = RunDirectory.create(out, config)
    with locked(run.path):
        _run(arena, run, first_trial=0, progress=progress or Progress())
    return run


def resume(path: Path, *, checkpoint: str | None = None, progress: Progress | None = None) -> RunDirectory:
    """Go on with a run from its latest checkpoint, or the one of that name; the files end as if it had never stopped.

    Raises:
        DamagedCheckpoint: if the checkpoint is damaged, naming the latest good one.
    """
    run = RunDirectory.open(path)
    with locked(run.path):
        saved = run.load_checkpoint(checkpoint)
        arena = build(run.config)
        step = 0
        if saved is not None:
            step, tensors = saved
            arena.load_tensors(tensors)
        run.cut_back(step)
        _run(arena, run, first_trial=step, progress=progress or Progress())
    return run


def trained(path: Path) -> Arena:
    """The arena of a run as its latest checkpoint left it; raises UsageError if there is none."""
    run = RunDirectory.open(path)
    saved = run.load_checkpoint()
    if saved is None:
        raise UsageError(f"{path} has no checkpoint yet")
    arena = build(run.config)
    arena.load_tensors(saved[1])
    return arena


def _run(arena: Arena, run: RunDirectory, *, first_trial: int, progress: Progress) -> None:
    config = arena.config
    shown = shown_trials(config.trials)
    with _Interrupt() as interrupt, crew_for(arena, first_trial=first_trial) as crew:
        for trial in range(first_trial, config.trials):
            lines, games = crew.run_trial(trial)
            step = trial + 1
            run.append("metrics.jsonl", [{"step": step, "seed": seed, **line} for seed, line in lines.items()])
            if step in shown:
                run.append("episodes.jsonl", games)
            done = step == config.trials
            if done or interrupt.asked or step % config.checkpoint_every == 0:
                run.save_checkpoint(step, crew.tensors())
            progress.show(step, config.trials, lines)
            if interrupt.asked and not done:
                raise Interrupted(f"saved after trial {step}; go on with: coplay train --resume {run.path}")
    if not run.checkpoints():
        run.save_checkpoint(config.trials, arena.tensors())
    finish(arena, run)


def run_trial(arena: Arena, tables: list[Table], trial: int) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """One trial of every seed: E episodes, with each learner updating on its own clock.

    Returns:
        For each seed, the trial's metrics; and complete games for reading, the first and last episode of each seed's first table.
    """
    config, game = arena.config, arena.game
    updates: dict[str, list[UpdateMetrics]] = {seat: [] for seat in arena.learners}
    played = []
    shown = []
    for table in tables:
        table.start_trial()
    for learner in arena.learners.values():
        learner.forget()  # a resumed run has nothing remembered, and must end with the same files
    for episode in range(config.episodes):
        games = play_episode(
            tables,
            arena.players,
            rounds=config.rounds,
            occasion=("train", trial, episode),
            after_round=_round_clock(arena, (trial, episode), updates),
        )
        played += games
        if episode in (0, config.episodes - 1):
            shown += [
                episode_record(game, arena.players, g, step=trial + 1, number=episode + 1) for g in games if g.game == 0
            ]
        for seat, learner in arena.learners.items():  # all collect before any learns: see Learner
            if config.seats[seat].update in ("episode", "trial"):
                learner.collect(games)
        _learn(arena, "episode", (trial, episode), updates)
    _learn(arena, "trial", (trial,), updates)
    lines: dict[int, dict[str, Any]] = {}
    for seed in config.seeds:
        lines[seed] = dict(play_metrics(game, [g for g in played if g.seed == seed]))
        for seat, of_seat in updates.items():
            lines[seed] |= update_metrics(seat, [update[seed] for update in of_seat])
    return lines, shown


def _learn(arena: Arena, clock: str, occasion: Occasion, updates: dict[str, list[UpdateMetrics]]) -> None:
    """Update the learners whose clock this is."""
    for seat, learner in arena.learners.items():
        if arena.config.seats[seat].update == clock:
            updates[seat].append(learner.update(occasion))


def _round_clock(arena: Arena, occasion: Occasion, updates: dict[str, list[UpdateMetrics]]) -> RoundClock | None:
    """What to do after each round; None if no learner updates so often."""
    config = arena.config
    learners = [learner for seat, learner in arena.learners.items() if config.seats[seat].update == "round"]
    if not learners:
        return None

    def after_round(number: int, games: Sequence[Episode]) -> None:
        latest = [game.latest_round(finished=number == config.rounds - 1) for game in games]
        for learner in learners:
            learner.collect(latest)
        _learn(arena, "round", (*occasion, number), updates)

    return after_round


def finish(arena: Arena, run: RunDirectory) -> None:
    """After the last trial: evaluate the trained pairs, export the adapters."""
    for learner in arena.learners.values():
        learner.forget()
    if not (run.path / "eval.json").exists():
        _evaluate(arena, run.path / "eval.json", rounds=arena.config.rounds)
    if arena.bank is not None:
        for slot, name in enumerate(arena.bank.slots):
            if name.learner not in arena.learners:  # the reference policy
                continue
            directory = run.path / "adapters" / f"{name.learner}-seed{name.seed}"
            arena.bank.export_peft(slot, directory, base_model=arena.config.model)


def evaluate_lengths(path: Path, lengths: Sequence[int]) -> None:
    """Let a finished run's pairs play games of other lengths too, into ``eval-T<rounds>.json``; what is there is kept."""
    missing = {rounds: path / f"eval-T{rounds}.json" for rounds in lengths}
    missing = {rounds: file for rounds, file in missing.items() if not file.exists()}
    if missing:
        arena = trained(path)
        for rounds, file in missing.items():
            _evaluate(arena, file, rounds=rounds)


def _evaluate(arena: Arena, file: Path, *, rounds: int) -> None:
    from coplay.evaluate import aggregate, evaluate_seeds

    config = arena.config
    of_seeds = evaluate_seeds(arena.game, arena.players, seeds=config.seeds, rounds=rounds, episodes=config.eval_games)
    write_json(file, aggregate(of_seeds))


def shown_trials(trials: int) -> set[int]:
    """The trials, from 1, of which complete games are kept: the first, the last and some evenly spread between."""
    if trials <= SHOWN_TRIALS:
        return set(range(1, trials + 1))
    return {1 + round(i * (trials - 1) / (SHOWN_TRIALS - 1)) for i in range(SHOWN_TRIALS)}


class _Interrupt:
    """Turns the first Ctrl-C into a wish to stop after this trial; the second one stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> _Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
