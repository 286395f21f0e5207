"""The games of the papers, by name. Payoffs: ShapeLLM, appendix A.1, Tables 4 and 5."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from coplay.errors import unknown
from coplay.games.matrix import MatrixGame, game_from_dict, game_from_toml

_DILEMMA = ["cooperate", "defect"]

GAMES: dict[str, MatrixGame] = {
    game.name: game
    for game in (
        game_from_dict(
            {
                "name": "ipd",
                "description": "Iterated Prisoner's Dilemma: each does better by defecting, both do worse.",
                "actions": _DILEMMA,
                "payoffs": [[[3, 3], [0, 4]], [[4, 0], [1, 1]]],
            }
        ),
        game_from_dict(
            {
                "name": "imp",
                "description": "Iterated Matching Pennies: zero-sum; row wins when the pennies match.",
                "actions": ["heads", "tails"],
                "payoffs": [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]],
            }
        ),
        game_from_dict(
            {
                "name": "icg",
                "description": "Iterated Chicken Game: going straight pays against one who swerves, and ruins two who do not.",
                "actions": ["swerve", "go straight"],
                "labels": ["S", "G"],
                "payoffs": [[[2, 2], [1, 3]], [[3, 1], [-5, -5]]],
            }
        ),
        game_from_dict(
            {
                "name": "ish",
                "description": "Iterated Stag Hunt: the stag needs both hunters, the hare only one.",
                "actions": ["stag", "hare"],
                "labels": ["S", "H"],
                "payoffs": [[[4, 4], [0, 3]], [[3, 0], [1, 1]]],
            }
        ),
        game_from_dict(
            {
                "name": "c-ipd",
                "description": "Cooperative IPD: as the IPD, but row gets 6 for mutual cooperation.",
                "actions": _DILEMMA,
                "payoffs": [[[6, 3], [0, 4]], [[4, 0], [1, 1]]],
            }
        ),
    )
}
"""The catalogue. Null payoffs follow the paper's rule, one below the lowest payoff."""


def make_game(name: str | Path, *, besides: Iterable[str] = ()) -> MatrixGame:
    """Return the game of that name, or read it from a TOML file.

    Args:
        name: a name, or a path that ends in ``.toml``.
        besides: names of other games that could have been meant, for the error.

    Raises:
        UsageError: for an unknown name (with the nearest known one) or an unreadable file.
    """
    if str(name) in GAMES:
        return GAMES[str(name)]
    if str(name).endswith(".toml"):
        return game_from_toml(Path(name))
    raise unknown("game", str(name), [*GAMES, *besides])
