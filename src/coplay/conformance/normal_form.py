"""The part of the conformance kit that is about games in normal form: actions, labels, payoffs, prompts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from coplay.errors import CoplayError
from coplay.games.base import MOST_PAYOFF, is_payoff
from coplay.games.choice_prompts import TABLES, PayoffFormat
from coplay.games.form import are_words
from coplay.games.matrix import MatrixGame
from coplay.games.memory import History, Joint, Memory, Observation
from coplay.games.normal_form import ACTION, NormalFormGame
from coplay.games.records import Act, Round

WARNING = "warning: "
"""How a problem begins that does not keep a game from being played."""

MANY = 64
"""Of games with more joint actions than this, some are looked at."""


def check_form(game: NormalFormGame) -> list[str]:
    """At least two actions a seat, one label an action, finite payoffs for every joint action; a sentence a problem."""
    problems = []
    labels: object = getattr(game, "labels", None)
    if game.actions is None:
        return ["actions must be given for every seat of a game in normal form"]
    if not isinstance(labels, Mapping) or not all(map(are_words, labels.values())):
        return [f"labels must have a tuple of words for each of {', '.join(game.seats)}; got {labels!r}"]
    if set(game.labels) != set(game.seats):
        return [
            f"labels must have an entry for each of {', '.join(game.seats)}, and no other; got {', '.join(game.labels)}"
        ]
    for seat in game.seats:
        actions, labels = game.actions[seat], game.labels[seat]
        if len(actions) < 2:
            problems.append(f"{seat} must have at least 2 actions, got {len(actions)}")
        if len(labels) != len(actions):
            problems.append(f"{seat} must have one label for each of its {len(actions)} actions, got {len(labels)}")
    if isinstance(game, MatrixGame) and not problems:
        problems += _table(game)
    null: object = getattr(game, "null_payoff", None)
    if not is_payoff(null):
        problems.append(f"null_payoff must be a finite number of at most {MOST_PAYOFF:,.0f}, got {null!r}")
    return problems


def _table(game: MatrixGame) -> Iterator[str]:
    n, m = (len(game.actions[seat]) for seat in game.seats)
    if len(game.table) != n or any(len(row) != m for row in game.table):
        yield f"payoffs must be {n} rows of {m} pairs"
    elif not all(len(cell) == 2 and all(map(is_payoff, cell)) for row in game.table for cell in row):
        yield "payoffs must be pairs (row's, column's) of finite numbers"


def check_normal_form(game: NormalFormGame) -> Iterator[str]:
    """Names, payoffs and prompts of a game in normal form; a sentence a problem."""
    yield from _names(game)
    yield from _views(game)
    yield from _symmetry(game)
    yield from _null_payoff(game)
    yield from _prompts(game)


def _names(game: NormalFormGame) -> Iterator[str]:
    """Names, labels and state names tell actions and states apart, and lead back to them."""
    for seat in game.seats:
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
    names = game.state_names()
    if len(set(names)) != len(names) or len(names) != len(game.states) + 1:
        yield f"state names must differ from one another, got {', '.join(names)}"


def _views(game: NormalFormGame) -> Iterator[str]:
    """What is paid is what prompts say, and each seat's own view is the joint one with its own action first."""
    for joint in game.states[:MANY]:
        told, did = game.joint_payoffs(joint), "/".join(str(action) for action in joint)
        acts = tuple(Act(ACTION, 0, seat, action) for seat, action in zip(game.seats, joint, strict=True))
        paid = tuple(game.payoffs(Round(0, acts=acts))[seat] for seat in game.seats)
        if paid != tuple(told):
            yield f"after {did} the seats get {paid}, but joint_payoffs says {tuple(told)}"
        if isinstance(game, MatrixGame):
            first, second = game.seats
            a, b = map(str, joint)
            seen = (game.payoff(first, own=a, other=b), game.payoff(second, own=b, other=a))
            cell = game.table[game.actions[first].index(a)][game.actions[second].index(b)]
            if not tuple(told) == seen == tuple(cell):
                yield f"after {did} the seats get {seen}, but the table says {tuple(cell)}"
    for seat in game.seats:
        others = [game.actions[one] for one in game.seats if one != seat]
        if game.own_states(seat) != list(itertools.product(game.actions[seat], *others)):
            yield f"own_states({seat!r}) must list own and co-players' actions, own action varying slowest"


def _symmetry(game: NormalFormGame) -> Iterator[str]:
    """A game that calls itself symmetric pays the same with two seats swapped; a common payoff is worth a second look."""
    if game.is_symmetric and not NormalFormGame.is_symmetric.__get__(game):
        yield "the game says it is symmetric, but its payoffs change when two seats are swapped"
    if all(len(set(game.joint_payoffs(joint))) == 1 for joint in game.states):
        yield f"{WARNING}all seats get the same payoff after every joint action; is column's table transposed?"


def _null_payoff(game: NormalFormGame) -> Iterator[str]:
    """An illegal reply should cost more than any legal one; in a conversation it must not pay more."""
    lowest = min(payoff for joint in game.states for payoff in game.joint_payoffs(joint))
    if game.null_payoff > lowest or (game.one_token and game.null_payoff == lowest):
        yield (
            f"{WARNING}null_payoff {game.null_payoff:g} is not below the lowest payoff {lowest:g}:"
            " a learner may come to prefer illegal replies"
        )


def _prompts(game: NormalFormGame) -> Iterator[str]:
    """Whatever a seat can tell apart, its prompt tells apart."""
    formats = [one for one in PayoffFormat if len(game.seats) == 2 or one not in TABLES]
    for seat, payoff_format in itertools.product(game.seats, formats):
        first: dict[str, Observation] = {}
        for observation in _observations(game, seat):
            text = game.prompt_parts(seat, observation, payoff_format=payoff_format).text
            earlier = first.setdefault(text, observation)
            if earlier != observation:
                yield f"{seat} reads the same prompt ({payoff_format}) after {earlier} and {observation}"


def _observations(game: NormalFormGame, seat: str) -> list[Observation]:
    """What ``seat`` may be shown, under every memory, of histories up to three rounds long (some of them in large games)."""
    few = max(2, min(MANY, MANY * 16 // len(game.states)))
    states = game.states[:few]
    histories: list[tuple[Joint, ...]] = [(), *((state,) for state in states)]
    histories += itertools.islice(itertools.product(states, states), 4 * few)
    histories += [(state, state, state) for state in states]
    index = game.seats.index(seat)
    seen = set()
    for rounds in histories:
        history = History(lambda seat_index: game.own_states(game.seats[seat_index]))
        history.start_episode()
        for joint in rounds:
            history.append(joint)
        seen |= {history.observe(index, memory) for memory in Memory}
    # A transcript of nothing says nothing, in words as in fact.
    return [observation for observation in seen if observation.transcript != ()]
