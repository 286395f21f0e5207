"""``coplay check``: the conformance kit, and the payoffs of a matrix game."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator

from coplay.cli.reading import show
from coplay.conformance.normal_form import MANY
from coplay.games.normal_form import NormalFormGame
from coplay.terminal.tables import align
from coplay.text.rendering import number

MOST_LINES = 64
"""Joint actions whose payoffs are listed."""


def check(options: argparse.Namespace) -> int:
    """``coplay check``."""
    from coplay.conformance.games import check_game, failures
    from coplay.games import make_game

    game = make_game(options.game)
    with contextlib.redirect_stdout(sys.stderr):  # what a game of one's own prints is no result
        problems = check_game(game)
    failed = failures(problems)
    if options.json:
        show({"version": 1, "game": game.name, "problems": problems, "ok": not failed})
        return 1 if failed else 0
    if not failed and isinstance(game, NormalFormGame):
        print("\n".join([*_actions(game), "", *payoff_table(game), ""]))
    print("\n".join(problems) if problems else f"{game.name}: all checks pass")
    if isinstance(game, NormalFormGame) and not failed and len(game.states) > MANY:
        print(f"(its prompts were looked at after {MANY} of its {len(game.states):,} joint actions, or fewer)")
    return 1 if failed else 0


def _actions(game: NormalFormGame) -> Iterator[str]:
    """Each seat's actions with their labels; in a line if all seats have the same."""
    yield f"{game.name}: {game.description}"
    told = {seat: ", ".join(named_actions(game, seat)) for seat in game.seats}
    if len(set(told.values())) == 1:
        yield f"{', '.join(game.seats)} choose among {told[game.seats[0]]}"
    else:
        yield from (f"{seat} chooses among {listed}" for seat, listed in told.items())


def named_actions(game: NormalFormGame, seat: str) -> list[str]:
    """A seat's actions, each with its label in the prompts: ``cooperate (C)``."""
    return [f"{action} ({game.label(seat, action)})" for action in game.actions[seat]]


def payoff_table(game: NormalFormGame) -> list[str]:
    """The payoffs: of two seats a table, of more a line for each joint action, up to ``MOST_LINES``."""
    if len(game.seats) == 2:
        first, second = game.seats
        head = [f"{first} \\ {second}", *named_actions(game, second)]
        rows = [
            [name, *(_points(game, (action, other)) for other in game.actions[second])]
            for name, action in zip(named_actions(game, first), game.actions[first], strict=True)
        ]
        return [f"payoffs: {first}'s / {second}'s", *align([head, *rows])]
    joints = [tuple(map(str, joint)) for joint in game.states]
    if len(joints) > MOST_LINES:
        return [f"{len(joints):,} joint actions; their payoffs are not listed"]
    rows = [[" ".join(_labels(game, joint)), _points(game, joint)] for joint in joints]
    return [f"payoffs, in the order of {', '.join(game.seats)}", *align(rows)]


def _points(game: NormalFormGame, joint: tuple[str, ...]) -> str:
    return " / ".join(number(round(payoff, 3)) for payoff in game.joint_payoffs(joint))


def _labels(game: NormalFormGame, joint: tuple[str, ...]) -> list[str]:
    return [game.label(seat, action) for seat, action in zip(game.seats, joint, strict=True)]
