"""Initial policies as published: ShapeLLM, appendix A.6, Table 14.

The table gives gemma-2-2b-it's probability of playing the first action, a1 (cooperate, heads, swerve), for three pairs of action
labels a game, under the five prompts a naive learner meets. The other two catalogue games have no row in it, and it says nothing of
prompts with counts.
"""

from __future__ import annotations

from coplay.games.matrix import MatrixGame
from coplay.games.memory import Joint

LabelPair = tuple[str, str]
"""The labels of a1 and a2."""

STATES = ("start", "a1a1", "a1a2", "a2a1", "a2a2")
"""The five prompts: no previous round, then the last joint action with the reader's own action first."""

FirstActionProbs = tuple[float, float, float, float, float]
"""P(a1) in each of :data:`STATES`."""

TABLE_14: dict[str, dict[LabelPair, FirstActionProbs]] = {
    "ipd": {
        ("H", "K"): (0.60, 0.89, 0.89, 0.70, 0.68),
        ("N", "Y"): (0.68, 0.38, 0.87, 0.58, 0.77),
        ("I", "X"): (0.12, 0.21, 0.75, 0.34, 0.24),
    },
    "imp": {
        ("S", "Y"): (0.71, 0.78, 0.87, 0.57, 0.70),
        ("N", "Y"): (0.48, 0.32, 0.60, 0.56, 0.66),
        ("N", "M"): (0.30, 0.20, 0.36, 0.13, 0.18),
    },
    "icg": {
        ("T", "K"): (0.61, 0.90, 0.87, 0.82, 0.82),
        ("N", "M"): (0.41, 0.40, 0.71, 0.37, 0.61),
        ("T", "F"): (0.24, 0.47, 0.47, 0.02, 0.11),
    },
}
"""Game name -> label pair -> P(a1) in each of :data:`STATES`. The paper picked the pairs so that the mean over the five prompts lies
near 0.75, 0.5 and 0.25 (Table 13); it prints two decimals."""


def state_index(game: MatrixGame, seat: str, last: Joint | None) -> int:
    """Position in :data:`STATES` of the prompt that shows ``last`` to ``seat``.

    Args:
        game: a game with two actions a seat.
        seat: the reader.
        last: the last joint action, (own, co-player's), or None before the first round.
    """
    return 0 if last is None else 1 + game.own_states(seat).index(last)
