"""Frozen co-players: what a run has learnt, in the seat across from a learner. It speaks as it did in its own run, or not at all."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

from coplay.errors import UsageError
from coplay.models.loading import chat_format
from coplay.players.round_scripted import RULES
from coplay.rounds.agents import TrainedRun, trained_run
from coplay.rounds.config import ENDPOINT, SELF, AnyConfig, RoundConfig, run_and_seed
from coplay.self_contained import self_contained

SPEECH = (
    "model",
    "four_bit",
    "chat",
    "past",
    "longest",
    "temperature",
    "adapter.rank",
    "adapter.alpha",
    "adapter.targets",
)
"""The settings that learner and frozen co-player share, as one model speaks for both, with a slot of one bank each."""


def frozen_run(config: RoundConfig) -> dict[int, Path] | None:
    """The adapter that each seed meets, if the co-player is what a run has learnt.

    Args:
        config: the learner's run.

    Returns:
        The adapter's directory by the learner's seed; None if the co-player is the learner itself, scripted or an endpoint.

    Raises:
        UsageError: if the co-player is nothing that is known, a run of another game, one that is not finished or lacks a seed, or one
            that spoke otherwise than the learner does.
    """
    spec = config.co_player
    if spec == SELF or spec in RULES[config.game] or spec.endswith(ENDPOINT):
        return None
    directory, only = run_and_seed(spec)
    if not Path(directory).expanduser().is_dir():
        raise UsageError(
            f"co_player: {spec!r} is neither {SELF!r}, nor a scripted player ({', '.join(RULES[config.game])}),"
            " nor an endpoint's .toml file, nor the directory of a finished run"
        )
    try:
        run = trained_run(spec, config.game)
    except UsageError as error:
        raise UsageError(f"co_player: {error}") from None
    _refuse_other_speech(config, run)
    return {seed: _adapter(run, seed if only is None else only) for seed in config.seeds}


def _refuse_other_speech(config: RoundConfig, run: TrainedRun) -> None:
    own = self_contained(config)  # paths as the run's own config has them
    differing = [key for key in SPEECH if _setting(own, key) != _setting(run.config, key)]
    if "chat" in differing and "model" not in differing and _chat(own) == _chat(run.config):
        differing.remove("chat")
    if differing:
        theirs, ours = (" ".join(f"{key}={_written(each, key)}" for key in differing) for each in (run.config, own))
        raise UsageError(
            f"co_player: {run.path} learnt with {theirs}, but this run has {ours}, and one model speaks for both in one way."
            f" Set {theirs} in this run, or name a run that was trained with this one's settings"
        )


def _setting(config: AnyConfig, key: str) -> Any:
    return attrgetter(key)(config)


def _written(config: AnyConfig, key: str) -> str:
    """A setting as it is typed behind ``key=``."""
    value = _setting(config, key)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value) if isinstance(value, str) else json.dumps(value)


def _chat(config: AnyConfig) -> str:
    """The chat format that is meant; one that is not named is the tokenizer's."""
    return chat_format(config.model, config.chat)[0]


def _adapter(run: TrainedRun, seed: int) -> Path:
    path = run.adapter(seed)
    if not path.is_dir():
        raise UsageError(
            f"co_player: there is no adapter {path}; the run has seeds {', '.join(map(str, run.config.seeds))}."
            f" Train on those, or name one of them for all seeds, as {run.path}:SEED"
        )
    return path
