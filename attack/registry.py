"""Kinds of attack, which declare themselves."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from attack.outcome import Fall
from attack.place import Place
from attack.workshop import Workshop


@dataclass(frozen=True)
class Try:
    """One attempt to make coplay fall."""

    title: str
    """What is done, in a line that tells it from all others."""
    run: Callable[[Place], list[Fall]]
    """Does it in a directory of its own; returns what fell."""


Tries = Callable[[random.Random, Workshop], Iterator[Try]]
"""The tries of a kind, in an order that the random numbers settle; endless or not."""


@dataclass(frozen=True)
class Kind:
    """One kind of attack."""

    name: str
    """As in ``--kind NAME``."""
    sentence: str
    """What it does."""
    tries: Tries
    """Its tries."""
    most: int
    """How many of them are run if nothing else is said."""
    short: int
    """How many in the short form."""
    needs: tuple[str, ...]
    """The products that it attacks."""

    def chosen(self, seed: int, workshop: Workshop, number: int) -> list[Try]:
        """The first so many tries: the same for a seed, however many are asked for."""
        return list(islice(self.tries(random.Random(f"{seed}/{self.name}"), workshop), number))


KINDS: dict[str, Kind] = {}
"""All kinds, by name."""


def kind(name: str, sentence: str, *, most: int, short: int = 2, needs: Sequence[str] = ()) -> Callable[[Tries], Tries]:
    """Declare a kind of attack by its generator of tries."""

    def declare(tries: Tries) -> Tries:
        KINDS[name] = Kind(name, sentence, tries, most, short, tuple(needs))
        return tries

    return declare


def all_kinds() -> dict[str, Kind]:
    """Every kind in ``attack/kinds``: a new file there is a new kind."""
    import attack.kinds

    for module in pkgutil.iter_modules(attack.kinds.__path__):
        importlib.import_module(f"attack.kinds.{module.name}")
    return KINDS
