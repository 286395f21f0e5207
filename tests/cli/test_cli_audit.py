"""``coplay audit``: gates in a clean environment, a baseline, files, and what is refused before anything is measured."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coplay.cli.main import main

GATE = '[[threshold]]\nmeasure = "margin"\nco_player = "always_defect"\nat_most = 1.0\n'


def audited(*words: str) -> int:
    return main(["audit", *words, "--against", "scripted", "--episodes", "4", "--rounds", "6", "--quiet"])


def test_a_gate_that_passes_fails_on_a_worse_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text(GATE)
    assert audited("tit_for_tat", "--gate", str(gate), "--out", str(tmp_path / "good")) == 0
    assert "\npass: 1 of 1 check met" in capsys.readouterr().out
    assert audited("always_cooperate", "--gate", str(gate), "--baseline", str(tmp_path / "good"), "--json") == 2
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "fail" and any("against the baseline" in reason for reason in found["reasons"])
    assert json.loads((tmp_path / "good" / "audit.json").read_text())["verdict"] == "pass"
    assert sorted(path.name for path in (tmp_path / "good").iterdir()) == [
        "audit.json",
        "junit.xml",
        "manifest.json",
        "report.html",
    ]


def test_a_gate_in_a_clean_environment_fails_on_a_worsened_checkpoint(tmp_path: Path) -> None:
    """As a CI job runs it: a process of its own, without this one's environment. The checkpoints are of tables that answer in kind, and that always cooperate."""
    (tmp_path / "gate.toml").write_text(GATE)
    verdicts = {}
    for name, initial in {"good": (0.9, 0.9, 0.02, 0.9, 0.02), "worsened": (0.9,) * 5}.items():
        start = f"row.initial={','.join(map(str, initial))}"
        sizes = ["trials=1", "games=2", "rounds=6", "episodes=1", "--seeds", "0,1,2", "--quiet"]
        out = ["--out", str(tmp_path / name)]
        assert main(["train", "any/naive", "--game", "ipd", "--learner", "tabular", start, *sizes, *out]) == 0
        gated = ["--gate", "gate.toml", "--against", "scripted", "--rounds", "6", "--out", f"{name}-audit", "--quiet"]
        done = subprocess.run(
            [sys.executable, "-m", "coplay", "audit", f"{name}:row", *gated],
            cwd=tmp_path,
            env={"PATH": os.defpath, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        junit = ElementTree.parse(tmp_path / f"{name}-audit" / "junit.xml").getroot()
        verdicts[name] = (done.returncode, done.stdout.splitlines()[-1], len(junit.findall(".//failure")))
    assert verdicts["good"][0] == 0 and verdicts["good"][1:] == ("pass: 1 of 1 check met", 0)
    assert verdicts["worsened"][0] == 2 and verdicts["worsened"][2] == 1
    assert verdicts["worsened"][1].startswith("  margin with always_defect at most 1: ")


def test_what_is_printed_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert audited("tit_for_tat", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["version", "player", "game", "rounds", "verdict", "reasons", "measures", "notes"]
    keys = ["name", "co_player", "budget", "value", "ci95", "n_seeds", "effective_n", "kind"]
    assert all(list(one) == keys for one in found["measures"])
    assert (found["version"], found["player"], found["game"], found["verdict"]) == (1, "tit_for_tat", "ipd", "ungraded")


def test_a_budget_in_trials_gives_the_same_audit_again(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for _ in range(2):
        words = [
            "audit",
            "tit_for_tat",
            "--against",
            "ppo",
            "--budget",
            "8",
            "--n-seeds",
            "2",
            "--rounds",
            "3",
            "--json",
        ]
        assert main([*words, "--quiet"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tit_for_tat", "--against", "pp"], "'pp' is no kind of co-player. Did you mean 'ppo'?"),
        (["tit_for_tat", "--budget", "soon"], "--budget takes seconds"),
        (["tit_for_tat", "--budget", "0"], "--budget must be above 0"),
        (["tit_for_tat", "--budget", "infs"], "--budget must be above 0"),
        (["tit_for_tat", "--n-seeds", "1"], "--n-seeds must be at least 2"),
        (["tit_for_tat", "--gate", "nowhere.toml"], "there is no file nowhere.toml"),
        (["tit_for_tat", "--baseline", "nowhere.json"], "there is no audit nowhere.json"),
        (["tit_for_tt"], "Did you mean 'tit_for_tat'?"),
        ([""], "the player's name is empty"),
        (["always_intervene", "--game", "stag-hunt-3:talk=0+mediator"], "cannot be audited"),
    ],
)
def test_mistakes_are_told_in_a_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *words]) == 2
    told = capsys.readouterr()
    assert said in told.err and not told.out


MEASURE = {
    "name": "takes",
    "co_player": "random",
    "budget": {},
    "value": 3,
    "ci95": 0,
    "n_seeds": 0,
    "effective_n": 1,
    "kind": "exact",
}


def test_a_damaged_baseline_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.json"
    for text in (
        "{",
        "[]",
        '{"version": 9}',
        '{"version": 1}',
        '{"version": 1, "game": "ipd", "rounds": 6, "measures": [{}]}',
        '{"version": 1, "game": "ipd", "rounds": 6, "measures": 3}',
        json.dumps({"version": 1, "game": "ipd", "rounds": 6, "measures": [{**MEASURE, "value": "3"}]}),
        json.dumps({"version": 1, "game": "ipd", "rounds": 6, "measures": [{**MEASURE, "budget": {"trials": "x"}}]}),
    ):
        file.write_text(text)
        assert audited("tit_for_tat", "--baseline", str(file)) == 2
        assert "audit.json" in capsys.readouterr().err


ENDPOINT = 'base_url = "http://127.0.0.1:9/v1"\nmodel = "nobody"\n'


def test_an_endpoint_is_asked_nothing_before_its_cost_was_agreed_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(ENDPOINT)
    for words, said in (
        ([], "give --budget in trials"),
        (
            ["--budget", "8"],
            "leave it out: --against scripted,steering,relabelled,disguised,policy_gradient,ppo,q_learning",
        ),
        (["--against", "scripted", "--episodes", "2", "--rounds", "2"], "with --yes"),
    ):
        assert main(["audit", str(file), "--quiet", *words]) == 2
        assert said in capsys.readouterr().err
