"""Agents that can sit anywhere in a game in rounds: scripted ones, and what runs have learnt. Runs of one model share its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coplay.config_input import changed
from coplay.errors import UsageError, unknown
from coplay.players.round_scripted import RULES, make_round_player
from coplay.rounds.config import ENDPOINT, RoundConfig, run_and_seed
from coplay.rounds.play import RoundPlayer
from coplay.text.rounds import Worded


@dataclass(frozen=True)
class Agent:
    """Someone to meet."""

    name: str
    """As the user named it."""
    seeds: tuple[int, ...]
    """The seeds it was trained on; none for one that is not trained."""
    player: Callable[[int], RoundPlayer]
    """What sits down: of a run, that of its i-th seed."""


def agents_of(specs: Sequence[str], words: Worded, *, temperature: float | None = None) -> list[Agent]:
    """Find and load agents.

    Args:
        specs: a scripted player's name, an endpoint's ``FILE.toml``, a run's directory (all its seeds), or ``RUN:SEED``.
        words: the game they are to play.
        temperature: of sampling what runs say; None for each run's own, at which it was trained.

    Raises:
        UsageError: for what is neither, or a run of another game.
    """
    game = words.game.name
    runs = {spec: trained_run(spec, game) for spec in specs if spec not in RULES[game] and not spec.endswith(ENDPOINT)}
    if temperature is not None:
        runs = {
            spec: replace(run, config=changed(run.config, {"temperature": temperature})) for spec, run in runs.items()
        }
    voices = _voices(words, runs)
    found = []
    for spec in specs:
        if spec in runs:
            found.append(Agent(spec, runs[spec].seeds, voices[spec]))
        else:
            frozen = without_parameters(spec, words)
            found.append(Agent(spec, (), lambda _, frozen=frozen: frozen))  # type: ignore[misc]
    return found


def without_parameters(spec: str, words: Worded) -> RoundPlayer:
    """A scripted player, or an endpoint; raises UsageError for anything else."""
    if spec.endswith(ENDPOINT):
        from coplay.players.endpoint import endpoint_from

        return endpoint_from(spec, words)
    return make_round_player(spec, words.game.name)


@dataclass(frozen=True)
class TrainedRun:
    """A finished run of a game in rounds, and which of its seeds are meant."""

    path: Path
    """Its directory."""
    config: RoundConfig
    """What was run."""
    seeds: tuple[int, ...]
    """All its seeds, or the one that is named."""

    def adapter(self, seed: int) -> Path:
        """The directory of what a seed has learnt, in PEFT's format."""
        return self.path / "adapters" / f"learner-seed{seed}"

    @property
    def model(self) -> tuple[Any, ...]:
        """Runs that are alike in this can share a model and a bank."""
        config = self.config
        return (config.model, config.four_bit, config.chat, config.adapter)


def trained_run(spec: str, game: str) -> TrainedRun:
    """Find what a run has learnt.

    Args:
        spec: the run's directory, or ``RUN:SEED``.
        game: the game that it is to have learnt.

    Raises:
        UsageError: if there is no such run or seed, it learnt another game, or it is not finished.
    """
    from coplay.runs import RunDirectory

    directory, only = run_and_seed(spec)
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise unknown(f"player of {game}", spec, RULES[game])
    config = RunDirectory.open(path).config
    if not isinstance(config, RoundConfig):
        raise UsageError(f"{spec} learnt a matrix game, not {game}")
    if config.game != game:
        raise UsageError(f"{spec} learnt {config.game}, not {game}")
    if only is not None and only not in config.seeds:
        raise UsageError(f"{spec}: the run has seeds {', '.join(map(str, config.seeds))}")
    if not (path / "adapters").is_dir():
        raise UsageError(f"{path} is not finished: it has no adapters yet; go on with coplay train --resume {path}")
    return TrainedRun(path, config, config.seeds if only is None else (only,))


def _voices(words: Worded, runs: dict[str, TrainedRun]) -> dict[str, Callable[[int], RoundPlayer]]:
    """For every run, from the i-th of its seeds to who speaks. Each model is loaded once."""
    if not runs:
        return {}
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.models.loading import load_model
    from coplay.models.scoring import Scorer
    from coplay.players.round_language_model import RoundLanguageModel

    voices: dict[str, Callable[[int], RoundPlayer]] = {}
    for kind in dict.fromkeys(run.model for run in runs.values()):
        alike = {spec: run for spec, run in runs.items() if run.model == kind}
        config = next(iter(alike.values())).config
        loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat)
        names = [SlotName(spec, seed) for spec, run in alike.items() for seed in run.seeds]
        adapter = config.adapter
        bank = AdapterBank(loaded.model, names, rank=adapter.rank, alpha=adapter.alpha, targets=adapter.targets)
        scorer = Scorer(loaded.model, bank)
        for spec, run in alike.items():
            players = []
            for seed in run.seeds:
                slot = names.index(SlotName(spec, seed))
                bank.import_peft(slot, run.adapter(seed))
                players.append(
                    RoundLanguageModel(
                        f"{spec} (seed {seed})",
                        loaded,
                        scorer,
                        words,
                        slot=lambda _, slot=slot: slot,  # type: ignore[misc]
                        past=run.config.past,
                        longest=run.config.longest,
                        temperature=run.config.temperature,
                    )
                )
            voices[spec] = lambda i, players=tuple(players): players[i]  # type: ignore[misc]
    return voices
