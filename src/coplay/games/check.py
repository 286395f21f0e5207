"""The conformance kit for games: what a game must get right before anything is trained on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from coplay.errors import CoplayError
from coplay.games.matrix import COLUMN, ROW, SEATS, Joint, MatrixGame, other
from coplay.games.memory import Memory, Observation, history_of
from coplay.games.matrix_prompts import Layout, write_message

WARNING = "warning: "
"""How a problem begins that does not keep a game from being played."""


def check_game(game: MatrixGame) -> list[str]:
    """Look for mistakes in a game.

    Args:
        game: the game, however it was made.

    Returns:
        One sentence a problem; empty if there are none. Those that begin with ``"warning: "`` do not keep the game from being
        played. If the game's form is wrong, nothing else is checked.

    Example:
        >>> from coplay.games import make_game
        >>> check_game(make_game("ipd"))
        []
    """
    problems = _form(game)
    if problems:
        return problems
    checks: list[Callable[[MatrixGame], Iterator[str]]] = [_names, _views, _symmetry, _null_payoff, _prompts]
    return [problem for check in checks for problem in check(game)]


def failures(problems: list[str]) -> list[str]:
    """The problems that are not mere warnings."""
    return [problem for problem in problems if not problem.startswith(WARNING)]


def _form(game: MatrixGame) -> list[str]:
    """Two seats, at least two actions each, one label an action, a finite pair of payoffs for every joint action."""
    problems = []
    for field in ("actions", "labels"):
        words = getattr(game, field)
        if set(words) != set(SEATS):
            return [f"{field} must have an entry for each of {', '.join(SEATS)}, and no other; got {', '.join(words)}"]
    for seat in SEATS:
        actions, labels = game.actions[seat], game.labels[seat]
        if len(actions) < 2:
            problems.append(f"{seat} must have at least 2 actions, got {len(actions)}")
        if len(labels) != len(actions):
            problems.append(f"{seat} must have one label for each of its {len(actions)} actions, got {len(labels)}")
    n, m = (len(game.actions[seat]) for seat in SEATS)
    if len(game.payoffs) != n or any(len(row) != m for row in game.payoffs):
        problems.append(f"payoffs must be {n} rows of {m} pairs")
    elif not all(len(cell) == 2 and all(map(math.isfinite, cell)) for row in game.payoffs for cell in row):
        problems.append("payoffs must be pairs (row's, column's) of finite numbers")
    if not math.isfinite(game.null_payoff):
        problems.append(f"null_payoff must be a finite number, got {game.null_payoff}")
    if game.rounds < 1:
        problems.append(f"rounds must be at least 1, got {game.rounds}")
    return problems


def _names(game: MatrixGame) -> Iterator[str]:
    """Names, labels and state names tell actions and states apart, and lead back to them."""
    for seat in SEATS:
        for kind, words in (("actions", game.actions[seat]), ("labels", game.labels[seat])):
            if len(set(words)) != len(words):
                yield f"{kind} of {seat} must differ from one another, got {', '.join(words)}"
            if not all(words):
                yield f"{kind} of {seat} must not be empty"
        for action, label in zip(game.actions[seat], game.labels[seat], strict=True):
            for word in (action, label):
                try:
                    found = game.action_named(seat, word)
                except CoplayError as error:
                    yield f"{seat}: {word!r} does not name an action: {error}"
                    continue
                if found != action:
                    yield f"{seat}: {word!r} should name {action!r} but names {found!r}; choose other labels"
    names = [game.state_name(state) for state in [*game.states, None]]
    if len(set(names)) != len(names):
        yield f"state names must differ from one another, got {', '.join(names)}"


def _views(game: MatrixGame) -> Iterator[str]:
    """Each seat's own view of the payoffs is the table's, transposed for column."""
    for i, row in enumerate(game.actions[ROW]):
        for j, column in enumerate(game.actions[COLUMN]):
            seen = (game.payoff(ROW, own=row, other=column), game.payoff(COLUMN, own=column, other=row))
            if seen != tuple(game.payoffs[i][j]):
                yield f"after {row}/{column} the seats get {seen}, but the table says {tuple(game.payoffs[i][j])}"
    for seat in SEATS:
        expected = list(itertools.product(game.actions[seat], game.actions[other(seat)]))
        if game.own_states(seat) != expected:
            yield f"own_states({seat!r}) must list (own, co-player's) actions, own action varying slowest"


def _symmetry(game: MatrixGame) -> Iterator[str]:
    """A game that calls itself symmetric pays the same with the seats swapped; a common payoff is worth a second look."""
    table = game.payoffs
    if game.is_symmetric:
        swapped = tuple(tuple((b, a) for a, b in column) for column in zip(*table, strict=True))
        if swapped != tuple(tuple((a, b) for a, b in row) for row in table):
            yield "the game says it is symmetric, but its payoffs change when the seats are swapped"
    if all(a == b for row in table for a, b in row):
        yield f"{WARNING}both seats get the same payoff after every joint action; is column's table transposed?"


def _null_payoff(game: MatrixGame) -> Iterator[str]:
    """An illegal reply should cost more than any legal one."""
    lowest = min(payoff for row in game.payoffs for cell in row for payoff in cell)
    if game.null_payoff >= lowest:
        yield (
            f"{WARNING}null_payoff {game.null_payoff:g} is not below the lowest payoff {lowest:g}:"
            " a learner may come to prefer illegal replies"
        )


def _prompts(game: MatrixGame) -> Iterator[str]:
    """Whatever a seat can tell apart, its prompt tells apart."""
    for seat, layout in itertools.product(SEATS, Layout):
        first: dict[str, Observation] = {}
        for observation in _observations(game, seat):
            text = write_message(game, seat, observation, layout=layout).text
            earlier = first.setdefault(text, observation)
            if earlier != observation:
                yield f"{seat} reads the same prompt ({layout}) after {earlier} and {observation}"


def _observations(game: MatrixGame, seat: str) -> list[Observation]:
    """What ``seat`` may be shown, under every memory, of histories up to three rounds long (some of them in large games)."""
    states = game.states
    histories: list[tuple[Joint, ...]] = [(), *((state,) for state in states)]
    histories += itertools.islice(itertools.product(states, states), 256)
    histories += [(state, state, state) for state in states]
    seen = {history_of(game, [rounds]).observe(seat, memory) for rounds in histories for memory in Memory}
    # A transcript of nothing says nothing, in words as in fact.
    return [observation for observation in seen if observation.transcript != ()]
