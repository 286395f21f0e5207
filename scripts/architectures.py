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
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path

from architecture_trial import INTERNAL, NAMED, REFUSED, TRAINS, UNMADE, VERDICTS, Row, examine, line_of
from tiny_architectures import tiny_tokenizer

from coplay.models.known import CACHE_VARIABLE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "architectures.md"

LIMIT = 120
"""Seconds of processor time for an architecture; five times as long by the clock."""


def classes() -> dict[str, str]:
    """The class of each model type."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return {name: str(cls) for name, cls in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items())}


def _in_child(model_type: str, architecture: str, scratch: Path, pipe: Connection) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the child ends with it
    os.environ[CACHE_VARIABLE] = str(scratch / "cache")
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    try:
        row = replace(examine(model_type, architecture, scratch), seconds=time.process_time())
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
    with tempfile.TemporaryDirectory() as scratch:
        child = context.Process(target=_in_child, args=(model_type, architecture, Path(scratch), theirs))
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

    of = {verdict: [row for row in rows if row.verdict == verdict] for verdict in VERDICTS}
    still = [row for row in rows if row.still]
    return "\n".join(
        [
            "# Architectures",
            "",
            f"Every causal language model class of Transformers {transformers.__version__} as a tiny model with random weights. Each is [compared with",
            "Transformers](../howto/check_a_model.md) at lengths on both sides of every window, chunk and original position of its config, and trained for a trial",
            "of a game of one token and of one in text. The trained adapter is then read by PEFT, and its logits, and the probabilities of sampled tokens, are",
            "compared with coplay's. What a tiny model shows is that the architecture is computed and trained rightly, not how well a large one plays.",
            "",
            f"Of {len(rows)} model types {len(of[TRAINS])} agree and train with the default targets of adapters (`q_proj`, `v_proj`), {len(of[NAMED])} agree and train with targets that",
            f"have to be named (`adapter.targets`), {len(of[REFUSED])} are refused, and of {len(of[UNMADE])} no tiny config could be made. What the engines are:",
            "[Check a model before you use it](../howto/check_a_model.md).",
            "",
            "`python scripts/architectures.py` writes this page. A test examines some of the rows again, and a slow one all of them.",
            "",
            *_table(of[TRAINS] + of[NAMED] + of[INTERNAL]),
            *_list("Adapters that did not move in the trial", [(row, _places(row.still)) for row in still]),
            *_list("Refused", [(row, _escaped(row.note)) for row in of[REFUSED]]),
            *_list("Without a tiny config", [(row, _escaped(row.note)) for row in of[UNMADE]]),
        ]
    )


def _table(rows: Sequence[Row]) -> list[str]:
    """The architectures that train, sorted by model type."""
    cells = [
        (f"`{row.model_type}`", row.architecture, row.verdict, row.engine, row.targets.replace("_", "\\_"))
        for row in sorted(rows, key=lambda row: row.model_type)
    ]
    lines = [("model type", "class", "verdict", "engine", "adapters at"), ("---",) * 5, *cells]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _list(title: str, rows: Sequence[tuple[Row, str]]) -> list[str]:
    """A section with an item for each row; nothing without rows."""
    items = [f"- `{row.model_type}` ({row.architecture}): {words}" for row, words in rows]
    return ["## " + title, "", *items, ""] if rows else []


def _places(names: str) -> str:
    """Layers' names, those of one place in every layer once."""
    return ", ".join(f"`{name}`" for name in dict.fromkeys(re.sub(r"\.\d+\.", ".N.", names).split(", ")))


def verdicts_of(text: str) -> dict[str, tuple[str, str, str]]:
    """What a page says: verdict, engine and targets of each model type; the last two are empty for those that are not trained."""
    found = {}
    for model_type, verdict, engine, targets in re.findall(
        r"^\| `(.*?)` \| .*? \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M
    ):
        found[model_type] = (verdict, engine, targets.replace("\\_", "_"))
    for title, verdict in (("Refused", REFUSED), ("Without a tiny config", UNMADE)):
        section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        found |= dict.fromkeys(re.findall(r"^- `(.*?)`", section, re.M), (verdict, "", ""))
    return found


def _escaped(text: str) -> str:
    """Markdown that shows a text as it is."""
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
