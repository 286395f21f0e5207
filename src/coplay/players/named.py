"""Players by name: scripted ones, endpoints, and your own. What runs have learnt is :mod:`coplay.runs.trained`'s business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from coplay.errors import CoplayError, unknown
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request
from coplay.players.base import Player
from coplay.players.model_player import DESCRIPTIONS, model_player, names_model
from coplay.players.scripted import PLAYERS, is_script, make_script
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
    if is_script(spec):
        return make_script(spec, game, seat)
    if is_endpoint(spec):
        from coplay.players.endpoint import endpoint_from

        return endpoint_from(spec, game)
    if names_model(spec):
        return model_player(spec, game, seat)
    if ":" in spec:
        return as_player(load_any(spec), game, seat, name=spec)
    raise unknown("player", spec, [*PLAYERS, *DESCRIPTIONS], listed="players")


def as_player(found: Any, game: Game, seat: str, *, name: str | None = None) -> Player:
    """A player as it is; a class of players, made for this game and seat; a function that chooses actions, as a player.

    Raises:
        CoplayError: for anything else.
    """
    if isinstance(found, type):
        found = _made(found, game, seat)
    if callable(getattr(found, "act", None)):
        for attribute in ("name", "memory"):
            if not hasattr(found, attribute):
                raise CoplayError(f"player {name or found!r} has no attribute {attribute!r}; see coplay.Player")
        player: Player = found
        return player
    if callable(found):
        return FunctionPlayer(name or str(getattr(found, "__name__", "function")), game, found)
    raise CoplayError(
        f"{name or found!r} is of type {type(found).__name__}; a player has a method act(requests), or is a function"
    )


def _made(kind: type[Any], game: Game, seat: str) -> Any:
    """An instance, with the game and the seat if its constructor takes them."""
    import inspect

    wanted = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in {"game": game, "seat": seat}.items() if key in wanted})


@dataclass(frozen=True)
class FunctionPlayer:
    """A function from a request to an action, as a player.

    Example:
        >>> from coplay.games import make_game
        >>> def copycat(request):
        ...     return request.past[-1].actions("action")["column"] if request.past else "cooperate"
        >>> make_player(copycat, make_game("ipd"), "row").name
        'copycat'
    """

    name: str
    """What to call it in tables."""
    game: Game
    """The game that is played."""
    function: Callable[[Request], Action]
    """Chooses the action."""
    memory: Memory = Memory.TRANSCRIPT
    """It is shown the whole episode."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        try:
            action = self.function(request)
        except Exception as error:  # whatever the user's code raises
            raise CoplayError(
                f"player {self.name!r} failed in round {request.now.number + 1}: {type(error).__name__}: {error}"
            ) from error
        choices = self.game.choices(request)
        if choices is not None and action not in choices:
            listed = ", ".join(self.game.show(choice) for choice in choices)
            raise CoplayError(
                f"player {self.name!r} returned {action!r} in phase {request.phase.name!r}; legal are {listed}"
            )
        try:
            text = self.game.render_action(request, action)
        except Exception as error:
            raise CoplayError(
                f"player {self.name!r} returned {action!r}, which is no action of phase {request.phase.name!r} in {self.game.name!r}"
            ) from error
        if self.game.parse_action(request, text) is None:
            raise CoplayError(
                f"player {self.name!r} returned {action!r}, which is no legal action of phase {request.phase.name!r} in {self.game.name!r}"
            )
        return Reply(text, action)
