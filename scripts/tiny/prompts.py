"""The prompts the embedded model is taught on: drawn fresh each step, written by the games themselves."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from coplay.games import MatrixGame
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.matrix import COLUMN, ROW, SEATS
from coplay.games.memory import Joint, Observation
from coplay.recipes.shapellm.table_14 import STATES, TABLE_14, LabelPair
from coplay.text.chat import gemma
from tiny.targets import CATALOGUE, MAIN_LABELS, SAME_POLICY, PromptSpec

T = TypeVar("T")

LETTERS = tuple(string.ascii_uppercase)
ALL_PAIRS: tuple[LabelPair, ...] = tuple((a, b) for a in LETTERS for b in LETTERS if a != b)

KNOWN_PAIRS: dict[str, list[LabelPair]] = {
    name: [*TABLE_14.get(SAME_POLICY.get(name, name), {}), main] for name, main in MAIN_LABELS.items()
}
"""The label pairs that the paper names for each game, the main one last."""

# Shares of a batch. What is left of 1 is a catalogue game with any two capitals as labels.
FIVE_PROMPTS_SHARE = 0.12
"""The naive learner's five prompts with labels of the paper, so Table 14's own among them."""
KNOWN_PAIR_SHARE = 0.18
"""Labels of the paper, half of them the main ones, and any observation."""
CUSTOM_SHARE = 0.10
"""Games outside the catalogue."""

OBSERVATIONS = {"start": 0.15, "last": 0.35, "counts": 0.40, "transcript": 0.10}
PAYOFF_FORMATS = {PayoffFormat.LIST: 0.80, PayoffFormat.TABLE: 0.10, PayoffFormat.REVERSED: 0.10}
SIZES = (*[(2, 2)] * 6, (2, 3), (3, 2), (3, 3), (3, 3), (2, 4), (4, 2), (3, 4), (4, 3), (4, 4))
LONGEST_TRANSCRIPT = 20
USUAL_TOTAL, LARGEST_TOTAL = 200, 600
"""Rounds counted: log-uniform up to the first (two trials of the paper), now and then up to the second."""


def text(spec: PromptSpec) -> str:
    """The prompt, as a model with Gemma's chat format reads it."""
    parts = spec.game.prompt_parts(spec.seat, spec.observation, labels=spec.labels, payoff_format=spec.payoff_format)
    return gemma(parts)


def sample(rng: np.random.Generator) -> PromptSpec:
    """Draw what one prompt depends on from the training mixture."""
    kind = rng.random()
    seat = _pick(rng, SEATS)
    if kind < CUSTOM_SHARE:
        game, labels = _custom_game(rng)
        return _observed(rng, game, seat, labels or game.labels[seat])
    name = _pick(rng, list(MAIN_LABELS))
    if kind < CUSTOM_SHARE + FIVE_PROMPTS_SHARE:
        return _pick(rng, five_prompts(CATALOGUE[name], _pick(rng, KNOWN_PAIRS[name]), seat))
    if kind < CUSTOM_SHARE + FIVE_PROMPTS_SHARE + KNOWN_PAIR_SHARE:
        labels = MAIN_LABELS[name] if rng.random() < 0.5 else _pick(rng, KNOWN_PAIRS[name])
    else:
        labels = _pick(rng, ALL_PAIRS)
    return _observed(rng, CATALOGUE[name], seat, labels)


def five_prompts(game: MatrixGame, labels: LabelPair, seat: str = ROW) -> list[PromptSpec]:
    """The prompts of a naive learner: the start, and each last joint action."""
    return [_published(game, seat, labels, state) for state in range(len(STATES))]


def random_counts(rng: np.random.Generator, states: int) -> tuple[int, ...]:
    """Counts as play produces them, from evenly spread to all in one state."""
    ceiling = USUAL_TOTAL if rng.random() < 0.95 else LARGEST_TOTAL
    total = int(np.exp(rng.uniform(0, np.log(ceiling + 1))))
    shape = rng.random()
    if shape < 0.12:
        shares = np.eye(states)[rng.integers(states)]
    elif shape < 0.30 and states == 4:  # two independent players, so that the co-player's share is spread evenly
        own, theirs = rng.random(2)
        shares = np.array([own * theirs, own * (1 - theirs), (1 - own) * theirs, (1 - own) * (1 - theirs)])
    else:
        shares = rng.dirichlet(np.full(states, np.exp(rng.uniform(np.log(0.1), np.log(3)))))
    return tuple(int(n) for n in rng.multinomial(max(total, 1), shares))


def random_transcript(rng: np.random.Generator, states: Sequence[Joint]) -> tuple[Joint, ...]:
    """One to twenty rounds, from evenly spread to repetitive."""
    shares = rng.dirichlet(np.full(len(states), np.exp(rng.uniform(np.log(0.2), np.log(3)))))
    rounds = rng.choice(len(states), size=int(rng.integers(1, LONGEST_TRANSCRIPT + 1)), p=shares)
    return tuple(states[i] for i in rounds)


def _published(game: MatrixGame, seat: str, labels: LabelPair, state: int) -> PromptSpec:
    last = None if state == 0 else game.own_states(seat)[state - 1]
    return PromptSpec(game, seat, labels, Observation(last=last))


def _observed(rng: np.random.Generator, game: MatrixGame, seat: str, labels: tuple[str, ...]) -> PromptSpec:
    states = game.own_states(seat)
    kind = _weighted(rng, OBSERVATIONS)
    if kind == "start":
        observation = Observation()
    elif kind == "transcript":
        observation = Observation(transcript=random_transcript(rng, states))
    else:
        last = states[rng.integers(len(states))]
        observation = Observation(last=last, counts=random_counts(rng, len(states)) if kind == "counts" else None)
    return PromptSpec(game, seat, labels, observation, _weighted(rng, PAYOFF_FORMATS))


def _custom_game(rng: np.random.Generator) -> tuple[MatrixGame, tuple[str, ...] | None]:
    """A random game of two to four actions a seat, and the reader's labels where both seats share their actions."""
    n, m = _pick(rng, SIZES)
    values = rng.integers(-9, 10, size=(n, m, 2)).astype(float)
    if rng.random() < 0.15:
        values = values / 2 if rng.random() < 0.5 else np.round(values * rng.random(), 1)
    if rng.random() < 0.3:
        values = np.abs(values)
    shared = n == m and rng.random() < 0.7
    if shared and rng.random() < 0.6:
        values[..., 1] = values[..., 0].T
    names = {ROW: tuple(f"row {i}" for i in range(n)), COLUMN: tuple(f"column {j}" for j in range(m))}
    if shared:
        names[COLUMN] = names[ROW]
    labels = {seat: tuple(rng.choice(LETTERS, size=len(names[seat]), replace=False).tolist()) for seat in SEATS}
    table = tuple(tuple((float(a), float(b)) for a, b in row) for row in values.tolist())
    game = MatrixGame("custom", "A random game.", names, labels, table, null_payoff=-10.0)
    return game, labels[ROW] if shared else None


def _pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def _weighted(rng: np.random.Generator, options: dict[T, float]) -> T:
    mark = rng.random() * sum(options.values())
    for option, weight in options.items():
        mark -= weight
        if mark < 0:
            return option
    return option
