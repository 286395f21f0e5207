"""Sweeps: a run a cell, what came of each, a map, a page; resumes where it stopped; refuses before it works."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_json
from small_runs import files, small

from coplay.cli.main import main
from coplay.errors import Interrupted, UsageError
from coplay.experiments.sweep import Axis, Sweep, axes_from, seat_outcomes, split_values, sweep
from coplay.report.sweep_page import maps_of, render
from coplay.runs import train as training
from coplay.runs.config_input import with_overrides
from coplay.runs.directory import RunDirectory

torch.set_num_threads(1)

BASE = small("tabular", "trials=2", "seeds=[0,1]", "workers=1")
WANTED = Sweep(BASE, axes_from(["row.reciprocity=0,1", "row.ppo.gae_chain=trial,episode"]))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "map"
    sweep(WANTED, out, quiet=True)
    return out


def test_every_cell_is_a_run_of_its_own(done: Path) -> None:
    found = read_json(done / "sweep.json")
    assert [cell["values"] for cell in found["cells"]] == [[0, "trial"], [0, "episode"], [1, "trial"], [1, "episode"]]
    for cell in found["cells"]:
        config = read_json(done / cell["path"] / "config.json")
        assert [config["learners"]["row"]["reciprocity"], config["learners"]["row"]["ppo"]["gae_chain"]] == cell[
            "values"
        ]
        assert config["seeds"] == [0, 1]
        evaluated = read_json(done / cell["path"] / "eval.json")["seats"]
        for seat in ("row", "column"):
            mine, theirs = cell["seats"][seat], evaluated[seat]["per_round"]
            assert [mine["mean"], mine["ci95"], mine["n"]] == [theirs["mean"], theirs["ci95"], theirs["n"]]
            assert set(mine["seeds"]) == {"0", "1"}


def test_a_cell_is_what_train_makes_of_its_config(done: Path, tmp_path: Path) -> None:
    config = with_overrides(BASE, ["row.reciprocity=1", "row.ppo.gae_chain=episode"])
    alone = training.train(config, tmp_path / "alone").path
    cell = read_json(done / "sweep.json")["cells"][3]
    assert (done / cell["path"] / "metrics.jsonl").read_bytes() == (alone / "metrics.jsonl").read_bytes()


def test_finished_cells_are_kept_and_unfinished_ones_resumed(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = read_json(done / "sweep.json")["cells"]
    before = {path: path.read_bytes() for path in done.glob("cells/*/metrics.jsonl")}
    unfinished, checkpoint = RunDirectory.at_checkpoint(done / cells[1]["path"], "trial-00002")
    unfinished.return_to(checkpoint)
    resumed = []
    resume = training.resume

    def tell(path: Path, **options: Any) -> Any:
        resumed.append(path.name)
        return resume(path, **options)

    monkeypatch.setattr(training, "resume", tell)
    monkeypatch.setattr(training, "train", lambda *_, **__: pytest.fail("trained again"))
    sweep(WANTED, done, quiet=True)
    assert resumed == [Path(cells[1]["path"]).name]
    assert {path: path.read_bytes() for path in before} == before
    assert read_json(done / "sweep.json")["cells"] == cells


def test_an_interrupt_says_how_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise Interrupted("saved")

    monkeypatch.setattr(training, "train", stop)
    with pytest.raises(Interrupted, match=f"the same command with --out {tmp_path / 'out'} resumes it"):
        sweep(WANTED, tmp_path / "out", quiet=True)
    found = read_json(tmp_path / "out" / "sweep.json")
    assert [cell["finished"] for cell in found["cells"]] == [False] * 4
    assert "not finished" in render(found)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Sweep(BASE, axes_from(["row.reciprocity=0,1"])), "holds a sweep over something else"),
        (Sweep(with_overrides(BASE, ["trials=3"]), WANTED.axes), r"holds a sweep with other settings \(trials\)"),
    ],
)
def test_another_sweep_is_refused(done: Path, other: Sweep, message: str) -> None:
    before = files(done)
    with pytest.raises(UsageError, match=message):
        sweep(other, done, quiet=True)
    assert files(done) == before


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no directory of `coplay sweep`"):
        sweep(WANTED, tmp_path, quiet=True)
    assert files(tmp_path) == ["mine.txt"]


def test_what_only_shows_when_a_cell_is_built_is_found_before_any_cell_is_trained(tmp_path: Path) -> None:
    wanted = Sweep(BASE, (Axis("row.initial", (None, (0.5, 0.5))),))
    with pytest.raises(UsageError, match="needs 5 probabilities"):
        sweep(wanted, tmp_path / "out", quiet=True)
    assert files(tmp_path) == []


def test_the_map_has_the_first_axis_down_and_the_second_across(done: Path) -> None:
    row, column = maps_of(read_json(done / "sweep.json"))
    assert row.down == ("row.reciprocity", ("0", "1"))
    assert row.across == ("row.ppo.gae_chain", ("trial", "episode"))
    cells = read_json(done / "sweep.json")["cells"]
    assert row.cells[0][1] == (cells[1]["seats"]["row"]["mean"], cells[1]["seats"]["row"]["ci95"])
    assert column.cells[1][0] == (cells[2]["seats"]["column"]["mean"], cells[2]["seats"]["column"]["ci95"])
    assert {path.name for path in (done / "figures").iterdir()} == {"map.png", "map.pdf"}


def test_cells_link_to_their_pages(done: Path) -> None:
    page = (done / "report.html").read_text()
    cells = read_json(done / "sweep.json")["cells"]
    for cell in cells:
        assert f'<a href="{cell["path"]}/report.html">' in page
        own = (done / cell["path"] / "report.html").read_text()
        assert "row.reciprocity=" in own and "row.ppo.gae_chain=" in own
    assert "4 cells, 2 seeds and 2 trials each" in page
    assert "<a href=" not in render(read_json(done / "sweep.json"))  # of a published sweep, whose cells are left out


def test_a_sweep_with_a_config_of_version_1_is_read() -> None:
    seat = {"role": "shaper", "player": "learner", "learner": "tabular", "ppo": {"clip": 0.2}}
    base = {"version": 1, "model": "tiny", "seeds": [0], "trials": 3, "row": seat, "column": {"player": "tit_for_tat"}}
    axes = [{"key": "row.ppo.clip", "values": [0.1]}]
    cells = [{"values": [0.1], "path": "cells/0", "finished": False}]
    page = render({"recipe": "shapellm/ipd", "axes": axes, "base": base, "cells": cells})
    assert "1 cell, 1 seed and 3 trials each (model: tabular)" in page
    assert "row (shaper): reward per step" in page and "column (tit for tat): reward per step" in page
    assert '<th scope="row">row.memory' not in page and '<th scope="row">row.ppo.clip' not in page


def test_its_page_can_be_written_again(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (done / "report.html").read_bytes()
    (done / "report.html").unlink()
    assert main(["report", str(done)]) == 0
    assert capsys.readouterr().out == f"{done / 'report.html'}\n"
    assert (done / "report.html").read_bytes() == before


def test_one_axis_is_a_map_of_one_line(tmp_path: Path) -> None:
    out = tmp_path / "line"
    sweep(Sweep(BASE, axes_from(["column.sharing=0,0.8"])), out, quiet=True)
    row, _ = maps_of(read_json(out / "sweep.json"))
    assert len(row.cells) == 1 and row.across == ("column.sharing", ("0", "0.8"))


def test_the_page_is_offline_and_escapes_everything(done: Path) -> None:
    found = read_json(done / "sweep.json")
    found["recipe"] = "<script>alert(1)</script>"
    found["axes"][1]["values"][0] = "<img src=x>"
    found["cells"][0]["path"] = '"><b>'
    page = render(found)
    assert "<script" not in page and "<img" not in page and '"><b>' not in page
    assert "&lt;script&gt;" in page
    assert "http://" not in page and "https://" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_outcomes_of_seats() -> None:
    found = seat_outcomes({"row": {"0": 4.0, "1": 1.0, "2": None}, "column": {"0": 0.0, "1": 1.0, "2": None}})
    assert (found["row"].mean, found["row"].n, found["row"].ahead) == (2.5, 2, 1 / 3)  # equal is not ahead
    assert found["row"].ci95 == pytest.approx(12.706204736 * math.sqrt(4.5 / 2))
    assert (found["column"].mean, found["column"].ahead) == (0.5, 0.0)
    nothing = seat_outcomes({"row": {"0": None}, "column": {"0": None}})
    assert (nothing["row"].mean, nothing["row"].ci95, nothing["row"].n) == (None, None, 0)


def test_values_are_cut_at_commas_outside_brackets() -> None:
    assert split_values('0.1, [1,2] ,{"a": [3,4]},word,"a,b"') == ["0.1", "[1,2]", '{"a": [3,4]}', "word", '"a,b"']
    (axis,) = axes_from(["row.initial=[0.6,0.9,0.1,0.9,0.1],null"])
    assert axis.values == ([0.6, 0.9, 0.1, 0.9, 0.1], None)


SWEEP = ["sweep", "shapellm/ipd", "--learner", "tabular"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "shapellm/idp", "--over", "trials=1,2"], "Did you mean 'shapellm/ipd'?"),
        ([*SWEEP, "--over", "row.ppo.clp=0.1,0.2"], "Did you mean 'clip'?"),
        ([*SWEEP, "--over", "trails=1,2"], "Did you mean 'trials'?"),
        ([*SWEEP, "--over", "row.ppo.clip=0.1,-1"], "row.ppo.clip: input should be greater than 0 (got -1)"),
        ([*SWEEP, "--over", "row.ppo.clip"], "--over takes KEY=V1,V2"),
        ([*SWEEP, "--over", "row.ppo.clip=0.1,"], "--over takes KEY=V1,V2"),
        ([*SWEEP, "--over", "row.ppo.clip=0.1,0.1"], "every value once"),
        ([*SWEEP], "sweep needs --over KEY=V1,V2 once or twice; got it 0 times"),
        (
            [*SWEEP, *["--over", "a=1", "--over", "b=1", "--over", "c=1"]],
            "sweep needs --over KEY=V1,V2 once or twice; got it 3 times",
        ),
        ([*SWEEP, "--over", "trials=1", "--over", "trials=2"], "one axis a setting"),
        ([*SWEEP, "--over", "seeds=[0],[1]"], "name them with --seeds"),
        ([*SWEEP, "--over", "trials=1,2", "trials=3"], "trials is set and swept over"),
        ([*SWEEP, "--over", "trials=1,2", "--seeds", "a"], "--seeds takes whole numbers"),
        ([*SWEEP, "--over", "row.reciprocity=0.5", "row.initial=null"], "reciprocity scales the answers"),
        ([*SWEEP, "--over", "column.reset=trial", "column.update=never"], "reset=trial is for learners"),
    ],
)
def test_bad_sweeps_are_refused_with_status_2_and_nothing_is_written(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert files(tmp_path) == []


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = ["trials=1", "games=2", "rounds=4", "episodes=1", "eval_games=2", "threads=1", "--seeds", "0", "--quiet"]
    arguments = [*SWEEP, "--over", "row.ppo.clip=0.1,0.2", *tiny]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == read_json(tmp_path / "runs" / "sweep-shapellm-ipd-row.ppo.clip" / "sweep.json")
    assert main(arguments) == 0
    assert "row.ppo.clip=0.1  row " in capsys.readouterr().out


def test_any_game_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep_games.py").write_text("import coplay\n\nGAME = coplay.PublicGoods(n=4)\n")
    tiny = ["trials=1", "games=2", "rounds=2", "episodes=1", "eval_games=2", "threads=1", "--seeds", "0", "--quiet"]
    over = ["--over", "learners.player-4.ppo.clip=0.1,0.2"]
    words = ["any/naive", "--game", "sweep_games:GAME", "--learner", "tabular", *over, *tiny]
    assert main(["sweep", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    place = tmp_path / "runs" / "sweep-any-naive-sweep_games-GAME-learners.player-4.ppo.clip"
    assert found == read_json(place / "sweep.json")
    assert [list(cell["seats"]) for cell in found["cells"]] == [[f"player-{i}" for i in (1, 2, 3, 4)]] * 2
    assert found["base"]["game"] == "sweep_games:GAME"
    assert main(["sweep", "shapellm/ipd", "--game", "sweep_games:GAME", "--over", "trials=1,2"]) == 2
    assert "A recipe for any game: any/naive --game sweep_games:GAME" in capsys.readouterr().err


def test_reciprocity_scales_the_answer_and_keeps_what_is_done_on_average() -> None:
    from coplay.games.catalogue import matrix_game
    from coplay.games.matrix import first_observations
    from coplay.games.memory import Memory
    from coplay.players.choice import Key
    from coplay.runs.factory import build

    start = (0.6, 0.9, 0.1, 0.8, 0.4)
    policies = {}
    for reciprocity in (0, 0.5, 1):
        state = build(with_overrides(BASE, [f"row.initial={json.dumps(start)}", f"row.reciprocity={reciprocity}"]))
        policy: Any = state.learners["row"].player
        seen = first_observations(matrix_game(state.game), "row", Memory.LAST_ROUND)
        policies[reciprocity] = (
            policy.score([0] * 5, [Key("row", observation) for observation in seen])
            .logits_RV.softmax(-1)[:, 0]
            .tolist()
        )
    assert policies[1] == pytest.approx(start)
    assert policies[0] == pytest.approx((0.6, 0.5, 0.5, 0.6, 0.6))
    assert policies[0.5] == pytest.approx((0.6, 0.7, 0.3, 0.7, 0.5))
