"""The results table says what claims.json says, and nothing else."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import exploit_table
import results_table

CLAIM = {
    "id": "table2/ipd/shaper",
    "paper": "ShapeLLM, Table 2",
    "claim": "It | holds.",
    "published": None,
    "measured": 3.966,
    "ci95": 0.012,
    "n_seeds": 5,
    "model": "tiny",
    "holds": True,
}
FAILED = {**CLAIM, "claim": "It does not.", "published": -0.001, "measured": 1.0, "holds": False, "verdict": "fails"}
OPEN = {**FAILED, "claim": "Nobody knows.", "measured": None, "ci95": None, "verdict": "undecided"}


def test_claims_that_do_not_hold_are_told_like_the_others(tmp_path: Path) -> None:
    results = tmp_path / "shapellm"
    for name, claims in (("table10", [FAILED]), ("table2", [CLAIM, FAILED, OPEN])):
        (results / name).mkdir(parents=True)
        (results / name / "claims.json").write_text(json.dumps(claims))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{results_table.BEGIN}\nold\n{results_table.END}\nafter\n")
    for _ in range(2):  # writing it again changes nothing
        assert results_table.tell(results, page, write=True) == 0
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("after\n") and "\nold" not in text
        assert text.index("shapellm/table2**: 1 of 3 claims hold; 1 is undecided.") < text.index(
            "shapellm/table10**: 0 of 1"
        )
        assert "| It \\| holds. |  | 3.97 ± 0.01 | 5 | tiny | holds |" in text
        assert "| It does not. | 0.00 | 1.00 ± 0.01 | 5 | tiny | **fails** |" in text
        assert "| Nobody knows. | 0.00 | a seed without a number | 5 | tiny | undecided |" in text


def test_a_page_without_a_place_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    assert results_table.tell(tmp_path, page, write=True) == 1
    assert page.read_text() == "nothing\n"


def test_the_documentation_is_up_to_date() -> None:
    for results, page in results_table.PAGES.items():
        assert results_table.tables(results) in page.read_text(encoding="utf-8")


def test_the_table_of_exploit_and_exploitability_is_up_to_date() -> None:
    text = exploit_table.table(exploit_table.RESULTS)
    assert text.count("`sepo/") > 20
    assert text in exploit_table.PAGE.read_text(encoding="utf-8")
