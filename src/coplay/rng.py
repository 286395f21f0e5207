"""Random streams named by what they are for.

A stream depends on its name alone: (seed, purpose, indices...). Nothing is drawn from a shared generator, so results do not
depend on batching, on the order of players or on what ran before, and a resumed run needs no generator state.

Names of streams are a contract: docs/decisions.md.
"""

from __future__ import annotations

import hashlib
import threading

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
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose, path)))


def _key(seed: int, purpose: str, path: tuple[int | str, ...]) -> npt.NDArray[np.uint64]:
    """What a name is for the generator."""
    name = "\x1f".join([str(seed), purpose, *map(str, path)])
    return np.frombuffer(hashlib.blake2b(name.encode(), digest_size=16).digest(), dtype=np.uint64)


class _Reused(threading.local):
    """A generator that is put to the beginning of one stream after the other: ten times as fast as a new one for each. One a thread."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.generator = np.random.Generator(self.bits)
        self.fresh = self.bits.state

    def at(self, key: npt.NDArray[np.uint64]) -> np.random.Generator:
        """The generator at the beginning of a stream."""
        self.bits.state = {**self.fresh, "state": {**self.fresh["state"], "key": key}}
        return self.generator


_reused = _Reused()


def draws(seed: int, purpose: str, *path: int | str, n: int) -> npt.NDArray[np.float64]:
    """Draw ``n`` uniform numbers in [0, 1) from the stream of that name."""
    return _reused.at(_key(seed, purpose, path)).random(n)


def stream_seed(seed: int, purpose: str, *path: int | str) -> int:
    """A 63-bit integer seed for libraries that want one (``torch.Generator.manual_seed``)."""
    return int(stream(seed, purpose, *path).integers(0, 2**63 - 1))
