"""Run the code blocks of Markdown files, so that documentation cannot rot.

    python scripts/run_docs.py README.md docs/*.md

Blocks marked ``python`` are executed, those of one file one after the other in one namespace; of blocks marked ``console`` the lines that
begin with ``$ `` are. A block is left out if the line before it is ``<!-- not run: REASON -->``. Everything runs in an empty directory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


def run_file(path: Path) -> int:
    """Run one file's blocks in a directory of their own; returns how many failed."""
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
            result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
            print(f"{'ok' if result.returncode == 0 else 'FAILED':>6}  {name}", flush=True)
            if result.returncode:
                failed += 1
                print(result.stdout[-2000:], result.stderr[-4000:], sep="\n")
    return failed


def main() -> int:
    """Run all files named on the command line."""
    failed = sum(run_file(Path(name)) for name in sys.argv[1:])
    print(f"documentation: {'all blocks ran' if not failed else f'{failed} failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
