"""Run the code blocks of Markdown files and compare what they print with what the page shows, so that documentation cannot rot.

    python scripts/run_docs.py README.md docs/*.md docs/*/*.md examples/*.py notebooks/*.ipynb

A Python file is one ``python`` block. A notebook is a page whose cells of code are ``python`` blocks, and their printed outputs what follows them.

What is run, in an empty directory for each file:

- Blocks marked ``console``: the lines that begin with ``$ ``, and those that continue them after a backslash. Each block is one shell script.
- Blocks marked ``python``: those of one file in one process and one namespace, after its console blocks.
- No other block. Nor one whose line before it is ``<!-- not run: REASON -->``.

A block of any kind whose line before it is ``<!-- file: NAME -->`` is written to that file before anything is run, and is not run itself.

What is compared:

- In a ``console`` block, the lines after a command with its standard output. A command with no lines after it may print anything.
- A ``text`` block that follows a ``python`` block, with blank lines at most between them, with everything that the Python block prints.
- Comments ``# → OUTPUT`` of a ``python`` block, with the lines that it prints, in order.
- A ``python`` block whose line before it is ``<!-- prints the tables of this page -->``: each line it prints is a line of the page, and the tables
  it prints a row of have no other rows.

``...`` stands for what changes from run to run or is left out: alone on a line for any number of lines, within a line for any characters.
White space at the end of lines and of the output is not compared.

As many files run at a time as there are cores, each on a core of its own: two small models side by side are faster than two threads for one.
README.md runs the installed command; in other files ``coplay`` starts without its imports (:mod:`doc_commands`).
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from queue import Queue

from doc_commands import quick_commands

NOT_RUN = "<!-- not run:"
TABLES = "<!-- prints the tables of this page -->"
ARROW = "# → "
FILE = re.compile(r"<!-- file: (\S+) -->")

SEPARATOR = "\x1e"
"""Printed on a line of its own between the outputs of commands and of Python blocks: ASCII's record separator."""

_FENCE = re.compile(r"^```(\w*)")


# --- Pages --------------------------------------------------------------------------------------------------------------------


def page_of(path: Path) -> str:
    """A file as a page in Markdown; what a notebook shows besides printed text, such as figures, is left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return f"```python\n{text}```\n"
    if path.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "code":
            printed = "".join(line for one in cell["outputs"] if one.get("name") == "stdout" for line in one["text"])
            shown = f"\n```text\n{printed.rstrip()}\n```\n" if printed else ""
            source = f"```python\n{source}\n```\n{shown}"
        parts.append(f"{source}\n\n")
    return "".join(parts)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    line: int
    """Number of its first line of code."""
    kind: str
    """What it is marked as; empty if it is not."""
    lines: tuple[str, ...]
    """Its code."""
    before: str
    """The line before it."""
    follows: bool
    """Whether there are only blank lines between the block before it and this one."""


@dataclass(frozen=True)
class Output:
    """What one command or Python block should print."""

    line: int
    """The line of the page it belongs to."""
    expected: tuple[str, ...]
    """The lines that are shown; none if the output is not compared."""
    tables: bool = False
    """Whether it is the tables of the page that it prints."""


@dataclass(frozen=True)
class Script:
    """One process: its command line, and what its parts should print."""

    name: str
    command: list[str]
    outputs: list[Output]


def fenced(text: str) -> Iterator[Block]:
    """All fenced blocks of a page."""
    lines = text.splitlines()
    start, kind, ended = None, "", 0
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match and start is None:
            start, kind = number, match[1]
        elif match:
            assert start is not None
            before = lines[start - 1] if start else ""
            follows = not "".join(lines[ended:start]).strip()
            yield Block(start + 2, kind, tuple(lines[start + 1 : number]), before, follows)
            start, ended = None, number + 1


def run_blocks(text: str) -> list[Block]:
    """The blocks of a page that are run."""
    return [block for block in fenced(text) if block.kind in ("console", "python") and is_run(block)]


def is_run(block: Block) -> bool:
    """Whether nothing before a block says that it is not run."""
    return NOT_RUN not in block.before and FILE.search(block.before) is None


def files(text: str) -> dict[str, str]:
    """The blocks of a page that are files, by name."""
    found = [(FILE.search(block.before), block) for block in fenced(text)]
    return {match[1]: "".join(f"{line}\n" for line in block.lines) for match, block in found if match}


# --- Scripts ------------------------------------------------------------------------------------------------------------------


def commands(block: Block) -> list[tuple[str, Output]]:
    """The commands of a console block, each with the lines that follow it; a trailing backslash continues a command."""
    found: list[tuple[int, list[str], list[str]]] = []
    continued = False
    for number, line in enumerate(block.lines, start=block.line):
        starts = line.startswith("$ ")
        if starts:
            found.append((number, [line.removeprefix("$ ")], []))
        elif found:
            found[-1][1 if continued else 2].append(line)
        continued = (starts or continued) and line.endswith("\\")
    return [("\n".join(command), Output(number, tuple(shown))) for number, command, shown in found]


def console_script(name: str, block: Block) -> Script:
    """A console block as one shell script, which ends at the first command that fails."""
    parts = commands(block)
    code = "\n".join(f"{command}\nprintf '{SEPARATOR}\\n'" for command, _ in parts)
    outputs = [output for _, output in parts]
    return Script(f"{name}:{block.line}", ["bash", "-euo", "pipefail", "-c", code], outputs)


def python_script(name: str, text: str) -> Script | None:
    """The Python blocks of a page as one script. Its line numbers are the page's, so that a traceback names the page's line."""
    blocks = list(fenced(text))
    lines: list[str] = []
    outputs = []
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.kind == "python" and is_run(block):
            lines += [""] * (block.line - 1 - len(lines))
            lines += [*block.lines, f"print({SEPARATOR!r}, flush=True)"]
            outputs.append(python_output(block, after))
    if not outputs:
        return None
    return Script(f"{name} (python blocks)", [sys.executable, "-u", "-c", "\n".join(lines)], outputs)


def python_output(block: Block, after: Block | None) -> Output:
    """What a Python block should print, as its comments or the block after it show."""
    shown = tuple(line.split(ARROW, 1)[1] for line in block.lines if ARROW in line)
    if after is not None and after.kind == "text" and after.follows:
        shown = after.lines
    return Output(block.line, shown, tables=block.before == TABLES)


def scripts(name: str, text: str) -> list[Script]:
    """Everything that is to be run of a page, in order."""
    found = [console_script(name, block) for block in run_blocks(text) if block.kind == "console"]
    python = python_script(name, text)
    return [*found, python] if python else found


# --- Outputs ------------------------------------------------------------------------------------------------------------------


def pattern(expected: Sequence[str]) -> re.Pattern[str]:
    """What an output has to match in full, with ``...`` for what may be anything."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.rstrip().split("...")) + r"\n")
    return re.compile("".join(parts))


def difference(output: Output, printed: str) -> str:
    """How what was printed differs from what is shown; empty if it does not."""
    expected = "\n".join(line.rstrip() for line in output.expected).strip("\n").splitlines()
    lines = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n").splitlines()
    if not expected or pattern(expected).fullmatch("".join(f"{line}\n" for line in lines)):
        return ""
    return "\n".join(difflib.unified_diff(expected, lines, "shown", "printed", lineterm="", n=1))


def tables_difference(page: str, printed: str) -> str:
    """How the printed rows differ from the tables of the page that share a row with them; empty if they do not."""
    rows = set(printed.splitlines())
    tables = [table.splitlines()[2:] for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)]
    shown = {row for table in tables if rows & set(table) for row in table}
    missing = [f"+{row}" for row in printed.splitlines() if row not in shown]
    return "\n".join([*(f"-{row}" for row in sorted(shown - rows)), *missing])


def differences(script: Script, page: str, printed: str) -> Iterator[str]:
    """What a script printed otherwise than the page shows."""
    for output, part in zip(script.outputs, printed.split(f"{SEPARATOR}\n"), strict=False):
        found = tables_difference(page, part) if output.tables else difference(output, part)
        if found:
            yield f"line {output.line} prints something else than the page shows:\n{found}\n"


# --- Running ------------------------------------------------------------------------------------------------------------------


def run_file(path: Path, prefix: Sequence[str] = (), *, commands_in: Path | None = None) -> int:
    """Run one file's blocks in a directory of their own, each command behind a prefix; returns how many failed.

    Args:
        path: the file.
        prefix: what stands before every command line.
        commands_in: a directory with another ``coplay`` than the installed one.
    """
    page = page_of(path)
    search = [*([str(commands_in)] if commands_in else []), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = dict(os.environ, PATH=os.pathsep.join(search))
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files(page).items():
            Path(directory, name).write_text(content, encoding="utf-8")
        for script in scripts(str(path), page):
            start = time.perf_counter()
            result = subprocess.run(
                [*prefix, *script.command], cwd=directory, env=environment, capture_output=True, text=True
            )
            problems = list(differences(script, page, result.stdout))
            if result.returncode:
                problems.append(f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}\n")
            failed += bool(problems)
            word, seconds = "FAILED" if problems else "ok", time.perf_counter() - start
            print(f"{word:>6}  {script.name} ({seconds:.0f} s)\n{''.join(problems)}", end="", flush=True)
    return failed


def run_files(paths: Sequence[Path]) -> int:
    """Run several files, one a core at a time; returns how many blocks failed."""
    cores: Queue[int] = Queue()
    for core in sorted(os.sched_getaffinity(0)):
        cores.put(core)

    def on_a_core(path: Path) -> int:
        core = cores.get()
        try:
            own = None if path.name == "README.md" else quick
            return run_file(path, ["taskset", "-c", str(core)] if pinning else [], commands_in=own)
        finally:
            cores.put(core)

    pinning = shutil.which("taskset") is not None
    # those that take longest first, told by how much there is to run
    ordered = sorted(paths, key=lambda path: -how_much(path))
    with (
        tempfile.TemporaryDirectory() as folder,
        quick_commands(Path(folder)) as quick,
        ThreadPoolExecutor(cores.qsize()) as pool,
    ):
        return sum(pool.map(on_a_core, ordered))


def how_much(path: Path) -> int:
    """Characters of code that a file has to run."""
    return sum(len(line) for block in run_blocks(page_of(path)) for line in block.lines)


def main() -> int:
    """Run all files named on the command line."""
    failed = run_files([Path(name) for name in sys.argv[1:]])
    print(f"documentation: {'all blocks ran and printed what the pages show' if not failed else f'{failed} failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
