"""One display for many tasks: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from coplay.terminal.progress import Progress
from coplay.terminal.streams import tell

MOST_SHOWN = 3
"""Tasks that are named beside the bar."""


class Display:
    """How far tasks are: of one its steps, of several how many are over and what runs.

    Args:
        titles: what the tasks are called.
        quiet: show nothing.
    """

    def __init__(self, titles: Sequence[str], *, quiet: bool) -> None:
        self.titles, self.quiet = titles, quiet
        self.alone = len(titles) == 1
        self._progress = Progress(titles[0] if self.alone else "", unit="trial" if self.alone else "task", quiet=quiet)
        self._open = contextlib.ExitStack()
        self._steps: dict[str, tuple[int, int]] = {}
        self._over = 0

    def __enter__(self) -> Display:
        if not self.alone:
            self._open.enter_context(self._progress.running(len(self.titles)))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def show(self, title: str, step: int, steps: int, numbers: str) -> None:
        """A task has come to a step of its steps; 0 of 0 where it has not begun to count."""
        before = self._steps.get(title)
        if before == (step, steps) or not steps:
            return
        if self.alone and before is None:
            self._open.enter_context(self._progress.running(steps, done=step))
        self._steps[title] = (step, steps)
        part = max(1, steps // 20)
        line = None
        if before is None or step // part > before[0] // part or step == steps:
            line = f"{title}: {step}/{steps}  {numbers}".rstrip()
        if self.alone:
            self._progress.advance(step, steps, numbers=numbers, line=line)
        else:
            self._progress.advance(self._over, len(self.titles), numbers=self._running(), line=line)

    def over(self, title: str) -> None:
        """A task is over."""
        self._steps.pop(title, None)
        self._over += 1
        if not self.alone:
            line = f"{title}: done ({self._over} of {len(self.titles)})"
            self._progress.advance(self._over, len(self.titles), numbers=self._running(), line=line)

    def say(self, line: str) -> None:
        """Something that whoever waits should know."""
        if not self.quiet:
            tell(line)

    def _running(self) -> str:
        shown = [f"{title} {step}/{steps}" for title, (step, steps) in list(self._steps.items())[:MOST_SHOWN]]
        more = len(self._steps) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
