"""Settings of every test, and finished runs to look at."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from small_runs import KINDS, QUIET, small

from coplay.runs.train import train

# Tests run side by side, one process a core, and start processes of their own; on one core several threads wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A job in the background ignores Ctrl-C, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: machines that share their cores would fail tests for being slow. Derandomised: the same examples on every run.
settings.register_profile("coplay", max_examples=40, deadline=None, derandomize=True)
# `make deep`: other examples on every run, and many more. A failure prints the line that repeats it.
settings.register_profile("deep", max_examples=1000, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "coplay"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flag that writes golden files instead of comparing with them."""
    parser.addoption("--write-golden", action="store_true", help="write tests/golden anew instead of comparing with it")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A file of tests without a single test fails: it was misnamed or emptied by accident."""
    report = yield
    if type(collector) is pytest.Module and report.passed and not report.result:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: no tests in this file"
    return report


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An uninterrupted run of each kind; copy it before you change it."""
    parent = tmp_path_factory.mktemp("finished")
    return {kind: train(small(kind), parent / kind, progress=QUIET).path for kind in KINDS}
