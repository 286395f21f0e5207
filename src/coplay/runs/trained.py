"""What runs have learnt, by name: ``RUN``, ``RUN:SEED``, ``RUN:LEARNER`` and ``RUN:LEARNER:SEED``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coplay.errors import UsageError, unknown
from coplay.evaluation.summary import Divergence, diverged_seeds, told_of
from coplay.files.naming import user_path
from coplay.games.base import Game
from coplay.models.known import AdapterForm
from coplay.players.model_player import names_model
from coplay.players.scripted import is_script, of_other_library
from coplay.players.simulator import names_simulator
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory
from coplay.runs.games import game_of
from coplay.runs.pools import BEST_RESPONSES


@dataclass(frozen=True)
class RunSpec:
    """What ``RUN[:LEARNER][:SEED]`` names."""

    path: Path
    """The run's directory."""
    learner: str | None
    """The learner that is named; None if none is."""
    seed: int | None
    """The seed that is named; None if none is."""


def parse_run(spec: str) -> RunSpec | None:
    """The parts of a run's name; None if it names no directory, a scripted player or something in a Python package.

    Raises:
        UsageError: if what follows the directory is no learner and no seed.
    """
    if (
        is_script(spec)
        or of_other_library(spec)
        or names_model(spec)
        or names_simulator(spec)
        or spec == BEST_RESPONSES
    ):
        return None
    head = spec
    parts: list[str] = []
    while not head or not (path := user_path(head)).is_dir():
        head, colon, last = head.rpartition(":")
        if not colon:
            return None
        parts.insert(0, last)
    if parts and (path / "__init__.py").is_file() and not (path / "config.json").is_file():
        return None  # MODULE:NAME
    seed = int(parts.pop()) if parts and parts[-1].isdecimal() else None
    if len(parts) > 1 or "" in parts:
        raise UsageError(f"{spec}: a run is named as RUN, RUN:LEARNER, RUN:SEED or RUN:LEARNER:SEED")
    return RunSpec(path, parts[0] if parts else None, seed)


@dataclass(frozen=True)
class TrainedLearner:
    """A learner of a finished run, and which of its seeds are meant."""

    spec: str
    """As the user named it."""
    path: Path
    """The run's directory."""
    config: Config
    """What was run."""
    learner: str
    """The learner's name in the run."""
    seeds: tuple[int, ...]
    """All its seeds that have not diverged, or the one that is named."""
    diverged: Mapping[int, Divergence] = field(default_factory=dict)
    """Those that have."""

    def adapter(self, seed: int) -> Path:
        """The directory of what a seed has learnt, in PEFT's format; tables and networks have none."""
        return self.path / "adapters" / f"{self.learner}-seed{seed}"

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats that it learnt to sit in."""
        if self.config.rotate_seats:
            return tuple(self.config.seats)
        return tuple(seat for seat, who in self.config.seats.items() if self.learner in who)

    @property
    def is_table(self) -> bool:
        """Whether it is a table or a network: all of it is in the run's checkpoint."""
        return self.config.learners[self.learner].policy != "language_model"

    @property
    def model(self) -> tuple[object, ...]:
        """Learners that are alike in this can share a model and a bank."""
        config = self.config
        form = repr(self.adapter_form) if config.has_form_of_start and not self.is_table else ""
        return (config.model, config.four_bit, config.precision, config.chat, config.chat_date, config.adapter, form)

    @property
    def adapter_form(self) -> AdapterForm:
        """The shape of the bank that its adapters fit into."""
        if not self.config.has_form_of_start:
            return self.config.adapter.form
        from coplay.models.adapter_config import adapter_form

        return adapter_form(self.adapter(self.seeds[0]))


def trained_learner(spec: str, game: Game) -> TrainedLearner:
    """Find what a run has learnt.

    Args:
        spec: ``RUN``, ``RUN:SEED``, ``RUN:LEARNER`` or ``RUN:LEARNER:SEED``.
        game: the game that it is to play: the one that it learnt, or one with the same seats and actions.

    Raises:
        UsageError: if there is no such run, learner or seed, it learnt another game, it is not finished, or the seed has diverged.
    """
    found = parse_run(spec)
    if found is None:
        raise UsageError(f"there is no run directory {spec}")
    run = RunDirectory.open(found.path)
    config = run.config
    names = list(config.learners)
    if found.learner is None and len(names) > 1:
        seed = "" if found.seed is None else f":{found.seed}"
        named = " or ".join(f"{found.path}:{name}{seed}" for name in names)
        raise UsageError(f"{spec} is a run of several learners; name one of them: {named}")
    learner = found.learner or names[0]
    if learner not in names:
        raise unknown(f"learner of {found.path}", learner, names)
    learnt = game_of(config)
    if learnt.name != game.name and not _alike(learnt, game):
        raise UsageError(f"{spec} learnt {learnt.name!r}, whose seats or actions are not those of {game.name!r}")
    if found.seed is not None and found.seed not in config.seeds:
        raise UsageError(f"{spec}: the run has seeds {', '.join(map(str, config.seeds))}")
    diverged = diverged_seeds(run.evaluation()) if run.store.has("eval.json") else {}
    if found.seed in diverged:
        raise UsageError(f"{spec}: {told_of(found.seed, diverged[found.seed])}")
    seeds = tuple(seed for seed in config.seeds if seed not in diverged) if found.seed is None else (found.seed,)
    trained = TrainedLearner(spec, found.path, config, learner, seeds, diverged)
    if not trained.is_table and not (found.path / "adapters").is_dir():
        raise UsageError(
            f"{found.path} is not finished: it has no adapters yet; resume it with: coplay train --resume {found.path}"
        )
    return trained


def _alike(one: Game, other: Game) -> bool:
    return one.actions is not None and one.seats == other.seats and one.actions == other.actions
