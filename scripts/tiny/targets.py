"""What the embedded model is taught to answer: a distribution over the legal labels for every prompt.

Published are only Table 14's fifteen start and last-round prompts a game (``coplay.recipes.shapellm.table_14``). Everything else in this file
is an assumption of ours, and every assumption is a named constant. They are repeated in the model card.

Write l(p) for the logit of p. For a catalogue game, with x the reader's state (start, or the last joint action):

    start, last round    l(P(a1)) = l(Table 14)                                        labels listed in Table 14
                         l(P(a1)) = base_x + delta_x(label of a1) - delta_x(label of a2)   other labels
    counts, transcript   l(P(a1)) = (1 - rho) * [the line above] + rho * l(reciprocal_x) + slope * (share - 1/2)

where rho is the reciprocity, share is how often the co-player played a1 before the last round, and rho = 0 for games without a
reciprocal policy. The payoff format then adds a shift or, for the reversed list, replaces the policy. For other games the target is a mild
softmax of each action's mean payoff.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.memory import Observation
from coplay.recipes.shapellm.table_14 import STATES, TABLE_14, FirstActionProbs, LabelPair, state_index
from coplay.rng import stream

# --- Where the paper is silent -------------------------------------------------------------------------------------------

MAIN_LABELS: dict[str, LabelPair] = {
    "ipd": ("C", "D"),
    "imp": ("H", "T"),
    "icg": ("S", "G"),
    "ish": ("S", "H"),
    "c-ipd": ("C", "D"),
}
"""The labels of the paper's main experiments; they get the game's base policy, without a deviation of their own."""

CATALOGUE: dict[str, MatrixGame] = {name: matrix_game(name) for name in MAIN_LABELS}
"""The paper's games."""

MAIN_ROW: dict[str, LabelPair] = {"ipd": ("H", "K"), "c-ipd": ("H", "K")}
"""Games whose main labels start from one published row instead: section 5.1 says that play with C and D starts "from high initial
cooperation", so the IPD takes the most cooperative row."""

STAG_HUNT: FirstActionProbs = (0.45, 0.80, 0.35, 0.45, 0.20)
"""P(stag) in the stag hunt, which Table 14 leaves out: a cautious player that follows its co-player."""

SAME_POLICY = {"c-ipd": "ipd"}
"""Games without a row in Table 14 that borrow another game's rows."""

LABEL_DEVIATION = 0.45
"""Standard deviation, in logits, of the 26 letters' deltas in each of the five states."""

STATE_CORRELATION = 0.8
"""Correlation of a letter's deltas between states: a liked letter is liked in every state, as I/X and T/F are disliked in Table 14."""

DEVIATION_SEED = 14
"""The deltas are drawn once and for all, whatever the seed of the build."""

RECIPROCAL: dict[str, tuple[float, float, float, float]] = {
    "ipd": (0.88, 0.12, 0.85, 0.20),
    "c-ipd": (0.88, 0.12, 0.85, 0.20),
}
"""P(cooperate) after CC, CD, DC, DD, own action first, for a player that is shown counts and answers in kind."""

COUNT_SLOPE = 1.0
"""Change in logit as the co-player's share of a1 goes from 0 to 1: what makes the model read the counts."""

TABLE_SHIFT = 0.3
"""Shift in logit under the table format: the paper says that the policy changes, not how."""

REVERSED_FIRST = 0.98
"""P(a1) under the reversed format, where the paper reports almost deterministic policies."""

CUSTOM_SCALE = 1.0
"""Difference in logit between the best and the worst conceivable mean payoff, in games outside the catalogue."""

# -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PromptSpec:
    """Everything a prompt depends on."""

    game: MatrixGame
    """The rules."""
    seat: str
    """The reader."""
    labels: tuple[str, ...]
    """The reader's labels."""
    observation: Observation
    """What the reader is shown."""
    payoff_format: PayoffFormat = PayoffFormat.LIST
    """How the payoffs are set out."""


def target(spec: PromptSpec, *, reciprocity: float) -> tuple[float, ...]:
    """Target probability of each of the reader's labels.

    Args:
        spec: the prompt.
        reciprocity: rho in the module's formula, from 0 (as without counts) to 1 (reciprocal).
    """
    if spec.game.name not in MAIN_LABELS:
        return _custom(spec)
    logit = _last_round_logit(spec)
    seen = _earlier_rounds(spec)
    reciprocal = RECIPROCAL.get(spec.game.name)
    if seen is not None and reciprocal is not None:
        logit = (1 - reciprocity) * logit + reciprocity * _logit(reciprocal[seen[0] - 1])
    if spec.payoff_format is PayoffFormat.TABLE:
        logit += TABLE_SHIFT
    elif spec.payoff_format is PayoffFormat.REVERSED:
        logit = _logit(REVERSED_FIRST)
    if seen is not None:
        logit += COUNT_SLOPE * (seen[1] - 0.5)
    p = 1 / (1 + math.exp(-logit))
    return p, 1 - p


def base_logits(game: str) -> tuple[float, ...]:
    """The mean, in logits, of a game's published rows in each state."""
    if game == "ish":
        return tuple(_logit(p) for p in STAG_HUNT)
    rows = TABLE_14[SAME_POLICY.get(game, game)].values()
    return tuple(sum(_logit(row[i]) for row in rows) / len(rows) for i in range(len(STATES)))


@cache
def label_deltas() -> tuple[dict[str, float], ...]:
    """For each state, each capital letter's delta."""
    rng = stream(DEVIATION_SEED, "label deltas")
    common, own = rng.normal(size=26), rng.normal(size=(len(STATES), 26))
    numbers = LABEL_DEVIATION * (math.sqrt(STATE_CORRELATION) * common + math.sqrt(1 - STATE_CORRELATION) * own)
    return tuple({chr(ord("A") + i): float(row[i]) for i in range(26)} for row in numbers)


def _last_round_logit(spec: PromptSpec) -> float:
    name, last = spec.game.name, spec.observation.last
    if spec.observation.transcript:
        last = spec.observation.transcript[-1]
    state = state_index(spec.game, spec.seat, last)
    a1, a2 = spec.labels
    listed = TABLE_14.get(SAME_POLICY.get(name, name), {}).get((a1, a2))
    if listed is not None:
        return _logit(listed[state])
    base = base_logits(name)[state]
    if (a1, a2) == MAIN_LABELS[name]:
        return _logit(TABLE_14["ipd"][MAIN_ROW[name]][state]) if name in MAIN_ROW else base
    deltas = label_deltas()[state]
    return base + deltas[a1] - deltas[a2]


def _earlier_rounds(spec: PromptSpec) -> tuple[int, float] | None:
    """The reader's state and the co-player's share of a1 before the last round; None without counts or transcript."""
    game, seat, seen = spec.game, spec.seat, spec.observation
    if seen.counts is not None:
        last, counts = seen.last, dict(zip(game.own_states(seat), seen.counts, strict=True))
    elif seen.transcript:
        last, counts = seen.transcript[-1], dict(Counter(seen.transcript[:-1]))
    else:
        return None
    first = game.actions[game.other(seat)][0]
    total = sum(counts.values())
    share = sum(n for (_, theirs), n in counts.items() if theirs == first) / total if total else 0.5
    return state_index(game, seat, last), share


def _custom(spec: PromptSpec) -> tuple[float, ...]:
    game, seat = spec.game, spec.seat
    table = np.array(
        [[game.payoff(seat, own=a, other=b) for b in game.actions[game.other(seat)]] for a in game.actions[seat]]
    )
    spread = max(float(table.max() - table.min()), 1.0)
    return _softmax((CUSTOM_SCALE * table.mean(axis=1) / spread).tolist())


def _softmax(logits: Sequence[float]) -> tuple[float, ...]:
    top = max(logits)
    weights = [math.exp(x - top) for x in logits]
    return tuple(w / sum(weights) for w in weights)


def _logit(p: float) -> float:
    return math.log(p / (1 - p))
