"""Training states from checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.learners.base import DIVERGED
from coplay.runs.config_input import with_values
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build
from coplay.runs.state import TrainingState

if TYPE_CHECKING:
    from torch import Tensor


def restored(path: Path, changes: Mapping[str, object] | None = None) -> TrainingState:
    """The training state of a run as its latest checkpoint left it.

    Args:
        path: the run's directory.
        changes: settings that differ from the run's config, such as another game of the same seats; what was trained must fit.

    Raises:
        UsageError: if there is no checkpoint, or it does not fit.
    """
    run = RunDirectory.open(path)
    saved = run.load_checkpoint()
    if saved is None:
        raise UsageError(f"{path} has no checkpoint yet")
    state = build(with_values(run.config, changes) if changes else run.config)
    restore(state, run.states(saved), of=run)
    return state


def restore(state: TrainingState, states: Mapping[int, Mapping[str, Tensor]], *, of: RunDirectory) -> None:
    """Put a checkpoint's tensors into a state, if they are of its players: somebody may have edited the config."""
    for seed in sorted({*state.config.seeds, *states}):
        if DIVERGED in states.get(seed, {}):  # there is nothing more of it
            continue
        expected = state.state_dict(seed) if seed in state.config.seeds else {}
        found = states.get(seed, {})
        for name in sorted(expected.keys() | found.keys()):
            shapes = [_shape(one.get(name)) for one in (expected, found)]
            if shapes[0] != shapes[1]:
                raise UsageError(
                    f"{of.path / 'config.json'} does not fit the run's checkpoint: {name!r} of seed {seed} is {shapes[0]} in the one and"
                    f" {shapes[1]} in the other. Other seeds, players, adapters or past selves are another run: put the file back, or train"
                    " anew."
                )
    for seed, own in states.items():
        state.load_state_dict(seed, own)


def _shape(tensor: Tensor | None) -> object:
    """What is compared of an entry; texts, which are kept as bytes, have any length."""
    if tensor is None:
        return "none"
    return "a text" if tensor.element_size() == 1 else list(tensor.shape)
