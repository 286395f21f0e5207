"""Probing: what a model does in the prompts of matrix games before any learning, over action labels, layouts and states.

:func:`probe` reads the model; :mod:`coplay.experiments.probe_summary` says what the numbers come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coplay.errors import UsageError
from coplay.experiments.labels import check_two_actions, prompt_names, read_policies, reader_of
from coplay.files.kinds import newest_version
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.matrix import ROW, MatrixGame, first_observations
from coplay.games.memory import Memory, Observation
from coplay.recipes.shapellm.table_14 import LabelPair

if TYPE_CHECKING:
    from coplay.models.loading import LoadedModel

FILE = "probe.json"
"""What a probe's directory keeps."""

GAMES = ("ipd", "ish", "icg")
"""The games that are probed unless others are named."""

PAIRS: tuple[LabelPair, ...] = (
    ("C", "D"), ("A", "B"), ("J", "F"), ("H", "K"), ("N", "Y"), ("I", "X"),
)  # fmt: skip
"""The labels: letters that are single tokens nearly everywhere, among them those of ShapeLLM's IPD. Each pair is read in both orders."""

LAYOUTS = (PayoffFormat.LIST, PayoffFormat.TABLE, PayoffFormat.REVERSED)
"""How the prompts set out the payoffs: in these three, with which probes were published."""

EVEN = 5
"""In prompts with counts every state has occurred so often before the last round: the history is even, and the same in all states."""

DIGITS = 4
"""Decimals of the probabilities that are kept."""


@dataclass(frozen=True)
class Row:
    """What the model replies to one prompt."""

    game: str
    """The game."""
    labels: LabelPair
    """The labels of the first and the second action."""
    layout: str
    """How the prompt sets out the payoffs: :class:`~coplay.games.choice_prompts.PayoffFormat`."""
    counts: tuple[int, ...] | None
    """How often each state occurred before the last round, in the order of the game's states; None if the prompt does not say."""
    state: str
    """``start``, or the last joint action by name, the reader's own first: ``cooperate/defect``."""
    p_first: float
    """The probability of the first action's label among the two labels."""
    legal: float
    """The probability of a reply that is one of the labels."""

    def as_json(self) -> dict[str, object]:
        """As files have it."""
        counts = None if self.counts is None else list(self.counts)
        return {**vars(self), "labels": list(self.labels), "counts": counts}


@dataclass(frozen=True)
class Probe:
    """All that was read from a model."""

    model: str
    """The model, as it was named."""
    adapter: str | None
    """The adapter that was read with it; None for the model as it is."""
    actions: Mapping[str, tuple[str, str]]
    """Each game's two actions by name."""
    rows: tuple[Row, ...]
    """A prompt each."""
    skipped: tuple[LabelPair, ...] = ()
    """Pairs whose labels are not two different single tokens of the model's."""
    chat: str | None = None
    """The format in which the model was talked to; None in files of before it was recorded."""
    chat_date: str | None = None
    """What chat templates took for today; None likewise."""

    @property
    def title(self) -> str:
        """What was probed, for people."""
        return self.model if self.adapter is None else f"{self.model} with {self.adapter}"

    @property
    def pairs(self) -> int:
        """How many pairs of labels were read, each in both orders."""
        return len({frozenset(row.labels) for row in self.rows})

    def record(self) -> dict[str, object]:
        """What ``probe.json`` holds."""
        return {
            "version": newest_version(FILE),
            "model": self.model,
            "adapter": self.adapter,
            "chat": self.chat,
            "chat_date": self.chat_date,
            "actions": {game: list(actions) for game, actions in self.actions.items()},
            "skipped": [list(pair) for pair in self.skipped],
            "rows": [row.as_json() for row in self.rows],
        }


def checked_games(names: Sequence[str]) -> list[MatrixGame]:
    """The games to be probed.

    Raises:
        UsageError: for an unknown game, one that is named twice, or one in which the seats do not have the same two actions.
    """
    games = [matrix_game(name, what="coplay probe") for name in names]
    for game in games:
        check_two_actions(game)
        first, second = (game.actions[seat] for seat in game.seats)
        if first != second:
            raise UsageError(
                f"game {game.name!r}: a probe compares replies to what the co-player did, so both seats must have the same"
                f" actions; row has {', '.join(first)}, column {', '.join(second)}"
            )
    twice = sorted({game.name for game in games if [one.name for one in games].count(game.name) > 1})
    if twice:
        raise UsageError(f"game {twice[0]!r} is named twice")
    return games


def probe(
    loaded: LoadedModel,
    games: Sequence[MatrixGame],
    *,
    pairs: Sequence[LabelPair] = PAIRS,
    adapter: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Probe:
    """Read a model's policy in the row seat's prompts of games.

    Args:
        loaded: the model. It is only read.
        games: games from :func:`checked_games`.
        pairs: pairs of labels; each is read in both orders.
        adapter: directory of a PEFT adapter to be read with the model; None for the model as it is.
        on_progress: called with (pairs done, pairs) after each one, in one order, layout and game.

    Raises:
        UsageError: if no pair of labels is two single tokens of the model's.
    """
    reader = reader_of(loaded, adapter)
    both = [order for pair in pairs for order in (pair, (pair[1], pair[0]))]
    parts = [(game, layout) for game in games for layout in LAYOUTS]
    rows: list[Row] = []
    skipped: tuple[LabelPair, ...] = ()
    for done, (game, layout) in enumerate(parts):
        seen = observations(game)

        def shown(now: int, of: int, *, before: int = done) -> None:
            if on_progress is not None:
                on_progress(before * of + now, len(parts) * of)

        found = read_policies(
            reader, game, seat=ROW, pairs=both, seen=seen, payoff_format=layout, pairs_a_call=1, on_progress=shown
        )
        skipped = found.skipped
        if not found.policies:
            raise UsageError(
                f"probe: none of the labels {', '.join('/'.join(pair) for pair in pairs)} are single tokens of {loaded.name};"
                " `coplay labels` finds labels that are"
            )
        start, *states = prompt_names(game, ROW)
        for policy in found.policies:
            for one, (first, second) in zip(seen, policy.logprobs, strict=True):
                state = start if one.last is None else states[game.own_states(ROW).index(one.last)]
                numbers = share_of(first, second), min(1.0, math.exp(first) + math.exp(second))
                p_first, legal = (round(number, DIGITS) for number in numbers)
                rows.append(Row(game.name, policy.labels, layout.value, one.counts, state, p_first, legal))
    actions = {game.name: (game.actions[ROW][0], game.actions[ROW][1]) for game in games}
    once = tuple(pair for pair in pairs if pair in skipped or (pair[1], pair[0]) in skipped)
    return Probe(
        loaded.name,
        None if adapter is None else str(adapter),
        actions,
        tuple(rows),
        once,
        chat=str(loaded.chat.format),
        chat_date=loaded.chat.day,
    )


def share_of(first: float, second: float) -> float:
    """P / (p + q) of two log-probabilities, which may be of numbers too small to be written."""
    gap = second - first
    return 1.0 / (1.0 + math.exp(gap)) if gap < 0 else math.exp(-gap) / (1.0 + math.exp(-gap))


def observations(game: MatrixGame) -> list[Observation]:
    """What the prompts show: the five without counts, then the four last joint actions after an even history."""
    bare = first_observations(game, ROW, Memory.LAST_ROUND)
    states = game.own_states(ROW)
    return [*bare, *(Observation(last=state, counts=(EVEN,) * len(states)) for state in states)]


def read_probe(directory: Path) -> Probe:
    """What a probe's directory keeps, compressed or not; raises UsageError if it is damaged."""
    data = Store.open(directory, "probe").read_object(FILE)
    with expected_shape(directory / FILE):
        rows = tuple(_row(row) for row in data["rows"])
        actions = {str(game): _pair(words) for game, words in data["actions"].items()}
        skipped = tuple(_pair(pair) for pair in data["skipped"])
        recorded = {key: data.get(key) for key in ("adapter", "chat", "chat_date")}
        settings = {key: None if value is None else str(value) for key, value in recorded.items()}
        found = Probe(str(data["model"]), actions=actions, rows=rows, skipped=skipped, **settings)
        if not rows or {row.game for row in rows} != actions.keys():
            raise ValueError("the rows are not those of the games")
        return found


def _row(row: Mapping[str, Any]) -> Row:
    counts = None if row["counts"] is None else tuple(map(int, row["counts"]))
    numbers = float(row["p_first"]), float(row["legal"])
    return Row(str(row["game"]), _pair(row["labels"]), str(row["layout"]), counts, str(row["state"]), *numbers)


def _pair(words: Sequence[str]) -> LabelPair:
    first, second = map(str, words)
    return first, second
