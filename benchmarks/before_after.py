"""How long a trial takes in two checkouts, on one machine in one sitting.

    python benchmarks/before_after.py BEFORE AFTER

Both checkouts train the same recipes by their command lines, with the Python that runs this script. They take turns: while one runs a trial the
other is stopped, so that what slows the machine for a minute slows both. Markdown goes to standard output.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

RUNS = {
    "shaper vs naive": ["shapellm/ipd", "--seeds", "0,1,2,3,4"],
    "naive vs naive": ["shapellm/ipd-baseline", "--seeds", "0,1,2,3,4"],
    "tables": ["shapellm/ipd", "--learner", "tabular", "--seeds", "0,1,2,3,4"],
    "text, Advantage Alignment": ["adalign/split-no-comm", "--seeds", "0,1"],
    "SmolLM2, naive vs naive": ["shapellm/ipd-smollm2-baseline", "--seeds", "0"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another one")
    parser.add_argument("--trials", type=int, default=8, help="measured trials of each run, after one to warm up")
    parser.add_argument("--only", help="run only what has this in its name")
    options = parser.parse_args(arguments)
    print("| run | before, s a trial | after, s a trial | before / after | over trials |")
    print("| --- | --- | --- | --- | --- |")
    for name, words in RUNS.items():
        if options.only is None or options.only in name:
            before, after = alternating([options.before, options.after], words, options.trials)
            ratios = [b / a for b, a in zip(before, after, strict=True)]
            print(
                f"| {name} | {statistics.median(before):.2f} | {statistics.median(after):.2f} "
                f"| **{statistics.median(ratios):.2f}** | {min(ratios):.2f} to {max(ratios):.2f} |",
                flush=True,
            )
    return 0


def alternating(checkouts: Sequence[Path], words: Sequence[str], trials: int) -> list[list[float]]:
    """Seconds of each measured trial of each checkout; one goes first in even trials, the other in odd ones."""
    with tempfile.TemporaryDirectory() as directory:
        runs = [timed_trials(one, words, trials + 1, Path(directory, str(i))) for i, one in enumerate(checkouts)]
        times: list[list[float]] = [[] for _ in runs]
        for trial in range(trials + 1):
            for i in range(len(runs)) if trial % 2 == 0 else reversed(range(len(runs))):
                times[i].append(next(runs[i]))
        for run in runs:
            run.close()
    return [own[1:] for own in times]


def timed_trials(checkout: Path, words: Sequence[str], trials: int, out: Path) -> Iterator[float]:
    """Train, and yield the seconds of each trial; the run and its workers are stopped while nobody waits for the next one."""
    source = checkout.resolve() / "src"
    command = [sys.executable, "-m", "coplay.cli.main", "train", *words, f"trials={trials + 1}", "--out", str(out)]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": str(source), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        for _ in range(trials):
            os.killpg(process.pid, signal.SIGCONT)
            start = time.perf_counter()
            lines = []
            for line in process.stderr:
                lines.append(line)
                if line.lstrip().startswith("trial "):
                    break
            else:
                raise SystemExit(f"{checkout}: the run ended early\n{''.join(lines)}")
            seconds = time.perf_counter() - start
            os.killpg(process.pid, signal.SIGSTOP)
            yield seconds
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
