"""What a seat knows as a list of numbers, for players that are networks. Any game has these; a game that knows better overrides them.

In order: the share of the episode's rounds that are over; for each of the last H rounds, the latest first, whether there was one, and a 1 for what
each seat did in it, the own seat first (all 0 where that could not be parsed); the own mean payoff m so far, as ``sign(m) log(1 + |m|)``; and in games
whose rounds are more than one choice, sixteen numbers of -1 and 1 that stand for what is known of the round in progress: phase, deal and acts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from coplay.games.memory import Observation
from coplay.games.records import Request

CODE_BITS = 16
"""Numbers that stand for the round in progress."""

Words = Sequence[tuple[str, Sequence[str]]]
"""Seats, the own one first, each with the words for what it can do."""


def names_of_features(words: Words, *, window: int, coded: bool) -> tuple[str, ...]:
    """The names of :func:`features_of`, in the same order.

    Args:
        words: the seats and what they can do.
        window: H.
        coded: whether there is a code for the round in progress.
    """
    rounds = [
        name
        for ago in range(1, window + 1)
        for name in (f"{ago} ago", *(f"{ago} ago {seat} {word}" for seat, own in words for word in own))
    ]
    return ("round", *rounds, "payoff", *(f"now {bit}" for bit in range(CODE_BITS if coded else 0)))


def features_of(request: Request, words: Words, *, rounds: int, window: int, coded: bool) -> tuple[float, ...]:
    """The numbers of a request; see the module.

    Args:
        request: what the seat is asked, with what its memory shows of the past.
        words: the seats and what they can do.
        rounds: T, rounds of an episode.
        window: H.
        coded: whether there is a code for the round in progress.
    """
    joints = _shown(request.observation)
    found = [request.now.number / rounds]
    for ago in range(1, window + 1):
        joint = joints[-ago] if ago <= len(joints) else (None,) * len(words)
        found.append(float(ago <= len(joints)))
        for did, (_, own) in zip(joint, words, strict=True):
            found += [float(did == word) for word in own]
    paid = [one.payoffs.get(request.seat) for one in request.past if one.payoffs is not None]
    known = [payoff for payoff in paid if payoff is not None]
    mean = sum(known) / len(known) if known else 0.0
    found.append(math.copysign(math.log1p(abs(mean)), mean))
    return (*found, *(_code(request) if coded else ()))


def _shown(observation: Observation) -> Sequence[tuple[str | None, ...]]:
    """The rounds that a memory shows, in order."""
    if observation.recent is not None:
        return observation.recent
    return () if observation.last is None else (observation.last,)


def _code(request: Request) -> list[float]:
    """Equal for equal knowledge of the round in progress, and unlike any other but for chance."""
    known = repr((request.phase.name, request.phase.turn, request.now.deal, request.now.acts))
    number = int.from_bytes(hashlib.blake2b(known.encode(), digest_size=CODE_BITS // 8).digest())
    return [1.0 if number >> bit & 1 else -1.0 for bit in range(CODE_BITS)]


def features_in_words(names: Sequence[str], features: Sequence[float]) -> str:
    """The features that are not 0, for a reader; ``start`` where all are."""
    named = zip(names, features, strict=True)
    return ", ".join(f"{name}: {value:.4g}" for name, value in named if value) or "start"
