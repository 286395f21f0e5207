"""Players of one's own: functions, classes and objects. An error of theirs is one line that names the player and the seat."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from coplay.errors import CoplayError, UsageError
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request
from coplay.players.base import OneByOne, Player, PlayerWrapper, player_error
from coplay.user_code import one_line


def as_player(found: object, game: Game, seat: str, *, name: str | None = None) -> Player:
    """A player as it is; a class of players, made for this game and seat; a function that chooses actions, as a player.

    Args:
        found: the player, class or function.
        game: the game to be played.
        seat: the seat to be filled.
        name: what a person called it, e.g. ``my_players:Copycat``; its replies are then checked one by one. None for an object from Python.

    Raises:
        UsageError: for anything else, or a class that cannot be made.
    """
    if isinstance(found, type):
        found = _made(found, game, seat, name or found.__name__)
    if callable(getattr(found, "act", None)):
        return _checked(found, game, name)
    if callable(found):
        function = cast(Callable[[Request], Action], found)
        return FunctionPlayer(name or str(getattr(found, "__name__", "function")), game, function)
    raise UsageError(
        f"{name or repr(found)} is of type {type(found).__name__}; a player has a method act(requests), or is a function"
    )


def _made(kind: type[object], game: Game, seat: str, name: str) -> object:
    """An instance, with the game and the seat if its constructor takes them."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:
        raise UsageError(f"{name} is the class {kind.__name__}, which is no player") from None
    given = {"game": game, "seat": seat}
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    unknown = [one.name for one in named if one.default is one.empty and one.name not in given]
    if unknown:
        raise UsageError(
            f"player {name}: its constructor wants {', '.join(unknown)}; a player's class may take `game` and `seat`, and nothing else"
        )
    try:
        return kind(**{one.name: given[one.name] for one in named if one.name in given})
    except CoplayError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        raise UsageError(f"player {name} cannot be made: {one_line(error)}") from error


def _checked(found: object, game: Game, name: str | None) -> Player:
    """A player with a name and a memory; under a name given by a person, one whose replies are checked."""
    called = name or repr(found)
    for attribute in ("name", "memory"):
        if not hasattr(found, attribute):
            raise UsageError(f"player {called} has no attribute {attribute!r}; see coplay.Player")
    player = cast(Player, found)
    if not isinstance(player.memory, Memory):
        known = ", ".join(f"Memory.{memory.name}" for memory in Memory)
        raise UsageError(f"player {called}: memory must be one of {known}, got {player.memory!r}")
    if not isinstance(player.name, str):
        raise UsageError(f"player {called}: name must be text, got {player.name!r}")
    return player if name is None else OwnPlayer(player, name, game)


@dataclass(frozen=True)
class OwnPlayer(PlayerWrapper):
    """A player whose replies are checked before anybody else sees them."""

    spec: str
    """What a person called it, e.g. ``my_players:Copycat``."""
    game: Game
    """The game that is played."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        try:
            replies: object = self.player.act(requests)
        except CoplayError:
            raise
        except (Exception, SystemExit) as error:  # whatever the user's code raises
            raise player_error(self.spec, requests[0], f"failed: {one_line(error)}") from error
        if not isinstance(replies, list) or not all(isinstance(reply, Reply) for reply in replies):
            kinds = type(replies).__name__
            if isinstance(replies, list):
                kinds = "a list with " + next(type(reply).__name__ for reply in replies if not isinstance(reply, Reply))
            what = f"gave no list of coplay's Reply but {kinds}; see act(requests) of coplay.Player"
            raise player_error(self.spec, requests[0], what)
        if len(replies) != len(requests):
            what = f"gave {len(replies)} replies to {len(requests)} requests; act(requests) must return one reply to each, in order"
            raise player_error(self.spec, requests[0], what)
        return [self._legal(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _legal(self, request: Request, reply: Reply) -> Reply:
        if reply.action is None:
            return reply
        return reply._replace(action=_legal_action(self.spec, self.game, request, reply.action)[1])


@dataclass(frozen=True)
class FunctionPlayer(OneByOne):
    """A function from a request to an action, as a player.

    Example:
        >>> from coplay.games import make_game
        >>> from coplay.players.named import make_player
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

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        try:
            action = self.function(request)
        except (Exception, SystemExit) as error:  # whatever the user's code raises
            raise player_error(self.name, request, f"failed: {one_line(error)}") from error
        return Reply(*_legal_action(self.name, self.game, request, action))


def _legal_action(name: str, game: Game, request: Request, action: Action) -> tuple[str, Action]:
    """The reply that means an action, and the action as the game parses it; raises CoplayError for one that is not legal."""
    choices = game.choices(request)
    if choices is not None and action not in choices:
        legal = f"legal are {', '.join(game.show(choice) for choice in choices)}"
    else:
        try:
            text = game.render_action(request, action)
            parsed = action if choices is not None else game.parse_action(request, text)
        except Exception:  # the game cannot even write it
            parsed = None
        if parsed is not None:
            return text, parsed
        legal = f"the game asks: {game.question(request.now, request.phase, request.seat)}"
    what = f"returned {action!r}, which is no legal action of phase {request.phase.name!r} in {game.name!r}; {legal}"
    raise player_error(name, request, what)
