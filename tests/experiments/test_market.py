"""The market of mediation, tiny: recipes at both scales, controllers evaluated under other prompts, and who the numbers are of."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.experiments.catalogue import all_claims, arm_of, claims_of, experiments_of
from coplay.experiments.mediation_figures import mediation_figure
from coplay.experiments.pages import load_arm
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request
from coplay.games import make_game
from coplay.players import simulator as simulators
from coplay.players.named import make_player
from coplay.recipes import RECIPES, make_config
from coplay.recipes.experiments import Arm, Panel
from coplay.recipes.mediation import figures, market, market_claims
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.directory import RunDirectory
from coplay.runs.train import evaluate_in, train
from coplay.terminal.progress import Progress

QUIET = Progress(quiet=True)

SMALL: dict[str, object] = {"games": 2, "eval_games": 2, "game.game.rounds": 3, "rounds": 3, "threads": 1}


@pytest.fixture
def firms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulators of known coefficients in place of those that come with coplay: the higher the price, the more they are told to collude."""
    folder = tmp_path / "simulators"
    folder.mkdir()
    for prompt, price in {"P0": 1.5, "PI": 1.6, "AC": 1.45, "PC": 1.85}.items():
        messages = {"read:mild": -0.01, "read_before:mild": 0.0, "read:strong": -0.05, "read_before:strong": 0.0}
        found = {"intercept": price, "own_last": 0.0, "others_last": 0.0, "first_round": 0.0, **messages}
        own = {"games": 7, "coefficients": found, "spread": 0.02, "read": {"mild": 1, "strong": 1}}
        about = {"kind": "number", "phase": "price", "features": list(found), "players": {"model": own}}
        (folder / f"smollm2-bertrand-{prompt}.json").write_text(json.dumps({"version": 1, **about}))
    monkeypatch.setattr(simulators, "PACKAGED", folder)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every arm of every request is small."""
    whole = Request.config

    def config(self: Request, arm: Arm) -> Config:
        return with_values(whole(self, arm), SMALL)

    monkeypatch.setattr(Request, "config", config)


def test_recipes_build_at_both_scales() -> None:
    for name in market.VARIANTS:
        tiny, paper = (make_config(f"mediation/{name}", scale=scale) for scale in ("tiny", "paper"))
        assert (tiny.rounds, paper.rounds) == (30, 300)
        assert paper.seats["firm-1"] == (market.DEEPSEEK,)
        assert set(tiny.learners) == ({"mediator"} if tiny.trials else set())
    conditioned = make_config("mediation/bertrand-ppo-conditioned-100").game
    assert conditioned == market.game_of("any", informed=True)["tiny"]
    assert {arm.recipe for one in market.EXPERIMENTS for arm in one.arms} <= set(RECIPES)


def test_claims_have_arms_that_are_measured() -> None:
    assert len(claims_of("table2/bertrand")) >= 20
    assert len({claim.id for claim in all_claims()}) == len(all_claims())


def test_numbers_of_table_2() -> None:
    assert market.published(market.GAIN, "bandit-p0-50", "PC") == 0.390
    assert market.published(market.PRICE, "always-strong", "PC") == 1.917
    assert market.published(market.GAIN, "coin", "P0") is None


@pytest.mark.parametrize(
    ("notice", "shown"), [("always:mild", "mild"), ("always:strong", "strong"), ("always:MILD", "mild")]
)
def test_a_mediator_sends_one_notice_always(notice: str, shown: str, firms: None, tmp_path: Path) -> None:
    config = with_values(make_config("mediation/bertrand-never"), {**SMALL, "seats.mediator": notice, "seeds": [0]})
    run = train(config, tmp_path / "run", progress=QUIET)
    assert run.evaluation()["seeds"]["0"]["mediation"]["notices"][shown]["mean"] == 1.0


def test_a_simulator_for_each_prompt(firms: None) -> None:
    seated = make_player(market.FIRM, make_game("bertrand:prompt=any+mediator"), "firm-1")
    assert isinstance(seated, simulators.ByContext)
    assert set(seated.simulators) == set(market.PROMPTS)
    assert seated.about == "simulator fitted to 7 games of model"
    with pytest.raises(UsageError, match="no circumstances"):
        make_player(market.FIRM, make_game("ipd"), "row")


def test_a_finished_run_is_evaluated_in_other_settings(firms: None, tmp_path: Path) -> None:
    config = with_values(make_config("mediation/bertrand-ppo-conditioned-100"), {**SMALL, "trials": 1, "seeds": [0]})
    run = train(config, tmp_path / "run", progress=QUIET)
    before = run.store.read("eval.json")
    evaluate_in(run.path, market.SETTINGS)
    run = RunDirectory.open(run.path)
    prices = {
        prompt: run.evaluation(f"eval-{prompt}.json")["seeds"]["0"]["mediation"]["collective"]["price"]["mean"]
        for prompt in market.PROMPTS
    }
    assert sorted(prices, key=prices.__getitem__) == ["AC", "P0", "PI", "PC"]
    assert run.store.read("eval.json") == before
    stamp = (run.path / "eval-PC.json").stat().st_mtime_ns
    evaluate_in(run.path, market.SETTINGS)
    assert (run.path / "eval-PC.json").stat().st_mtime_ns == stamp


def test_table_2_is_reproduced(firms: None, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("never", "ppo-conditioned-100")
    arms = tuple(arm for arm in market.TABLE.arms if arm.name in kept)
    rows = tuple(row for row in market.TABLE.table if row.arm in kept)
    monkeypatch.setattr(market, "EXPERIMENTS", (replace(market.TABLE, arms=arms, table=rows), market.TRAINED))
    drawn_later = figures.FIGURES
    monkeypatch.setattr(figures, "FIGURES", ())
    monkeypatch.setattr(market_claims, "CLAIMS", tuple(one for one in market_claims.CLAIMS if "order" in one.id))
    found = reproduce(Request("mediation/table2", seeds=(0, 1), trials=1), tmp_path / "out", quiet=True)
    claims = {one["id"]: one for one in json.loads((tmp_path / "out" / "claims.json").read_text())}
    assert claims["table2/bertrand/order-pi-below-pc"]["verdict"] == "holds"
    assert {one["model"] for one in claims.values()} == {"simulator fitted to 7 games of model"}
    assert (tmp_path / "out" / "ppo-conditioned-100" / "eval-AC.json").is_file()
    assert "simulator fitted to 7 games of model" in found.report.read_text(encoding="utf-8")
    panels = tuple(
        Panel("mediation/table2", "bertrand", arm, prompt, prompt, "" if arm == "never" else "PPO")
        for prompt in market.PROMPTS
        for arm in kept
    )
    loaded = [load_arm(panel.arm, panel.arm, tmp_path / "out" / panel.arm) for panel in panels]
    for figure in drawn_later:
        named = replace(figure, panels=panels, columns=2, reference=figure.reference and "never")
        drawn = mediation_figure(named, loaded, "tiny")
        assert len(drawn.axes) >= (1 if set(figure.shows) & {"map", "frontier"} else 4)


def test_figures_show_arms_and_rows_of_tables() -> None:
    for figure in figures.FIGURES:
        for panel in figure.panels:
            arm = arm_of(panel)
            (table,) = experiments_of(panel.experiment, panel.game)
            for role in filter(None, (figure.row, figure.across)):
                assert (arm.name, role, panel.setting) in {(row.arm, row.role, row.setting) for row in table.table}
