"""A run directory in Python: what was run, its metrics and games as data frames or as records, its evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.evaluation.rows import METRIC_COLUMNS, SEAT_COLUMNS, metric_rows, seat_rows
from coplay.evaluation.summary import Aggregate
from coplay.games.records import EpisodeRecord
from coplay.play.rows import GAME_COLUMNS, game_rows
from coplay.runs.config import Config
from coplay.terminal.tables import frame

if TYPE_CHECKING:
    import pandas

    from coplay.runs.directory import RunDirectory


@dataclass(frozen=True)
class Run:
    """A run directory, read."""

    path: Path
    """The directory."""
    config: Config
    """What was run."""

    @property
    def evaluation(self) -> Aggregate | None:
        """The evaluation after training, over seeds; None if there is none yet."""
        run = self._directory()
        return run.evaluation() if run.store.has("eval.json") else None

    @property
    def metrics(self) -> pandas.DataFrame:
        """The metrics as a long data frame: a row for each seed, trial and metric, with :data:`coplay.evaluation.rows.METRIC_COLUMNS`; needs pandas."""
        return frame(metric_rows(self.metric_records), METRIC_COLUMNS)

    @property
    def episodes(self) -> pandas.DataFrame:
        """The sample of complete games: a row for each game, round and seat, with :data:`coplay.play.rows.GAME_COLUMNS`; needs pandas."""
        return frame(game_rows(self.episode_records), GAME_COLUMNS)

    @property
    def evaluated(self) -> pandas.DataFrame:
        """The evaluation: a row for each seed and seat, with :data:`coplay.evaluation.rows.SEAT_COLUMNS`; needs pandas."""
        found = self.evaluation
        return frame(seat_rows({} if found is None else found["seeds"]), SEAT_COLUMNS)

    @property
    def metric_records(self) -> list[Mapping[str, object]]:
        """The lines of ``metrics.jsonl``: one for each trial and seed, with ``step``, ``seed`` and metrics such as ``reward/row``."""
        return list(self._directory().metrics())

    @property
    def episode_records(self) -> list[EpisodeRecord]:
        """The games of ``episodes.jsonl``: complete games, a sample; those of older runs in today's form."""
        return self._directory().episodes()

    def _directory(self) -> RunDirectory:
        from coplay.runs.directory import RunDirectory

        return RunDirectory.open(self.path)

    def players(self) -> Iterator[str]:
        """Names of what the run has learnt, for :func:`match` and :func:`cross_play`: ``RUN:LEARNER:SEED``; not of seeds that have diverged."""
        from coplay.evaluation.summary import diverged_seeds

        diverged = {} if self.evaluation is None else diverged_seeds(self.evaluation)
        for learner in self.config.learners:
            for seed in self.config.seeds:
                if seed not in diverged:
                    yield f"{self.path}:{learner}:{seed}"

    def table(self) -> str:
        """The evaluation as text for a person."""
        from coplay.evaluation.tables import seeds_table

        found = self.evaluation
        return "not evaluated yet" if found is None else seeds_table(found)

    def report(self) -> Path:
        """Write the report page and return its path."""
        from coplay.experiments.summary import report_on

        return report_on([self.path], self.path)

    def to_dict(self) -> dict[str, object]:
        """Config and evaluation as plain data."""
        return {"path": str(self.path), "config": self.config.model_dump(mode="json"), "evaluation": self.evaluation}

    def to_frame(self) -> pandas.DataFrame:
        """The metrics as a wide data frame: a row for each trial and seed, a column for each key of ``metrics.jsonl``; needs pandas."""
        return frame(self.metric_records)


def load_run(path: str | Path) -> Run:
    """Read a run directory; raises UsageError if it is none."""
    from coplay.runs.directory import RunDirectory

    run = RunDirectory.open(Path(path))
    return Run(run.path, run.config)
