"""Checkpoints of version 1, translated: they stacked all seeds of a run, and all adapters of its bank, in one tensor each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from coplay.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.runs.config import Config

_RENAMED = {"heads": "head", "seed_state": "progress"}
"""Tensors that were called otherwise."""

_OF_SLOTS = ("policy_adam.", "adam.")
"""How tensors begin that have a row for each slot of the bank; the others have one for each seed."""


def is_version_1(tensors: Mapping[str, Tensor]) -> bool:
    """Whether a checkpoint's tensors are of version 1; later ones begin with their seed."""
    return not all(name.partition("/")[0].isdecimal() for name in tensors)


def translated_checkpoint(tensors: Mapping[str, Tensor], config: Config) -> dict[int, dict[str, Tensor]]:
    """A checkpoint of version 1 as :meth:`coplay.runs.state.TrainingState.state_dict` has it today, by seed.

    Args:
        tensors: all that the checkpoint holds.
        config: the run's config, in today's words.

    Raises:
        UsageError: if it is one of other seeds or adapters than the config describes.
    """
    from coplay.runs.state import PAST

    models = [name for name, learner in config.learners.items() if learner.policy == "language_model"]
    past = range(config.past_selves.pool_size if config.past_selves.probability > 0 else 0)
    in_bank = [*models, *(f"{PAST}-{place}" for place in past)]
    seeds = len(config.seeds)
    for key, value in tensors.items():
        enough = (
            len(value) >= len(in_bank) * seeds if key.startswith("bank.") else value.ndim == 0 or len(value) == seeds
        )
        if not enough and not any(f".{of_slots}" in key for of_slots in _OF_SLOTS):
            raise UsageError(
                f"config.json does not fit the run's checkpoint, which is of version 1: {key!r} is of {len(value)} seeds or adapters."
                " Put the file back, or train anew"
            )
    states: dict[int, dict[str, Tensor]] = {}
    for position, seed in enumerate(config.seeds):
        state = states[seed] = {}
        for i, name in enumerate(in_bank):
            slot = i * seeds + position
            prefix = f"{name}/policy." if name in models else f"{name}/"
            state |= {prefix + key[5:]: value[slot] for key, value in tensors.items() if key.startswith("bank.")}
        for name in config.learners:
            own = {key[len(name) + 1 :]: value for key, value in tensors.items() if key.startswith(f"{name}.")}
            slot = in_bank.index(name) * seeds + position if name in models else position
            for key, value in own.items():
                row = slot if key.startswith(_OF_SLOTS) else position
                state[f"{name}/{_key(key, own)}"] = value if value.ndim == 0 else value[row]
    return states


def _key(key: str, own: Mapping[str, Tensor]) -> str:
    """What a learner calls a tensor of its own now; a table's name depends on who learns it."""
    if key == "policy":
        return "policy.theta" if "heads" in own else "values" if "updates" in own else "theta"
    return _RENAMED.get(key, key)
