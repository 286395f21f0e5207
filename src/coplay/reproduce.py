"""Reproduce published tables: train their arms, evaluate them, check the claims, write the report. Goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from coplay import experiments
from coplay.claims import Results, check_claims, claims_of
from coplay.config import Config
from coplay.config_input import changed
from coplay.errors import UsageError
from coplay.experiments import Arm, Experiment
from coplay.progress import Progress
from coplay.recipes import LearnerKind, Scale, make_config
from coplay.runs import is_taken, read_json, write_json

VERSION = 1
"""Of ``experiment.json`` and ``claims.json``."""


@dataclass(frozen=True)
class Request:
    """What to reproduce, and how."""

    id: str
    """A table, e.g. ``shapellm/table1``, or a whole paper, e.g. ``shapellm``."""
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

    @property
    def slug(self) -> str:
        """A directory name that says what is in it."""
        parts = ["reproduce", self.id.replace("/", "-"), *([self.game] if self.game else []), self.scale]
        parts += ["tabular"] if self.learner == "tabular" else []
        return "-".join([*parts, f"{len(self.seeds)}seeds"])

    @property
    def experiments(self) -> list[Experiment]:
        """What is asked for.

        Raises:
            UsageError: for an unknown id or game, with the nearest one; or if tabular learners can take part in none of it.
        """
        found = experiments.experiments_of(self.id, self.game)
        if self.learner != "tabular":
            return found
        possible = [experiment for experiment in found if not experiment.text_only]
        if not possible:
            raise UsageError(f"{self.id} is about text, which tabular learners do not read")
        return possible

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
    wanted = request.experiments
    _claim_directory(request, out)
    for experiment in wanted:
        for arm in experiment.arms:
            path = arm_directory(request, out, arm)
            _finish_arm(request.config(arm), path, out, quiet=quiet)
            if experiment.lengths:
                from coplay.train import evaluate_lengths

                evaluate_lengths(path, experiment.lengths)
    return summarise(out)


def arm_directory(request: Request, out: Path, arm: Arm) -> Path:
    """Where an arm's run is: under its own name if there is one experiment, else under its recipe's, so that tables can share it."""
    alone = len(request.experiments) == 1
    return out / arm.name if alone else out / "runs" / arm.recipe.partition("/")[2]


def _finish_arm(config: Config, path: Path, out: Path, *, quiet: bool) -> None:
    if (path / "eval.json").exists():
        return
    from coplay.train import Interrupted, resume, train

    progress = Progress(path.name, quiet=quiet)
    try:
        if (path / "config.json").exists():
            resume(path, progress=progress)
        else:
            train(config, path, progress=progress)
    except Interrupted:
        raise Interrupted(f"saved; the same command with --out {out} goes on where it stopped") from None


def _claim_directory(request: Request, out: Path) -> None:
    asked = {"version": VERSION, **asdict(request), "seeds": list(request.seeds)}
    if is_taken(out):
        if not (out / "experiment.json").exists():
            raise UsageError(f"{out} exists already and is no experiment of `coplay reproduce`; choose another --out")
        found = read_json(out / "experiment.json")
        differing = [key for key in asked if found.get(key) != asked[key]]
        if differing:
            was = ", ".join(f"{key}={found.get(key)!r}" for key in differing)
            raise UsageError(f"{out} holds another experiment ({was}); choose another --out")
        return
    from coplay.arena import check, check_without_weights

    arms = {arm.recipe: arm for experiment in request.experiments for arm in experiment.arms}
    loaded = set()
    for recipe, arm in arms.items():
        config = request.config(arm)
        check_without_weights(config)
        if (config.model, config.four_bit) not in loaded:  # weights take long to load, and once shows whether they do
            check(config, where=recipe)
        loaded.add((config.model, config.four_bit))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "experiment.json", asked)


def request_of(out: Path) -> Request:
    """What an experiment's directory was made for."""
    found = read_json(out / "experiment.json")
    found.pop("version", None)
    return Request(**{**found, "seeds": tuple(found["seeds"])})


def summarise(out: Path) -> Outcome:
    """Check the claims and write the report of what is finished."""
    request = request_of(out)
    finished = [
        experiment
        for experiment in request.experiments
        if all(_is_finished(arm_directory(request, out, arm), experiment) for arm in experiment.arms)
    ]
    if not finished:
        raise UsageError(f"{out} has no finished experiment yet")
    if len(request.experiments) == 1:
        summary = _summarise_experiment(request, finished[0], out, out)
        write_json_list(out / "claims.json", summary.claims)
        return Outcome(summary.report, summary.text)
    from coplay.report.overview import write_overview

    summaries = [_summarise_experiment(request, experiment, out, out / experiment.name) for experiment in finished]
    claims = [claim for summary in summaries for claim in summary.claims]
    write_json_list(out / "claims.json", claims)
    missing = [experiment.title for experiment in request.experiments if experiment not in finished]
    page = write_overview(out, summaries, title=f"Reproducing {request.id}", missing=missing)
    held = sum(claim["holds"] for claim in claims)
    text = "\n\n".join(f"{summary.experiment.title}\n{summary.text}" for summary in summaries)
    return Outcome(page, f"{text}\n\n{held} of {len(claims)} claims hold.")


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
    report = write_report(page, arms, title=experiment.title, claims=claims, table=rows)
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


def table_rows(experiment: Experiment, evals: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Our numbers beside the published ones."""
    rows = []
    for published in experiment.table:
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


def write_json_list(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write ``claims.json``, which is a list."""
    import json

    from coplay.runs import replace_text

    replace_text(path, json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")


def report_on(directories: Sequence[Path], out: Path) -> Path:
    """Write the report on an experiment's directory, or on one or several runs side by side."""
    from coplay.report.data import Arm, load_run
    from coplay.report.page import write_report

    if len(directories) == 1 and (directories[0] / "experiment.json").exists() and out == directories[0]:
        return summarise(out).report
    arms = []
    for path in directories:
        run = load_run(path)
        arms.append(Arm(path.name, f"{run.config.get('recipe', path.name)} ({path.name})", run))
    title = arms[0].label if len(arms) == 1 else "Runs compared"
    return write_report(out, arms, title=title)
