"""Progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO


class Progress:
    """Shows how far a run is and the numbers that matter.

    Args:
        label: what is being run.
        out: where to; by default standard error.
        quiet: show nothing.
    """

    def __init__(self, label: str = "", *, out: TextIO | None = None, quiet: bool = False) -> None:
        self.label, self.out, self.quiet = label, out or sys.stderr, quiet
        self.bar = self.out.isatty()
        self.started = time.monotonic()
        self.first: int | None = None

    def show(self, step: int, steps: int, lines: Mapping[int, Mapping[str, Any]]) -> None:
        """Trial ``step`` of ``steps`` is over; ``lines`` are its metrics by seed."""
        if self.first is None:
            self.first = step - 1
        if self.quiet or not (self.bar or step == steps or step % max(1, steps // 20) == 0):
            return
        elapsed = time.monotonic() - self.started
        left = elapsed / max(1, step - self.first) * (steps - step)
        seats = _seats(lines)
        rewards = " / ".join(_number(_mean(lines, f"reward/{seat}")) for seat in seats)
        illegal = max(_mean(lines, f"illegal/{seat}") for seat in seats)
        text = f"{self.label} trial {step}/{steps}  reward {rewards}  illegal {illegal:.1%}  {_clock(left)} left"
        if self.bar:
            filled = round(20 * step / steps)
            end = "\n" if step == steps else ""
            self.out.write(f"\r[{'#' * filled}{'.' * (20 - filled)}] {text} {end}")
        else:
            self.out.write(text + "\n")
        self.out.flush()


def _seats(lines: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """The game's seats, told by the shares of illegal replies that every seat has."""
    return [key.removeprefix("illegal/") for key in next(iter(lines.values())) if key.startswith("illegal/")]


def _mean(lines: Mapping[int, Mapping[str, Any]], key: str) -> float:
    values = [line[key] for line in lines.values() if line.get(key) is not None]
    return sum(values) / len(values) if values else float("nan")


def _number(value: float) -> str:
    return "none" if value != value else f"{value:.2f}"  # NaN where no round was legal


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
