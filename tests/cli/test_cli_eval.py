"""``coplay eval`` of scripted players and of runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from shell import Shell
from small_runs import QUIET, small

from coplay.runs.train import train as train_run

torch.set_num_threads(1)


def test_tit_for_tat_against_defection(coplay: Shell) -> None:
    """By hand: 0 + 7 x 1 = 7 and 5 + 7 x 1 = 12."""
    game = ["--rounds", "8", "--payoffs", "3,0,5,1", "--episodes", "3"]
    assert coplay.json("eval", "tit_for_tat", "always_defect", *game) == {
        "version": 1,
        "game": "ipd",
        "rounds": 8,
        "episodes": 3,
        "seats": {
            "row": {
                "player": "tit_for_tat",
                "total": 7.0,
                "per_round": 0.875,
                "ci95": 0.0,
                "actions": {"cooperate": 0.125, "defect": 0.875},
                "illegal": 0.0,
            },
            "column": {
                "player": "always_defect",
                "total": 12.0,
                "per_round": 1.5,
                "ci95": 0.0,
                "actions": {"cooperate": 0.0, "defect": 1.0},
                "illegal": 0.0,
            },
        },
        "states": {"CC": 0.0, "CD": 0.125, "DC": 0.0, "DD": 0.875, "I": 0.0},
    }


def test_changed_payoffs_are_in_the_header_of_every_table(coplay: Shell) -> None:
    words = ["eval", "tit_for_tat", "always_defect", "--payoffs", "3, 0,5,1", "--episodes", "1", "--rounds", "1"]
    assert coplay(*words) == 0
    assert coplay.out.startswith("ipd with payoffs 3,0,5,1, 1 round, 1 episode\n")
    assert coplay(*words, "--matrix") == 0
    assert coplay.out.startswith("ipd with payoffs 3,0,5,1, 1 round, 1 game each way; payoff per round")
    assert coplay(*words[:3]) == 0
    assert coplay.out.startswith("ipd, 20 rounds, 100 episodes; ± is the 95% interval over episodes\n")


def test_one_episode_has_no_interval(coplay: Shell) -> None:
    report = coplay.json("eval", "random", "random", "--episodes", "1")
    assert [about["ci95"] for about in report["seats"].values()] == [None, None]


def test_eval_of_a_game_file(coplay: Shell, here: Path) -> None:
    (here / "g.toml").write_text(
        'name = "g"\nrounds = 3\nactions = ["up", "down"]\npayoffs = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]\n'
    )
    report = coplay.json("eval", "always:down", "always:up", "--game", "g.toml", "--episodes", "1")
    assert (report["seats"]["row"]["total"], report["seats"]["column"]["total"]) == (15.0, 18.0)
    assert report["rounds"] == 3


def test_eval_of_a_run_is_its_own_evaluation(coplay: Shell, run: Path) -> None:
    again = coplay.json("eval", str(run), "--episodes", "2")
    assert again == json.loads((run / "eval.json").read_text())
    assert coplay("eval", str(run), "--episodes", "2") == 0
    assert "2 seeds" in coplay.out


def test_a_trained_learner_meets_a_scripted_player(coplay: Shell, run: Path) -> None:
    report = coplay.json("eval", f"{run}:row", "always_defect", "--episodes", "2", "--rounds", "3")
    assert report["seats"]["row"]["player"] == f"{run}:row (seed 0)"
    assert coplay("eval", f"{run}:column", "always_defect", "--game", "c-ipd") == 2
    assert "learnt to play as column; name it as column's player" in coplay.err
    assert coplay("eval", f"{run}:row", "random", "--game", "imp") == 2
    assert "whose seats or actions are not those of 'imp'" in coplay.err


ANSWERS_IN_KIND = [1 - 1e-9, 1 - 1e-9, 1e-9, 1 - 1e-9, 1e-9]


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of tables that play tit for tat, in both seats."""
    config = small("tabular", "trials=0", *(f"{seat}.initial={ANSWERS_IN_KIND}" for seat in ("row", "column")))
    return train_run(config, tmp_path_factory.mktemp("runs") / "answering", progress=QUIET).path


def cells_of(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(cell["player"], cell["co_player"]): cell["per_round"] for cell in report["cells"]}


def test_trained_learners_sit_in_both_seats_of_a_symmetric_game(coplay: Shell, answering: Path) -> None:
    """By hand, for whoever answers in kind in either seat: 0 + 19 x 1 = 19 against 4 + 19 x 1 = 23, and 3 a round among themselves."""
    row, column = f"{answering}:row", f"{answering}:column:0"
    everybody = [row, column, "tit_for_tat"]
    report = coplay.json("eval", *everybody, "always_defect", "--matrix", "--episodes", "2")
    expected = {(one, other): 3.0 for one in everybody for other in everybody}
    expected |= {(one, "always_defect"): 0.95 for one in everybody}
    expected |= {("always_defect", one): 1.15 for one in everybody} | {("always_defect", "always_defect"): 1.0}
    assert cells_of(report) == expected
    assert report["over"] == "games"


def test_language_models_sit_in_both_seats_too(coplay: Shell, tmp_path: Path) -> None:
    run = train_run(small("language_model", "trials=0"), tmp_path / "talking", progress=QUIET).path
    players = [f"{run}:row", f"{run}:column", "always_defect"]
    cells = cells_of(coplay.json("eval", *players, "--matrix", "--episodes", "4", "--rounds", "3"))
    assert len(cells) == 9 and all(0 <= value <= 4 for value in cells.values())


def test_a_trained_learner_sits_in_no_other_seat_where_seats_differ(coplay: Shell, run: Path, tmp_path: Path) -> None:
    assert coplay("eval", f"{run}:row", "always_defect", "--matrix", "--game", "c-ipd") == 2
    assert f"{run}:row learnt to play as row" in coplay.err and "which differ in 'c-ipd'" in coplay.err
    assert f"coplay eval {run}:row PLAYER" in coplay.err
    assert coplay("eval", "random", f"{run}:column:1", "--matrix", "--game", "c-ipd") == 2
    assert f"coplay eval PLAYER {run}:column:1" in coplay.err
    assert coplay("eval", "random", "always_defect", "--matrix", "--game", "c-ipd", "--episodes", "1") == 0


@pytest.mark.parametrize("options", [[], ["--matrix"]])
def test_a_run_without_a_seat_is_told_to_name_one(coplay: Shell, run: Path, options: list[str]) -> None:
    assert coplay("eval", str(run), "random", *options) == 2
    assert f"{run} is a run of several learners; name one of them: {run}:row or {run}:column" in coplay.err


def test_eval_refuses_another_game_for_a_run(coplay: Shell, run: Path) -> None:
    assert coplay("eval", str(run), "--game", "icg") == 2
    assert "a run is evaluated in its own game" in coplay.err


def test_payoffs_that_end_a_game_being_zero_sum_are_told(coplay: Shell) -> None:
    for game, told in (("imp", True), ("ipd", False)):
        assert coplay("eval", "uniform", "uniform", "--game", game, "--payoffs", "3,0,5,1", "--episodes", "1") == 0
        assert ("imp is zero-sum, but not with --payoffs 3,0,5,1" in coplay.err) is told
    assert coplay("eval", "uniform", "uniform", "--game", "imp", "--payoffs=0,1,-1,0", "--episodes", "1") == 0
    assert "zero-sum" not in coplay.err
