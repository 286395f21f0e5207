"""Summaries: the claims, tables, figures and pages of what an experiment's directory has finished."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.evaluation.claims import CheckedClaim, check_claims, verdict_counts
from coplay.evaluation.measures import Results
from coplay.evaluation.summary import diverged_seeds
from coplay.experiments.claims_file import write_claims
from coplay.experiments.cross_play import cross_play_file, load_cross_play
from coplay.experiments.pages import Conclusion, ExperimentPage, load_arm
from coplay.experiments.request import Request, arm_directory, request_of, requests_of
from coplay.experiments.transcripts import Transcripts, load_transcripts, transcripts_file
from coplay.experiments.who import model_name, players_named
from coplay.files.store import Store
from coplay.files.writing import folder_of
from coplay.recipes.experiments import Experiment, TableRow, table_rows
from coplay.runs.directory import RunDirectory, is_finished, is_taken
from coplay.runs.divergence import diverged_in

if TYPE_CHECKING:
    from coplay.evaluation.cross_play import CrossPlay
    from coplay.report.data import Arm as ReportArm
    from coplay.report.heat_map import HeatMap
    from coplay.runs.settings import Setting


class NothingFinished(UsageError):
    """There is nothing to summarise yet."""


def summarise(out: Path) -> Conclusion:
    """Check the claims and write the report of what is finished."""
    from coplay.experiments.figure_pages import drawable, write_figure_page

    requests = requests_of(out)
    request = requests[0]
    tables = list({one.name: one for asked in requests for one in asked.experiments}.values())
    figures = [asked.figure for asked in requests if asked.figure is not None]
    finished = [experiment for experiment in tables if _is_finished(request, experiment, out)]
    drawn = drawable(request, figures, out)
    if not finished and not drawn:
        raise NothingFinished(f"{out} has no finished experiment yet")
    if len(tables) + len(figures) == 1:
        if figures:
            alone = write_figure_page(request, figures[0], out, out)
            return Conclusion(alone.report, alone.text)
        summary = _summarise_experiment(request, finished[0], out, out)
        write_claims(out, summary.claims)
        return Conclusion(summary.report, summary.text)
    from coplay.experiments.overview import write_overview

    summaries = [_summarise_experiment(request, one, out, folder_of(out, f"{one.name}/page")) for one in finished]
    figure_pages = [write_figure_page(request, one, out, folder_of(out, f"{one.name}/page")) for one in drawn]
    claims = [claim for summary in summaries for claim in summary.claims]
    write_claims(out, claims)
    missing = [_unfinished(request, one, out) for one in tables if one not in finished]
    missing += [one.title for one in figures if one not in drawn]
    ids = dict.fromkeys(asked.id for asked in requests)
    wider = [id for id in ids if not any(id.startswith(f"{whole}/") for whole in ids)]
    title = f"Reproducing {', '.join(wider)}"
    page = write_overview(out, summaries, title=title, missing=missing, figures=figure_pages)
    paragraphs = [f"{summary.experiment.title}\n{summary.text}" for summary in summaries]
    paragraphs += ["\n".join(figure_page.text for figure_page in figure_pages)] if figure_pages else []
    paragraphs += [verdict_counts(claims)] if claims else []
    return Conclusion(page, "\n\n".join(paragraphs))


def _is_finished(request: Request, experiment: Experiment, out: Path) -> bool:
    """Whether all arms are evaluated, and all has been played that is played afterwards."""
    names = ["eval.json", *(setting.file for setting in experiment.evaluations(request.scale))]
    own = [cross_play_file(experiment)] if experiment.meets else []
    own += [transcripts_file(experiment)] if experiment.watched is not None else []
    arms = [arm_directory(request, out, arm) for arm in experiment.arms]
    if not all(is_finished(arm, names) for arm in arms):
        return False
    return _has_diverged(arms) or all(map(Store.open(out, "experiment").can_read, own))


def _unfinished(request: Request, experiment: Experiment, out: Path) -> str:
    """The title of an experiment that is not finished, and its arms that never will be, as every seed has diverged."""
    lost = []
    for arm in experiment.arms:
        path = arm_directory(request, out, arm)
        if is_taken(path) and not is_finished(path):
            run = RunDirectory.open(path)
            lost += [arm.label] if diverged_in(run.metrics()).keys() >= set(map(str, run.config.seeds)) else []
    return f"{experiment.title} (every seed has diverged: {', '.join(lost)})" if lost else experiment.title


def _has_diverged(arms: Sequence[Path]) -> bool:
    """Whether any seed of these runs has diverged: then nobody plays after training."""
    return any(diverged_seeds(RunDirectory.open(arm).evaluation()) for arm in arms)


def _summarise_experiment(request: Request, experiment: Experiment, out: Path, page: Path) -> ExperimentPage:
    from coplay.report.heat_map import cross_play_map
    from coplay.report.page import write_report
    from coplay.report.verdict import verdict

    measured = _measured(request, experiment, out)
    arms, met, transcripts, results = measured.arms, measured.met, measured.transcripts, measured.results
    claims = _checked(request, experiment, results)
    records = [claim.to_dict() for claim in claims]
    rows = table_rows(experiment, results)
    report = write_report(
        page,
        arms,
        title=experiment.title,
        claims=records,
        table=[asdict(row) for row in rows] or None,
        maps=cross_play_maps(experiment, rows) if met is None else [cross_play_map(met)],
        watched=_transcript_arms(experiment, arms[0], transcripts),
        models=experiment.models,
        players=None if request.learner == "tabular" else players_named(request, experiment),
    )
    text = "\n".join([verdict(arms, records), "", *map(str, claims)])
    return ExperimentPage(experiment, report, claims, rows, verdict(arms), text)


def checked_claims(request: Request, experiment: Experiment, out: Path) -> list[CheckedClaim]:
    """The claims of a finished experiment, checked on what its directory holds; nothing is written.

    Args:
        request: what the directory was made for.
        experiment: one of its tables.
        out: the directory.
    """
    return _checked(request, experiment, _measured(request, experiment, out).results)


@dataclass(frozen=True)
class _Measured:
    """What the directory of a finished experiment holds."""

    arms: list[ReportArm]
    """Its runs."""
    met: CrossPlay | None
    """Who got what from whom after training, if that was played."""
    transcripts: Sequence[Transcripts]
    """The games recorded after training, if any."""
    results: Results
    """The numbers of all of them."""


def _measured(request: Request, experiment: Experiment, out: Path) -> _Measured:
    arms = [load_arm(arm.name, arm.label, arm_directory(request, out, arm)) for arm in experiment.arms]
    played = not _has_diverged([arm.run.path for arm in arms])
    met = load_cross_play(out, experiment) if played else None
    transcripts = load_transcripts(out, experiment) if played else []
    return _Measured(arms, met, transcripts, _results(experiment.evaluations(request.scale), arms, met, transcripts))


def _checked(request: Request, experiment: Experiment, results: Results) -> list[CheckedClaim]:
    return check_claims(request.claims_about(experiment), results, model=model_name(request, experiment))


def _results(
    settings: Sequence[Setting], arms: Sequence[ReportArm], met: CrossPlay | None, transcripts: Sequence[Transcripts]
) -> Results:
    """The measurements that an experiment's claims and table are about."""
    runs = {arm.name: arm.run for arm in arms}
    evals = {name: RunDirectory.open(run.path).evaluation() for name, run in runs.items()}
    for name, run in runs.items():
        for setting in settings:
            evals[f"{name}@{setting.name}"] = RunDirectory.open(run.path).evaluation(setting.file)

    @cache
    def curves(arm: str, metric: str) -> list[list[float]]:
        values: list[list[float]] = runs[arm].series(metric).values.tolist()
        return values

    safety = {name: found for name, run in runs.items() if (found := RunDirectory.open(run.path).safety()) is not None}
    return Results(evals, curves, {} if met is None else met.by_pair, [one.states for one in transcripts], safety)


def _transcript_arms(experiment: Experiment, arm: ReportArm, transcripts: Sequence[Transcripts]) -> list[ReportArm]:
    """The transcripts as an arm that has games and nothing else; none if the experiment has none."""
    if experiment.watched is None:
        return []
    label = " meets ".join(arm.label if name == arm.name else name for name in experiment.watched)
    seated = {seat: {"player": name} for seat, name in zip(arm.run.seats, experiment.watched, strict=False)}
    run = replace(arm.run, episodes=[dict(one.game) for one in transcripts], eval={"seats": seated})
    return [replace(arm, name="watched", label=label, run=run)]


def cross_play_maps(experiment: Experiment, rows: Sequence[TableRow]) -> list[HeatMap]:
    """A map a seat of the rewards of all pairs, for experiments whose arms stand on a grid (``Arm.cell``); none for others."""
    from coplay.report.heat_map import HeatMap

    cells = {arm.name: arm.cell for arm in experiment.arms if arm.cell is not None}
    down, across = (tuple(dict.fromkeys(cell[axis] for cell in cells.values())) for axis in (0, 1))
    maps = []
    for seat in dict.fromkeys(row.seat for row in rows) if cells else ():
        found = {
            cells[row.arm]: (row.measured, row.ci95)
            for row in rows
            if row.seat == seat and row.arm in cells and row.measured is not None
        }
        lines = tuple(tuple(found.get((mine, theirs)) for theirs in across) for mine in down)
        maps.append(HeatMap(f"{seat}: reward per step", ("row", down), ("column", across), lines))
    return maps


def report_on(directories: Sequence[Path], out: Path) -> Path:
    """Write the report on an experiment's, a sweep's or a probe's directory, on one table of a paper's, or on one or several runs side by side.

    Raises:
        UsageError: for an experiment's or a sweep's if it is to be written elsewhere.
    """
    from coplay.report.page import write_report

    whole = [name for name in ("experiment.json", "sweep.json") if os.path.lexists(directories[0] / name)]
    if len(directories) == 1 and whole and out != directories[0]:
        raise UsageError(
            f"the pages of {directories[0]} are written into it; leave out --out, or copy the directory first"
        )
    if len(directories) == 1 and whole == ["experiment.json"]:
        return summarise(out).report
    if len(directories) == 1 and whole:
        from coplay.experiments.sweep import read_sweep
        from coplay.report.sweep_page import write_sweep_page

        return write_sweep_page(out, read_sweep(out))
    if len(directories) == 1 and any(
        os.path.lexists(directories[0] / name) for name in ("probe.json", "probe.json.gz")
    ):
        from coplay.experiments.probe import read_probe
        from coplay.experiments.probe_page import write_probe_page

        return write_probe_page(read_probe(directories[0]), out)
    table = _table_at(directories[0]) if len(directories) == 1 else None
    if table is not None:
        return _report_on_table(table, directories[0], out)
    arms = [load_arm(path.name, None, path) for path in directories]
    title = arms[0].label if len(arms) == 1 else "Runs compared"
    return write_report(out, arms, title=title)


def _table_at(directory: Path) -> Experiment | None:
    """The table whose place this is, below the directory of a whole paper; None for any other directory."""
    whole = directory.parent
    if (directory / "config.json").exists() or not (whole / "experiment.json").exists():
        return None
    tables = [experiment for asked in requests_of(whole) for experiment in asked.experiments]
    return next((table for table in tables if table.name == directory.name), None)


def _report_on_table(experiment: Experiment, directory: Path, out: Path) -> Path:
    """Write one table's page from the runs it shares with the paper's other tables; claims.json is left as it is."""
    whole = directory.parent
    request = request_of(whole)
    if not _is_finished(request, experiment, whole):
        raise UsageError(
            f"{experiment.title} is not finished in {whole}; `coplay reproduce` with the same --out resumes it"
        )
    return _summarise_experiment(request, experiment, whole, out).report
