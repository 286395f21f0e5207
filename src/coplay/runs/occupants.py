"""Who sits in a seat, by any name: scripted players, models, your own, and what runs have learnt."""

from __future__ import annotations

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.named import PlayerSpec, make_player
from coplay.runs.contestants import contestants
from coplay.runs.trained import parse_run


def occupant_of(spec: PlayerSpec, game: Game, seat: str) -> Occupant:
    """The occupant that a name or an object stands for.

    Args:
        spec: a player as :func:`coplay.players.named.make_player` takes it, or what a run has learnt, with its first seed or the one named.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: for what is neither, or a learner that cannot sit there.
    """
    if isinstance(spec, str) and parse_run(spec) is not None:
        (found,) = contestants([spec], game)
        if seat not in found.seats:
            raise UsageError(f"{spec} learnt to play as {' or '.join(found.seats)}, not as {seat}")
        return found.occupant(0, seat)
    player = make_player(spec, game, seat)
    return Occupant(player, player.name)
