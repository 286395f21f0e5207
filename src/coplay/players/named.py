"""Players by name: scripted ones, endpoints, and your own. What runs have learnt is :mod:`coplay.runs.trained`'s business."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.records import Action, Request
from coplay.players.base import Player
from coplay.players.model_player import DESCRIPTIONS, MAX_TOKENS, is_model_directory, model_player, names_model
from coplay.players.own import as_player
from coplay.players.personas import SERVER, persona_text, refuse_persona, split_persona
from coplay.players.scripted import (
    EARLIER_NAMES,
    OTHER_LIBRARIES,
    PLAYERS,
    games_with,
    is_script,
    make_script,
    of_other_library,
)
from coplay.players.simulator import names_simulator, simulator
from coplay.text.rendering import join
from coplay.user_code import load_any

PlayerSpec = str | Player | Callable[[Request], Action]
"""What names a player: a name as on the command line, a player, or a function from a request to an action."""

ENDPOINT = ".toml"
"""How the name of an endpoint ends: it is the file that has its settings."""


def is_endpoint(spec: str) -> bool:
    """Whether a spec names an endpoint, by its file or its URL, perhaps with a persona."""
    return spec.startswith(SERVER) or spec.endswith(ENDPOINT) or split_persona(spec)[0].endswith(ENDPOINT)


def with_persona(spec: str) -> tuple[str, str | None]:
    """A player's name without its persona, and the persona's name; None if it has none.

    Raises:
        UsageError: for a player that can have no persona.
    """
    player, persona = split_persona(spec)
    if persona is None or of_other_library(spec) or spec.endswith(ENDPOINT) or names_simulator(spec):
        return spec, None
    if is_endpoint(player):
        return player, persona
    if names_model(player):
        return (spec, None) if is_model_directory(spec) else (player, persona)
    if (is_script(player) and not spec.startswith("always:")) or (":" in player and not is_script(player)):
        raise refuse_persona(player, persona)
    return spec, None


def check_personas(specs: Iterable[object]) -> None:
    """Refuse personas that cannot be read, or of players that can have none, before any player is loaded; raises UsageError."""
    for spec in specs:
        if isinstance(spec, str):
            _, persona = with_persona(spec)
            if persona is not None:
                persona_text(persona, spec)


def make_player(spec: PlayerSpec, game: Game, seat: str, *, max_tokens: int | None = None) -> Player:
    """The player that a name or an object stands for, in one seat of a game.

    Args:
        spec: a scripted player's name such as ``tit_for_tat`` or ``random:0.7``; another library's strategy, ``axelrod:NAME``; an endpoint, ``FILE.toml`` or ``openai:MODEL@URL``; a
            language model, ``smollm2`` or ``hf:MODEL[+ADAPTER]``; either of these with ``@PERSONA``; ``simulator:FILE[@PERSONA]``; ``MODULE:NAME``, a player, a class of
            players or a function of your own; or the player or the function itself. A function gets a request and returns an action.
        game: the game to be played.
        seat: the seat to be filled.
        max_tokens: tokens that a reply in text of a language model may have; None for the usual number. Endpoints' files say it themselves.

    Raises:
        UsageError: for an unknown name, persona or seat, or an object that is no player.
    """
    if seat not in game.seats:
        raise unknown("seat", seat, game.seats)
    if not isinstance(spec, str):
        return as_player(spec, game, seat)
    if of_other_library(spec):
        library, _, name = spec.partition(":")
        made: Player = getattr(import_module(OTHER_LIBRARIES[library]), f"{library}_player")(name, game, seat)
        return made
    if is_script(spec, game):
        with_persona(spec)
        return make_script(spec, game, seat)
    if is_script(spec):
        raise UsageError(
            f"player {spec!r} is for {join(games_with(spec), 'or')}, not for game {game.name!r}; see --game"
        )
    if names_simulator(spec):
        return simulator(spec, game, seat)
    player, persona = with_persona(spec)
    system = None if persona is None else persona_text(persona, spec)
    if is_endpoint(player):
        from coplay.players.endpoint import endpoint_from

        return endpoint_from(player, game, persona=persona, system=system)
    if names_model(player):
        return model_player(player, game, seat, persona=persona, system=system, max_tokens=max_tokens or MAX_TOKENS)
    if ":" in spec:
        return as_player(load_any(spec), game, seat, name=spec)
    if spec in EARLIER_NAMES:
        raise UsageError(f"player {spec!r} is called {EARLIER_NAMES[spec]!r} now")
    if spec.startswith(("./", "../", "/", "~")) and not Path(spec).expanduser().exists():
        raise UsageError(f"there is no {spec} to be a player; see coplay list players for other kinds")
    raise unknown("player", spec, [*game.strategies, *PLAYERS, *DESCRIPTIONS], listed="players")
