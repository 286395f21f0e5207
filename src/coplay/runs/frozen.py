"""Frozen co-players: what a run has learnt, in the seat of another run. It replies as it did in its own run, or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path

from coplay.errors import UsageError
from coplay.evaluation.summary import told_of
from coplay.learners.config import LearnerConfig
from coplay.runs.config import Config
from coplay.runs.games import game_of
from coplay.runs.references import freeze_references
from coplay.runs.trained import TrainedLearner, parse_run, trained_learner

FrozenAdapters = Mapping[int, Path]
"""The adapter's directory by the learner's seed."""

RUN_SETTINGS = ("model", "four_bit", "chat", "chat_date", "payoff_format", "spacing")
"""The settings of a run that learner and frozen co-player share, as one model replies for both."""

ADAPTER_SETTINGS = ("adapter.rank", "adapter.alpha", "adapter.targets", "adapter.top_layers")
"""Those that they share as each has a slot of one bank; where one run's adapters have the form of its start, the adapters themselves are compared."""

LEARNER_SETTINGS = ("memory", "window", "max_tokens", "temperature", "fallback", "replies", "labels")
"""The settings of a learner that they share, for the same reason."""


def is_run(who: str) -> bool:
    """Whether a player's name is that of a run."""
    return parse_run(who) is not None


def frozen_adapters(config: Config) -> dict[str, FrozenAdapters]:
    """The adapters of all frozen co-players, by their names in the config.

    Raises:
        UsageError: if one is a run of another game, not finished or lacks a seed, or replied otherwise than the learner does.
    """
    names = dict.fromkeys(one for seat in config.seats for one in config.sits_in(seat) if one not in config.learners)
    return {name: _adapters(config, name) for name in names if is_run(name)}


def _adapters(config: Config, who: str) -> FrozenAdapters:
    try:
        own = trained_learner(who, game_of(config))
    except UsageError as error:
        raise UsageError(f"seats: {error}") from None
    if own.is_table:
        raise UsageError(
            f"seats: {who} is a {own.config.learners[own.learner].policy.replace('tabular', 'table')}; only language models can sit frozen in another run"
        )
    _refuse_other_settings(config, own)
    run = parse_run(who)
    named = None if run is None else run.seed  # one that is named plays with all seeds, else each seed has its own
    return {seed: _adapter(own, seed if named is None else named) for seed in config.seeds}


def _refuse_other_settings(config: Config, own: TrainedLearner) -> None:
    ours = freeze_references(config)  # paths as the run's own config has them
    models = [name for name, learner in ours.learners.items() if learner.policy == "language_model"]
    if not models:
        raise UsageError(f"seats: {own.spec} is a language model; a run of tables alone has no model to seat it with")
    by_start = ours.has_form_of_start or own.config.has_form_of_start
    keys = RUN_SETTINGS if by_start else (*RUN_SETTINGS, *ADAPTER_SETTINGS)
    pairs = [(key, _get(ours, key), _get(own.config, key)) for key in keys]
    mine, theirs = ours.learners[models[0]], own.config.learners[own.learner]
    pairs += [(f"learners.{models[0]}.{key}", _get(mine, key), _get(theirs, key)) for key in LEARNER_SETTINGS]
    differing = [(key, a, b) for key, a, b in pairs if a != b]
    if [key for key, *_ in differing] == ["chat"] and _chat(ours) == _chat(own.config):
        return
    if differing:
        wanted = " ".join(f"{key}={_written(b)}" for key, _, b in differing)
        here = " ".join(f"{key}={_written(a)}" for key, a, _ in differing)
        raise UsageError(
            f"seats: {own.path} was trained with {wanted}, but this run has {here}, and one model replies for both in one way."
            f" Set {wanted} in this run, or name a run that was trained with this one's settings"
        )


def _get(section: Config | LearnerConfig, key: str) -> object:
    found: object = attrgetter(key)(section)
    return found


def _written(value: object) -> str:
    """A setting as it is typed behind ``key=``."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value) if isinstance(value, str) else json.dumps(value)


def _chat(config: Config) -> str:
    """The chat format that is meant; one that is not named is the model's own."""
    from coplay.models.talking import model_chat

    return model_chat(config.model, config.chat, choices=True).format


def _adapter(own: TrainedLearner, seed: int) -> Path:
    path = own.adapter(seed)
    if seed in own.diverged:
        raise UsageError(f"seats: {own.spec}: {told_of(seed, own.diverged[seed])}. Name another of its seeds for all")
    if not path.is_dir():
        raise UsageError(
            f"seats: there is no adapter {path}; the run has seeds {', '.join(map(str, own.config.seeds))}."
            f" Train on those, or name one of them for all seeds, as {own.path}:{own.learner}:SEED"
        )
    return path
