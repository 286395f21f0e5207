"""Check the claims of what is published again, on the published data.

    python scripts/recheck_claims.py                      # list claims that differ from what is published; exit status 1 if any does
    python scripts/recheck_claims.py --write              # write them into results/PAPER/TABLE/claims.json
    python scripts/recheck_claims.py results/shapellm     # of one directory alone

Nothing is trained and nothing is played: every number comes from the evaluations, curves, cross-play and recorded games in ``results/``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from coplay.evaluation.claims import CheckedClaim
from coplay.experiments.claims_file import read_claims, write_claims
from coplay.experiments.request import requests_of
from coplay.experiments.summary import checked_claims

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write, and say what changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "directories", type=Path, nargs="*", default=[RESULTS], help="below results/; all of it if none"
    )
    parser.add_argument("--write", action="store_true", help="write the claims instead of comparing them")
    options = parser.parse_args(arguments)
    changed = 0
    for whole in (
        path.parent for one in options.directories for path in sorted(one.resolve().rglob("experiment.json"))
    ):
        for place, claims in rechecked(whole):
            before = read_claims(place / "claims.json")
            for line in differences(before, claims):
                changed += 1
                print(f"{place.relative_to(RESULTS.parent)}: {line}")
            if options.write and before != claims:
                write_claims(place, claims)
    return 1 if changed and not options.write else 0


def rechecked(whole: Path) -> Iterator[tuple[Path, list[CheckedClaim]]]:
    """The claims of a published directory, table by table, with the table's place."""
    requests = requests_of(whole)
    experiments = list({one.name: one for asked in requests for one in asked.experiments}.values())
    alone = len(experiments) == 1 and not (whole / experiments[0].name).exists()
    for experiment in experiments:
        claims = checked_claims(requests[0], experiment, whole)
        if claims:
            yield whole if alone else whole / experiment.name, claims


def differences(before: Sequence[CheckedClaim], after: Sequence[CheckedClaim]) -> Iterator[str]:
    """What is new, gone or different, claim by claim."""
    old, new = ({claim.id: claim for claim in claims} for claims in (before, after))
    for id in dict.fromkeys([*old, *new]):
        if id not in new:
            yield f"{id}: gone (was {old[id].verdict})"
        elif id not in old:
            yield f"{id}: new, {new[id].verdict}, {new[id].measured_text()}"
        elif old[id].verdict != new[id].verdict:
            yield f"{id}: {old[id].verdict} -> {new[id].verdict}, {new[id].measured_text()}"
        elif old[id] != new[id]:
            yield f"{id}: {old[id].measured_text()} -> {new[id].measured_text()}"


if __name__ == "__main__":
    sys.exit(main())
