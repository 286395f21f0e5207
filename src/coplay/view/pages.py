"""The pages of ``coplay view``, from what is asked for to HTML. Whatever comes from a file is escaped by the templates."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from coplay.errors import UsageError
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.report.data import Arm, RunData, load_run
from coplay.report.page import environment as report_environment
from coplay.report.sections import endings, facts
from coplay.runs.directory import RunDirectory
from coplay.view.about import SeatResult, ago, differing, from_recipe, moment, results
from coplay.view.chats import ROUNDS_AT_ONCE, chat_of
from coplay.view.claims import claims_of, claims_stamp
from coplay.view.figures import Figures, compared_curves, training_curves
from coplay.view.found import Found
from coplay.view.games import Games
from coplay.view.index import Index
from coplay.view.reading import Gone, steadily
from coplay.view.rows import Row

TEMPLATES = Path(__file__).parent / "templates"

MOST_COMPARED = 8
"""Runs on one page of comparison: there are colours for so many."""

MOST_LISTED = 400
"""Games in a list to choose from; of more, their number is asked for."""


@cache
def environment() -> Environment:
    """The templates."""
    found = report_environment(TEMPLATES)
    found.filters |= {"moment": moment}
    return found


def page(template: str, **context: object) -> str:
    """A template filled in."""
    return environment().get_template(template).render(now=time.time(), ago=ago, **context)


class Pages:
    """The pages about a directory.

    Args:
        root: the directory.
    """

    def __init__(self, root: Path) -> None:
        self.index, self.figures, self.games = Index(root), Figures(), Games()

    # ------------------------------------------------------------------ the list

    def listing(self, query: str = "") -> str:
        """The list of everything, or of the rows with all words of a query."""
        rows = self.index.rows()
        words = query.lower().split()
        chosen = [row for row in rows if all(word in row.text for word in words)]
        return page("list.html.j2", root=str(self.index.root), rows=chosen, all=len(rows), query=query)

    def listing_parts(self) -> Mapping[str, str]:
        """What changes on the list, by the element that holds it."""
        rows = self.index.rows()
        return {"rows": page("rows.html.j2", rows=rows), "count": page("count.html.j2", rows=rows, all=len(rows))}

    # ------------------------------------------------------------------ one directory

    def directory(self, identifier: str) -> str:
        """The page of a run, or of something else."""
        found = self.index.get(identifier)
        return page("directory.html.j2", found=found, parts=self._parts(found))

    def directory_parts(self, identifier: str) -> Mapping[str, str]:
        """What changes on the page of a directory, by the element that holds it."""
        return self._parts(self.index.get(identifier))

    def mark(self, identifier: str) -> str:
        """What is the same as long as nothing on the page of a directory changes."""
        found = self.index.get(identifier)
        state = self.index.state(found)
        drawn = self.figures.is_drawn(found.id, state)
        claims = claims_stamp(found.path) if found.kind == "experiment" else ()
        own = repr((state, drawn, claims, [row for row in self.index.rows() if row.within == found.id]))
        return hashlib.blake2b(own.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def _parts(self, found: Found) -> Mapping[str, Markup]:
        row = self.index.row(found)
        parts = {"state": page("state.html.j2", row=row, path=str(found.path), found=found)}
        try:
            with expected_shape(found.path):
                parts |= self._run(found, row) if found.kind == "run" else {"inside": self._inside(found)}
                if found.kind == "experiment":
                    tables = steadily(found.path, lambda: claims_of(found.path))
                    parts["claims"] = page("claims.html.j2", tables=tables)
        except UsageError as error:
            parts["results"] = page("damaged.html.j2", told=str(error))
        return {name: Markup(part) for name, part in parts.items()}

    def _run(self, found: Found, row: Row) -> dict[str, str]:
        run, state = self._load(found), self.index.state(found)
        svgs = self.figures.get(found.id, state, lambda: training_curves(run)) if run.metrics else ()
        arm = Arm(found.name, found.name, run)
        directory = RunDirectory.open(found.path)
        return {
            "figures": page("figures.html.j2", svgs=svgs, bands=len(run.seeds) > 2),
            "results": page(
                "results.html.j2",
                rows=results(run),
                endings=endings([arm]) if run.states else [],
                diverged=run.diverged,
            ),
            "settings": page("settings.html.j2", facts=facts([arm]), changes=from_recipe(run), config=run.config),
            "files": page("files.html.j2", checkpoints=[path.name for path in directory.checkpoints()], row=row),
        }

    def _inside(self, found: Found) -> str:
        rows = [row for row in self.index.rows() if row.within == found.id]
        record: Mapping[str, object] = {}
        if found.kind == "audit":
            record = steadily(found.path, lambda: Store.open(found.path, "audit").read_object("audit.json"))
        return page("inside.html.j2", found=found, rows=rows, record=record)

    def _load(self, found: Found) -> RunData:
        return steadily(found.path, lambda: load_run(found.path, games=False))

    # ------------------------------------------------------------------ games

    def chat(self, identifier: str, number: int, first: int) -> str:
        """A recorded game.

        Args:
            identifier: of the directory.
            number: which of its games, from 0.
            first: the first round that is shown, from 0.
        """
        found = self.index.get(identifier)
        try:
            known = self.games.lines(found, self.index.state(found)[0])
            record, chat = self.games.get(found, number) if known else None, None
            with expected_shape(f"{found.path}, game {number + 1}"):
                chat = None if record is None else chat_of(record, first=first)
        except UsageError as error:
            return page("message.html.j2", title=found.name, told=str(error), found=found)
        trained = found.kind == "run"
        return page(
            "games.html.j2",
            found=found,
            number=number,
            count=len(known),
            labels=[line.label(trained=trained) for line in known] if len(known) <= MOST_LISTED else [],
            chat=chat,
            damage=None if record is None else record.get("damage"),
            step=ROUNDS_AT_ONCE,
            trained=trained,
        )

    # ------------------------------------------------------------------ comparison

    def compare(self, identifiers: Sequence[str]) -> str:
        """Runs side by side; those that cannot be read are told in place."""
        chosen = list(dict.fromkeys(identifiers))
        sides: list[tuple[Found, RunData, list[SeatResult]]] = []
        damaged = []
        for one in chosen[:MOST_COMPARED]:
            try:
                sides.append(self._side(self.index.get(one)))
            except (UsageError, Gone) as error:
                damaged.append(str(error))
        found, runs = [one for one, _, _ in sides], [run for _, run, _ in sides]
        labels = _labels([one.name for one in found])
        state, ids = tuple(self.index.state(one) for one in found), tuple(one.id for one in found)
        trained = any(run.metrics for run in runs)
        return page(
            "compare.html.j2",
            found=list(zip(found, labels, strict=True)),
            svgs=self.figures.get(ids, state, lambda: compared_curves(runs, labels)) if trained else (),
            rows=[replace(row, run=label) for (*_, rows), label in zip(sides, labels, strict=True) for row in rows],
            differences=differing(runs, labels),
            damaged=damaged,
            left_out=len(chosen) - MOST_COMPARED,
            labels=labels,
        )

    def _side(self, found: Found) -> tuple[Found, RunData, list[SeatResult]]:
        run = self._load(found)
        with expected_shape(found.path):
            return found, run, results(run)


def _labels(names: Sequence[str]) -> list[str]:
    """Names without the folders that they all lie in."""
    parts = [name.split("/") for name in names]
    same = 0
    while len(parts) > 1 and all(len(one) > same + 1 and one[same] == parts[0][same] for one in parts):
        same += 1
    return ["/".join(one[same:]) for one in parts]
