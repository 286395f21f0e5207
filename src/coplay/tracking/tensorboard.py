"""TensorBoard as a sink: event files in the run directory, a folder a seed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from coplay.tracking.notes import numbers_of, seed_of, step_of, texts_of
from coplay.tracking.sink import TrackedRun, TrialRecord

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard:
    """Writes ``tracking/tensorboard/seed-N``. What was written of trials that a resumed run trains again is hidden by TensorBoard."""

    name = "tensorboard"

    def __init__(self) -> None:
        self._writers: dict[int, SummaryWriter] = {}

    def open(self, run: TrackedRun) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        from torch.utils.tensorboard import SummaryWriter

        for seed in run.seeds:
            folder = run.folder / self.name / f"seed-{seed}"
            purge = run.done + 1 if folder.exists() else None
            self._writers[seed] = SummaryWriter(str(folder), purge_step=purge)
            if purge is None:
                self._writers[seed].add_text("config", f"```\n{json.dumps(run.config, indent=2)}\n```", 0)

    def record(self, record: TrialRecord) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        writer, step = self._writers[seed_of(record)], step_of(record)
        for key, value in numbers_of(record).items():
            writer.add_scalar(key, value, step)
        for key, text in texts_of(record).items():
            writer.add_text(key, text, step)

    def close(self, *, finished: bool) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        for writer in self._writers.values():
            writer.close()
