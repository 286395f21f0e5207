"""The table of architectures: each causal language model class of Transformers, tiny and random, is admitted, adapted and trained for one trial.

    python scripts/architectures.py                      # docs/reference/architectures.md, in some minutes on two cores
    python scripts/architectures.py --only llama mamba   # these alone, printed

An architecture is examined in a process of its own with a limit of time, so that none ends the others.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tiny_architectures import tiny_tokenizer, write_tiny

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "architectures.md"

TRAINS, NAMED, REFUSED, UNMADE, INTERNAL = "trains", "targets to name", "refused", "no tiny config", "internal error"
"""What is found of an architecture; the last is a fault of coplay's."""

DEFAULT = ("q_proj", "v_proj")
"""The targets of adapters that recipes have."""

_ATTENTION = re.compile(r"query|qkv|q_?proj|v_?proj|c_attn|wq|wv|att|in_proj|^q|^v|value|kv", re.IGNORECASE)
"""Names of layers that are adapted where the default ones are not there."""

LIMIT = 120
"""Seconds for an architecture."""


@dataclass(frozen=True)
class Row:
    """What was found of an architecture."""

    model_type: str
    """As a config calls it."""
    architecture: str
    """The class of Transformers."""
    verdict: str
    """One of the five above."""
    engine: str = ""
    """The engine that agrees with Transformers."""
    targets: str = ""
    """The layers that were adapted and trained."""
    note: str = ""
    """Why it is refused, or why faster engines are not used."""


def classes() -> dict[str, str]:
    """The class of each model type."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return {name: str(cls) for name, cls in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items())}


def examine(model_type: str, architecture: str) -> Row:
    """Make, admit, adapt and train one architecture, in this process."""
    from coplay.errors import CoplayError

    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "model"
        try:
            model = write_tiny(model_type, directory, tiny_tokenizer())
        except Exception as error:  # of any kind: classes check their configs each in its own way
            return Row(model_type, architecture, UNMADE, note=_line(error))
        names = _linear_names(model)
        targets = DEFAULT if set(DEFAULT) <= names else tuple(sorted(name for name in names if _ATTENTION.search(name)))
        try:
            engine, note = _trained(directory, targets)
        except CoplayError as error:
            return Row(model_type, architecture, REFUSED, note=_line(error).replace(str(directory), "DIR"))
        return Row(model_type, architecture, TRAINS if targets == DEFAULT else NAMED, engine, ", ".join(targets), note)


def _linear_names(model: Any) -> set[str]:
    """Last names of the linear layers of a model's text decoder."""
    decoder = model.get_decoder() or model
    kinds = ("Linear", "Conv1D")
    return {name.rpartition(".")[2] for name, module in decoder.named_modules() if type(module).__name__ in kinds}


def _trained(directory: Path, targets: Sequence[str]) -> tuple[str, str]:
    """Train one trial of the dilemma; returns the engine, and why faster ones are not used.

    Raises:
        CoplayError: if the model is refused.
        AssertionError: if no adapter has moved.
    """
    from coplay.models.admission_record import Admission, admission_key
    from coplay.models.loading import load_model
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_overrides
    from coplay.runs.factory import build

    sizes = ["rounds=2", "episodes=1", "games=2", "eval_games=2", "trials=1", "threads=1", "seeds=[0]"]
    config = make_config("shapellm/ipd", learner="language_model")
    named = [f"model={directory}", f"adapter.targets={json.dumps(list(targets))}", "chat=template"]
    state = build(with_overrides(config, [*sizes, *named, "row.ppo.learning_rate=0.01"]))
    state.run_trial(0)
    assert state.bank is not None
    assert any(bool(B[0].abs().max() > 0) for _, B in state.bank.weights.values()), "no adapter has moved"
    known = Admission.kept(admission_key(load_model(str(directory)), state.bank))
    assert known is not None
    return str(known.engine), "; ".join(f"{one.engine}: {one.reason}" for one in known.trials if not one.agrees)


def _line(error: BaseException) -> str:
    """An error in a line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _in_child(model_type: str, architecture: str, pipe: Connection) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the child ends with it
    try:
        row = examine(model_type, architecture)
    except BaseException as error:  # whatever is no error of coplay's own is a fault
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        row = Row(
            model_type,
            architecture,
            INTERNAL,
            note=f"{type(error).__name__}: {_line(error)} ({Path(last.filename).name}:{last.lineno})",
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
        found = ours.recv() if ours.poll(LIMIT) else None
    except EOFError:
        found = None
    if found is None:
        child.kill()
    child.join()
    if found is None:
        ended = f"ended with {child.exitcode}" if child.exitcode not in (-9, 0) else f"took more than {LIMIT} s"
        return Row(model_type, architecture, INTERNAL, note=ended)
    return Row(**found)


def examine_all(wanted: Mapping[str, str], *, jobs: int) -> Iterator[Row]:
    """All of these, so many at a time, in order."""
    import torch
    import transformers
    import transformers.generation
    import transformers.modeling_utils
    import transformers.models.llama.modeling_llama  # noqa: F401

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
            f"{row.model_type:26} {row.verdict:16} {row.engine:13} {row.targets[:40]:42} {row.note[:200]}", flush=True
        )
    print(f"{len(rows)} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    if not options.only:
        PAGE.write_text(page(rows), encoding="utf-8")
    return int(any(row.verdict == INTERNAL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
