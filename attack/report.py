"""What an attack reports: a table of kinds and falls, and each fall with what repeats it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from attack.outcome import CLASSES, Result
from coplay.terminal.tables import align


def table(results: Sequence[Result]) -> str:
    """A row a kind: tries, held, falls by class, seconds."""
    counted = {kind: Counter[str]() for kind in dict.fromkeys(result.kind for result in results)}
    for result in results:
        counted[result.kind].update({fall.kind for fall in result.falls})
    classes = [name for name in CLASSES if any(counter[name] for counter in counted.values())]
    rows = [["kind", "tries", "held", *classes, "seconds"]]
    for kind, counter in counted.items():
        own = [result for result in results if result.kind == kind]
        held = sum(not result.falls for result in own)
        seconds = sum(result.seconds for result in own)
        rows.append([kind, str(len(own)), str(held), *(str(counter[name] or "") for name in classes), f"{seconds:.0f}"])
    held = sum(not result.falls for result in results)
    totals = [str(sum(counter[name] for counter in counted.values())) for name in classes]
    rows.append(["all", str(len(results)), str(held), *totals, f"{sum(result.seconds for result in results):.0f}"])
    return "\n".join(align(rows))


def told(result: Result, *, seed: int) -> str:
    """A try that fell, with what repeats it."""
    lines = [f"{result.kind} {result.index}: {result.title}"]
    lines += [f"  {fall.kind}: {fall.detail}" for fall in result.falls]
    lines += [f"  $ {command}" for command in result.commands[-4:]]
    lines.append(f"  repeat: python -m attack --kind {result.kind} --seed {seed} --only {result.index}")
    return "\n".join(lines)


def record(results: Sequence[Result], *, seed: int) -> dict[str, object]:
    """All results as JSON."""
    return {"version": 1, "seed": seed, "results": [asdict(result) for result in results]}
