"""The page about probing shows what the published probes say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import probe_table
from results_table import between


def test_the_page_has_the_tables_of_the_published_probes() -> None:
    page = probe_table.PAGE.read_text(encoding="utf-8")
    assert page == between(page, probe_table.tables(probe_table.RESULTS)), "python scripts/probe_table.py --write"
    assert all(f"### {name}\n" in page for name in probe_table.MODELS)
