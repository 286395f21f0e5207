"""Prompts of games in which a reply is one label: a seat's observation becomes the text it reads. Pure functions.

With two seats the wording is that of ShapeLLM (Figures 5, 7, 11 and 17-19), to the character. With more it is the same with opponents for
opponent. A prompt never says what kind of game it is: it gives the labels of the actions, the payoffs, and what the memory shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from coplay.games.base import UNPARSEABLE
from coplay.games.memory import Joint, Observation, from_own_view
from coplay.text.chat import PromptParts
from coplay.text.rendering import number

if TYPE_CHECKING:
    from coplay.games.normal_form import NormalFormGame


class PayoffFormat(StrEnum):
    """How a prompt sets out the payoffs."""

    LIST = "list"
    """``C/C: 3/3, C/D: 0/4, ...`` (Figure 17)."""
    BOLD_TABLE = "bold_table"
    """A markdown table with labels in bold and an empty first cell in its header (Figure 5); two seats."""
    TABLE = "table"
    """The same table as it is extracted from the paper's file, ``* * C * *`` for ``**C**`` and no first cell in the header. The embedded model
    was built with it, and runs that were trained on it keep it."""
    REVERSED = "reversed"
    """The list with actions and payoffs in reversed order (Figure 7)."""


TABLES = (PayoffFormat.BOLD_TABLE, PayoffFormat.TABLE)
"""Formats of games with two seats; with more, payoffs are listed."""


class Spacing(StrEnum):
    """Which spaces a prompt has where ShapeLLM's figures and its published code differ."""

    PAPER = "paper"
    """The figures': no space after a tag, one before each payoff, none that pad a table's cells."""
    RELEASED = "released"
    """The published code's: a space after ``<STATE>`` and ``<ADDITIONAL INFORMATION>``, two before the second of the listed payoffs, and cells of
    :attr:`PayoffFormat.BOLD_TABLE` padded to equal widths."""


MAX_LISTED = 32
"""A game with more joint actions than this writes its payoffs as a rule, if it has one, instead of listing them."""


def write_prompt(
    game: NormalFormGame,
    seat: str,
    observation: Observation,
    *,
    labels: Sequence[str] | None = None,
    payoff_format: PayoffFormat = PayoffFormat.LIST,
    spacing: Spacing = Spacing.PAPER,
) -> PromptParts:
    """Write what ``seat`` reads.

    Args:
        game: the rules, and the only source of payoffs.
        seat: the reader. Payoffs are "yours/your opponent's", states "your action, your opponent's".
        observation: what the seat's memory shows it.
        labels: the reader's labels for its own actions, in their order; by default the game's. Where the seats have the same
            actions, the reader sees its co-players' actions under its own labels too.
        payoff_format: how the payoffs are set out.
        spacing: whose spaces the prompt has, the figures' or the published code's.

    Returns:
        The parts of the prompt.
    """
    key = (seat, None if labels is None else tuple(labels), payoff_format, spacing)
    constant = game.constant_parts.get(key)
    if constant is None:
        constant = game.constant_parts[key] = ConstantParts(game, seat, labels, payoff_format, spacing)
    gap = " " if spacing is Spacing.RELEASED else ""
    context = ""
    if observation.counts is not None:
        pairs = zip(constant.states, observation.counts, strict=True)
        counted = ", ".join(f"{state}:{count}" for state, count in pairs)
        context = f"<ADDITIONAL INFORMATION>{gap}The occurrence of each state in the current game has been {counted}."
    elif observation.transcript:
        played = ", ".join(constant.code(joint, "/") for joint in observation.transcript)
        context = f"<ADDITIONAL INFORMATION>{gap}The rounds of the current game so far, in order, have been {played}."
    elif observation.recent:
        played = ", ".join(constant.code(joint, "/") for joint in observation.recent)
        context = f"<ADDITIONAL INFORMATION>{gap}The last rounds of the current game, in order, have been {played}."
    state = ""
    if observation.last is not None:
        did = zip(constant.names, observation.last, strict=True)
        own, *others = (_word(labels, action, UNPARSEABLE) for labels, action in did)
        state = f"<STATE>{gap}In the previous round, you played {own} and {_whose(others)} played {', '.join(others)}."
    return PromptParts(constant.rules, context, state, constant.instruction, constant.labels)


class ConstantParts:
    """What is the same in all prompts of a seat."""

    def __init__(
        self,
        game: NormalFormGame,
        seat: str,
        labels: Sequence[str] | None,
        payoff_format: PayoffFormat,
        spacing: Spacing,
    ) -> None:
        self.game, self.seat = game, seat
        self.names = _labels(game, seat, labels)
        self.labels = mine = tuple(self.names[0].values())
        self.rules = _rules(game, seat, self.names, payoff_format, spacing)
        choice = f"{', '.join(mine[:-1])} or {mine[-1]}"
        self.instruction = f"Choose an action for the current round. Reply only with {choice}."

    @cached_property
    def states(self) -> list[str]:
        """All states of a round in labels, in the order of counts."""
        return [self.code(joint) for joint in self.game.own_states(self.seat)]

    def code(self, joint: Joint, separator: str = "") -> str:
        """What was done in a round in labels, own first."""
        return separator.join(_word(own, action, "-") for own, action in zip(self.names, joint, strict=True))


def _labels(game: NormalFormGame, seat: str, labels: Sequence[str] | None) -> list[dict[str, str]]:
    """Action to label as the reader sees them: its own, then each co-player's, in the game's order."""
    mine = tuple(labels or game.labels[seat])
    others = [one for one in game.seats if one != seat]
    shown = [mine, *(mine if game.actions[one] == game.actions[seat] else game.labels[one] for one in others)]
    return [dict(zip(game.actions[one], own, strict=True)) for one, own in zip((seat, *others), shown, strict=True)]


def _word(labels: Mapping[str, str], action: str | None, unparsed: str) -> str:
    """The label of what was done; in games that count rounds with replies that could not be parsed, the word for those."""
    return unparsed if action is None else labels[action]


def _whose(others: Sequence[str]) -> str:
    return "your opponent" if len(others) == 1 else "your opponents"


def _rules(
    game: NormalFormGame, seat: str, names: list[dict[str, str]], payoff_format: PayoffFormat, spacing: Spacing
) -> str:
    own_label, *their_labels = names
    reverse = payoff_format is PayoffFormat.REVERSED
    lists = [list(reversed(of_seat)) if reverse else list(of_seat) for of_seat in names]
    rows, columns = lists[0], lists[1]
    actions = ", ".join(own_label[a] for a in rows)
    if any(list(own_label.values()) != list(theirs.values()) for theirs in their_labels):
        shown = [", ".join(theirs[b] for b in of_seat) for theirs, of_seat in zip(their_labels, lists[1:], strict=True)]
        actions += f" (your opponent's: {shown[0]})" if len(shown) == 1 else f" (your opponents': {'; '.join(shown)})"
    opening = (
        f"You are playing a {len(game.seats)}-player game with actions: {actions}. Points are assigned as follows:"
    )
    if game.payoff_rule is not None and len(game.states) > MAX_LISTED:
        return f"{opening} {game.payoff_rule(own_label)}"
    index = game.seats.index(seat)

    def payoffs(own_joint: Joint, separator: str) -> str:
        paid = game.joint_payoffs(from_own_view(index, own_joint))
        return separator.join(number(x) for x in (paid[index], *paid[:index], *paid[index + 1 :]))

    if payoff_format in TABLES and len(names) == 2:
        cells = [[f"({payoffs((a, b), ', ')})" for b in columns] for a in rows]
        left, top = [own_label[a] for a in rows], [their_labels[0][b] for b in columns]
        if payoff_format is PayoffFormat.TABLE:
            table = _extracted_table(left, top, cells)
        else:
            table = _bold_table(left, top, cells, padded=spacing is Spacing.RELEASED)
        return "\n".join([opening, "", *table, ""])
    listed = [
        f"{'/'.join(n[a] for n, a in zip(names, joint, strict=True))}: {payoffs(joint, '/')}"
        for joint in product(*lists)
    ]
    if spacing is Spacing.RELEASED:
        listed[1:2] = [f" {second}" for second in listed[1:2]]
    return f"{opening} {', '.join(listed)}."


def _bold_table(left: Sequence[str], top: Sequence[str], cells: Sequence[Sequence[str]], *, padded: bool) -> list[str]:
    """Lines of Figure 5's table: own labels on the left, the co-player's on top. Padded, the widths are the published code's."""
    first, other = (5, 7) if padded else (0, 0)
    header = [" " * first, *(f"**{label}**".center(other) for label in top)]
    body = [
        [f"**{label}**".ljust(first), *(cell.center(other) for cell in of_row)]
        for label, of_row in zip(left, cells, strict=True)
    ]
    dashes = ["-" * (first + 2), *["-" * (other + 2)] * len(top)] if padded else ["-----"] * (len(top) + 1)
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in (header, *body)]
    return [lines[0], f"|{'|'.join(dashes)}|", *lines[1:]]


def _extracted_table(left: Sequence[str], top: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """The same with spaced asterisks, and a header that lacks its first cell."""
    header = " | ".join(f"* * {label} * *" for label in top)
    body = [f"| * * {label} * * | {' | '.join(of_row)} |" for label, of_row in zip(left, cells, strict=True)]
    return [f"| {header} |", "|" + "-----|" * (len(top) + 1), *body]
