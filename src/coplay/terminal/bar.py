"""The bar that shows progress on a terminal. Imported where there is one: its library takes a moment to import."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO, cast

from rich.console import Console, ConsoleOptions
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from coplay.terminal.streams import Watched, clock

MAX_LABEL_WIDTH = 32
"""Letters of a label that are shown."""

WIDEST_BAR = 40
"""Letters."""

LEAST_WIDTH = 56
"""Letters of a line that has room for the numbers as well."""


class Bar:
    """One line on a terminal: label, bar, steps, time elapsed and left, and the numbers that matter. Its last state stays on the screen.

    Args:
        out: the terminal.
        label: what is being done.
        unit: what one of its steps is called.
        steps: how many there are in all.
        done: how many of them were done before.
    """

    def __init__(self, out: Watched, *, label: str, unit: str, steps: int, done: int) -> None:
        console = _Terminal(file=cast(TextIO, out), force_terminal=True, force_jupyter=False)
        last = TextColumn(" {task.fields[numbers]}", markup=False, table_column=Column(no_wrap=True))
        self._progress = Progress(
            *([_Label(Column(max_width=MAX_LABEL_WIDTH))] if label else []),
            BarColumn(bar_width=None, table_column=Column(max_width=WIDEST_BAR)),
            TextColumn("{task.fields[unit]} {task.completed:.0f}/{task.total:.0f}", markup=False),
            _Times(Column(no_wrap=True)),
            *([last] if console.options.max_width >= LEAST_WIDTH else []),
            console=console,
            refresh_per_second=4,
            redirect_stdout=_is_terminal(sys.stdout),
            redirect_stderr=_is_terminal(sys.stderr),
        )
        self._task = self._progress.add_task(label, total=steps, completed=done, unit=unit, numbers="", end=None)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.update(self._task, end=None)
        self._progress.stop()

    def advance(self, step: int, steps: int, *, numbers: str, left: float) -> None:
        """Step ``step`` of ``steps`` is over; ``left`` seconds remain."""
        self._progress.update(self._task, completed=step, total=steps, numbers=numbers, end=time.monotonic() + left)


class _Terminal(Console):
    """A console that never hides the cursor: if the process were killed, it would stay hidden.

    Lines end two columns early. The terminal echoes Ctrl-C as ``^C``; in a full line that would wrap, and leave a stale line on the screen.
    """

    @property
    def options(self) -> ConsoleOptions:
        options = super().options
        return options.update_width(options.max_width - len("^C"))

    def show_cursor(self, show: bool = True) -> bool:
        return False


class _Label(ProgressColumn):
    """The label. On a narrow terminal it is cut before the numbers are. Brackets in it are not read as markup."""

    def render(self, task: Task) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


class _Times(ProgressColumn):
    """``0:20, 1:44 left``."""

    def render(self, task: Task) -> Text:
        elapsed, end = clock(task.elapsed or 0.0), task.fields["end"]
        return Text(f" {elapsed}" if end is None else f" {elapsed}, {clock(max(0.0, end - time.monotonic()))} left")


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether lines printed to it are to appear above the bar."""
    return stream is not None and not stream.closed and stream.isatty()
