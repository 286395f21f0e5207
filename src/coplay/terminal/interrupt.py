"""Ctrl-C as a wish to stop at the next good moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

from coplay.terminal.deafness import trials


class Interrupt:
    """Turns the first Ctrl-C in its block into a wish to stop, which ``asked`` tells; the second one stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._ask)
            trials(begin=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            trials(begin=False)
            signal.signal(signal.SIGINT, self._previous)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
