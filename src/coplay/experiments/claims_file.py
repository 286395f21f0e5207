"""The file ``claims.json``: a list of checked claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from coplay.errors import UsageError
from coplay.evaluation.claims import CheckedClaim
from coplay.runs.directory import replace_text

NAME = "claims.json"
"""The name of the file in an experiment's directory."""


def write_claims(directory: Path, claims: Sequence[CheckedClaim]) -> None:
    """Write the checked claims of an experiment into its directory."""
    rows = [claim.to_dict() for claim in claims]
    replace_text(directory / NAME, json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def read_claims(file: Path) -> list[CheckedClaim]:
    """Read checked claims, of today's form or older; raises UsageError for a damaged file."""
    try:
        return [CheckedClaim.from_dict(row) for row in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, TypeError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as claims: {error}") from None


def latest_claims(parent: Path) -> dict[str, CheckedClaim]:
    """The checked claims of all experiments below a directory, by id; of several with one id, that of the newest file."""
    files = sorted(parent.glob(f"**/{NAME}"), key=lambda file: (file.stat().st_mtime, file))
    return {claim.id: claim for file in files for claim in read_claims(file)}
