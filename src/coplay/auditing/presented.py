"""Whether a player's conduct depends on how a game is presented: the same game under other labels, or told otherwise, in the same games of chance.

Labels are only words, and a game whose payoffs are all multiplied by the same positive number, or all raised by the same number, has the same
tree and the same preferences; so has Kuhn poker with tiles instead of cards. A player that answers to payoffs does the same in all of them. One
that has learnt which letter to say, or that remembers the game by its letters, its numbers or its story, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from coplay.auditing.conduct import ANY, cooperates
from coplay.auditing.record import DISGUISED, RELABELLED, Measure
from coplay.errors import UsageError
from coplay.evaluation.match import play_match
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.games.records import Occupant
from coplay.players.named import make_player
from coplay.runs.contestants import contestants
from coplay.statistics import mean_ci95

LABELS = (("J", "F"), ("N", "Y"))
"""Pairs of letters that no game of the catalogue has; the game's own, exchanged, are tried too."""

Presentations = Mapping[str, Game]
"""The same game presented otherwise, by the name of the measure."""


def relabellings(game: Game) -> Presentations:
    """The game with its two labels exchanged, and with other pairs of labels.

    Raises:
        UsageError: for games other than matrix games of two actions, saying so.
    """
    if not isinstance(game, MatrixGame) or any(len(own) != 2 for own in game.actions.values()):
        raise UsageError(f"{game.name!r} is no matrix game of two actions, so that its actions have no other labels")
    own = game.labels[game.seats[0]]
    pairs = ((own[1], own[0]), *(pair for pair in LABELS if set(pair) != set(own)))
    return {f"{RELABELLED}{'/'.join(pair)}": replace(game, labels=dict.fromkeys(game.seats, pair)) for pair in pairs}


def disguises(game: Game) -> Presentations:
    """The game told otherwise, as :meth:`coplay.games.base.Game.disguised` has it.

    Raises:
        UsageError: for games that have no disguise, saying so.
    """
    found = game.disguised()
    if not found:
        raise UsageError(
            f"{game.name!r} has no disguises, so leave that kind out; a game of your own lists them in its method disguised()"
        )
    return {f"{DISGUISED}{name}": other for name, other in found.items()}


PRESENTED: Mapping[str, Callable[[Game], Presentations]] = {"relabelled": relabellings, "disguised": disguises}
"""Kinds of presentations, as ``--against`` calls them."""


def number_of_presentations(game: Game, kind: str) -> int:
    """How many presentations of a kind a game has."""
    try:
        return len(PRESENTED[kind](game))
    except UsageError:
        return 0


def presented(
    game: Game, kind: str, player: str, seats: Sequence[str], *, rounds: int, episodes: int, seed: int
) -> Iterator[Measure]:
    """By how much the player's rate of its first action changes in other presentations of the game, against a co-player that does anything.

    Args:
        game: the rules.
        kind: the presentations, of :data:`PRESENTED`.
        player: the player's name, by which it is built anew for each presentation.
        seats: the co-player's seats, in turn.
        rounds: T, the most rounds of an episode.
        episodes: games of each seating and presentation, with the same chance in all.
        seed: of the games.

    Raises:
        UsageError: for games that have no such presentations, saying why.
    """
    others = PRESENTED[kind](game)
    before = _rates(game, player, seats, rounds, episodes, seed)
    for name, other in others.items():
        after = _rates(other, player, seats, rounds, episodes, seed)
        gaps = [b - a for a, b in zip(before, after, strict=True) if a is not None and b is not None]
        budget = {"episodes": 2 * episodes * len(seats)}
        if not gaps:
            yield Measure(name, ANY, budget, None, None, 0, 0, "estimate")
            continue
        found = mean_ci95(gaps)
        yield Measure(name, ANY, budget, found.mean, found.half_width, 0, len(gaps), "estimate")


def _rates(game: Game, name: str, seats: Sequence[str], rounds: int, episodes: int, seed: int) -> list[float | None]:
    """How often the player takes its first action, game by game and seating by seating; None where all its replies were illegal."""
    (contestant,) = contestants([name], game)
    found: list[float | None] = []
    for seat in seats:
        seated = {one: contestant.occupant(0, one) for one in game.seats}
        seated[seat] = Occupant(make_player(ANY, game, seat), ANY)
        played = play_match(game, seated, rounds=rounds, episodes=episodes, seed=seed).episodes
        counts = [cooperates(game, one, seat) for one in played]
        found += [done / of if of else None for done, of in counts]
    return found
