"""Whether a player's conduct depends on what its actions are called: the same game with other labels, in the same games of chance.

Relabelling leaves the game as it is, so a player that answers to payoffs does the same. One that has learnt which letter to say, or remembers the
game by its letters, does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coplay.auditing.conduct import ANY, cooperates
from coplay.auditing.record import RELABELLED, Measure
from coplay.auditing.sample import share
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


def most_labellings() -> int:
    """How many sets of labels are tried at most."""
    return 1 + len(LABELS)


def relabelled(
    game: Game, player: str, seats: Sequence[str], *, rounds: int, episodes: int, seed: int
) -> Iterator[Measure]:
    """By how much the player's rate of its first action changes under other labels, against a co-player that does anything.

    Args:
        game: the rules.
        player: the player's name, by which it is built anew for each set of labels.
        seats: the co-player's seats, in turn.
        rounds: T, the most rounds of an episode.
        episodes: games of each seating and labelling, with the same chance in all labellings.
        seed: of the games.

    Raises:
        UsageError: for games other than matrix games of two actions, saying so.
    """
    if not isinstance(game, MatrixGame) or any(len(own) != 2 for own in game.actions.values()):
        raise UsageError(f"{game.name!r} is no matrix game of two actions, so that its actions have no other labels")
    own = game.labels[game.seats[0]]
    before = _rates(game, player, seats, rounds, episodes, seed)
    for labels in ((own[1], own[0]), *(pair for pair in LABELS if set(pair) != set(own))):
        other = replace(game, labels=dict.fromkeys(game.seats, labels))
        after = _rates(other, player, seats, rounds, episodes, seed)
        gaps = [b - a for a, b in zip(before, after, strict=True) if a is not None and b is not None]
        budget = {"episodes": 2 * episodes * len(seats)}
        name = f"{RELABELLED}{'/'.join(labels)}"
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
        found += [share(cooperates(game, one, seat)) for one in played]
    return found
