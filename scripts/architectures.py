"""The table of architectures: each causal language model class of Transformers, tiny and random, is admitted, adapted and trained for one trial.

    python scripts/architectures.py                      # docs/reference/architectures.md, in some minutes on two cores
    python scripts/architectures.py --only llama mamba   # these alone, printed

An architecture is examined in a process of its own with a limit of time, so that none ends the others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path

from architecture_trial import INTERNAL, NAMED, REFUSED, TRAINS, UNMADE, Row, examine, line_of
from tiny_architectures import tiny_tokenizer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "architectures.md"

LIMIT = 120
"""Seconds of processor time for an architecture; five times as long by the clock."""


def classes() -> dict[str, str]:
    """The class of each model type."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return {name: str(cls) for name, cls in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items())}


def _in_child(model_type: str, architecture: str, pipe: Connection) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the child ends with it
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    try:
        row = replace(examine(model_type, architecture), seconds=time.process_time())
    except BaseException as error:  # whatever is no error of coplay's own is a fault
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        row = Row(
            model_type,
            architecture,
            INTERNAL,
            note=f"{type(error).__name__}: {line_of(error)} ({Path(last.filename).name}:{last.lineno})",
        )
    pipe.send(asdict(row))


def examine_apart(model_type: str, architecture: str) -> Row:
    """:func:`examine` in a process of its own, with a limit of time."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(model_type, architecture, theirs))
    child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(5 * LIMIT) else None
    except EOFError:
        found = None
    if found is None:
        child.kill()
    child.join()
    if found is None:
        ended = f"took more than {LIMIT} s" if child.exitcode in (-9, -24) else f"ended with {child.exitcode}"
        return Row(model_type, architecture, INTERNAL, note=ended)
    return Row(**found)


def examine_all(wanted: Mapping[str, str], *, jobs: int) -> Iterator[Row]:
    """All of these, so many at a time, in order."""
    import peft  # noqa: F401
    import torch
    import transformers
    import transformers.generation
    import transformers.modeling_utils
    import transformers.models.llama.modeling_llama

    import coplay.runs.factory  # noqa: F401 - all before the children are made, so that none imports them anew

    tiny_tokenizer()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity(60)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda one: examine_apart(*one), wanted.items())


def page(rows: Sequence[Row]) -> str:
    """The table as a page of the documentation."""
    import transformers

    count = {
        verdict: sum(row.verdict == verdict for row in rows) for verdict in (TRAINS, NAMED, REFUSED, UNMADE, INTERNAL)
    }
    lines = [
        "# Architectures",
        "",
        f"Every causal language model class of Transformers {transformers.__version__} as a tiny random model: compared with Transformers at lengths on both sides of every",
        "window, chunk and original position of its config ([how](../howto/check_a_model.md)), with adapters, and trained for one trial of the dilemma. Written by",
        "`python scripts/architectures.py`; a slow test makes the whole table anew.",
        "",
        f"{count[TRAINS]} agree and train with the default targets (`q_proj`, `v_proj`), {count[NAMED]} with targets that have to be named (`adapter.targets`), {count[REFUSED]} are",
        f"refused, and of {count[UNMADE]} no tiny config could be made. A tiny model says nothing about how well a large one plays.",
        "",
        "| model type | class | verdict | engine | adapters at |",
        "|---|---|---|---|---|",
        *(
            f"| `{row.model_type}` | {row.architecture} | {row.verdict} | {row.engine} | {row.targets} |"
            for row in rows
            if row.verdict in (TRAINS, NAMED, INTERNAL)
        ),
        "",
        "## Refused",
        "",
        *(f"- `{row.model_type}`: {_escaped(row.note)}" for row in rows if row.verdict == REFUSED),
        "",
        "## Without a tiny config",
        "",
        *(f"- `{row.model_type}`: {_escaped(row.note)}" for row in rows if row.verdict == UNMADE),
        "",
    ]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r"([<>|`*_\[\]])", r"\\\1", text)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TYPE", help="print what is found of these, and write nothing")
    parser.add_argument("--jobs", type=int, default=2, help="architectures at a time")
    options = parser.parse_args()
    known = classes()
    wanted = {name: known[name] for name in options.only} if options.only else known
    started, rows = time.monotonic(), []
    for row in examine_all(wanted, jobs=options.jobs):
        rows.append(row)
        print(
            f"{row.model_type:26} {row.verdict:16} {row.engine:13} {row.targets[:40]:42} {row.seconds:5.1f} s {row.note[:300]}",
            flush=True,
        )
    print(f"{len(rows)} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    if not options.only:
        PAGE.write_text(page(rows), encoding="utf-8")
    return int(any(row.verdict == INTERNAL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
