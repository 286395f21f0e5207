"""An audit and what it was judged to be: what ``coplay.audit`` returns and ``coplay audit`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.auditing.gate import Judgement
from coplay.auditing.record import MEASURE_COLUMNS, Audit, AuditRecord, measure_rows
from coplay.auditing.table import audit_table
from coplay.auditing.written import record_of, write_audit
from coplay.terminal.tables import frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class AuditResult:
    """An audit with its verdict."""

    audit: Audit
    """What was measured."""
    judgement: Judgement
    """What gate and baseline make of it."""

    @property
    def verdict(self) -> str:
        """``pass``, ``fail`` or ``ungraded``."""
        return self.judgement.verdict

    def table(self) -> str:
        """A card for a person."""
        return audit_table(self.audit, self.judgement)

    def to_dict(self) -> AuditRecord:
        """What ``coplay audit --json`` prints."""
        return record_of(self.audit, self.judgement)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each measure, with :data:`coplay.auditing.record.MEASURE_COLUMNS`; needs pandas."""
        return frame(measure_rows(self.audit.measures), MEASURE_COLUMNS)

    def write(self, out: str | Path) -> None:
        """Write ``audit.json`` and ``junit.xml`` into a new directory; raises UsageError if it is taken."""
        write_audit(self.audit, self.judgement, Path(out))
