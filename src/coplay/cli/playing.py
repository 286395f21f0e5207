"""``coplay play``: you in one seat, anybody in the other."""

from __future__ import annotations

import argparse
import sys

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.matrix import SEATS as MATRIX_SEATS
from coplay.games.matrix import other as other_seat
from coplay.games.rounds import ALICE, SEATS, other
from coplay.text.rounds import WORDED, Worded


def play(options: argparse.Namespace) -> int:
    """``coplay play``."""
    if options.rounds is not None and options.rounds < 1:
        raise UsageError(f"--rounds must be at least 1, got {options.rounds}")
    try:
        if options.game in WORDED:
            return _play_rounds(options, WORDED[options.game])
        return _play_matrix(options)
    except EOFError:
        print("\nThe game was left before its end.", file=sys.stderr)
        return 0


def _play_rounds(options: argparse.Namespace, words: Worded) -> int:
    from coplay.players.human import Person
    from coplay.rounds.agents import agents_of
    from coplay.rounds.evaluate import match_rounds

    mine = _seat(options.seat, SEATS)
    (agent,) = agents_of([options.vs or "reciprocate"], words)
    person = Person(words, ask=_ask, tell=print)
    print(f"{words.game.name}: you are {mine}, {other(mine)} is {agent.name}.")
    (game,) = match_rounds(
        words,
        {mine: person, other(mine): agent.player(0)},
        seed=options.seed,
        rounds=options.rounds or words.game.rounds,
        episodes=1,
    )
    print(f"\n{words.summary(game.rounds[-1], mine)}")
    print(f"\nIn all: you {game.total(mine):g}, {other(mine)} {game.total(other(mine)):g} points.")
    return 0


def _play_matrix(options: argparse.Namespace) -> int:
    from coplay.cli.evaluating import player_of
    from coplay.cli.void_rounds import Heard, Told
    from coplay.evaluate import match
    from coplay.players.human import MatrixPerson

    game = make_game(options.game, besides=WORDED)
    mine = _seat(options.seat, MATRIX_SEATS)
    theirs = player_of(options.vs or "tit_for_tat", game, other_seat(mine))
    print(f"{game.name}: you are {mine}, {other_seat(mine)} is {theirs.name}.\n")
    person = MatrixPerson(game, mine, ask=_ask, tell=print)
    heard = Heard(theirs, tell=print)
    result = match(
        game,
        {mine: Told(person, heard), other_seat(mine): heard},
        rounds=options.rounds or 10,
        episodes=1,
        seed=options.seed,
    )
    heard.tell_illegal()
    (episode,) = result.episodes
    totals = {seat: sum(turn.payoff or 0.0 for turn in episode.traces[seat].turns) for seat in MATRIX_SEATS}
    print(f"\nThe game: {' '.join(game.state_name(state) for state in episode.states)} (row's action first)")
    print(f"In all: you {totals[mine]:g}, {other_seat(mine)} {totals[other_seat(mine)]:g}.")
    return 0


def _seat(given: str | None, seats: tuple[str, ...]) -> str:
    if given is not None and given not in seats:
        raise UsageError(f"--seat must be {' or '.join(seats)} in this game, got {given}")
    return given or (ALICE if ALICE in seats else seats[0])


def _ask(prompt: str) -> str:
    """A line from standard input, also where that is a file or a pipe."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    if not sys.stdin.isatty():
        print(line.rstrip("\n"))
    return line
