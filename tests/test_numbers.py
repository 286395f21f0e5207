"""Numbers in the documentation come from ``results/``: the lists are borne out, and an altered number is found."""

import gzip
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import check_numbers
from check_numbers import Difference, differences, written

LISTS = sorted(check_numbers.LISTS.glob("*.toml"))


def test_every_number_is_borne_out_by_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_numbers.main([]) == 0, capsys.readouterr().err
    assert int(capsys.readouterr().out.split()[0]) > 90


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_any_number_that_is_altered_is_found(file: Path) -> None:
    """One digit of each checked number at a time."""
    asked = tomllib.loads(file.read_text(encoding="utf-8"))
    text = (check_numbers.REPOSITORY / asked["page"]).read_text(encoding="utf-8")
    altered = 0
    for sentence in asked["says"]:
        match = re.search(check_numbers._pattern(sentence), text)
        assert match is not None
        for i, (_, _, form) in enumerate(check_numbers.SOURCE.findall(sentence), start=1):
            start = match.start(i)
            digit = re.search(r"\d", match[i])
            if form == "words" or digit is None:
                other = text[:start] + "nineteen" + text[match.end(i) :]
            else:
                at = start + digit.start()
                other = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
            found = list(differences(asked["page"], other, [sentence], asked["files"]))
            assert found, f"{file.name}: number {i} of {sentence!r}"
            altered += 1
    assert altered == sum(len(check_numbers.SOURCE.findall(sentence)) for sentence in asked["says"])


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Small results, by the names that a list gives them."""
    monkeypatch.setattr(check_numbers, "RESULTS", tmp_path)
    check_numbers._read.cache_clear()
    check_numbers._claims.cache_clear()
    seat = {"mean": 3.486, "ci95": 0.092, "n": 2}
    seeds = {str(seed): {"seats": {"row": {"per_round": value}}} for seed, value in ((60, 0.99), (61, 4.0))}
    (tmp_path / "eval.json").write_text(json.dumps({"seats": {"row": {"per_round": seat}}, "seeds": seeds}))
    for name, verdict in (("table1", "holds"), ("table2", "fails")):
        (tmp_path / name).mkdir()
        claim = {"id": f"{name}/ipd/x", "verdict": verdict, "measured": -0.001, "ci95": 0.25}
        (tmp_path / name / "claims.json").write_text(json.dumps([claim]))
    (tmp_path / "meeting.json").write_text(
        json.dumps({"cells": [{"player": "a", "co_player": "b", "per_round": 0.887, "ci95": 0.002}]})
    )
    lines = [{"seed": 5, "step": step, "reward/row": 1.0 / step} for step in range(1, 21)]
    (tmp_path / "curves.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return {
        "run": "eval.json",
        "claims": "table*/claims.json",
        "met": "meeting.json",
        "curves": "curves.jsonl.gz",
        "gone": "gone.json",
    }


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("It gets 3.49 of it.", "It gets {run#row:.2f} of it."),
        ("It gets 3.49 ± 0.09 of it.", "It gets {run#row:±.2f} of it."),
        ("It gets\n3.49 ±\n0.09 of\nit.", "It gets {run#row:±.2f} of it."),
        ("One of two is lost", "{run#seeds.*.row|below 3:words} of {run#seats.row.per_round.n:words} is lost"),
        ("1 of 2 hold", "{claims#holds:d} of {claims#all:d} hold"),
        ("0.00 ± 0.25", "{claims#[table1/ipd/x]:±.2f}"),
        ("it has .89 ± .00", "it has {met#cells.[a,b]:±~.2f}"),
        ("between .99 and 4.00", "between {run#seeds.*.row|min:~.2f} and {run#seeds.*.row|max:.2f}"),
        ("a mean of 2.50", "a mean of {run#seeds.*.row|mean:.2f}"),
        ("less \N{MINUS SIGN}0.51", "less {run#row|minus 4:.2f}"),
        ("89 %", "{met#cells.[a,b]|times 100:.0f} %"),
        (
            "below .3 in trial 4; late .05",
            "below .3 in trial {curves#5.reward/row|first below 0.3:d}; late {curves#5.reward/row|late:~.2f}",
        ),
    ],
)
def test_what_is_right_passes(results: dict[str, str], page: str, sentence: str) -> None:
    assert list(differences("page.md", page, [sentence], results)) == []


@pytest.mark.parametrize(
    ("page", "sentence", "line", "told"),
    [
        ("a\nb gets 3.48", "b gets {run#row:.2f}", 2, "shows 3.48, but run#row is 3.49"),
        ("gets 3.49 and gets 3.50", "gets {run#row:.2f}", 1, "shows 3.50, but run#row is 3.49"),
        ("a\n3.49 ±\n0.10", "{run#row:±.2f}", 2, "shows 3.49 ± 0.10, but run#row is 3.49 ± 0.09"),
        ("it lost", "it got {run#row:.2f}", 0, "does not say 'it got …'"),
        ("1.00", "{gone#row:.2f}", 1, "shows 1.00, whose source gone#row is wrong: there is no results/gone.json"),
        ("1.00", "{other#row:.2f}", 1, "shows 1.00, whose source other#row is wrong: there is no file named 'other'"),
        ("1.00", "{run#queen:.2f}", 1, "shows 1.00, whose source run#queen is wrong: there is no queen"),
        ("1.00", "{run#row|twice:.2f}", 1, "shows 1.00, whose source run#row|twice is wrong: there is no step 'twice'"),
        ("two hold", "{claims#holds:words} hold", 1, "shows two, but claims#holds is one"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    results: dict[str, str], page: str, sentence: str, line: int, told: str
) -> None:
    assert list(differences("page.md", page, [sentence], results)) == [Difference("page.md", line, told)]


def test_numbers_are_written_as_pages_write_them() -> None:
    assert [written(value, form) for value, form in ((-0.001, ".2f"), (-0.31, "~.2f"), (0.5, "~.1f"))] == [
        "0.00",
        "-.31",
        ".5",
    ]
    assert [written(value, "words") for value in (0, 12, 21)] == ["none", "twelve", "21"]
