"""The judge: what holds for every command, whatever is done to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from attack.outcome import MOST_MEMORY, Fall, FallClass, Finished

STATUSES = (0, 1, 2, 130)
"""What the exit status may be."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that change what a terminal shows. A carriage return is the progress bar's, but data must not hold one either."""


def judged(
    done: Finished,
    *,
    names: Sequence[str] = (),
    statuses: Collection[int] = STATUSES,
    sent: Collection[int] = (),
) -> list[Fall]:
    """The falls of one command.

    Args:
        done: the command.
        names: a refusal must name one of these; empty if any line of the program will do.
        statuses: the exit statuses that are right here.
        sent: signals that the attack sent: a process that they end is no crash.
    """
    text = done.out + done.err
    if done.timed_out:
        return [Fall("hang", f"not over after {done.seconds:.0f} s{', and SIGTERM does not end it' * done.deaf}")]
    falls = []
    if done.peak > MOST_MEMORY:
        falls.append(Fall("memory", f"{done.peak / 2**20:,.0f} MB at its peak"))
    if "Traceback (most recent call last)" in text or "Exception ignored" in text or "internal error" in text:
        falls.append(Fall("traceback", last_line(done.err) or last_line(done.out)))
        return falls
    if done.status < 0:
        if -done.status not in sent:
            falls.append(Fall("crash", f"ended by signal {-done.status}"))
        return falls
    if done.status not in STATUSES:
        return [*falls, Fall("crash", f"exit status {done.status}: {last_line(done.err)}")]
    if done.status != 0 and not done.messages():
        falls.append(Fall("unnamed", f"exit status {done.status} without a line: {last_line(done.err)!r}"))
    elif done.status not in (0, 130) and names and not done.says(*names):
        falls.append(Fall("unnamed", f"names none of {', '.join(names)}: {last_line(done.err)!r}"))
    if done.status not in statuses:
        kind: FallClass = "silent" if done.status == 0 else "lost"
        expected = " or ".join(map(str, statuses))
        falls.append(Fall(kind, f"exit status {done.status}, not {expected}: {last_line(done.err or done.out)!r}"))
    if found := _CONTROL.search(text):
        falls.append(Fall("terminal", f"control character {found.group()!r} was printed"))
    return falls


def last_line(text: str) -> str:
    """The last line that is not empty, cut to a readable length."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""
