"""Building what a config describes, of whatever kind; all that can be wrong with it is found before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from coplay.arena import build, check_words
from coplay.errors import UsageError
from coplay.models.loading import model_path
from coplay.rounds.config import AnyConfig, RoundConfig

if TYPE_CHECKING:
    from coplay.arena import Arena
    from coplay.rounds.arena import RoundArena

AnyArena: TypeAlias = "Arena | RoundArena"
"""What a config of whatever kind describes, built."""


def build_any(config: AnyConfig) -> AnyArena:
    """Build what a config describes, of whatever kind. All that can be wrong with it is found here, before anything is written."""
    if isinstance(config, RoundConfig):
        from coplay.rounds.arena import build_rounds

        return build_rounds(config)
    return build(config)


def check_all(configs: Mapping[str, AnyConfig]) -> None:
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
                build_any(config)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        loaded.add(weights)


def check_without_weights(config: AnyConfig) -> None:
    """Find what is wrong with a config as far as it shows without the model's weights: the game, the seats, labels that are no single tokens.

    Raises:
        UsageError: saying which.
    """
    if isinstance(config, RoundConfig):
        from coplay.rounds.frozen import frozen_run

        frozen_run(config)
        model_path(config.model)
    else:
        check_words(config)
