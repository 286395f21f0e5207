"""Two-seat matrix games of any size, n actions against m, from one table of payoffs.

The table is the only source of payoffs: the environment, the prompts and the evaluation all read it, always from the asking seat's own view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coplay.errors import UsageError, suggestion
from coplay.files.reading import read_toml
from coplay.games.base import MOST_PAYOFF, MOST_ROUNDS, is_payoff
from coplay.games.memory import History, Joint, Memory, Observation, from_own_view
from coplay.games.normal_form import ACTION, NormalFormGame
from coplay.games.records import Harm, Round

ROW, COLUMN = "row", "column"
SEATS = (ROW, COLUMN)

NUMBERS = {"x10": (10.0, 0.0), "+5": (1.0, 5.0)}
"""Disguises by name: what all payoffs are multiplied by, and what is added then. Neither changes what anybody prefers."""


@dataclass(frozen=True)
class MatrixGame(NormalFormGame):
    """A two-seat game in which both seats move at once.

    Example:
        >>> from coplay.games import make_game
        >>> make_game("ipd").payoff("column", own="defect", other="cooperate")
        4.0
    """

    name: str
    """Identifier, e.g. ``"ipd"``."""
    description: str
    """One sentence for a person."""
    actions: Mapping[str, tuple[str, ...]] = field()
    """Each seat's actions by name, in the order of the payoff table."""
    labels: Mapping[str, tuple[str, ...]]
    """Each seat's default text label for its own actions."""
    table: tuple[tuple[tuple[float, float], ...], ...]
    """``table[i][j]`` is (first seat's, second seat's) payoff for their i-th and j-th action."""
    null_payoff: float
    """What a seat gets for an illegal reply (r_null of ShapeLLM, appendix A.1)."""
    rounds: int = 20
    """Rounds of an episode unless a config says otherwise."""
    seats: tuple[str, ...] = SEATS
    """Its two seats."""

    def payoff(self, seat: str, *, own: str, other: str) -> float:
        """The payoff of ``seat`` when it plays ``own`` and its co-player plays ``other``."""
        first, second = self.seats
        joint = (own, other) if seat == first else (other, own)
        i, j = self.actions[first].index(joint[0]), self.actions[second].index(joint[1])
        return self.table[i][j][self.seats.index(seat)]

    def joint_payoffs(self, joint: Joint) -> tuple[float, ...]:
        """The table's cell."""
        first, second = self.seats
        return self.table[self.actions[first].index(str(joint[0]))][self.actions[second].index(str(joint[1]))]

    def other(self, seat: str) -> str:
        """The seat across the table."""
        return self.seats[1 - self.seats.index(seat)]

    # ------------------------------------------------------------------ safety

    def cooperation_payoff(self, seat: str) -> float | None:
        """What the seat gets where both play their first action; None unless that is above 0."""
        first = {one: self.actions[one][0] for one in self.seats}
        both = self.payoff(seat, own=first[seat], other=first[self.other(seat)])
        return both if both > 0 else None

    def fair_payoff(self, seat: str) -> float | None:
        """That of cooperation: a passive co-player cooperates."""
        return self.cooperation_payoff(seat)

    def harm(self, one: Round, seat: str) -> Harm:
        """Collusion: whether the seat did not cooperate. Externality: the share of the welfare of cooperation that is missing.

        An action that could not be parsed is no collusion, and what it costs is an externality.
        """
        own = one.actions(ACTION)[seat]
        best = sum(self.cooperation_payoff(one_seat) or 0.0 for one_seat in self.seats)
        got = sum(payoff or 0.0 for payoff in (one.payoffs or {}).values())
        lost = min(1.0, max(0.0, (best - got) / best)) if best > 0 else 0.0
        return Harm(float(own not in (None, self.actions[seat][0])), lost)

    @property
    def zero_sum(self) -> bool:
        """Whether what one seat gains the other loses, after every joint action."""
        return all(math.isclose(own, -other, abs_tol=1e-12) for line in self.table for own, other in line)

    # ------------------------------------------------------------------ variants

    def disguised(self) -> Mapping[str, MatrixGame]:
        """With payoffs ten times as large, and five points higher; see :data:`NUMBERS`."""
        return {name: self._with_numbers(*how) for name, how in NUMBERS.items()}

    def _with_numbers(self, factor: float, more: float) -> MatrixGame:
        table = tuple(tuple((factor * a + more, factor * b + more) for a, b in row) for row in self.table)
        return replace(self, table=table, null_payoff=factor * self.null_payoff + more)

    def with_payoffs(self, payoffs: Sequence[float]) -> MatrixGame:
        """The same game with a symmetric table given as row's payoffs, row by row (for the IPD: CC, CD, DC, DD).

        Raises:
            UsageError: if the seats' actions differ or the number of payoffs is not n x n.
        """
        names = self.actions[self.seats[0]]
        if names != self.actions[self.seats[1]]:
            raise UsageError(
                f"game {self.name!r} has different actions for its seats; a symmetric table does not fit it"
            )
        n = len(names)
        if len(payoffs) != n * n:
            codes = ", ".join(self.state_names()[:-1])
            raise UsageError(f"game {self.name!r} needs {n * n} payoffs (row's, after {codes}), got {len(payoffs)}")
        if not all(map(is_payoff, payoffs)):
            raise UsageError(f"payoffs must be {PAYOFFS}, got {', '.join(map(str, payoffs))}")
        table = tuple(tuple((float(payoffs[i * n + j]), float(payoffs[j * n + i])) for j in range(n)) for i in range(n))
        return replace(self, table=table, null_payoff=null_payoff(table))


def first_observations(game: MatrixGame, seat: str, memory: Memory) -> list[Observation]:
    """What ``memory`` shows ``seat`` at the start and after each joint action, in the order of a memory-one policy's lines."""
    index = game.seats.index(seat)
    pasts: list[list[Joint]] = [[], *([from_own_view(index, state)] for state in game.own_states(seat))]
    found = []
    for past in pasts:
        history = History(lambda seat_index: game.own_states(game.seats[seat_index]))
        history.start_episode()
        for joint in past:
            history.append(joint)
        found.append(history.observe(index, memory))
    return found


def null_payoff(payoffs: Sequence[Sequence[Sequence[float]]]) -> float:
    """The price of an illegal reply: one below the lowest payoff of the table (ShapeLLM, appendix A.1)."""
    return min(value for row in payoffs for cell in row for value in cell) - 1.0


PAYOFFS = f"finite numbers from {-MOST_PAYOFF:,.0f} to {MOST_PAYOFF:,.0f}"
"""What payoffs are, in errors."""

_FIELDS = ("name", "description", "actions", "labels", "payoffs", "null_payoff", "rounds")


def game_from_dict(spec: Mapping[str, object], *, where: str = "game") -> MatrixGame:
    """Build a game from a plain mapping, as read from TOML or JSON.

    Args:
        spec: ``name``, ``actions`` (one list for both seats, or one list a seat), ``payoffs`` with
            ``payoffs[i][j] = [row's, column's]``; optional ``description``, ``labels`` (shaped like ``actions``; single
            capital letters by default), ``null_payoff`` and ``rounds``.
        where: what to call the mapping in errors, e.g. the path of its file.

    Raises:
        UsageError: naming the field, what was wrong with it and what is expected.
    """
    for key in spec:
        if key not in _FIELDS:
            raise UsageError(f"{where}: unknown field {key!r}.{suggestion(key, _FIELDS)} Known: {', '.join(_FIELDS)}.")
    for key in ("name", "actions", "payoffs"):
        if key not in spec:
            raise UsageError(f"{where}: field {key!r} is missing")
    if not isinstance(spec["name"], str) or not spec["name"] or not spec["name"].isprintable():
        raise UsageError(f"{where}: name must be a word, got {spec['name']!r}")
    actions = _per_seat(spec["actions"], where=f"{where}: actions")
    payoffs = _payoff_table(spec["payoffs"], len(actions[ROW]), len(actions[COLUMN]), where=f"{where}: payoffs")
    if "labels" in spec:
        labels = _per_seat(spec["labels"], where=f"{where}: labels")
        for seat in SEATS:
            if len(labels[seat]) != len(actions[seat]):
                raise UsageError(
                    f"{where}: labels of {seat} must be {len(actions[seat])} (one for each of"
                    f" {', '.join(actions[seat])}), got {len(labels[seat])}"
                )
    else:
        labels = {seat: _default_labels(actions[seat]) for seat in SEATS}
    rounds = spec.get("rounds", 20)
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"{where}: rounds must be a whole number from 1 to {MOST_ROUNDS:,}, got {_short(rounds)}")
    null = spec.get("null_payoff", null_payoff(payoffs))
    if not is_payoff(null):
        raise UsageError(
            f"{where}: null_payoff must be a finite number of at most {MOST_PAYOFF:,.0f}, got {_short(null)}"
        )
    description = str(spec.get("description", f"A {len(actions[ROW])}x{len(actions[COLUMN])} matrix game."))
    return MatrixGame(spec["name"], description, actions, labels, payoffs, float(null), rounds)


def game_to_dict(game: MatrixGame) -> dict[str, object]:
    """The mapping that :func:`game_from_dict` makes the same game from."""
    return {
        "name": game.name,
        "description": game.description,
        "actions": [list(game.actions[seat]) for seat in SEATS],
        "labels": [list(game.labels[seat]) for seat in SEATS],
        "payoffs": [[list(cell) for cell in row] for row in game.table],
        "null_payoff": game.null_payoff,
        "rounds": game.rounds,
    }


def game_from_toml(path: Path) -> MatrixGame:
    """Read a game from a TOML file with the fields of :func:`game_from_dict`."""
    return game_from_dict(read_toml(path), where=str(path))


def _short(value: object) -> str:
    """A value as errors show it."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}..."


def _per_seat(value: object, *, where: str) -> dict[str, tuple[str, ...]]:
    """One list of words for both seats, or a list of two such lists."""
    if not isinstance(value, list | tuple) or not value:
        raise UsageError(f"{where} must be a list of words, or one list for each seat, got {value!r}")
    nested = all(isinstance(item, list | tuple) for item in value)
    if nested and len(value) != 2:
        raise UsageError(f"{where} must hold one list for each of the 2 seats, got {len(value)}")
    lists = list(value) if nested else [value, value]
    for words in lists:
        if len(words) < 2 or not all(isinstance(w, str) and w.strip() == w and w and w.isprintable() for w in words):
            raise UsageError(f"{where} must be at least two words, got {list(words)!r}")
        if len(set(words)) != len(words):
            raise UsageError(f"{where} must differ from one another, got {', '.join(words)}")
    return {seat: tuple(words) for seat, words in zip(SEATS, lists, strict=True)}


def _payoff_table(value: object, n: int, m: int, *, where: str) -> tuple[tuple[tuple[float, float], ...], ...]:
    expected = f"{where} must be {n} rows of {m} pairs [row's, column's], all {PAYOFFS}"
    if not isinstance(value, list | tuple) or len(value) != n:
        got = f"{len(value)} rows" if isinstance(value, list | tuple) else repr(value)
        raise UsageError(f"{expected}; got {got}")
    table = []
    for i, row in enumerate(value):
        if not isinstance(row, list | tuple) or len(row) != m:
            got = f"{len(row)} entries" if isinstance(row, list | tuple) else repr(row)
            raise UsageError(f"{expected}; row {i + 1} has {got}")
        for j, cell in enumerate(row):
            if not isinstance(cell, list | tuple) or len(cell) != 2 or not all(is_payoff(x) for x in cell):
                raise UsageError(f"{expected}; row {i + 1}, entry {j + 1} is {_short(cell)}")
        table.append(tuple((float(cell[0]), float(cell[1])) for cell in row))
    return tuple(table)


def _default_labels(actions: Sequence[str]) -> tuple[str, ...]:
    """First letters if they differ, else A, B, C, ..."""
    initials = tuple(action[0].upper() for action in actions)
    if len(set(initials)) == len(initials) and all(c.isascii() and c.isalpha() for c in initials):
        return initials
    if len(actions) > 26:
        raise UsageError(f"{len(actions)} actions need labels of their own: give the field 'labels'")
    return tuple(chr(ord("A") + i) for i in range(len(actions)))
