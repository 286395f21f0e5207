"""From OpenSpiel's string for a game to a game of coplay."""

from __future__ import annotations

import re
from typing import Any

from coplay.adapters.openspiel.game import SpielGame
from coplay.adapters.openspiel.package import openspiel_module, pyspiel
from coplay.errors import UsageError, suggestion
from coplay.games.base import Game
from coplay.games.matrix import game_from_dict

PREFIX = "openspiel"
"""What names of these games begin with, before a colon."""

_PYTHON = "python_"
"""How names of games begin that OpenSpiel has in Python."""

MOST_LABELS = 26
"""Actions of a matrix game, each of which has a letter."""


def openspiel_game(name: str) -> Game:
    """A game of OpenSpiel.

    Games of two seats that choose once, at the same time, are matrix games of coplay, with all that belongs to these: strategies by name, tables of
    payoffs, exact values. All others are :class:`coplay.adapters.openspiel.game.SpielGame`.

    Args:
        name: OpenSpiel's string for it, e.g. ``kuhn_poker`` or ``goofspiel(num_cards=4,imp_info=True)``.

    Raises:
        UsageError: if OpenSpiel is not installed, has no such game or parameter, or the game cannot be played here, saying why.
    """
    game = _loaded(name)
    _refuse(game, name)
    kind, types = game.get_type(), pyspiel().GameType
    one_shot = kind.information == types.Information.ONE_SHOT and kind.dynamics == types.Dynamics.SIMULTANEOUS
    if one_shot and game.num_players() == 2 and game.num_distinct_actions() <= MOST_LABELS:
        return _matrix_game(game)
    return SpielGame(f"{PREFIX}:{_written(game)}")


def _written(game: Any) -> str:
    """OpenSpiel's own string for a game."""
    return str(game).removesuffix("()")


def _loaded(name: str) -> Any:
    """The ``pyspiel.Game``; names and parameters are looked up first, as OpenSpiel prints its own errors."""
    spiel = pyspiel()
    short = re.split(r"[(:]", name, maxsplit=1)[0].strip()
    if short.startswith(_PYTHON):
        openspiel_module("open_spiel.python.games")
    kinds = {kind.short_name: kind for kind in spiel.registered_games()}
    if short not in kinds:
        raise UsageError(
            f"OpenSpiel has no game {short!r}.{suggestion(short, kinds)} All {len(kinds)}: python -c"
            " 'import pyspiel; print(pyspiel.registered_names())'"
        )
    known = kinds[short].parameter_specification
    try:
        given = spiel.game_parameters_from_string(name)
    except (spiel.SpielError, ValueError, RuntimeError):
        raise UsageError(
            f"game {PREFIX}:{name}: parameters are written as goofspiel(num_cards=4,imp_info=True)"
        ) from None
    for key in given:
        if key != "name" and key not in known:
            listed = f" Known: {', '.join(sorted(known))}." if known else " It has none."
            raise UsageError(f"game {PREFIX}:{short}: there is no parameter {key!r}.{suggestion(key, known)}{listed}")
    try:
        return spiel.load_game(name)
    except (spiel.SpielError, ValueError, RuntimeError) as error:
        raise UsageError(f"game {PREFIX}:{name}: {' '.join(str(error).split())}") from None


def _refuse(game: Any, name: str) -> None:
    """Raise UsageError for games that cannot be played by coplay's rules."""
    kind, types = game.get_type(), pyspiel().GameType
    why = None
    if kind.dynamics == types.Dynamics.MEAN_FIELD:
        why = "it has a distribution of players instead of players"
    elif kind.chance_mode == types.ChanceMode.SAMPLED_STOCHASTIC:
        why = (
            "OpenSpiel draws its chance itself and does not tell it, so that the same seed would not give the same game"
        )
    elif not (kind.provides_information_state_string or kind.provides_observation_string):
        why = "OpenSpiel has no text for what its players know"
    if why is not None:
        raise UsageError(f"game {PREFIX}:{name} cannot be played: {why}")


def _matrix_game(game: Any) -> Game:
    """The same payoffs as a matrix game."""
    start = game.new_initial_state()
    first, second = (
        [" ".join(start.action_to_string(player, action).split()) for action in start.legal_actions(player)]
        for player in (0, 1)
    )
    payoffs = []
    for row in start.legal_actions(0):
        cells = []
        for column in start.legal_actions(1):
            after = start.clone()
            after.apply_actions([row, column])
            cells.append([float(paid) for paid in after.returns()])
        payoffs.append(cells)
    described = f"{game.get_type().long_name}, the matrix game of OpenSpiel."
    spec = {"name": f"{PREFIX}:{_written(game)}", "description": described, "payoffs": payoffs}
    return game_from_dict({**spec, "actions": [first, second] if first != second else first})
