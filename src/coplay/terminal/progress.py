"""Progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TextIO

from coplay.terminal.streams import Watched, clock


class Shown(Protocol):
    """What every step is told to while something runs, such as a bar."""

    def advance(self, step: int, steps: int, *, numbers: str, left: float) -> None:
        """Step ``step`` of ``steps`` is over; ``left`` seconds remain."""
        ...


class Progress:
    """Shows how far something is and the numbers that matter.

    Args:
        label: what is being done.
        unit: what one of its steps is called.
        out: where to; by default standard error.
        quiet: show nothing.
    """

    def __init__(self, label: str = "", *, unit: str = "trial", out: TextIO | None = None, quiet: bool = False) -> None:
        self.label, self.unit, self.quiet = label, unit, quiet
        self.out = Watched(out or sys.stderr)
        self.started, self.done_before = time.monotonic(), 0
        self._bar: Shown | None = None

    @contextmanager
    def running(self, steps: int, *, done: int = 0) -> Iterator[None]:
        """Show a bar while the block runs, if there is a terminal. However the block ends, the terminal is left as it was.

        Args:
            steps: how many there are in all.
            done: how many of them were done before, by a run that is resumed.
        """
        self.started, self.done_before = time.monotonic(), done
        if self.quiet or done >= steps or not self.out.is_terminal:
            yield
            return
        from coplay.terminal.bar import Bar

        with (
            Bar(self.out, label=self.label, unit=self.unit, steps=steps, done=done) as bar,
            self.showing(bar),
        ):
            yield

    @contextmanager
    def showing(self, shown: Shown) -> Iterator[None]:
        """In the block, have every step told."""
        self._bar = shown
        try:
            yield
        finally:
            self._bar = None

    def show(self, step: int, steps: int, lines: Mapping[int, Mapping[str, object]]) -> None:
        """Trial ``step`` of ``steps`` is over; ``lines`` are its metrics by seed. Every twentieth of a run has a plain line."""
        often = step == steps or step % max(1, steps // 20) == 0
        if self.quiet or not lines or not (self._bar or often):
            return
        numbers = _rewards(lines)
        line = (
            f"{self.label} {self.unit}".lstrip() + f" {step}/{steps}  {numbers}  {clock(self._left(step, steps))} left"
        )
        self.advance(step, steps, numbers=numbers, line=line if often else None)

    def advance(self, step: int, steps: int, *, numbers: str = "", line: str | None = None) -> None:
        """Step ``step`` of ``steps`` is over.

        Args:
            step: how many are over.
            steps: how many there are in all.
            numbers: what to show beside the bar.
            line: what to print where there is no bar; None to print nothing.
        """
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.advance(step, steps, numbers=numbers, left=self._left(step, steps))
        elif line is not None:
            self.out.print(line)

    def _left(self, step: int, steps: int) -> float:
        """Seconds left, if the rest goes as fast as what was done so far."""
        return (time.monotonic() - self.started) / max(1, step - self.done_before) * (steps - step)


@contextmanager
def epochs_shown(
    epochs: int, *, label: str = "", loss: str = "KL", quiet: bool = False
) -> Iterator[Callable[[int, float], None]]:
    """While an adapter is trained on data: what is to be called after each epoch, with its number and its mean loss.

    Args:
        epochs: how many there are in all.
        label: what is being done.
        loss: what the loss is called.
        quiet: show nothing.
    """
    progress, before = Progress(label, unit="epoch", quiet=quiet), f"{label}: " if label else ""

    def show(epoch: int, mean: float) -> None:
        numbers = f"{loss} {mean:.4f}"
        progress.advance(epoch, epochs, numbers=numbers, line=f"{before}epoch {epoch}/{epochs}  {numbers}")

    with progress.running(epochs):
        yield show


def _rewards(lines: Mapping[int, Mapping[str, object]]) -> str:
    """Mean reward of each seat over the seeds, and the share of illegal replies of the seat that has most."""
    seats = _seats(lines)
    rewards = " / ".join(_number(_mean(lines, f"reward/{seat}")) for seat in seats)
    illegal = max(_mean(lines, f"illegal/{seat}") for seat in seats)
    return f"reward {rewards}  illegal {illegal:.1%}"


def _seats(lines: Mapping[int, Mapping[str, object]]) -> list[str]:
    """The game's seats: every seat has a share of illegal replies."""
    return [key.removeprefix("illegal/") for key in next(iter(lines.values())) if key.startswith("illegal/")]


def _mean(lines: Mapping[int, Mapping[str, object]], key: str) -> float:
    values = [value for line in lines.values() if isinstance(value := line.get(key), int | float)]
    return sum(values) / len(values) if values else float("nan")


def _number(value: float) -> str:
    return "none" if value != value else f"{value:.2f}"  # NaN where no round was legal
