"""Random streams named by what they are for.

A stream depends on its name alone: (seed, purpose, indices...). Nothing is drawn from a shared generator, so results do not
depend on batching, on the order of players or on what ran before, and a resumed run needs no generator state.

Names of streams are a contract: docs/decisions.md.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt


def stream(seed: int, purpose: str, *path: int | str) -> np.random.Generator:
    """Open the stream called (seed, purpose, path...).

    Args:
        seed: the run's seed.
        purpose: what the numbers are for, e.g. ``"play"`` or ``"minibatch"``.
        path: further names, such as trial, episode, game and seat.

    Returns:
        A generator that yields the same numbers whenever it is opened under the same name.
    """
    name = "\x1f".join([str(seed), purpose, *map(str, path)])
    key = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(key, dtype=np.uint64)))


def draws(seed: int, purpose: str, *path: int | str, n: int) -> npt.NDArray[np.float64]:
    """Draw ``n`` uniform numbers in [0, 1) from the stream of that name."""
    return stream(seed, purpose, *path).random(n)


def stream_seed(seed: int, purpose: str, *path: int | str) -> int:
    """A 63-bit integer seed for libraries that want one (``torch.Generator.manual_seed``)."""
    return int(stream(seed, purpose, *path).integers(0, 2**63 - 1))
