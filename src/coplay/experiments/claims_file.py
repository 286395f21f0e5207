"""The file ``claims.json``: a list of checked claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from coplay.evaluation.claims import CheckedClaim
from coplay.files.reading import expected_shape, parse_json
from coplay.files.store import Store
from coplay.files.writing import json_text

NAME = "claims.json"
"""The name of the file in an experiment's directory."""


def write_claims(directory: Path, claims: Sequence[CheckedClaim]) -> None:
    """Write the checked claims of an experiment into its directory."""
    Store.open(directory, "experiment").replace(NAME, json_text([claim.to_dict() for claim in claims]))


def read_claims(file: Path) -> list[CheckedClaim]:
    """Read checked claims, of today's form or older; raises UsageError for a damaged file."""
    store = Store.open(file.parent, "experiment")
    try:
        found = parse_json(store.read(file.name), file)
    except FileNotFoundError:
        return []
    with expected_shape(file):
        return [CheckedClaim.from_dict(row) for row in cast("list[dict[str, object]]", found)]


def latest_claims(parent: Path) -> dict[str, CheckedClaim]:
    """The checked claims of all experiments below a directory, by id; of several with one id, that of the newest file."""
    files = sorted(parent.glob(f"**/{NAME}"), key=lambda file: (file.stat().st_mtime, file))
    return {claim.id: claim for file in files for claim in read_claims(file)}
