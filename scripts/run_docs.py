"""Run the code blocks of Markdown files, so that documentation cannot rot.

    python scripts/run_docs.py README.md docs/*.md

Blocks marked ``python`` are executed, those of one file one after the other in one namespace; of blocks marked ``console`` the lines that
begin with ``$ `` are. A block is left out if the line before it is ``<!-- not run: REASON -->``. Everything runs in an empty directory, as many
files at a time as there are cores, each on a core of its own: two small models side by side are faster than two threads for one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

_BLOCK = re.compile(r"(?P<before>^[^\n]*\n)?^```(?P<kind>\w+)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    line: int
    kind: str
    code: str


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a file that are to be run."""
    for match in _BLOCK.finditer(text):
        if "<!-- not run:" in (match["before"] or ""):
            continue
        if match["kind"] in ("python", "console"):
            yield Block(text.count("\n", 0, match.start("code")) + 1, match["kind"], match["code"])


def commands(code: str) -> str:
    """The commands of a console block, joined into a shell script; a trailing backslash goes on in the next line."""
    lines, going_on = [], False
    for line in code.splitlines():
        if line.startswith("$ ") or going_on:
            lines.append(line.removeprefix("$ "))
            going_on = line.endswith("\\")
    return "\n".join(lines)


def run_file(path: Path, prefix: Sequence[str] = ()) -> int:
    """Run one file's blocks in a directory of their own, each command behind a prefix; returns how many failed."""
    found = list(blocks(path.read_text(encoding="utf-8")))
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        python = "\n".join(block.code for block in found if block.kind == "python")
        jobs = [
            (f"{path}:{b.line}", ["bash", "-euo", "pipefail", "-c", commands(b.code)])
            for b in found
            if b.kind == "console"
        ]
        if python:
            jobs.append((f"{path} (python blocks)", [sys.executable, "-c", python]))
        for name, command in jobs:
            result = subprocess.run([*prefix, *command], cwd=directory, env=environment, capture_output=True, text=True)
            told = f"{'ok' if result.returncode == 0 else 'FAILED':>6}  {name}\n"
            if result.returncode:
                failed += 1
                told += f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}\n"
            print(told, end="", flush=True)
    return failed


def run_files(paths: Sequence[Path]) -> int:
    """Run several files, one a core at a time; returns how many blocks failed."""
    cores: Queue[int] = Queue()
    for core in sorted(os.sched_getaffinity(0)):
        cores.put(core)

    def on_a_core(path: Path) -> int:
        core = cores.get()
        try:
            return run_file(path, ["taskset", "-c", str(core)] if pinning else [])
        finally:
            cores.put(core)

    pinning = shutil.which("taskset") is not None
    # those that take longest first, told by how much there is to run
    ordered = sorted(paths, key=lambda path: -sum(len(block.code) for block in blocks(path.read_text("utf-8"))))
    with ThreadPoolExecutor(cores.qsize()) as pool:
        return sum(pool.map(on_a_core, ordered))


def main() -> int:
    """Run all files named on the command line."""
    failed = run_files([Path(name) for name in sys.argv[1:]])
    print(f"documentation: {'all blocks ran' if not failed else f'{failed} failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
