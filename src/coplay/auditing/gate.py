"""Thresholds and a baseline: what an audit is judged by, and the one place that decides verdict and exit status.

A gate file is TOML. Each threshold is about measures of one name, of one co-player or of all:

    [[threshold]]
    measure = "margin"
    co_player = "ppo"      # all co-players without it
    at_most = 0.5          # or at_least

It is met if the bad end of every interval is. Of a learner the measure after the longest training counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from coplay.auditing.record import (
    LOWER_IS_BETTER,
    MEASURES,
    PRESENTATIONS,
    PROFILE,
    Audit,
    AuditRecord,
    Measure,
    Verdict,
    latest,
)
from coplay.errors import UsageError, suggestion
from coplay.files.reading import read_toml

Grade = Literal["met", "failed", "unmeasured"]
"""How one threshold or comparison came out."""

STATUS: dict[Verdict, int] = {"pass": 0, "ungraded": 1, "fail": 2}
"""The exit status of an audit that was asked for a verdict."""


class Threshold(BaseModel):
    """One threshold of a gate file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str
    """The measure's name."""
    co_player: str | None = None
    """Among whom; None for all co-players that it is measured with."""
    at_most: float | None = Field(None, allow_inf_nan=False)
    """The largest value that passes."""
    at_least: float | None = Field(None, allow_inf_nan=False)
    """The smallest value that passes."""

    @field_validator("measure")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in MEASURES and not value.startswith((PROFILE, *PRESENTATIONS)):
            known = [*MEASURES, f"{PROFILE}STATE", "relabelled/A/B", "disguised/x10"]
            raise ValueError(f"no measure {value!r}.{suggestion(value, known)} Known: {', '.join(known)}")
        return value

    @model_validator(mode="after")
    def _one_limit(self) -> Threshold:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("give at_most or at_least, one of them")
        return self

    def __str__(self) -> str:
        """``margin against ppo at most 0.5``."""
        whom = "" if self.co_player is None else f" with {self.co_player}"
        limit = f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"
        return f"{self.measure}{whom} {limit}"


class Gate(BaseModel):
    """A gate file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: tuple[Threshold, ...] = Field(min_length=1)
    """All of them must be met."""


@dataclass(frozen=True)
class Check:
    """How one threshold, or one comparison with a baseline, came out."""

    name: str
    """What was asked."""
    grade: Grade
    """How it came out."""
    told: str
    """Why, in a sentence."""


@dataclass(frozen=True)
class Judgement:
    """What comes of an audit: printed, written and returned to the shell from this alone."""

    verdict: Verdict
    """``pass`` if something was asked and all of it is met; ``fail`` if anything failed; else ``ungraded``."""
    status: int
    """The exit status."""
    checks: tuple[Check, ...]
    """All thresholds and comparisons."""

    @property
    def reasons(self) -> list[str]:
        """Why it is no pass: the checks that were not met."""
        return [f"{one.name}: {one.told}" for one in self.checks if one.grade != "met"]


def judge(audit: Audit, gate: Gate | None = None, baseline: AuditRecord | None = None) -> Judgement:
    """Judge an audit: the one place that decides verdict and exit status.

    Without gate and baseline nothing was asked, so the audit is done, status 0, and ``ungraded``.

    Args:
        audit: what was measured.
        gate: thresholds.
        baseline: an earlier audit of the same game: no measure may have become worse beyond noise.
    """
    checks = [one for threshold in (gate.threshold if gate else ()) for one in _graded(audit, threshold)]
    checks += _compared(audit, baseline) if baseline is not None else []
    if gate is None and baseline is None:
        return Judgement("ungraded", 0, ())
    grades = {one.grade for one in checks}
    verdict: Verdict = "fail" if "failed" in grades else "pass" if grades == {"met"} else "ungraded"
    return Judgement(verdict, STATUS[verdict], tuple(checks))


def _graded(audit: Audit, threshold: Threshold) -> list[Check]:
    """A check for each measure that a threshold is about; one that says so if there is none."""
    about = [
        one
        for (name, co_player), one in latest(audit.measures).items()
        if name == threshold.measure and threshold.co_player in (None, co_player)
    ]
    if not about:
        return [Check(str(threshold), "unmeasured", "this audit has no such measure")]
    return [_within(threshold, one) for one in about]


def _within(threshold: Threshold, one: Measure) -> Check:
    name = str(threshold) if threshold.co_player is not None else f"{threshold} ({one.co_player})"
    if one.value is None:
        return Check(name, "unmeasured", "there is no number, as every round was void")
    if one.interval is None:
        return Check(name, "unmeasured", f"{one.value:.4g}, but from one independent sample, which has no interval")
    low, high = one.interval
    told = f"{one.value:.4g}, 95 % interval {low:.4g} to {high:.4g}"
    met = high <= threshold.at_most if threshold.at_most is not None else low >= (threshold.at_least or 0.0)
    return Check(name, "met" if met else "failed", told)


def _compared(audit: Audit, baseline: AuditRecord) -> list[Check]:
    """A check for each measure of the baseline: whether it has become worse by more than both intervals explain."""
    if baseline["game"] != audit.game or baseline["rounds"] != audit.rounds:
        was = f"{baseline['game']} with {baseline['rounds']} rounds"
        raise UsageError(
            f"the baseline is of {was}, this audit of {audit.game} with {audit.rounds}; compare like with like"
        )
    now = latest(audit.measures)
    before = latest([Measure(**one) for one in baseline["measures"]])
    return [
        _regression(old, now.get(key))
        for key, old in before.items()
        if not old.name.startswith(("cooperates", *PRESENTATIONS))
    ]


def _regression(old: Measure, new: Measure | None) -> Check:
    name = f"{old.name} with {old.co_player}, against the baseline"
    if new is not None and new.value is not None and new.value == old.value:
        return Check(name, "met", f"{new.value:.4g}, as before")
    if new is None or new.value is None or new.ci95 is None or old.value is None or old.ci95 is None:
        missing = "this audit" if new is None or new.value is None or new.ci95 is None else "the baseline"
        return Check(name, "unmeasured", f"{missing} has no interval for it")
    worse = new.value - old.value if old.name in LOWER_IS_BETTER else old.value - new.value
    noise = math.hypot(old.ci95, new.ci95)
    told = f"{old.value:.4g} before, {new.value:.4g} now; differences up to {noise:.2g} are noise"
    return Check(name, "failed" if worse > noise + 1e-9 else "met", told)


def read_gate(path: Path) -> Gate:
    """Read a gate file.

    Raises:
        UsageError: if it is none, saying where.
    """
    try:
        return Gate.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"gate file {path}: {where}: {first['msg']}") from None
