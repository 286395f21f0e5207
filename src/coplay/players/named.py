"""Players by name: scripted ones, endpoints, and your own. What runs have learnt is :mod:`coplay.runs.trained`'s business."""

from __future__ import annotations

from collections.abc import Callable

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.records import Action, Request
from coplay.players.base import Player
from coplay.players.model_player import DESCRIPTIONS, model_player, names_model
from coplay.players.own import as_player
from coplay.players.scripted import PLAYERS, games_with, is_script, make_script
from coplay.text.rendering import join
from coplay.user_code import load_any

ENDPOINT = ".toml"
"""How the name of an endpoint ends: it is the file that has its settings."""


def is_endpoint(spec: str) -> bool:
    """Whether a spec names an endpoint's file."""
    return spec.endswith(ENDPOINT)


def make_player(spec: str | Player | Callable[[Request], Action], game: Game, seat: str) -> Player:
    """The player that a name or an object stands for, in one seat of a game.

    Args:
        spec: a scripted player's name such as ``tit_for_tat`` or ``random:0.7``; an endpoint's ``FILE.toml``; a
            language model, ``smollm2`` or ``hf:MODEL[+ADAPTER]``; ``MODULE:NAME``, a player, a class of
            players or a function of your own; or the player or the function itself. A function gets a request and returns an action.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: for an unknown name or seat, or an object that is no player.
    """
    if seat not in game.seats:
        raise unknown("seat", seat, game.seats)
    if not isinstance(spec, str):
        return as_player(spec, game, seat)
    if is_script(spec, game):
        return make_script(spec, game, seat)
    if is_script(spec):
        raise UsageError(
            f"player {spec!r} is for {join(games_with(spec), 'or')}, not for game {game.name!r}; see --game"
        )
    if is_endpoint(spec):
        from coplay.players.endpoint import endpoint_from

        return endpoint_from(spec, game)
    if names_model(spec):
        return model_player(spec, game, seat)
    if ":" in spec:
        return as_player(load_any(spec), game, seat, name=spec)
    raise unknown("player", spec, [*game.strategies, *PLAYERS, *DESCRIPTIONS], listed="players")
