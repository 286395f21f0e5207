"""``coplay eval`` of scripted players and of runs."""

import json
from pathlib import Path

import torch
from shell import Shell

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
    assert report["seats"]["row"]["player"] == "shaper (seed 0)"
    assert coplay("eval", f"{run}:column", "always_defect") == 2
    assert "learnt to play as column" in coplay.err
    assert coplay("eval", f"{run}:row", "random", "--game", "imp") == 2
    assert "whose actions are not those of 'imp'" in coplay.err


def test_eval_refuses_another_game_for_a_run(coplay: Shell, run: Path) -> None:
    assert coplay("eval", str(run), "--game", "icg") == 2
    assert "a run is evaluated in its own game" in coplay.err
