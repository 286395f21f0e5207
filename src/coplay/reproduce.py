"""Reproduce published tables and figures: train their arms, evaluate them, check the claims, write the report. Goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coplay import experiments
from coplay.claims import Results, check_claims, claims_of
from coplay.config import Config
from coplay.config_input import changed
from coplay.errors import UsageError
from coplay.experiments import Arm, Experiment, FigureSpec
from coplay.games.matrix import SEATS
from coplay.progress import Progress
from coplay.recipes import LearnerKind, Scale, make_config
from coplay.runs import is_taken, read_json, write_json

if TYPE_CHECKING:
    from coplay.report.heat_map import HeatMap

VERSION = 1
"""Of ``experiment.json`` and ``claims.json``."""

WHAT = ("id", "game")
"""The parts of a request in which those that share a directory may differ."""


@dataclass(frozen=True)
class Request:
    """What to reproduce, and how."""

    id: str
    """A table, e.g. ``shapellm/table1``, a figure, e.g. ``shapellm/figure2``, or a whole paper's tables, e.g. ``shapellm``."""
    game: str | None = None
    """One of the games alone."""
    scale: Scale = "tiny"
    """Model and hyper-parameters."""
    learner: LearnerKind = "language_model"
    """What the learners are made of."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Seeds; where the paper has twice as many as elsewhere, as many again follow the largest."""
    model: str | None = None
    """Another model than the scale's."""
    trials: int | None = None
    """Another number of trials than the recipes', in every arm."""
    align_to: str | None = None
    """Another model than the scale's for arms to be aligned to."""

    @property
    def slug(self) -> str:
        """A directory name that says what is in it."""
        parts = ["reproduce", self.id.replace("/", "-"), *([self.game] if self.game else []), self.scale]
        parts += ["tabular"] if self.learner == "tabular" else []
        return "-".join([*parts, f"{len(self.seeds)}seeds"])

    @property
    def figure(self) -> FigureSpec | None:
        """The figure that is asked for; None if it is a table or a paper.

        Raises:
            UsageError: for a game that it does not show; or if tabular learners cannot take part.
        """
        found = experiments.figure_of(self.id, self.game)
        if found is not None and found.text_only and self.learner == "tabular":
            raise UsageError(f"{self.id} is about text, which tabular learners do not read")
        return found

    @property
    def experiments(self) -> list[Experiment]:
        """The tables that are asked for; none if it is a figure.

        Raises:
            UsageError: for an unknown id or game, with the nearest one; or if tabular learners can take part in none of it.
        """
        if self.figure is not None:
            return []
        found = experiments.experiments_of(self.id, self.game)
        if self.learner != "tabular":
            return found
        possible = [experiment for experiment in found if not experiment.text_only]
        if not possible:
            raise UsageError(f"{self.id} is about text, or has language models in it; leave out --learner tabular")
        return possible

    @property
    def arms(self) -> list[Arm]:
        """What is to be run for it, each recipe once."""
        figure = self.figure
        if figure is None:
            found = [arm for experiment in self.experiments for arm in experiment.arms]
        else:
            found = [panel.find()[1] for panel in figure.panels if "labels" not in figure.shows]
        return list({arm.recipe: arm for arm in found}.values())

    def config(self, arm: Arm) -> Config:
        """The config of one arm."""
        seeds = list(self.seeds)
        if arm.twice_the_seeds:
            seeds += range(max(seeds) + 1, max(seeds) + 1 + len(seeds))
        changes: dict[str, Any] = {"seeds": seeds}
        changes |= {"model": self.model} if self.model is not None else {}
        changes |= {"trials": self.trials} if self.trials is not None else {}
        return changed(make_config(arm.recipe, scale=self.scale, learner=self.learner), changes)


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    report: Path
    """The page."""
    text: str
    """Verdict and claims, for the terminal."""


def reproduce(request: Request, out: Path, *, quiet: bool = False) -> Outcome:
    """Run all arms into ``out``, one directory each, then claims and report.

    If ``out`` holds this very experiment already, finished arms are kept and unfinished ones are gone on with. An arm that several
    tables share is run once.

    Raises:
        UsageError: for an unknown experiment, or if ``out`` holds something else.
    """
    lengths = {
        arm.recipe: experiment.lengths
        for experiment in request.experiments
        if experiment.lengths
        for arm in experiment.arms
    }
    _claim_directory(request, out)
    first = request_of(out)
    for arm in request.arms:
        path = arm_directory(first, out, arm)
        _finish_arm(request, arm, path, out, quiet=quiet)
        if arm.recipe in lengths:
            from coplay.train import evaluate_lengths

            evaluate_lengths(path, lengths[arm.recipe])
    if request.figure is not None and "labels" in request.figure.shows:
        from coplay.first_policies import measure_first_policies

        measure_first_policies(request, request.figure, out, quiet=quiet)
    return summarise(out)


def arm_directory(request: Request, out: Path, arm: Arm) -> Path:
    """Where an arm's run is.

    Under its own name if the directory was made for one experiment that has it; else under its recipe's, so that tables and figures
    can share it.

    Args:
        request: what the directory was made for.
        out: the directory.
        arm: the arm.

    Returns:
        The run directory.
    """
    own = request.experiments
    if len(own) == 1 and arm.recipe in [one.recipe for one in own[0].arms]:
        return out / arm.name
    return out / "runs" / arm.recipe.partition("/")[2]


def prepared(request: Request, arm: Arm, out: Path, *, quiet: bool = False) -> Path | None:
    """Do what an arm needs before it is trained, unless it has been done.

    Returns:
        The adapter's directory that its learners start from; None if they start from the model as it is.
    """
    if arm.preparation is None:
        return None
    from coplay.prepare import alignment_of, prepare

    alignment = alignment_of(arm.preparation, request.config(arm), scale=request.scale, to=request.align_to)
    return prepare(arm.preparation, alignment, out, scale=request.scale, quiet=quiet)


def _finish_arm(request: Request, arm: Arm, path: Path, out: Path, *, quiet: bool) -> None:
    if (path / "eval.json").exists():
        return
    from coplay.train import train_or_resume

    start = prepared(request, arm, out, quiet=quiet)
    config = request.config(arm)
    if start is not None:
        config = changed(config, {"adapter.start": str(start)})
    train_or_resume(config, path, again=f"--out {out}", progress=Progress(path.name, quiet=quiet))


def _claim_directory(request: Request, out: Path) -> None:
    """Make the directory, or find that it holds the same settings: tables and figures of the same settings can share one."""
    asked = {"version": VERSION, **asdict(request), "seeds": list(request.seeds)}
    if not is_taken(out):
        _check_arms(request)
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "experiment.json", asked)
        return
    if not (out / "experiment.json").exists():
        raise UsageError(f"{out} exists already and is no experiment of `coplay reproduce`; choose another --out")
    found = read_json(out / "experiment.json")
    differing = [key for key in asked if key not in WHAT and found.get(key) != asked[key]]
    if differing:
        was = ", ".join(f"{key}={found.get(key)!r}" for key in differing)
        raise UsageError(f"{out} holds another experiment ({was}); choose another --out")
    if request not in requests_of(out):
        _check_arms(request)
        also = [*found.get("also", []), {key: asked[key] for key in WHAT}]
        write_json(out / "experiment.json", {**found, "also": also})


def _check_arms(request: Request) -> None:
    """Find what is wrong with any arm before anything is written; raises UsageError."""
    from coplay.arena import check, check_without_weights

    _ = request.experiments, request.figure
    loaded, preparations = set(), set()
    figure = request.figure
    arms = request.arms or ([panel.find()[1] for panel in figure.panels] if figure else [])
    for arm in arms:
        config = request.config(arm)
        check_without_weights(config)
        if (config.model, config.four_bit) not in loaded:  # weights take long to load, and once shows whether they do
            check(config, where=arm.recipe)
        loaded.add((config.model, config.four_bit))
        if arm.preparation is not None and arm.preparation.name not in preparations:
            from coplay.prepare import alignment_of, check_preparation

            preparations.add(arm.preparation.name)
            check_preparation(alignment_of(arm.preparation, config, scale=request.scale, to=request.align_to))


def request_of(out: Path) -> Request:
    """What an experiment's directory was made for."""
    return requests_of(out)[0]


def requests_of(out: Path) -> list[Request]:
    """All that was asked of an experiment's directory: what it was made for, then what has joined it."""
    found = read_json(out / "experiment.json")
    found.pop("version", None)
    also = found.pop("also", [])
    first = Request(**{**found, "seeds": tuple(found["seeds"])})
    return [first, *(replace(first, **what) for what in also)]


def summarise(out: Path) -> Outcome:
    """Check the claims and write the report of what is finished."""
    from coplay.figure_pages import drawable, write_figure_page

    requests = requests_of(out)
    request = requests[0]
    tables = list({one.name: one for asked in requests for one in asked.experiments}.values())
    figures = [asked.figure for asked in requests if asked.figure is not None]
    finished = [
        experiment
        for experiment in tables
        if all(_is_finished(arm_directory(request, out, arm), experiment) for arm in experiment.arms)
    ]
    drawn = drawable(request, figures, out)
    if not finished and not drawn:
        raise UsageError(f"{out} has no finished experiment yet")
    if len(tables) + len(figures) == 1:
        if figures:
            alone = write_figure_page(request, figures[0], out, out)
            return Outcome(alone.report, alone.text)
        summary = _summarise_experiment(request, finished[0], out, out)
        write_json_list(out / "claims.json", summary.claims)
        return Outcome(summary.report, summary.text)
    from coplay.report.overview import write_overview

    summaries = [_summarise_experiment(request, experiment, out, out / experiment.name) for experiment in finished]
    figure_pages = [write_figure_page(request, figure, out, out / figure.name) for figure in drawn]
    claims = [claim for summary in summaries for claim in summary.claims]
    write_json_list(out / "claims.json", claims)
    missing = [one.title for one in tables if one not in finished]
    missing += [one.title for one in figures if one not in drawn]
    title = f"Reproducing {', '.join(dict.fromkeys(asked.id for asked in requests))}"
    page = write_overview(out, summaries, title=title, missing=missing, figures=figure_pages)
    held = sum(claim["holds"] for claim in claims)
    told = [f"{summary.experiment.title}\n{summary.text}" for summary in summaries]
    told += ["\n".join(figure_page.text for figure_page in figure_pages)] if figure_pages else []
    told += [f"{held} of {len(claims)} claims hold."] if claims else []
    return Outcome(page, "\n\n".join(told))


def _is_finished(path: Path, experiment: Experiment) -> bool:
    names = ["eval.json", *(f"eval-T{rounds}.json" for rounds in experiment.lengths)]
    return all((path / name).exists() for name in names)


@dataclass(frozen=True)
class Summary:
    """One experiment's results."""

    experiment: Experiment
    """Which one."""
    report: Path
    """Its page."""
    claims: list[dict[str, Any]]
    """As in ``claims.json``."""
    rows: list[dict[str, Any]]
    """Our numbers beside the published ones."""
    lead: str
    """What happened, in a sentence or two."""
    text: str
    """The same with the claims, for the terminal."""


def _summarise_experiment(request: Request, experiment: Experiment, out: Path, page: Path) -> Summary:
    from coplay.report.data import Arm as ReportArm
    from coplay.report.data import load_run
    from coplay.report.page import write_report
    from coplay.report.verdict import verdict

    runs = {arm.name: load_run(arm_directory(request, out, arm)) for arm in experiment.arms}
    evals: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        evals[name] = read_json(run.path / "eval.json")
        for rounds in experiment.lengths:
            evals[f"{name}@{rounds}"] = read_json(run.path / f"eval-T{rounds}.json")

    @cache
    def curves(arm: str, metric: str) -> list[list[float]]:
        values: list[list[float]] = runs[arm].series(metric).values.tolist()
        return values

    results = Results(evals, curves)
    found = claims_of(experiment.id.partition("/")[2] + "/" + experiment.game)
    claims = check_claims(found, results, model=model_name(request, experiment))
    rows = table_rows(experiment, evals)
    arms = [ReportArm(arm.name, arm.label, runs[arm.name]) for arm in experiment.arms]
    report = write_report(
        page, arms, title=experiment.title, claims=claims, table=rows, maps=meetings(experiment, rows)
    )
    lines = [verdict(arms, claims), ""]
    for claim in claims:
        measured = "no legal rounds" if claim["measured"] is None else f"{claim['measured']:.2f}"
        ci95 = "" if claim["ci95"] is None else f" ± {claim['ci95']:.2f}"
        paper = "" if claim["published"] is None else f" (paper {claim['published']:.2f})"
        mark = "holds" if claim["holds"] else "DOES NOT HOLD"
        lines.append(f"{mark:>13}  {measured}{ci95}{paper}  {claim['claim']}")
    return Summary(experiment, report, claims, rows, verdict(arms), "\n".join(lines))


def model_name(request: Request, experiment: Experiment) -> str:
    """What an experiment's numbers were measured on."""
    return "tabular" if request.learner == "tabular" else request.config(experiment.arms[0]).model


def table_rows(
    experiment: Experiment, evals: dict[str, dict[str, Any]], *, only: str | None = None
) -> list[dict[str, Any]]:
    """Our numbers beside the published ones, of all arms or of one alone in games of the length it was trained in."""
    rows = []
    for published in experiment.table:
        if only is not None and (published.arm != only or published.rounds in experiment.lengths):
            continue
        arm = published.arm if published.rounds not in experiment.lengths else f"{published.arm}@{published.rounds}"
        ours = evals[arm]["seats"][published.seat]["per_round"] or {"mean": None, "ci95": None, "n": 0}
        rows.append(
            {
                "arm": arm,
                "seat": published.seat,
                "role": published.role,
                "published": published.value,
                "published_ci95": published.ci95,
                "measured": ours["mean"],
                "ci95": ours["ci95"],
                "n_seeds": ours["n"],
            }
        )
    return rows


def meetings(experiment: Experiment, rows: Sequence[dict[str, Any]]) -> list[HeatMap]:
    """A map a seat of who met whom, for experiments whose arms stand on a grid; none for others.

    Args:
        experiment: its arms have a cell each, or none.
        rows: as :func:`table_rows` returns them.
    """
    from coplay.report.heat_map import HeatMap

    cells = {arm.name: arm.cell for arm in experiment.arms if arm.cell is not None}
    down, across = (tuple(dict.fromkeys(cell[axis] for cell in cells.values())) for axis in (0, 1))
    maps = []
    for seat in SEATS if cells else ():
        found = {
            cells[row["arm"]]: (row["measured"], row["ci95"])
            for row in rows
            if row["seat"] == seat and row["arm"] in cells and row["measured"] is not None
        }
        lines = tuple(tuple(found.get((mine, theirs)) for theirs in across) for mine in down)
        maps.append(HeatMap(f"{seat}: reward per step", ("row", down), ("column", across), lines))
    return maps


def write_json_list(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write ``claims.json``, which is a list."""
    import json

    from coplay.runs import replace_text

    replace_text(path, json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")


def report_on(directories: Sequence[Path], out: Path) -> Path:
    """Write the report on an experiment's or a sweep's directory, or on one or several runs side by side."""
    from coplay.report.data import Arm, load_run
    from coplay.report.page import write_report

    if len(directories) == 1 and (directories[0] / "experiment.json").exists() and out == directories[0]:
        return summarise(out).report
    if len(directories) == 1 and (directories[0] / "sweep.json").exists() and out == directories[0]:
        from coplay.report.sweep_page import write_sweep_page

        return write_sweep_page(out, read_json(out / "sweep.json"))
    arms = []
    for path in directories:
        run = load_run(path)
        arms.append(Arm(path.name, f"{run.config.get('recipe', path.name)} ({path.name})", run))
    title = arms[0].label if len(arms) == 1 else "Runs compared"
    return write_report(out, arms, title=title)
