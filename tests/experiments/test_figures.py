"""Figures of the paper: the runs behind them are the tables', shared and trained once; each seed shows."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import as_older

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.experiments.catalogue import all_figures, arm_of, experiments_of, figure_of
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request, requests_of
from coplay.report.data import Arm, load_run
from coplay.report.sections import endings, state_classes
from coplay.report.training_plot import grid_figure
from coplay.runs import train as training

torch.set_num_threads(1)

PAPER = (2, 3, 4, 6, 8, 9, 10, 12, 13, 14, 15, 16)
FIGURE = Request("shapellm/figure9", learner="tabular", seeds=(0, 1), trials=2)
TABLE = replace(FIGURE, id="shapellm/table16")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("figures") / "figure9"
    reproduce(FIGURE, out, quiet=True)
    return out


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("trained again")


def test_every_figure_of_training_and_of_first_policies_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    known = [
        *(f"shapellm/figure{number}" for number in PAPER),
        "sepo/figure1",
        *(f"mediation/figure{number}" for number in range(1, 7)),
    ]
    assert [figure.id for figure in all_figures()] == known
    for figure in all_figures():
        assert len(figure.panels) % figure.columns == 0
        for panel in figure.panels:
            (experiment,), arm = experiments_of(panel.experiment, panel.game), arm_of(panel)
            assert (experiment.game, arm.name) == (panel.game, panel.arm)
            assert experiment.text_only <= figure.text_only
    assert main(["list", "experiments"]) == 0
    assert "shapellm/figure16" in capsys.readouterr().out


def test_seeds_are_as_many_as_the_captions_say() -> None:
    for number, seeds in ((2, (5, 5, 5)), (13, (5, 5, 10)), (14, (10, 10)), (16, (5,) * 9)):
        request = Request(f"shapellm/figure{number}")
        assert tuple(len(request.config(arm).seeds) for arm in request.arms) == seeds


def test_a_figure_is_drawn_with_its_page(done: Path) -> None:
    assert sorted(path.name for path in (done / "figures").iterdir()) == ["figure9.pdf", "figure9.png"]
    assert sorted(path.name for path in (done / "runs").iterdir()) == ["ipd-episode-only", "ipd-state-only"]
    page = (done / "report.html").read_text()
    assert "Figure 9" in page and "Last round alone" in page
    assert not (done / "claims.json").exists()  # claims are about tables


def test_a_table_that_joins_finds_the_runs(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Path(shutil.copytree(done, tmp_path / "both"))
    monkeypatch.setattr(training, "train", never)
    monkeypatch.setattr(training, "resume", never)
    outcome = reproduce(TABLE, out, quiet=True)
    assert requests_of(out) == [FIGURE, TABLE]
    page = outcome.report.read_text()
    assert 'href="figure9/report.html"' in page and 'href="table16-ipd/report.html"' in page
    assert {row["id"].split("/")[0] for row in json.loads((out / "claims.json").read_text())} == {"table16"}
    assert (out / "figure9" / "figures" / "figure9.png").exists()


@pytest.mark.slow
def test_a_figure_that_joins_one_experiment_finds_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "both"
    reproduce(TABLE, out, quiet=True)
    monkeypatch.setattr(training, "train", never)
    reproduce(FIGURE, out, quiet=True)
    assert not (out / "runs").exists()
    assert (out / "figure9" / "figures" / "figure9.pdf").exists()


def test_other_settings_do_not_join(done: Path) -> None:
    with pytest.raises(UsageError, match=r"holds another experiment \(trials=2\)"):
        reproduce(replace(TABLE, trials=3), done, quiet=True)


def test_one_game_of_a_figure() -> None:
    figure = figure_of("shapellm/figure15", "icg")
    assert figure is not None
    assert ([panel.game for panel in figure.panels], figure.columns) == (["icg"] * 3, 1)
    with pytest.raises(UsageError, match="unknown game of shapellm/figure15 'ish'"):
        figure_of("shapellm/figure15", "ish")


def test_tables_do_not_read() -> None:
    with pytest.raises(UsageError, match="about text"):
        _ = Request("shapellm/figure6", learner="tabular").figure


def test_an_unknown_figure_gets_a_did_you_mean() -> None:
    with pytest.raises(UsageError, match="Did you mean 'shapellm/figure2'"):
        _ = Request("shapellm/figur2").experiments


# --- Each seed shows --------------------------------------------------------------------------------------------------------------------


def drawn(arms: Sequence[Arm], show: str) -> Any:
    return grid_figure([list(arms)], shows=(show,)).axes[0]


def test_every_seed_has_a_line_of_its_own(done: Path) -> None:
    run = load_run(done / "runs" / "ipd-state-only")
    arm = Arm("a", "a", run)
    series = {"reward": [f"reward/{seat}" for seat in run.seats], "states": [f"state/{name}" for name in run.states]}
    for show, metrics in series.items():
        lines = [tuple(line.get_ydata()) for line in drawn([arm], show).get_lines()]
        for metric in metrics:
            for values in run.series(metric).values:
                assert tuple(values) in lines


def test_every_seed_has_a_bar_of_its_own(done: Path) -> None:
    (bar,) = endings([Arm("a", "a", load_run(done / "runs" / "ipd-state-only"))])
    assert len(bar.seeds) == 2
    for segments in bar.seeds:
        assert sum(share for _, share, _ in segments) == pytest.approx(1.0)
    assert (done / "report.html").read_text().count('class="bar seed"') == 4


def test_states_of_different_games_have_their_own_places(done: Path, tmp_path: Path) -> None:
    run = load_run(done / "runs" / "ipd-state-only")
    other = as_older(Path(shutil.copytree(run.path, tmp_path / "imp")))
    for name in ("config.json", "metrics.jsonl", "eval.json"):
        text = (other / name).read_text()
        for mine, theirs in (("CC", "HH"), ("CD", "HT"), ("DC", "TH"), ("DD", "TT"), ('"ipd"', '"imp"')):
            text = text.replace(mine, theirs)
        (other / name).write_text(text)
    classes = state_classes([Arm("a", "a", run), Arm("b", "b", load_run(other))])
    assert (classes["CC"], classes["HH"], classes["TT"], classes["I"]) == ("s-0", "s-0", "s-3", "s-x")
