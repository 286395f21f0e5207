"""Does a refactoring change what runs compute? Runs small cases on two checkouts and compares every number and every word.

    python scripts/golden.py BEFORE AFTER                            # two checkouts, each with its src/
    python scripts/golden.py BEFORE AFTER --cache DIR                # BEFORE's runs are kept, and made again when its src/ changes
    python scripts/golden.py BEFORE AFTER --only exact lola          # these, and what they need
    python scripts/golden.py BEFORE AFTER --out DIR                  # leave the runs in DIR/before and DIR/after
    python scripts/golden.py BEFORE AFTER --cache DIR --warm         # load torch and transformers once; the rest is imported anew each time

Both sides run on this machine, on one thread, with this Python; only ``PYTHONPATH`` differs. Metrics, games, evaluations and the tensors of adapters
and checkpoints are compared as they are written, with no tolerance. A line a case says ``same``, or what differs first, how many numbers differ
and by how much at most. Exits with 1 if anything differs or fails.

Cases are in ``golden_cases.py``. What a refactoring renames goes into ``golden_words.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from golden_cases import CASES, RUN, THEM, Case, chosen
from golden_compare import Tally, compare, records
from golden_endpoint import serving
from golden_processes import Cold, Coplay, Warm
from golden_words import command_for, speaks_new_words

MARK = "case.json"
"""In the directory of a finished case: what made it."""

TOLD = 12
"""Lines of an error that are shown."""


class CaseFailed(Exception):
    """A command failed, or what a case is there for did not occur."""


@dataclass(frozen=True)
class Side:
    """A checkout, and where its runs go."""

    name: str
    """``before`` or ``after``."""
    checkout: Path
    """Its root."""
    source: str
    """A digest of its code."""
    folder: Path
    """Where its cases have their directories."""
    coplay: Coplay
    """Runs its commands."""
    reused: bool
    """Whether what is finished there counts."""

    @property
    def new(self) -> bool:
        """Whether it speaks the new words."""
        return speaks_new_words(self.checkout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare and tell; returns an exit status."""
    options = _parser().parse_args(arguments)
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder(options.out, keep=options.keep))
        before = side_of("before", options.before, folder, cache=options.cache)
        after = side_of("after", options.after, folder)
        if options.warm:
            before, after = (replace(side, coplay=stack.enter_context(_warm(side))) for side in (before, after))
        verdicts = [tell(case, before, after) for case in chosen(options.only)]
    moved = [side.checkout for side in (before, after) if digest_of(side.checkout) != side.source]
    for checkout in moved:
        print(f"{checkout}: src/ has changed while the cases ran; run them again")
    print(f"{sum(verdicts)} of {len(verdicts)} cases same, {time.monotonic() - begun:.0f} s")
    return 0 if all(verdicts) and not moved else 1


def _warm(side: Side) -> contextlib.closing[Warm]:
    return contextlib.closing(Warm(environment_of(side.checkout)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout; has src/")
    parser.add_argument("after", type=Path, help="another one")
    names = [case.name for case in CASES]
    parser.add_argument(
        "--only", nargs="+", choices=names, default=[], metavar="NAME", help=f"of these: {', '.join(names)}"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where runs go, and stay")
    parser.add_argument("--keep", action="store_true", help="without --out: leave the temporary directory")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep BEFORE's runs here for the next time")
    parser.add_argument("--warm", action="store_true", help="load torch and transformers once for all cases")
    return parser


@contextlib.contextmanager
def _folder(out: Path | None, *, keep: bool) -> Iterator[Path]:
    """Where runs go. Only a temporary directory is ever removed."""
    folder = Path(tempfile.mkdtemp(prefix="golden-")) if out is None else out.resolve()
    try:
        yield folder
    finally:
        if keep or out is not None:
            print(f"runs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def side_of(name: str, checkout: Path, folder: Path, *, cache: Path | None = None) -> Side:
    """Look at a checkout, and make sure that it is its code that will run.

    Args:
        name: ``before`` or ``after``.
        checkout: its root.
        folder: where runs go.
        cache: where they go instead, if they are to be found again.
    """
    checkout = checkout.resolve()
    source = digest_of(checkout)
    place = folder / name
    if cache is not None:
        versions = [sys.version, *(importlib.metadata.version(package) for package in ("torch", "numpy"))]
        place = cache.resolve() / _digest(source, *versions)
    place.mkdir(parents=True, exist_ok=True)
    environment = environment_of(checkout)
    asked = [sys.executable, "-c", "import coplay; print(coplay.__file__)"]
    answer = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
    if not answer.stdout.startswith(str(checkout / "src")):
        raise SystemExit(f"{checkout}: its coplay cannot be imported\n{answer.stdout}{answer.stderr}")
    print(f"{name}: {checkout}, src {source}", flush=True)
    return Side(name, checkout, source, place, Cold(environment), reused=cache is not None)


def environment_of(checkout: Path) -> dict[str, str]:
    """What a checkout's commands run in: its own code, one thread, no GPU and no network."""
    own = {"PYTHONPATH": str(checkout / "src"), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    alone = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return {**os.environ, **own, **alone}


def digest_of(checkout: Path) -> str:
    """A digest of the files under ``src/``, so that changes that are not committed count."""
    source = checkout / "src"
    if not (source / "coplay").is_dir():
        raise SystemExit(f"{checkout} is no checkout: it has no src/coplay")
    files = sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return _digest(*(f"{path.relative_to(source)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


# ---------------------------------------------------------------------- a case


def tell(case: Case, before: Side, after: Side) -> bool:
    """Run a case on both sides and print what came out; returns whether it is the same."""
    try:
        took = [f"{side.name} {_seconds(made(case, side))}" for side in (before, after)]
        must_occur(case, before)
    except CaseFailed as failed:
        print(f"FAILS    {case.name:26} {failed}", flush=True)
        return False
    folders = [side.folder / case.name for side in (before, after)]
    tally = compare(*folders, new=dict(zip(folders, (before.new, after.new), strict=True)))
    verdict = "same    " if tally.same else "DIFFERS "
    print(f"{verdict} {case.name:26} {told(tally)}; {', '.join(took)}", flush=True)
    return tally.same


def told(tally: Tally) -> str:
    """What a comparison found, in a line."""
    if tally.first is None:
        return f"{tally.numbers:,} numbers"
    counted = f"{tally.different:,} of {tally.numbers:,} numbers differ, by at most {tally.largest:.6g}"
    others = f", and {tally.texts:,} other values" if tally.texts else ""
    return f"{tally.first}; {counted}{others}"


def must_occur(case: Case, side: Side) -> None:
    """Make sure that a case shows what it is there for; raises CaseFailed."""
    lines = records(side.folder / case.name / RUN / "metrics.jsonl", new=side.new)
    for metric in case.occurs:
        if not any(line.get(metric) for line in lines):
            raise CaseFailed(f"never has {metric} above 0, which it is there for")


def made(case: Case, side: Side) -> float | None:
    """Run a case unless it is known; returns the seconds that took, None for none. Raises CaseFailed."""
    folder = side.folder / case.name
    made_by = _made_by(case, side)
    if side.reused and _mark(folder) == made_by:
        return None
    begun = time.monotonic()
    # Beside the place where it will be, so that relative paths hold; other processes may be at the same case.
    with tempfile.TemporaryDirectory(prefix=f".{case.name}-", dir=side.folder, ignore_cleanup_errors=True) as name:
        work = Path(name)
        _run(case, side, work)
        (work / MARK).write_text(json.dumps({"made_by": made_by}), encoding="utf-8")
        _put(work, folder, made_by)
    return time.monotonic() - begun


def _put(work: Path, folder: Path, made_by: str) -> None:
    """Move a finished case to its place. An older one there is replaced, and nothing else."""
    if _mark(folder) is not None:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        work.rename(folder)
    except OSError:
        if _mark(folder) != made_by:  # else another process was first
            raise CaseFailed(f"{folder} is in the way") from None


def _mark(folder: Path) -> str | None:
    """What made the case in a directory; None if there is none."""
    try:
        return str(json.loads((folder / MARK).read_text(encoding="utf-8"))["made_by"])
    except OSError:
        return None


def _made_by(case: Case, side: Side) -> str:
    """A digest of the command, what it reads, and the same of the cases that it needs."""
    known = {each.name: each for each in CASES}
    endpoint = [(Path(__file__).parent / "golden_endpoint.py").read_text(encoding="utf-8")] if case.endpoint else []
    needed = [_made_by(known[name], side) for name in case.needs]
    return _digest(*command_for(case.command, new=side.new), json.dumps(dict(case.files)), *endpoint, *needed)


def _run(case: Case, side: Side, work: Path) -> None:
    """Run a case's command in a directory, and keep there what it prints. Raises CaseFailed."""
    for name, text in case.files.items():
        (work / name).write_text(text, encoding="utf-8")
    out, error = work / ("stdout.json" if case.command[0] == "eval" else "stdout.txt"), work / "stderr.txt"
    words = command_for(case.command, new=side.new)
    with _endpoint(case, work):
        status = side.coplay.run(words, cwd=work, out=out, error=error)
    if status:
        lines = error.read_text(encoding="utf-8", errors="replace").splitlines()[-TOLD:]
        raise CaseFailed("\n    ".join([f"{side.name}: exit status {status}", *lines]))


@contextlib.contextmanager
def _endpoint(case: Case, work: Path) -> Iterator[None]:
    """Serve an endpoint to a case that has one, and write its settings for it."""
    if not case.endpoint:
        yield
        return
    with serving() as url:
        settings = {"base_url": url, "model": "them", "key_variable": "", "retries": 0}
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        (work / THEM).write_text(text, encoding="utf-8")
        yield


def _seconds(took: float | None) -> str:
    return "known" if took is None else f"{took:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
