"""``coverage``: the attack knows all there is to attack. What is declared or written anew and not attacked is a fall."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import PurePosixPath

from attack import words
from attack.kinds.cli import GOOD
from attack.kinds.damage import NEEDS, kind_in, produced_kinds
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop
from coplay.files.kinds import KINDS

UNDECLARED = (".lock",)
"""Files without content, which need no kind."""

ON_A_CLUSTER = ("result.json",)
"""Files that only tasks on a cluster write, which no product is made by: ``tests/tasks`` damages them."""


@kind(
    "coverage",
    "every verb, every declared kind of file and every file that is written is attacked",
    most=3,
    short=3,
    needs=NEEDS,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Three comparisons."""
    yield Try("every verb has a command line to attack", _verbs)
    yield Try("every declared kind of file is made by some product", _kinds)
    yield Try("every file of every product is of a declared kind", _files)


def _verbs(place: Place) -> list[Fall]:
    return [
        Fall("attack", f"{verb} has no command line in attack/kinds/cli.py")
        for verb in words.verbs()
        if verb not in GOOD
    ]


def _kinds(place: Place) -> list[Fall]:
    made = produced_kinds(place.workshop)
    missing = [one for one in KINDS if one not in made and one.pattern not in ON_A_CLUSTER]
    return [Fall("attack", f"no product has a {one.owner}'s {one.pattern}") for one in missing]


def _files(place: Place) -> list[Fall]:
    odd = {
        f"{product}: {name}"
        for product in NEEDS
        for name in place.workshop.files(product)
        if kind_in(product, name) is None and PurePosixPath(name).name not in UNDECLARED
    }
    return [Fall("attack", f"{name} is of no declared kind") for name in sorted(odd)]
