"""Games of coplay as games of OpenSpiel, so that its algorithms run on them."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import product
from typing import Any

from coplay.adapters.openspiel.game import SpielGame
from coplay.adapters.openspiel.package import pyspiel
from coplay.games.catalogue import GameSpec, make_game
from coplay.games.normal_form import NormalFormGame


def as_pyspiel(game: GameSpec, *, rounds: int = 1) -> Any:
    """A game of coplay whose chance and choices can be listed, as a ``pyspiel.Game``.

    One round of a game of OpenSpiel is that game. One round of a game in normal form is a matrix game, or a tensor game with more than two seats. All else is a game in Python, registered as
    ``coplay_NAME(rounds=T)``: a chance node for each deal, a node for each phase. An action's number is its place among the choices, a player's that of
    its seat. The information state is all that a seat has seen. Every reply can be parsed.

    Args:
        game: the game, by name or object.
        rounds: T, rounds of an episode; returns are sums over them.

    Raises:
        UsageError: if OpenSpiel is not installed, the game cannot be listed, or it is too large to be gone through.

    Example:
        >>> from coplay.adapters.openspiel import as_pyspiel
        >>> as_pyspiel("kuhn").num_players()
        2
    """
    pyspiel()
    rules = make_game(game).lasting(rounds)
    if isinstance(rules, SpielGame) and rounds == 1:
        return rules.spiel
    if isinstance(rules, NormalFormGame) and rounds == 1:
        return _one_shot(rules)
    classes = import_module("coplay.adapters.openspiel.pyspiel_classes")
    return classes.registered(rules, f"coplay_{slug(rules.name)}", rounds)


def slug(name: str) -> str:
    """A name as OpenSpiel can read it in the string of a game."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _one_shot(game: NormalFormGame) -> Any:
    """The payoffs as OpenSpiel takes them: a table for each seat."""
    spiel = pyspiel()
    words = [list(game.actions[seat]) for seat in game.seats]
    name = f"coplay_{slug(game.name)}"
    joints = list(product(*words))
    tables = [[game.joint_payoffs(joint)[i] for joint in joints] for i in range(len(game.seats))]
    if len(game.seats) == 2:
        width = len(words[1])
        rows = [[table[start : start + width] for start in range(0, len(table), width)] for table in tables]
        return spiel.create_matrix_game(name, game.description, *words, *rows)
    return spiel.create_tensor_game(name, game.description, words, tables)
