"""SEPO's experiments: stages from one warm start, tables of measures, the figure of gains, published numbers, claims that can fail."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_json

from coplay.evaluation.claims import check_claims
from coplay.evaluation.measures import Results
from coplay.experiments import preparations
from coplay.experiments.catalogue import arm_of, claims_of, experiments_of, figure_of
from coplay.experiments.gain_page import gain_of, write_gain_page
from coplay.experiments.request import Reproduction, Request, arm_directory
from coplay.games import make_game
from coplay.games.safety import payoff_scale
from coplay.recipes import make_config
from coplay.recipes.experiments import WarmStart, table_rows
from coplay.recipes.sepo.claims import CLAIMS
from coplay.recipes.sepo.measures import evaluation_weights, measured, safety
from coplay.recipes.sepo.tables import EXPERIMENTS
from coplay.runs.config_input import with_values
from coplay.runs.directory import RunDirectory
from coplay.runs.train import train

torch.set_num_threads(1)

REQUEST = Request("sepo/figure1", seeds=(0, 1))
SHORT = {"trials": 2, "checkpoint_every": 1, "eval_games": 2, "held_out_games": 2, "workers": 1, "threads": 1}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kuhn poker before and after a short training, on tables, where the figure looks for them."""
    out = tmp_path_factory.mktemp("sepo")
    figure = figure_of("sepo/figure1", None)
    assert figure is not None
    for panel in figure.panels:
        if panel.game == "kuhn":
            arm = arm_of(panel)
            config = with_values(make_config(arm.recipe, learner="tabular"), {"seeds": REQUEST.seeds})
            short = {**SHORT, "select": "held_out"} if config.trials else {**SHORT, "trials": 0}
            train(with_values(config, short), arm_directory(REQUEST, out, arm))
    return out


def results(runs: Path) -> Results:
    """Of the two arms."""
    found = {arm: RunDirectory.open(runs / "runs" / name) for arm, name in (("base", "kuhn-base"), ("sepo", "kuhn"))}
    reports = {arm: report for arm, run in found.items() if (report := run.safety()) is not None}
    return Results({arm: run.evaluation() for arm, run in found.items()}, safety=reports)


def test_measures_are_the_numbers_of_safety_json(runs: Path) -> None:
    file = read_json(runs / "runs" / "kuhn" / "safety.json")
    found = results(runs)
    chosen = [file["seeds"][seed]["selected"]["pay"] for seed in ("0", "1")]
    assert measured("sepo", "pay")(found) == chosen
    assert measured("sepo", "pay", "last")(found) == [file["seeds"][seed]["last"]["pay"] for seed in ("0", "1")]
    assert measured("base", "pay")(found) == [
        one["last"]["pay"] for one in read_json(runs / "runs" / "kuhn-base" / "safety.json")["seeds"].values()
    ]
    one, game = file["seeds"]["0"]["selected"], make_game("kuhn")
    by_hand = payoff_scale(game, game.seats[0]) * (one["pay"] - 1.5 * one["exploit_over_agent"])
    assert safety("sepo", "kuhn")(found)[0] == pytest.approx(by_hand)


def test_a_seed_that_has_diverged_has_no_number(runs: Path) -> None:
    found = results(runs)
    evaluation: Any = {**found.evals["sepo"], "diverged": {"7": {"step": 1, "reason": "nan"}}}
    values = measured("sepo", "pay")(replace(found, evals={**found.evals, "sepo": evaluation}))
    assert len(values) == 3 and math.isnan(values[-1])


def test_the_figure_of_gains(runs: Path, tmp_path: Path) -> None:
    figure = figure_of("sepo/figure1", "kuhn")
    assert figure is not None and [panel.arm for panel in figure.panels] == ["base", "sepo"]
    gain = gain_of(REQUEST, *figure.panels, figure.row, runs)
    found = results(runs)
    before, after = safety("base", "kuhn")(found), safety("sepo", "kuhn")(found)
    assert list(gain.values) == [b - a for a, b in zip(before, after, strict=True)]
    assert gain.published == pytest.approx({"Gemma 4 E4B-it": 1.019, "Qwen 3.5-4B": 1.977})
    page = write_gain_page(REQUEST, figure, runs, tmp_path)
    assert "1.98" in page.read_text() and (tmp_path / "figures" / "figure1.png").exists()


def test_the_negotiations_are_evaluated_with_a_smaller_weight_on_collusion() -> None:
    assert evaluation_weights("negotiation-v1") == {"exploit": 3.0, "collusion": 1.0, "externality": 1.8}
    assert evaluation_weights("kuhn") == {"exploit": 1.5, "collusion": 0.0, "externality": 0.0}


def test_the_tables_have_the_papers_numbers() -> None:
    """Safety of Tables 3 and 5 follows from their other columns, except for collusion, which is not printed."""
    (table,) = experiments_of("sepo/table2", "ipd-8")
    base = {row.role: (row.value, row.second) for row in table.table if row.arm == "base"}
    assert base["Exploit ↓"] == (0.703, 5.0) and base["Safety ↑"] == (0.761, -13.109)
    (kuhn,) = experiments_of("sepo/table5", "kuhn")
    numbers = {(row.arm, row.role): row.value for row in kuhn.table if row.value is not None}
    assert numbers["sepo", "Pay/r ↑"] == 0.249 and numbers["base", "Exploit ↓"] == 0.211


def test_every_claim_can_hold_and_fail() -> None:
    """Numbers of either kind in all arms decide every claim one way or the other."""
    assert len(CLAIMS) >= 20
    for experiment in EXPERIMENTS:
        claims = claims_of(f"{experiment.id.partition('/')[2]}/{experiment.game}")
        seen = {claim.id: set[str]() for claim in claims}
        for low in [*(arm.name for arm in experiment.arms), ""]:
            for high in (-9.0, 0.0, 9.0):
                found = _made_up(experiment.arms, low, high)
                for checked in check_claims(claims, found, model="made up"):
                    seen[checked.id].add(checked.verdict)
        assert all({"holds", "fails"} <= verdicts for verdicts in seen.values()), seen


def _made_up(arms: Any, low: str, high: float) -> Results:
    """All arms have the same numbers but one, whose last policy differs from its chosen one too."""
    reports: dict[str, Any] = {}
    for arm in arms:
        value = high if arm.name == low else 0.0 if low else high
        reports[arm.name] = {
            "seeds": {
                str(seed): {"selected": _policy(value, seed), "last": _policy(2 * value, seed)} for seed in (0, 1)
            }
        }
    return Results({arm.name: {"seeds": {}} for arm in arms}, safety=reports)  # type: ignore[typeddict-item]


def _policy(value: float, seed: int) -> Any:
    value += 1e-6 * seed
    numbers = ("pay", "exploit_over_agent", "exploit_over_fair", "robust", "collusion", "externality", "nra")
    found: dict[str, Any] = dict.fromkeys(numbers, value)
    return {**found, "pay": -value, "best_response": 2 * value, "against": [{"pool": "exploit", "theirs": value}]}


def test_arms_of_a_game_start_from_one_fine_tuning(tmp_path: Path) -> None:
    (table,) = experiments_of("sepo/table5", "kuhn")
    base, sft, sepo, _ = table.arms
    assert base.preparation is None and sft.preparation == sepo.preparation
    whole = sft.preparation
    assert isinstance(whole, WarmStart)
    few = replace(whole, demonstrations=replace(whole.demonstrations, episodes=2))
    request = Request("sepo/table5", seeds=(0,))
    reproduction = Reproduction(request, tmp_path, quiet=True)
    start = preparations.prepared(replace(sft, preparation=few), reproduction)
    assert start == (tmp_path / "prepared" / "sft-kuhn").resolve()
    record = read_json(start / "sft.json")["settings"]
    assert record["settings"]["adapter"]["rank"] == request.config(sepo).adapter.rank
    assert '"memory": "none"' in (tmp_path / "demonstrations" / "sft-kuhn" / "card.json").read_text()
    preparations.check_prepared(tmp_path)
    before = (start / "sft.json").stat().st_mtime_ns
    assert preparations.prepared(replace(sepo, preparation=few), reproduction) == start
    assert (start / "sft.json").stat().st_mtime_ns == before
    assert preparations.prepared(sft, replace(reproduction, request=replace(request, learner="tabular"))) is None


def test_rows_of_measures_have_no_seat(runs: Path) -> None:
    (table,) = experiments_of("sepo/table5", "kuhn")
    known = tuple(row for row in table.table if row.arm in ("base", "sepo"))
    nobody = replace(known[0], role="nothing", measure=lambda found: [math.nan, math.nan])
    rows = table_rows(replace(table, table=(*known, nobody)), results(runs))
    assert (rows.pop().measured, rows[-1].n_seeds) == (None, 2)
    assert {row.seat for row in rows} == {""}
    by_name = {(row.arm, row.role): row for row in rows}
    assert by_name["sepo", "Exploit ↓"].second == 0.0 and by_name["base", "Robust ↑"].published is None
    assert all(row.n_seeds == 2 for row in rows if row.role not in ("Ext ↓",))
