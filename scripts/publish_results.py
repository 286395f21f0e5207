"""Copy what an experiment, a sweep or a run measured into ``results/``, without what can be made again from it.

    python scripts/publish_results.py runs/reproduce-shapellm-tiny-5seeds results/shapellm
    python scripts/publish_results.py runs/reproduce-shapellm-controls-tiny-5seeds results/shapellm/controls
    python scripts/publish_results.py runs/sharing results/shapellm/maps/sharing
    python scripts/publish_results.py runs/sure results/shapellm/reversed-order/sure
    python scripts/publish_results.py runs/smollm2 results/smollm2/ipd-controls --alone shapellm/smollm2-controls
    python scripts/publish_results.py runs/chicken results/shapellm --join      # of `coplay reproduce shapellm --game icg`

Of a whole paper it makes, for each finished table, a directory with its command and its claims; and ``runs/``, which tables share. Of a
single experiment all that is in one directory, and so is one of several that share a directory with ``--alone``. A run is its settings, machine, evaluations and curves (rewards, states, illegal replies,
cooperation; four digits; compressed; evaluations in other settings are compressed too); meetings are copied as they are, watched games compressed; a sweep is its ``sweep.json``; recorded games
are compressed. Checkpoints and transcripts are left out: the commands make them again. So are adapters, but with ``--adapters``: players whose arms are not
all trained yet can meet later (``scripts/continue_published.py``). Pages and pictures are left out: ``coplay report`` makes them of the copy. Paths into the
source lead on from there. Whatever else is in the target is left alone. With ``--join`` so are the other tables of a paper, whose seeds can be others; the record of
what was asked for then tells the seeds of these.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coplay.errors import UsageError
from coplay.evaluation.claims import CheckedClaim
from coplay.evaluation.summary import told_of
from coplay.experiments.catalogue import claims_of
from coplay.experiments.claims_file import read_claims, write_claims
from coplay.experiments.request import Request, arm_directory, requests_of
from coplay.experiments.summary import checked_claims
from coplay.files.kinds import newest_version
from coplay.files.reading import plain
from coplay.files.store import Store
from coplay.files.writing import write_file
from coplay.recipes.experiments import Experiment
from coplay.runs.directory import RunDirectory, find_runs, is_finished
from coplay.runs.divergence import diverged_in

CURVES = (
    "version",
    "step",
    "seed",
    "reward/",
    "state/",
    "illegal/",
    "cooperate",
    "asked/",
    "truthful",
    "diverged",
    "held_out/",
    "collective/",
    "interventions",
    "notice/",
)
"""What is kept of a line of ``metrics.jsonl``: keys, and beginnings of keys."""

LEVEL = 9
"""How hard curves are compressed; always the same, so that the same curves make the same file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy, and say how much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "source", type=Path, help="directory of `coplay reproduce`, `coplay sweep` or `coplay probe`, or a finished run"
    )
    parser.add_argument("target", type=Path, help="where to, e.g. results/shapellm")
    parser.add_argument("--alone", metavar="ID", help="of a directory that experiments share: this one, once finished")
    parser.add_argument("--join", action="store_true", help="the target keeps its other tables, which have other seeds")
    parser.add_argument("--adapters", action="store_true", help="keep what runs have learnt too, so that it can play")
    options = parser.parse_args(arguments)
    source, target, adapters = options.source, options.target, options.adapters
    if options.alone is not None:
        if not publish_alone(source, target, options.alone, adapters=adapters):
            parser.error(f"{source} holds no finished experiment {options.alone}")
        print(f"{options.alone} in {target}")
    elif (source / "experiment.json").exists():
        try:
            record = joined(source, target) if options.join else None
        except UsageError as error:
            parser.error(str(error))
        runs, tables = publish_runs(source, target, record, adapters=adapters), publish_tables(source, target)
        for left in [run for run in find_runs(source) if not is_finished(run)]:
            reasons = "; ".join(
                told_of(int(seed), one) for seed, one in diverged_in(RunDirectory.open(left).metrics()).items()
            )
            print(f"left out, as it is not finished: {left}{f' ({reasons})' if reasons else ''}", file=sys.stderr)
        print(f"{len(runs)} runs and {len(tables)} tables in {target}")
    elif (source / "sweep.json").exists():
        publish_sweep(source, target)
        print(f"a sweep in {target}")
    elif (source / "recording.json").exists():
        publish_recording(source, target)
        print(f"recorded games in {target}")
    elif (source / "probe.json").exists():
        publish_probe(source, target)
        print(f"a probe in {target}")
    elif is_finished(source):
        # a run of an experiment starts from what was prepared beside it
        of_experiment = (source.parent / "experiment.json").exists()
        publish_run(source, target, base=source.parent if of_experiment else source, adapters=adapters)
        print(f"a run in {target}")
    else:
        parser.error(
            f"{source} is no directory of `coplay reproduce`, `coplay sweep`, `coplay probe` or recorded games, and no finished run"
        )
    return 0


def joined(source: Path, target: Path) -> str:
    """The target's record of what was asked for, with the source's finished tables and their seeds.

    Raises:
        UsageError: if a table that is not made again shares a run with one that is.
    """
    tables, first = finished_tables(source), requests_of(source)[0]
    names = {table.name for table in tables}
    recipes = {arm.recipe for table in tables for arm in table.arms}
    for other in (table for asked in requests_of(target) for table in asked.experiments if table.name not in names):
        shared = sorted(recipes & {arm.recipe for arm in other.arms})
        if shared:
            raise UsageError(f"{other.name} in {target} rests on {shared[0]} too: make it again in {source} as well")
    record = Store.open(target, "experiment").read_object("experiment.json")
    again = {(table.id, table.game) for table in tables}
    kept = [one for one in record.get("also", []) if (one["id"], one["game"]) not in again]
    new = [{"id": table.id, "game": table.game, "seeds": list(first.seeds)} for table in tables]
    return dense(json.dumps({**record, "also": [*kept, *new]}))


def publish_runs(source: Path, target: Path, record: str | None = None, *, adapters: bool = False) -> list[Path]:
    """Copy the finished runs' numbers, and the source's record of what was asked for unless another is given; returns their new places."""
    found = Store.open(source, "experiment")
    kept = None if record is None else Store.open(target, "experiment")
    publish_games(found, target, record or found.read("experiment.json"), "*", kept=kept)
    return [
        publish_run(run, target / run.relative_to(source), base=source, adapters=adapters)
        for run in find_runs(source)
        if is_finished(run)
    ]


def publish_alone(source: Path, target: Path, id: str, *, adapters: bool = False) -> bool:
    """Copy the numbers of one experiment of those in a directory, as if it had been made in one of its own; whether it is finished."""
    first, *others = requests_of(source)
    request = next((one for one in (first, *others) if one.id == id and len(one.experiments) == 1), None)
    if request is None or not all(is_finished(arm_directory(first, source, arm)) for arm in request.arms):
        return False
    (experiment,) = request.experiments
    record = dense(json.dumps({"version": newest_version("experiment.json"), **asdict(request)}))
    publish_games(Store.open(source, "experiment"), target, record, experiment.name)
    for arm in request.arms:
        publish_run(
            arm_directory(first, source, arm), arm_directory(request, target, arm), base=source, adapters=adapters
        )
    publish_table(target, request, experiment, checked_claims(request, experiment, target))
    return True


def publish_games(found: Store, target: Path, record: str | bytes, name: str, *, kept: Store | None = None) -> None:
    """Write what was asked for, and copy the meetings and watched games, compressed, of the experiment of that name; ``*`` is all. Those that are kept still belong to the target."""
    copy = Store(target, "experiment")
    copy.write("experiment.json", record)
    for store in (found,) if kept is None else (kept, found):
        for one in store.names(f"meetings/{name}.json"):
            copy.write(one, store.read(one))
        for one in [*store.names(f"watched/{name}.json"), *store.names(f"watched/{name}.json.gz")]:
            file = one.removesuffix(".gz")
            copy.write(f"{file}.gz", compressed(plain(store.read(one), Path(one)).decode("utf-8")))
            (target / file).unlink(missing_ok=True)  # left by an earlier publication
    copy.commit()


def publish_table(place: Path, request: Request, experiment: Experiment, claims: Sequence[CheckedClaim]) -> None:
    """Write a table's command and its claims."""
    write_file(place, "command.txt", command(request, experiment) + "\n")
    write_claims(place, claims)


def publish_run(run: Path, copy: Path, *, base: Path, adapters: bool = False) -> Path:
    """Copy one finished run's numbers; paths below ``base`` become relative to it, its own is told by its name alone, and so is a model's directory. Returns the copy.

    Args:
        run: the run.
        copy: where to.
        base: what paths become relative to.
        adapters: copy what it has learnt too.
    """
    source, store = RunDirectory.open(run), Store(copy, "run")
    settings = [name.removesuffix(".gz") for name in source.store.names("eval-*.json*")]
    model = source.config.model
    for name in ["config.json", "env.json", "eval.json", *settings, *source.store.names("safety.json")]:
        found = source.store.plain_or_compressed(name)
        text = plain(source.store.read(found), run / found).decode("utf-8")
        text = text.replace(f"{base.resolve()}{os.sep}", "").replace(f'"{base.resolve()}"', f'"runs/{base.name}"')
        text = text.replace(json.dumps(model), json.dumps(Path(model).name)) if Path(model).is_absolute() else text
        if name in settings:
            (copy / name).unlink(missing_ok=True)  # left by an earlier publication
            store.write(f"{name}.gz", compressed(text))
        else:
            store.write(name, dense(text) if name == "eval.json" else text)
    (copy / "metrics.jsonl").unlink(missing_ok=True)  # left by an earlier publication
    store.write("metrics.jsonl.gz", compressed("".join(map(slim, source.metrics()))))
    for name in source.store.names("adapters/*/*") if adapters else ():
        store.write(name, source.store.read(name))
    store.commit(step=source.store.step, finished=True)
    return copy


def publish_sweep(source: Path, target: Path) -> None:
    """Copy a sweep's numbers; its cells are left out."""
    Store(target, "sweep").replace("sweep.json", Store.open(source, "sweep").read("sweep.json"))


def publish_recording(source: Path, target: Path) -> None:
    """Copy recorded games, compressed."""
    found, copy = Store.open(source, "recording"), Store(target, "recording")
    copy.write("recording.json", found.read("recording.json"))
    copy.write("games.jsonl.gz", compressed(found.read("games.jsonl").decode("utf-8")))
    copy.commit(step=found.step, finished=True)


def publish_probe(source: Path, target: Path) -> None:
    """Copy a probe, compressed."""
    copy = Store(target, "probe")
    copy.write("probe.json.gz", compressed(dense(Store.open(source, "probe").read("probe.json").decode("utf-8"))))
    copy.commit(finished=True)


def finished_tables(source: Path) -> list[Experiment]:
    """The experiments of a directory whose claims have been checked."""
    found = {one.name: one for asked in requests_of(source) for one in asked.experiments}.values()
    checked = {claim.id for claim in read_claims(source / "claims.json")}
    return [
        one
        for one in found
        if any(claim.id in checked for claim in claims_of(f"{one.id.partition('/')[2]}/{one.game}"))
    ]


def publish_tables(source: Path, target: Path) -> list[Path]:
    """Make a directory for each finished table; returns them."""
    request = requests_of(source)[0]
    names = {one.name for asked in requests_of(source) for one in asked.experiments}
    alone = len(names) == 1 and not any((source / name).exists() for name in names)
    places = []
    for experiment in finished_tables(source):
        found = checked_claims(request, experiment, target)  # on the copy, whose curves are rounded
        place = target if alone else target / experiment.name
        publish_table(place, request, experiment, found)
        places.append(place)
    return places


def command(request: Request, experiment: Experiment) -> str:
    """What makes this table again."""
    words = ["coplay", "reproduce", experiment.id, "--game", experiment.game]
    words += ["--seeds", ",".join(map(str, request.seeds))]
    words += ["--scale", request.scale] if request.scale != "tiny" else []
    words += ["--learner", request.learner] if request.learner != "language_model" else []
    words += ["--model", request.model] if request.model is not None else []
    words += ["--trials", str(request.trials)] if request.trials is not None else []
    return " ".join(words)


def slim(record: dict[str, Any]) -> str:
    """A line of metrics with the curves alone."""
    return json.dumps({key: rounded(value) for key, value in record.items() if key.startswith(CURVES)}) + "\n"


def rounded(value: Any) -> Any:
    """Numbers to four significant digits; everything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def dense(text: str) -> str:
    """The same JSON without indentation."""
    return json.dumps(json.loads(text), separators=(",", ":")) + "\n"


def compressed(text: str) -> bytes:
    """The content of a ``.gz`` file that holds no time and no name: the same text makes the same file."""
    return gzip.compress(text.encode("utf-8"), LEVEL, mtime=0)


if __name__ == "__main__":
    raise SystemExit(main())
