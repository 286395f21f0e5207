"""ShapeLLM's prompts: what a seat reads before it moves (appendix A.11, Figures 17-19; A.5, Figures 5 and 7).

A message has up to four parts, joined by newlines: the rules, the counts of earlier joint actions, the last joint action, the
instruction. Which parts appear follows from the observation alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from coplay.games.matrix import Joint, MatrixGame, other
from coplay.games.memory import Observation


class Layout(StrEnum):
    """How the payoffs are laid out."""

    LIST = "list"
    """``C/C: 3/3, C/D: 0/4, ...`` (Figure 17)."""
    TABLE = "table"
    """A markdown table (Figure 5)."""
    REVERSED = "reversed"
    """The list with actions and payoffs in reversed order (Figure 7)."""


@dataclass(frozen=True)
class Message:
    """The parts of a prompt, before any chat format."""

    rules: str
    """Players, actions and payoffs."""
    context: str
    """Counts or transcript of earlier rounds; empty if the memory shows none."""
    state: str
    """The last joint action; empty if there is none."""
    instruction: str
    """What to reply."""
    labels: tuple[str, ...]
    """The labels that are legal replies, in the order of the seat's actions."""

    @property
    def situation(self) -> str:
        """Everything but the rules."""
        return "\n".join(part for part in (self.context, self.state, self.instruction) if part)

    @property
    def text(self) -> str:
        """The whole message."""
        return f"{self.rules}\n{self.situation}"


def number(value: float) -> str:
    """A payoff as a person writes it: ``3``, ``-1``, ``0.5``."""
    return str(int(value)) if value == int(value) else repr(value)


def write_message(
    game: MatrixGame,
    seat: str,
    observation: Observation,
    *,
    labels: Sequence[str] | None = None,
    layout: Layout = Layout.LIST,
) -> Message:
    """Write what ``seat`` reads.

    Args:
        game: the rules, and the only source of payoffs.
        seat: the reader. Payoffs are "yours/your opponent's", states "your action, your opponent's".
        observation: what the seat's memory shows it.
        labels: the reader's labels for its own actions, in their order; by default the game's. Where both seats have the same
            actions, the reader sees its co-player's actions under its own labels too.
        layout: how the payoffs are laid out.

    Returns:
        The parts of the message.
    """
    mine = tuple(labels or game.labels[seat])
    theirs = mine if game.actions[seat] == game.actions[other(seat)] else game.labels[other(seat)]
    own_label = dict(zip(game.actions[seat], mine, strict=True))
    other_label = dict(zip(game.actions[other(seat)], theirs, strict=True))

    def code(joint: Joint, separator: str = "") -> str:
        return own_label[joint[0]] + separator + other_label[joint[1]]

    context = ""
    if observation.counts is not None:
        pairs = zip(game.own_states(seat), observation.counts, strict=True)
        counted = ", ".join(f"{code(joint)}:{count}" for joint, count in pairs)
        context = f"<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been {counted}."
    elif observation.transcript:
        played = ", ".join(code(joint, "/") for joint in observation.transcript)
        context = f"<ADDITIONAL INFORMATION>The rounds of the current game so far, in order, have been {played}."
    state = ""
    if observation.last is not None:
        own, theirs_last = observation.last
        state = f"<STATE>In the previous round, you played {own_label[own]} and your opponent played {other_label[theirs_last]}."
    rules = _rules(game, seat, own_label, other_label, layout)
    choice = f"{', '.join(mine[:-1])} or {mine[-1]}"
    instruction = f"Choose an action for the current round. Reply only with {choice}."
    return Message(rules, context, state, instruction, mine)


def _rules(game: MatrixGame, seat: str, own_label: dict[str, str], other_label: dict[str, str], layout: Layout) -> str:
    rows, columns = list(own_label), list(other_label)
    if layout is Layout.REVERSED:
        rows.reverse()
        columns.reverse()
    actions = ", ".join(own_label[a] for a in rows)
    if list(own_label.values()) != list(other_label.values()):
        actions += f" (your opponent's: {', '.join(other_label[b] for b in columns)})"
    opening = f"You are playing a 2-player game with actions: {actions}. Points are assigned as follows:"

    def payoffs(own: str, theirs: str, separator: str) -> str:
        mine = game.payoff(seat, own=own, other=theirs)
        opponents = game.payoff(other(seat), own=theirs, other=own)
        return number(mine) + separator + number(opponents)

    if layout is Layout.TABLE:
        # The spaced asterisks and the header's missing first cell are the figure's own.
        header = "| " + " | ".join(f"* * {other_label[b]} * *" for b in columns) + " |"
        divider = "|" + "-----|" * (len(columns) + 1)
        body = [
            f"| * * {own_label[a]} * * | " + " | ".join(f"({payoffs(a, b, ', ')})" for b in columns) + " |"
            for a in rows
        ]
        return "\n".join([opening, "", header, divider, *body, ""])
    cells = ", ".join(f"{own_label[a]}/{other_label[b]}: {payoffs(a, b, '/')}" for a in rows for b in columns)
    return f"{opening} {cells}."
