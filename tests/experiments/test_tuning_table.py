"""The page about tuning on SmolLM2 shows what the kept tries say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import tuning_runs
from results_table import between


def test_the_page_has_the_table_of_the_kept_tries() -> None:
    page = tuning_runs.PAGE.read_text(encoding="utf-8")
    tries = tuning_runs.read()
    assert tries and page == between(page, tuning_runs.table(tries)), "python scripts/tuning_runs.py write"
    assert {one["seed"] for one in tries} <= set(range(100, 110)), "published seeds are others"
