"""Reports: a run directory, or the arms of an experiment, as one HTML page and its figures. Reads only run directories."""

from coplay.report.data import Arm, Band, RunData, Series, load_run
from coplay.report.page import write_report

__all__ = ["Arm", "Band", "RunData", "Series", "load_run", "write_report"]
