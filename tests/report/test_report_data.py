"""Reading run directories, whole and damaged."""

from __future__ import annotations

import gzip
import json
import math

import fake_run
import numpy as np
import pytest

from coplay.errors import CoplayError, UsageError
from coplay.report import Arm, load_run
from coplay.report.outcome import outcome
from coplay.report.page import render
from coplay.statistics import mean_ci95


@pytest.fixture
def run_dir(tmp_path):
    return fake_run.write_run(tmp_path / "run", seeds=3, trials=12, episodes=1, rounds=6)


def test_a_whole_run(run_dir):
    run = load_run(run_dir)
    assert run.seats == ("row", "column")
    assert run.seeds == (0, 1, 2)
    assert run.states == ("CC", "CD", "DC", "DD", "I")
    assert run.role("row") == "shaper"
    assert (run.model, run.game, run.last_step, run.planned_steps) == ("tiny", "ipd", 12, 12)
    assert len(run.metrics) == 36


def test_series_and_band(run_dir):
    run = load_run(run_dir)
    series = run.series("reward/row")
    assert series.steps.tolist() == list(range(1, 13))
    assert series.values.shape == (3, 12)
    band = series.band()
    expected = mean_ci95(series.values[:, 4].tolist())
    assert band.mean[4] == pytest.approx(expected.mean)
    assert band.high[4] - band.mean[4] == pytest.approx(expected.half_width)


def test_missing_keys_are_nan_and_do_not_spoil_the_mean(run_dir):
    series = load_run(run_dir).series("policy_loss/row")
    assert np.isnan(series.values[:, 1]).all()
    assert np.isfinite(series.values[:, 0]).all()
    assert load_run(run_dir).series("no/such").empty


def test_a_torn_last_line_is_passed_over(run_dir):
    for name in ("metrics.jsonl", "episodes.jsonl"):
        whole = len((run_dir / name).read_bytes().split(b"\n")) - 1
        with open(run_dir / name, "ab") as file:
            file.write('{"version": 1, "step": 13, "se\u00e9'.encode()[:-1])
        run = load_run(run_dir)
        assert len(run.metrics if name.startswith("m") else run.episodes) == whole


def test_a_damaged_line_within_is_named(run_dir):
    path = run_dir / "metrics.jsonl"
    lines = path.read_text().split("\n")
    path.write_text("\n".join([lines[0], "{oops", *lines[1:]]))
    with pytest.raises(CoplayError, match="line 2 is damaged"):
        load_run(run_dir)


def test_line_separators_inside_a_reply_do_not_split_lines(run_dir):
    record = {"version": 2, "step": 1, "seed": 0, "states": [], "rounds": [], "note": "a\u2028b\u0085c"}
    (run_dir / "episodes.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    assert load_run(run_dir).episodes == [record]


def compressed(run_dir):
    """The run with its JSON lines compressed and nothing else changed."""
    for name in ("metrics.jsonl", "episodes.jsonl"):
        (run_dir / f"{name}.gz").write_bytes(gzip.compress((run_dir / name).read_bytes(), mtime=0))
        (run_dir / name).unlink()
    return run_dir


def test_a_compressed_run_reads_as_the_plain_one(run_dir):
    plain = load_run(run_dir)
    packed = load_run(compressed(run_dir))
    assert (packed.metrics, packed.episodes, packed.eval) == (plain.metrics, plain.episodes, plain.eval)
    assert len(packed.metrics) == 36 and packed.episodes
    assert render([Arm("run", "Run", packed)], title="t") == render([Arm("run", "Run", plain)], title="t")


def test_of_both_forms_the_plain_one_is_read(run_dir):
    compressed(run_dir)
    (run_dir / "metrics.jsonl").write_text('{"step": 1, "seed": 0}\n')
    assert load_run(run_dir).metrics == [{"step": 1, "seed": 0}]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"no gzip", lambda data: data[:30] + b"\xff" * 9 + data[39:]]
)
def test_a_damaged_compressed_file_is_named(run_dir, damage):
    path = compressed(run_dir) / "metrics.jsonl.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UsageError, match=r"metrics\.jsonl\.gz is damaged.*`git checkout"):
        load_run(run_dir)


def test_missing_files(run_dir):
    for name in ("eval.json", "episodes.jsonl", "env.json", "metrics.jsonl"):
        (run_dir / name).unlink()
        run = load_run(run_dir)
    assert run.eval is None
    assert run.episodes == run.metrics == []
    assert run.last_step == 0


def test_not_a_run_directory(tmp_path):
    with pytest.raises(UsageError, match=r"no config\.json"):
        load_run(tmp_path)


def test_a_newer_version_is_refused(run_dir):
    (run_dir / "config.json").write_text('{"version": 3}')
    with pytest.raises(UsageError, match="Upgrade coplay"):
        load_run(run_dir)


def test_a_config_of_version_1_is_translated(run_dir):
    config = json.loads((run_dir / "config.json").read_text())
    old = {key: value for key, value in config.items() if key not in ("learners", "seats", "rotate_seats")}
    seats = {"row": {"role": "shaper", "player": "learner", "learner": "tabular"}, "column": {"player": "tit_for_tat"}}
    (run_dir / "config.json").write_text(json.dumps(old | seats | {"version": 1}))
    run = load_run(run_dir)
    assert run.seats == ("row", "column")
    assert (run.role("row"), run.role("column")) == ("shaper", "tit for tat")
    assert run.model == "tabular"


def test_several_players_of_a_seat_are_all_named_and_runs_without_their_paths(run_dir):
    run = load_run(run_dir)
    run.config["seats"]["column"] = ["column", "tit_for_tat", "runs/earlier:row:0", "mine.toml"]
    assert run.role("column") == "naive or tit for tat or co-player or co-player"


def test_after_a_resume_the_later_line_counts(run_dir):
    with open(run_dir / "metrics.jsonl", "a") as file:
        file.write('{"step": 1, "seed": 0, "reward/row": 9.0}\n')
    assert load_run(run_dir).series("reward/row").values[0, 0] == 9.0


def test_outcome_is_the_evaluation_or_else_the_end_of_training(run_dir):
    evaluated = outcome(load_run(run_dir))
    assert evaluated.evaluated
    assert evaluated.source == "100 games a seed after training"
    (run_dir / "eval.json").unlink()
    run = load_run(run_dir)
    late = outcome(run)
    assert not late.evaluated
    assert late.source == "trial 12 of training"
    assert late.rewards["row"][1] == run.series("reward/row").values[1, -1]
    assert math.isclose(sum(late.states.values()), 1.0)


def test_an_evaluation_may_give_estimates(run_dir):
    run = load_run(run_dir)
    run.eval["states"] = {"CC": {"mean": 0.25, "ci95": 0.1, "n": 3}}
    run.eval["seeds"]["0"]["seats"]["row"]["per_round"] = None
    assert outcome(run).states == {"CC": 0.25}
    assert sorted(outcome(run).rewards["row"]) == [1, 2]


def test_rewards_of_learners_that_change_seats_are_told_by_learner(run_dir):
    run = load_run(run_dir)
    assert run.reward_lines == (("reward/row", "row (shaper)"), ("reward/column", "column (naive)"))
    run.config |= {"learners": {"learner": {}}, "seats": {"alice": ["learner"], "bob": ["learner"]}}
    assert run.reward_lines == (("reward/learner", "learner"),)  # nothing was measured yet
    for record in run.metrics:
        record |= {"reward/learner": 2.0, "reward/co_player": None}
    assert run.reward_lines == (("reward/learner", "learner"),)  # self-play
    for record in run.metrics:
        record["reward/co_player"] = 1.0
    assert run.reward_lines[1] == ("reward/co_player", "past selves")
    run.config |= {"seats": {"alice": ["learner"], "bob": ["always_cooperate"]}, "rotate_seats": True}
    assert run.reward_lines[1] == ("reward/co_player", "always cooperate")
    run.config["rotate_seats"] = False
    assert [metric for metric, _ in run.reward_lines] == ["reward/alice", "reward/bob"]


def test_three_seats(run_dir):
    run = load_run(run_dir)
    seats = [f"player-{i + 1}" for i in range(3)]
    run.config |= {"learners": {seat: {"role": "naive"} for seat in seats}, "seats": {seat: [seat] for seat in seats}}
    assert run.seats == tuple(seats)
    assert run.reward_lines == tuple((f"reward/{seat}", f"{seat} (naive)") for seat in seats)
