"""The conformance kit for players: legal, reproducible, and dependent on nothing but what they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from coplay.games.check import WARNING
from coplay.games.matrix import Joint, MatrixGame
from coplay.games.memory import Memory, history_of
from coplay.players.base import Player
from coplay.rng import stream
from coplay.types import Move, View

VIEWS = 24
"""How many situations a player is tried in."""


def check_player(player: Player, game: MatrixGame, seat: str) -> list[str]:
    """Look for mistakes in a player.

    It is asked to move in a number of random situations, all at once, again, in reverse and one by one. Replies to the same view
    must be the same each time.

    Args:
        player: the player.
        game: the game it is to play.
        seat: the seat it is to fill.

    Returns:
        One sentence a problem; empty if there are none. Those that begin with ``"warning: "`` do not keep it from playing.

    Example:
        >>> from coplay.games import make_game
        >>> from coplay.players.scripted import make_player
        >>> check_player(make_player("tit_for_tat", make_game("ipd"), "row"), make_game("ipd"), "row")
        []
    """
    problems = _form(player)
    if problems:
        return problems
    views = example_views(game, seat, player.memory)
    try:
        moves = player.act(views)
    except Exception as error:  # whatever a user's code raises is what the user needs to hear of
        return [f"act() failed on {len(views)} views: {type(error).__name__}: {error}"]
    problems = _list_of_moves(moves, len(views))
    if problems:
        return problems
    return [*_legality(moves, game, seat), *_probabilities(moves, game, seat), *_repeatability(player, views, moves)]


def example_views(game: MatrixGame, seat: str, memory: Memory) -> list[View]:
    """Situations to try a player in: random pasts of up to four rounds in each of two episodes, with draws from 0 to nearly 1."""
    rng = stream(0, "check", game.name, seat)

    def some_rounds(n: int) -> list[Joint]:
        return [game.states[i] for i in rng.integers(len(game.states), size=n)]

    views = []
    for i in range(VIEWS):
        now = i % 5
        history = history_of(game, [some_rounds(now), some_rounds(now)])
        draw = i / VIEWS if i < VIEWS - 1 else math.nextafter(1.0, 0.0)
        views.append(View(i % 2, i, seat, now, history.observe(seat, memory), draw))
    return views


def _form(player: Player) -> list[str]:
    """It has a name, a memory and a way to act."""
    problems = []
    if not isinstance(getattr(player, "name", None), str):
        problems.append("name must be a word that says what to call the player")
    if not isinstance(getattr(player, "memory", None), Memory):
        problems.append(f"memory must be one of {', '.join(f'Memory.{memory.name}' for memory in Memory)}")
    if not callable(getattr(player, "act", None)):
        problems.append("there must be a method act(views) that returns a list of moves")
    return problems


def _list_of_moves(moves: object, n: int) -> list[str]:
    if not isinstance(moves, list) or not all(isinstance(move, Move) for move in moves):
        return [f"act() must return a list of Move, got {type(moves).__name__}"]
    if len(moves) != n:
        return [f"act() must return one move for each view: {n} views gave {len(moves)} moves"]
    return []


def _legality(moves: Sequence[Move], game: MatrixGame, seat: str) -> Iterator[str]:
    """Actions are names of the seat's own actions; an illegal reply is None, and is worth a warning."""
    known = game.actions[seat]
    for action in sorted({str(move.action) for move in moves if move.action is not None} - set(known)):
        yield f"{action!r} is not an action of {seat} ({', '.join(known)}); an illegal reply has action=None"
    illegal = sum(move.action is None for move in moves)
    if illegal:
        yield f"{WARNING}{illegal} of {len(moves)} replies were illegal"


def _probabilities(moves: Sequence[Move], game: MatrixGame, seat: str) -> Iterator[str]:
    """Where probabilities are given, they are a distribution, and the one the move was drawn from."""
    actions = game.actions[seat]
    for move in moves:
        if move.logprob is not None and not move.logprob <= 1e-6:
            yield f"logprob must be the natural log of a probability, got {move.logprob}"
            return
        if move.probs is None:
            continue
        if (
            len(move.probs) != len(actions)
            or not all(p >= 0.0 for p in move.probs)
            or not sum(move.probs) <= 1.0 + 1e-4
        ):
            yield f"probs must be a probability for each of {', '.join(actions)}, summing to at most 1; got {move.probs}"
            return
        if move.action not in actions:
            continue
        p = move.probs[actions.index(move.action)]
        if p == 0.0 or (move.logprob is not None and abs(math.exp(move.logprob) - p) > 1e-3):
            yield f"{move.action!r} was played with logprob {move.logprob}, but probs gives it {p}"
            return


def _repeatability(player: Player, views: Sequence[View], moves: Sequence[Move]) -> Iterator[str]:
    """The same view gives the same move: again, in another order, alone."""
    ways: list[tuple[str, str, Callable[[], list[Move]]]] = [
        ("asked again", "take all chance from view.draw and keep no state between calls", lambda: player.act(views)),
        ("asked in reverse order", "let each move follow from its own view", lambda: player.act(views[::-1])[::-1]),
        ("asked one by one", "let no move depend on the batch", lambda: [m for v in views for m in player.act([v])]),
    ]
    for way, remedy, act in ways:
        try:
            again = act()
        except Exception as error:  # as above
            yield f"act() failed when {way}: {type(error).__name__}: {error}"
            continue
        if len(again) != len(moves):
            yield f"{len(moves)} views gave {len(again)} moves when {way}; return one move for each view"
            continue
        changed = sum((a.action, a.reply) != (b.action, b.reply) for a, b in zip(moves, again, strict=True))
        if changed:
            yield f"{changed} of {len(moves)} moves changed when {way}; {remedy}"
