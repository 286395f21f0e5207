"""``coplay list``, ``prompt``, ``check`` and ``report``."""

import shutil
from pathlib import Path

import pytest
import torch
from shell import Shell

from coplay.models.known import MODELS
from coplay.recipes import make_config

torch.set_num_threads(1)


@pytest.mark.parametrize("what", ["games", "players", "recipes", "claims", "runs"])
def test_lists_have_names_and_descriptions(coplay: Shell, run: Path, what: str) -> None:
    rows = coplay.json("list", what, "--runs-in", str(run.parent))
    assert rows
    for row in rows:
        assert row["name"] and isinstance(row["name"], str)
        assert row["description"] and isinstance(row["description"], str)
    assert len({row["name"] for row in rows}) == len(rows)
    assert coplay("list", what, "--runs-in", str(run.parent)) == 0
    told = [line.split()[0] for line in coplay.out.splitlines() if line and not line.endswith(":")]
    assert told == [row["name"] for row in rows]


def test_coplay_alone_shows_its_help(coplay: Shell) -> None:
    assert coplay() == 0
    alone = coplay.out
    assert coplay("--help") == 0
    assert alone == coplay.out and "train" in alone


def test_recipes_and_experiments_are_listed_by_paper(coplay: Shell) -> None:
    for what, papers in (
        ("recipes", ["shapellm", "adalign", "sepo", "mediation", "any"]),
        ("experiments", ["shapellm", "adalign", "sepo", "mediation"]),
    ):
        assert coplay("list", what) == 0
        blocks = coplay.out.split("\n\n")
        for block, paper in zip(blocks, papers, strict=True):
            title, *lines = block.splitlines()
            assert title.endswith(":") and not title.startswith(" ")
            assert lines and all(line.startswith(f"  {paper}/") for line in lines)


@pytest.mark.parametrize("name", ["config.json", "env.json", "manifest.json"])
def test_a_run_that_has_lost_a_file_is_listed_as_damaged(coplay: Shell, run: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(run, tmp_path / "runs" / "it")
    (tmp_path / "runs" / "it" / name).unlink()
    (row,) = coplay.json("list", "runs", "--runs-in", str(tmp_path / "runs"))
    assert name in row["damage"]


def test_list_runs_says_which_are_finished(coplay: Shell, run: Path) -> None:
    (row,) = coplay.json("list", "runs", "--runs-in", str(run.parent))
    assert row["name"] == str(run)
    assert row["finished"] is True
    assert coplay.json("list", "runs") == []


def test_players_of_games_are_listed_with_their_games(coplay: Shell) -> None:
    rows = {row["name"]: row for row in coplay.json("list", "players")}
    assert "games" not in rows["tit_for_tat"]
    assert " In ipd-3: " in rows["tit_for_tat"]["description"]  # which plays it with each co-player
    assert "ipd-3+mediator" in rows["never"]["games"] and "obedient" in rows
    assert rows["truthful"]["games"] == ["auction"]
    assert rows["fair"]["games"] == ["negotiation-v1", "negotiation-v2"]
    assert rows["fair"]["description"].startswith("In negotiation-v1: Demand 5, an equal share. In negotiation-v2: ")


def test_names_that_are_listed_can_be_used(coplay: Shell) -> None:
    for row in coplay.json("list", "games"):
        assert coplay("check", row["name"]) == 0
    for row in coplay.json("list", "recipes"):
        if row["name"].endswith("-round"):  # of tables only
            continue
        config = make_config(row["name"])
        if config.model in MODELS and not MODELS[config.model].installed:
            assert coplay("prompt", row["name"]) == 2 and MODELS[config.model].command in coplay.err
        elif config.model in MODELS:
            assert set(coplay.json("prompt", row["name"])) == set(config.seats)
        else:  # of the Hub, which may not be there
            assert coplay("prompt", row["name"]) in (0, 2) and "Traceback" not in coplay.err


def test_prompts_show_each_seat_its_own_view_of_the_history(coplay: Shell) -> None:
    first = coplay.json("prompt", "shapellm/ipd")
    assert first["row"] == first["column"]
    assert "<STATE>" not in first["row"]

    texts = coplay.json("prompt", "shapellm/ipd", "--history", "CC,CD,CD")
    assert "you played C and your opponent played D." in texts["row"]
    assert "has been CC:1, CD:1, DC:0, DD:0." in texts["row"]
    assert "you played D and your opponent played C." in texts["column"]
    assert "occurrence" not in texts["column"]
    for spelling in ("CC, CD, CD", "cooperate/cooperate,cooperate/defect,C/D"):
        assert coplay.json("prompt", "shapellm/ipd", "--history", spelling) == texts


def test_the_shapers_counts_cross_episodes_and_the_naive_learners_memory_does_not(coplay: Shell) -> None:
    texts = coplay.json("prompt", "shapellm/ipd", "rounds=2", "--history", "CC,DD")
    assert "<STATE>" not in texts["column"]
    assert "you played D and your opponent played D" in texts["row"]
    assert "CC:1, CD:0, DC:0, DD:0." in texts["row"]


def test_prompts_follow_overrides(coplay: Shell) -> None:
    texts = coplay.json("prompt", "shapellm/ipd", "game=icg", 'row.labels=["X","Y"]', "chat=llama", "--history", "XG")
    assert texts["row"].startswith("<|begin_of_text|>")
    assert "Reply only with X or Y." in texts["row"]
    assert "you played X and your opponent played Y." in texts["row"]
    assert "X/X: 2/2, X/Y: 1/3, Y/X: 3/1, Y/Y: -5/-5." in texts["row"]
    assert "you played G and your opponent played S." in texts["column"]


def test_prompt_as_text(coplay: Shell) -> None:
    assert coplay("prompt", "shapellm/ipd") == 0
    assert coplay.out.startswith("--- row\n<bos><start_of_turn>user\n")
    assert "\n--- column\n" in coplay.out


def test_check(coplay: Shell) -> None:
    assert coplay.json("check", "ipd") == {"version": 1, "game": "ipd", "problems": [], "ok": True}
    assert coplay("check", "trust-and-split") == 0
    assert coplay.out == "trust-and-split: all checks pass\n"


def test_check_prints_the_payoffs_and_the_labels_of_a_matrix_game(coplay: Shell, here: Path) -> None:
    assert coplay("check", "ipd") == 0
    assert coplay.out.splitlines() == [
        "ipd: Iterated Prisoner's Dilemma: each does better by defecting, both do worse.",
        "row, column choose among cooperate (C), defect (D)",
        "",
        "payoffs: row's / column's",
        "row \\ column   cooperate (C)  defect (D)",
        "cooperate (C)  3 / 3          0 / 4",
        "defect (D)     4 / 0          1 / 1",
        "",
        "ipd: all checks pass",
    ]
    (here / "g.toml").write_text(
        'name = "g"\nactions = [["stay", "leave"], ["ask", "tell"]]\npayoffs = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]\n'
    )
    assert coplay("check", "g.toml") == 0
    assert "row chooses among stay (S), leave (L)\ncolumn chooses among ask (A), tell (T)\n" in coplay.out
    assert "leave (L)     5 / 6    7 / 8\n" in coplay.out


def test_report_on_a_run(coplay: Shell, run: Path, here: Path) -> None:
    assert coplay("report", str(run), "--out", "page") == 0
    assert (here / "page" / "report.html").read_text().lower().startswith("<!doctype html>")
