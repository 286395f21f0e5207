"""A directory as a row of the list: what was run, how far it is, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coplay.errors import UsageError
from coplay.files.reading import expected_shape, parse_lines, read_end
from coplay.files.store import Store
from coplay.report.formats import figure
from coplay.report.values import Record, at, estimate, is_number, items, section
from coplay.runs.directory import RunDirectory
from coplay.runs.divergence import diverged_in
from coplay.text.rendering import spans
from coplay.view.found import Found, Stamp
from coplay.view.games import FILES
from coplay.view.reading import steadily

State = Literal["training", "finished", "interrupted", "diverged", "damaged", "running", ""]
"""``interrupted``: not finished, and no process works on it. Empty for what has no state, such as an audit."""

END_BYTES = 64 * 1024
"""Of the end of ``metrics.jsonl`` that the list reads of a run that is not finished."""

JUST_NOW = 60.0
"""Seconds since the last change in which a run counts as training, where the system does not tell who holds a lock."""

_KINDS = {
    "alignment": "aligned model",
    "demonstrations": "demonstrations",
    "experiment": "experiment",
    "probe": "probe",
    "recording": "recorded games",
    "sft": "fine-tuned model",
    "sweep": "sweep",
}
"""What directories other than runs and audits are called."""


@dataclass(frozen=True)
class Row:
    """One row of the list."""

    id: str
    """Its identifier."""
    name: str
    """Its path below the directory that is shown."""
    kind: str
    """What it is, in words."""
    within: str | None
    """The identifier of what it is a part of."""
    changed: float
    """When a file was last changed, in seconds since 1970."""
    game: str = ""
    """The game."""
    recipe: str = ""
    """The recipe, or what else says how it was made."""
    seeds: str = ""
    """The seeds."""
    done: int | None = None
    """Trials that are done; None where there are no trials."""
    total: int | None = None
    """Trials in all."""
    state: State = ""
    """Whether it is training, finished and so on."""
    told: str = ""
    """More about the state: an audit's verdict, how many seeds diverged, what is damaged."""
    payoffs: tuple[tuple[str, str], ...] = ()
    """Each seat with its payoff per round."""
    has_page: bool = False
    """Whether a report or a card has been written."""
    has_games: bool = False
    """Whether games are recorded."""
    comparable: bool = False
    """Whether it can be compared with others: a run that can be read."""

    @property
    def text(self) -> str:
        """What the filter looks in, in lower case."""
        return " ".join((self.name, self.kind, self.game, self.recipe, self.state, self.told)).lower()


def row_of(found: Found, stamp: Stamp, *, held: bool | None, now: float) -> Row:
    """The row of a directory; one that is damaged says so, in the row.

    Args:
        found: the directory.
        stamp: the state of its files.
        held: whether a process works on it; None where the system does not tell.
        now: the time, in seconds since 1970.

    Raises:
        Gone: if it is no longer there.
    """
    changed = max((time for _, time, _, _ in stamp), default=0) / 1e9
    names = {name.removesuffix(".gz") for name, *_ in stamp}
    bare = Row(found.id, found.name, _KINDS.get(found.kind, found.kind), found.within, changed)
    bare = replace(bare, has_page=found.has_page, has_games=FILES.get(found.kind) in names)
    active = now - changed < JUST_NOW if held is None else held
    make = {"run": _run_row, "audit": _audit_row, "recording": _recording_row}.get(found.kind, _other_row)
    try:
        with expected_shape(found.path):
            return steadily(found.path, lambda: make(found, bare, active))
    except UsageError as error:
        return replace(bare, state="damaged", told=" ".join(str(error).split()))


def _run_row(found: Found, bare: Row, active: bool) -> Row:
    run = RunDirectory.open(found.path)
    config = run.raw_config
    with expected_shape(found.path / "config.json"):
        game, seeds = config["game"], [int(seed) for seed in config["seeds"]]
        name = str(game if isinstance(game, str) else game["name"])
        row = replace(bare, game=name, recipe=str(config["recipe"]), seeds=spans(seeds), total=int(config["trials"]))
    row = replace(row, comparable=True)
    if run.is_finished:
        found_ = run.store.read_object("eval.json") if run.store.has("eval.json") else {}
        diverged = section(found_, "diverged")
        told = f"{len(diverged)} of {len(seeds)} seeds diverged" if diverged else ""
        return replace(
            row, state="diverged" if diverged else "finished", told=told, done=row.total, payoffs=_evaluated(found_)
        )
    lines = _last_lines(run)
    done = max((step for line in lines if isinstance(step := line.get("step"), int)), default=0)
    diverged = diverged_in(lines)
    all_diverged = len(diverged) == len(seeds) > 0
    state: State = "diverged" if all_diverged else "training" if active else "interrupted"
    told = f"{len(diverged)} of {len(seeds)} seeds diverged" if diverged else ""
    return replace(
        row, state=state, told=told, done=done, payoffs=_trained(lines, done, tuple(section(config, "seats")))
    )


def _last_lines(run: RunDirectory) -> Sequence[Record]:
    """The last complete lines of the metrics; only if they are damaged is the whole file read, to say which line it is."""
    try:
        path = run.path / "metrics.jsonl"
        return parse_lines(read_end(path, most=END_BYTES), path)
    except FileNotFoundError:
        return run.metrics()
    except UsageError:
        run.metrics()
        raise


def _evaluated(evaluation: Record) -> tuple[tuple[str, str], ...]:
    """Each seat's payoff per round in an evaluation."""
    seats = section(evaluation, "seats")
    return tuple((seat, figure(estimate(at(about, "per_round")))) for seat, about in seats.items())


def _trained(lines: Sequence[Record], step: int, seats: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Each seat's payoff per round in the last trial, mean over seeds; or each learner's, where learners change seats."""
    last = [line for line in lines if line.get("step") == step]
    means: dict[str, float] = {}
    for name in dict.fromkeys(
        key.removeprefix("reward/") for line in last for key in line if key.startswith("reward/")
    ):
        values = [float(value) for line in last if is_number(value := line.get(f"reward/{name}"))]
        if values:
            means[name] = sum(values) / len(values)
    shown = [seat for seat in seats if seat in means] or list(means)
    return tuple((name, figure(means[name])) for name in shown)


def _audit_row(found: Found, bare: Row, active: bool) -> Row:
    store = Store.open(found.path, "audit")
    record = store.read_object("audit.json")
    return replace(
        bare,
        game=str(record.get("game", "")),
        recipe=str(record.get("player", "")),
        told=str(record.get("verdict", "")),
        state="running" if active else "",
    )


def _recording_row(found: Found, bare: Row, active: bool) -> Row:
    store = Store.open(found.path, "recording")
    asked = store.read_object("recording.json")
    game = asked.get("game")
    name = str(at(game, "name") if isinstance(game, Mapping) else game)
    players = asked.get("players")
    seated = players.values() if isinstance(players, Mapping) else items(players)
    told = f"{store.step} games" if store.has_manifest else ""
    return replace(bare, game=name, recipe=", ".join(map(str, seated)), told=told, state="running" if active else "")


def _other_row(found: Found, bare: Row, active: bool) -> Row:
    Store.open(found.path, found.kind)
    return replace(bare, state="running" if active else "")
