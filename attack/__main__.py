"""``python -m attack``: run the kinds of attack, and end with 1 if anything fell. Needs Linux."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from attack import engine, report
from attack.outcome import Result
from attack.products import PRODUCTS
from attack.registry import Kind, all_kinds


def _options(argv: Sequence[str] | None, kinds: dict[str, Kind]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=0, help="settles all tries (default: 0)")
    parser.add_argument("--tries", type=int, metavar="N", help="tries of each kind (default: each kind's own number)")
    parser.add_argument("--kind", action="append", choices=sorted(kinds), help="only this kind; may be given again")
    parser.add_argument("--only", type=int, metavar="I", help="only this try of each kind")
    parser.add_argument("--short", action="store_true", help="a few tries of each kind")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results there")
    parser.add_argument("--list", action="store_true", help="list the kinds and end")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Attack, and report."""
    kinds = all_kinds()
    options = _options(argv, kinds)
    if options.list:
        print("\n".join(f"{kind.name}: {kind.sentence}" for kind in kinds.values()))
        return 0
    chosen = [kind for name, kind in kinds.items() if not options.kind or name in options.kind]
    began = time.monotonic()
    needed = [name for name in PRODUCTS if any(name in kind.needs for kind in chosen)]
    with engine.workshop(options.processes, needed) as shop:
        jobs = engine.jobs_of(
            chosen, shop, seed=options.seed, tries=options.tries, only=options.only, short=options.short
        )
        print(f"{len(jobs)} tries of {len(chosen)} kinds, after {time.monotonic() - began:.0f} s", flush=True)

        def tell(result: Result) -> None:
            if result.falls:
                print(report.told(result, seed=options.seed), flush=True)

        results = engine.run(jobs, shop, options.processes, tell)
    print(f"\n{report.table(results)}\n{time.monotonic() - began:.0f} s in all")
    if options.json is not None:
        options.json.write_text(json.dumps(report.record(results, seed=options.seed), indent=1) + "\n")
    return int(any(result.falls for result in results))


if __name__ == "__main__":
    sys.exit(main())
