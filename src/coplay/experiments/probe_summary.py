"""What a probe comes to: policies by state, how far they follow the co-player, and what they owe to labels and positions.

Every number is a mean over pairs of labels; a pair counts once, as the mean of its two orders. Intervals are Student's, over pairs: they say
how far other labels would change the number. A model's reply to one prompt is known exactly and has no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coplay.experiments.probe import Probe, Row
from coplay.games.choice_prompts import PayoffFormat
from coplay.statistics import Interval, mean_ci95
from coplay.terminal.tables import align

START = "start"
"""The state before the first round."""


@dataclass(frozen=True)
class Policy:
    """A model's policy in one game and layout, with counts in the prompts or without."""

    game: str
    """The game."""
    layout: str
    """How the prompts set out the payoffs."""
    counts: bool
    """Whether the prompts say how often each state occurred."""
    states: Mapping[str, Interval]
    """By state: the probability of the first action among the labels."""
    reciprocity: Interval
    """P(first action) after the co-player took it, minus P(first action) after it took the second; each the mean over one's own last action."""
    legal: Interval
    """The probability of a legal reply, mean over the states."""


@dataclass(frozen=True)
class Bias:
    """What choices owe to words, in one game, mean over the states, with counts and without."""

    game: str
    """The game."""
    position: Interval
    """P(the label that the prompt names first) - 1/2, mean over the list and the reversed list, in which the actions change places."""
    label: Interval
    """By how much the preferred label of a pair is chosen more often than half the time, whatever it stands for: ``|P(label) - 1/2|``."""
    preferred: str
    """The label that is preferred most in its pair."""
    preference: float
    """P(preferred label) - 1/2."""


def policies(probe: Probe) -> list[Policy]:
    """One for each game, layout and presence of counts, in the order in which they were read."""
    kinds = dict.fromkeys((row.game, row.layout, row.counts is not None) for row in probe.rows)
    return [_policy(kind, [row for row in probe.rows if _kind(row) == kind], probe) for kind in kinds]


def _kind(row: Row) -> tuple[str, str, bool]:
    return row.game, row.layout, row.counts is not None


def _policy(kind: tuple[str, str, bool], rows: Sequence[Row], probe: Probe) -> Policy:
    game, layout, counts = kind
    states = dict.fromkeys(row.state for row in rows)
    by_state = {
        state: mean_ci95(by_pair([row for row in rows if row.state == state], lambda row: row.p_first))
        for state in states
    }
    follows = [row for row in rows if row.state != START]
    taken = probe.actions[game][0]

    def sign(row: Row) -> float:
        return 2 * row.p_first * (1 if row.state.endswith(f"/{taken}") else -1)  # two of four states each

    return Policy(
        game,
        layout,
        counts,
        by_state,
        mean_ci95(by_pair(follows, sign)),
        mean_ci95(by_pair(rows, lambda row: row.legal)),
    )


def biases(probe: Probe) -> list[Bias]:
    """One for each game."""
    return [_bias(game, [row for row in probe.rows if row.game == game]) for game in probe.actions]


def _bias(game: str, rows: Sequence[Row]) -> Bias:
    lists = [row for row in rows if row.layout != PayoffFormat.TABLE]
    position = by_pair(lists, lambda row: _named_first(row) - 0.5)
    signed = {}
    for pair in dict.fromkeys(tuple(sorted(row.labels)) for row in rows):
        own = [row for row in rows if tuple(sorted(row.labels)) == pair]
        signed[pair] = _mean(_of_label(row, pair[0]) for row in own) - 0.5
    (one, other), preference = max(signed.items(), key=lambda item: abs(item[1]))
    preferred = one if preference > 0 else other
    return Bias(
        game, mean_ci95(position), mean_ci95([abs(value) for value in signed.values()]), preferred, abs(preference)
    )


def _named_first(row: Row) -> float:
    """P(the label that stands first in the prompt)."""
    return 1.0 - row.p_first if row.layout == PayoffFormat.REVERSED else row.p_first


def _of_label(row: Row, label: str) -> float:
    """P(a label of the pair)."""
    return row.p_first if row.labels[0] == label else 1.0 - row.p_first


def by_pair(rows: Sequence[Row], value: Callable[[Row], float]) -> list[float]:
    """For each pair of labels the mean over all its rows, both orders."""
    found: dict[frozenset[str], list[float]] = {}
    for row in rows:
        found.setdefault(frozenset(row.labels), []).append(value(row))
    return [_mean(values) for values in found.values()]


def _mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / len(kept)


def short_states(actions: Sequence[str]) -> dict[str, str]:
    """``CD`` for ``cooperate/defect``: the actions' first letters, or their names where these are equal."""
    first, second = (action[:1].upper() for action in actions)
    letters = [first, second] if first != second else list(actions)
    between = "" if first != second else "/"
    names = {
        f"{a}/{b}": f"{x}{between}{y}"
        for a, x in zip(actions, letters, strict=True)
        for b, y in zip(actions, letters, strict=True)
    }
    return {START: START, **names}


def table(probe: Probe) -> str:
    """All of it for people: a block for each game."""
    found, about_words = policies(probe), {bias.game: bias for bias in biases(probe)}
    blocks = []
    for game, actions in probe.actions.items():
        short = short_states(actions)
        rows = [["prompts", *short.values(), "reciprocity", "legal"]]
        for policy in [one for one in found if one.game == game]:
            shown = [f"{policy.states[state].mean:.2f}" if state in policy.states else "" for state in short]
            name = f"{policy.layout}, counts" if policy.counts else policy.layout
            rows.append([name, *shown, str(policy.reciprocity), f"{policy.legal.mean:.1%}"])
        bias = about_words[game]
        blocks += [
            f"{game}: P({actions[0]}) among the labels, own last action first",
            *align(rows, numbers=True, least=[len("reversed, counts"), *[5] * len(short), 14, 6]),
            f"position bias {bias.position}; label bias {bias.label}, most for {bias.preferred} (+{bias.preference:.2f})",
            "",
        ]
    pairs = f"mean over {probe.pairs} pairs of labels, each in both orders; ± is a 95 % interval over pairs"
    return "\n".join([f"{probe.title}: {pairs}", "", *blocks[:-1]])
