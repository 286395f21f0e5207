"""The checked claims of an experiment: its own, or those of each of its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coplay.evaluation.claims import CheckedClaim, verdict_counts
from coplay.experiments.claims_file import NAME, read_claims
from coplay.files.kinds import MARKERS
from coplay.view.found import Stamp, shown, stamp_of_file


@dataclass(frozen=True)
class TableClaims:
    """The claims of a table or figure."""

    name: str
    """The table's directory; empty for an experiment that is one table."""
    claims: Sequence[CheckedClaim]
    """Its claims, in the order of the file."""

    @property
    def counts(self) -> str:
        """How many hold, in words."""
        return verdict_counts(self.claims)

    @property
    def records(self) -> list[dict[str, object]]:
        """The claims as in ``claims.json``."""
        return [claim.to_dict() for claim in self.claims]


def claims_of(experiment: Path) -> list[TableClaims]:
    """The claims in an experiment's directory, table by table; none before it has been summarised.

    Raises:
        UsageError: if a file is damaged.
    """
    found = [
        TableClaims("" if folder == experiment else shown(folder.name), read_claims(folder / NAME))
        for folder in _folders(experiment)
    ]
    return [table for table in found if table.claims]


def claims_stamp(experiment: Path) -> Stamp:
    """What tells whether any of these claims has changed."""
    stamps = (stamp_of_file(folder, NAME) for folder in _folders(experiment))
    return tuple(one for one in stamps if one is not None)


def _folders(experiment: Path) -> list[Path]:
    """The directory itself and its tables'; what is a link or an experiment of its own, with a page of its own, is left out."""
    try:
        inner = [path for path in experiment.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        inner = []
    record, _ = MARKERS["experiment"]
    tables = sorted((path for path in inner if stamp_of_file(path, record) is None), key=_by_number)
    return [folder for folder in (experiment, *tables) if stamp_of_file(folder, NAME) is not None]


def _by_number(folder: Path) -> tuple[tuple[str, int], ...]:
    """Table 2 comes before table 10."""
    return tuple((text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d{0,9})", folder.name))
