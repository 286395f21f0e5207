r"""Make an experiment's directory of published runs, so that ``coplay reproduce`` trains the arms that are missing and no others.

    python scripts/continue_published.py shapellm/smollm2-controls --game ipd --seeds 200,201,202,203,204 --out runs/controls \
        results/smollm2/ipd/reciprocal-75 results/smollm2/controls/history-off
    coplay reproduce shapellm/smollm2-controls --game ipd --seeds 200,201,202,203,204 --out runs/controls

A published run has no checkpoints, but it is finished, so its arm is. Runs are called as their arms are, as in a directory of one experiment. Where trained
players meet one another, their runs have to be published with what they have learnt (``publish_results.py --adapters``).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from coplay.cli.options import seed_list
from coplay.errors import CoplayError
from coplay.experiments.reproduce import claim_directory
from coplay.experiments.request import Request
from coplay.runs.config import Config
from coplay.runs.config_input import flat
from coplay.runs.directory import RunDirectory, is_finished


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the directory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", help="the experiment, e.g. shapellm/smollm2-controls")
    parser.add_argument("runs", nargs="+", type=Path, help="published runs of its arms")
    parser.add_argument("--game", required=True)
    parser.add_argument("--seeds", required=True, help="e.g. 200,201,202")
    parser.add_argument("--trials", type=int, help="number of trials of every arm, as in the published runs")
    parser.add_argument("--out", required=True, type=Path, help="a new directory")
    options = parser.parse_args(arguments)
    try:
        return _continue(parser, options)
    except CoplayError as error:
        parser.error(str(error))


def _continue(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    request = Request(options.id, options.game, seeds=tuple(seed_list(options.seeds)), trials=options.trials)
    arms = {arm.name for arm in request.arms}
    for run in options.runs:
        if run.name not in arms or not is_finished(run):
            parser.error(f"{run} is no finished run of an arm of {options.id} ({', '.join(sorted(arms))})")
    meeting = {name for one in request.experiments for name in one.meets}
    unable = sorted(run.name for run in options.runs if run.name in meeting and not (run / "adapters").is_dir())
    if unable:
        parser.error(
            f"the players of {options.id} meet one another, and these runs ({', '.join(unable)}) have no adapters to play with:"
            " publish them with publish_results.py --adapters"
        )
    for run in options.runs:
        arm = next(one for one in request.arms if one.name == run.name)
        differing = _differing(RunDirectory.open(run).config, request.config(arm))
        if differing:
            parser.error(
                f"{run} was trained with other settings than the arm's ({', '.join(differing)}): train the arm again"
            )
    if options.out.exists():
        parser.error(f"{options.out} exists already")
    claim_directory(request, options.out)
    for run in options.runs:
        shutil.copytree(run, options.out / run.name)
    print(f"{options.out}: {len(options.runs)} of {len(arms)} arms")
    return 0


def _differing(published: Config, wanted: Config) -> list[str]:
    """The settings in which a published run is not its arm, but for the machine's and for what an experiment fills in: what a run starts from and whom it meets."""
    a, b = (flat(config.model_dump(mode="json")) for config in (published, wanted))
    filled_in = ("threads", "workers", "adapter.init_adapter", "seats.")
    return sorted(key for key in {**a, **b} if a.get(key) != b.get(key) and not key.startswith(filled_in))


if __name__ == "__main__":
    sys.exit(main())
