"""``coplay play``: a person in one seat, any players in the others."""

from __future__ import annotations

import argparse
import sys

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.base import Game
from coplay.terminal.printable import printable


def play(options: argparse.Namespace) -> int:
    """``coplay play``."""
    if options.rounds is not None and options.rounds < 1:
        raise UsageError(f"--rounds must be at least 1, got {options.rounds}")
    try:
        return _play(options)
    except EOFError:
        print("\nYou left the game before its end.", file=sys.stderr)
        return 0


def _play(options: argparse.Namespace) -> int:
    from coplay.cli.evaluating import seat_player
    from coplay.evaluation.match import play_match
    from coplay.games.records import Occupant
    from coplay.players.human import Person
    from coplay.runs.contestants import contestants

    game = make_game(options.game)
    game = game.lasting(options.rounds or min(game.rounds, 10))
    mine = _seat(options.seat, game.seats)
    others = [seat for seat in game.seats if seat != mine]
    names = options.vs or [default_opponent(game)]
    if len(names) not in (1, len(others)):
        raise UsageError(
            f"--vs: game {game.name!r} has {len(others)} other seats; name one player for all, or {len(others)}"
        )
    names = names * len(others) if len(names) == 1 else names
    seated = {seat: seat_player(one, seat, game) for seat, one in zip(others, contestants(names, game), strict=True)}
    told = ", ".join(f"{seat} is {occupant.name}" for seat, occupant in seated.items())
    print(f"{game.name}: you are {mine}, {told}.\n")
    seated[mine] = Occupant(Person(game, ask=_ask, tell=_tell), "you")
    found = play_match(game, seated, rounds=options.rounds or min(game.rounds, 10), episodes=1, seed=options.seed)
    (episode,) = found.episodes
    last = game.observe(episode.rounds[-1], mine)
    _tell(f"\n{game.recap(last, mine)}")
    if game.conducts(mine):
        states = " ".join(game.state_name(outcome) for outcome in episode.outcomes)
        print(f"\nThe game: {states} ({', '.join(game.seats)})")
    totals = ", ".join(f"{seat} {episode.total(seat):g}" for seat in others)
    print(f"\nTotal: you {episode.total(mine):g}, {totals} points.")
    return 0


def default_opponent(game: Game) -> str:
    """Tit for tat where seats can cooperate or not, else random play."""
    counts = {len(game.conducts(seat)) for seat in game.seats}
    return "tit_for_tat" if counts == {2} else "uniform"


def _seat(given: str | None, seats: tuple[str, ...]) -> str:
    if given is not None and given not in seats:
        raise UsageError(f"--seat must be {' or '.join(seats)} in this game, got {given}")
    return given or seats[0]


def _tell(text: str, end: str = "\n") -> None:
    """Show what may hold words of the other players."""
    print(printable(text, keep="\n"), end=end, flush=True)


def _ask(prompt: str) -> str:
    """A line from standard input, also where that is a file or a pipe."""
    _tell(prompt, end="")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    if not sys.stdin.isatty():
        print(line.rstrip("\n"))
    return line
