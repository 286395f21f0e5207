"""Reproduce a published table: train its arms, evaluate them, check its claims, write the report. Goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coplay.claims import CLAIMS, Claim, check_claims
from coplay.config import Config, overridden
from coplay.errors import UsageError, unknown
from coplay.progress import Progress
from coplay.recipes import LearnerKind, Scale, make_config
from coplay.runs import read_json, write_json

VERSION = 1
"""Of ``experiment.json`` and ``claims.json``."""


@dataclass(frozen=True)
class Published:
    """One number of a published table."""

    arm: str
    """Which arm it is of."""
    seat: str
    """Which seat."""
    role: str
    """The table's name for that seat."""
    value: float
    """Mean reward per step."""
    ci95: float
    """Its 95 % interval's half-width."""


@dataclass(frozen=True)
class Experiment:
    """One row of a published table: its arms and its numbers."""

    title: str
    """For the report."""
    arms: dict[str, tuple[str, str]]
    """Name of each arm: (label, recipe)."""
    table: tuple[Published, ...]
    """The published numbers."""


EXPERIMENTS: dict[str, dict[str, Experiment]] = {
    "shapellm/table1": {
        "ipd": Experiment(
            title="ShapeLLM, Table 1: Iterated Prisoner's Dilemma",
            arms={
                "baseline": ("Baseline: two naive learners", "shapellm/ipd-baseline"),
                "shaper": ("Shaper versus naive learner", "shapellm/ipd"),
            },
            table=(
                Published("baseline", "row", "Player 1", 1.00, 0.00),
                Published("baseline", "column", "Player 2", 1.00, 0.00),
                Published("shaper", "row", "Shaper", 3.96, 0.01),
                Published("shaper", "column", "Opponent", 0.10, 0.04),
            ),
        )
    }
}
"""What can be reproduced: id, then game."""


@dataclass(frozen=True)
class Request:
    """What to reproduce, and how."""

    id: str
    """E.g. ``shapellm/table1``."""
    game: str = "ipd"
    """Which of the table's games."""
    scale: Scale = "tiny"
    """Model and hyper-parameters."""
    learner: LearnerKind = "language_model"
    """What the learners are made of."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Seeds."""
    model: str | None = None
    """Another model than the scale's."""
    trials: int | None = None
    """Another number of trials than the recipes', in every arm."""

    @property
    def slug(self) -> str:
        """A directory name that says what is in it."""
        parts = ["reproduce", self.id.replace("/", "-"), self.game, self.scale]
        parts += ["tabular"] if self.learner == "tabular" else []
        return "-".join([*parts, f"{len(self.seeds)}seeds"])

    @property
    def experiment(self) -> Experiment:
        """The experiment asked for; raises UsageError with the nearest one if there is none."""
        if self.id not in EXPERIMENTS:
            raise unknown("experiment", self.id, EXPERIMENTS)
        if self.game not in EXPERIMENTS[self.id]:
            raise unknown(f"game of {self.id}", self.game, EXPERIMENTS[self.id])
        return EXPERIMENTS[self.id][self.game]

    def config(self, recipe: str) -> Config:
        """The config of one arm."""
        config = make_config(recipe, scale=self.scale, learner=self.learner)
        changes = [f"seeds={list(self.seeds)}"]
        changes += [f"model={self.model}"] if self.model is not None else []
        changes += [f"trials={self.trials}"] if self.trials is not None else []
        return overridden(config, changes)


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    report: Path
    """The page."""
    text: str
    """Verdict and claims, for the terminal."""


def reproduce_table(request: Request, out: Path, *, quiet: bool = False) -> Outcome:
    """Run all arms into ``out``, one directory each, then claims and report.

    If ``out`` holds this very experiment already, finished arms are kept and unfinished ones are gone on with.

    Raises:
        UsageError: for an unknown experiment, or if ``out`` holds something else.
    """
    experiment = request.experiment
    configs = {arm: request.config(recipe) for arm, (_, recipe) in experiment.arms.items()}
    _claim_directory(request, out)
    for arm, config in configs.items():
        path = out / arm
        if (path / "eval.json").exists():
            continue
        from coplay.train import Interrupted, resume, train

        progress = Progress(arm, quiet=quiet)
        try:
            if (path / "config.json").exists():
                resume(path, progress=progress)
            else:
                train(config, path, progress=progress)
        except Interrupted:
            raise Interrupted(f"saved; the same command with --out {out} goes on where it stopped") from None
    return summarise(out)


def _claim_directory(request: Request, out: Path) -> None:
    asked = {"version": VERSION, **asdict(request), "seeds": list(request.seeds)}
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        if not (out / "experiment.json").exists():
            raise UsageError(f"{out} exists already and is no experiment of `coplay reproduce`; choose another --out")
        found = read_json(out / "experiment.json")
        differing = [key for key in asked if found.get(key) != asked[key]]
        if differing:
            was = ", ".join(f"{key}={found.get(key)!r}" for key in differing)
            raise UsageError(f"{out} holds another experiment ({was}); choose another --out")
        return
    for arm, (_, recipe) in request.experiment.arms.items():
        from coplay.train import check

        check(request.config(recipe), where=arm)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "experiment.json", asked)


def request_of(out: Path) -> Request:
    """What an experiment's directory was made for."""
    found = read_json(out / "experiment.json")
    found.pop("version", None)
    return Request(**{**found, "seeds": tuple(found["seeds"])})


def summarise(out: Path) -> Outcome:
    """Check the claims and write the report of an experiment whose arms are all finished."""
    from coplay.report.data import Arm, load_run
    from coplay.report.page import write_report
    from coplay.report.verdict import verdict

    request = request_of(out)
    experiment = request.experiment
    evals = {arm: read_json(out / arm / "eval.json") for arm in experiment.arms}
    model = model_name(request)
    claims = check_claims(claims_of(request), evals, model=model)
    write_json_list(out / "claims.json", claims)
    arms = [Arm(arm, label, load_run(out / arm)) for arm, (label, _) in experiment.arms.items()]
    report = write_report(out, arms, title=experiment.title, claims=claims, table=table_rows(experiment, evals))
    lines = [verdict(arms, claims), ""]
    for claim in claims:
        measured = "no legal rounds" if claim["measured"] is None else f"{claim['measured']:.2f}"
        ci95 = "" if claim["ci95"] is None else f" ± {claim['ci95']:.2f}"
        mark = "holds" if claim["holds"] else "DOES NOT HOLD"
        lines.append(f"{mark:>13}  {measured}{ci95} (paper {claim['published']:.2f})  {claim['claim']}")
    return Outcome(report, "\n".join(lines))


def claims_of(request: Request) -> list[Claim]:
    """The claims about one experiment."""
    return [claim for claim in CLAIMS if claim.id.startswith(f"{request.id.partition('/')[2]}/{request.game}/")]


def model_name(request: Request) -> str:
    """What its numbers were measured on."""
    if request.learner == "tabular":
        return "tabular"
    recipe = next(iter(request.experiment.arms.values()))[1]
    return request.config(recipe).model


def table_rows(experiment: Experiment, evals: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Our numbers beside the published ones."""
    rows = []
    for published in experiment.table:
        ours = evals[published.arm]["seats"][published.seat]["per_round"] or {"mean": None, "ci95": None, "n": 0}
        rows.append(
            {
                "arm": published.arm,
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
