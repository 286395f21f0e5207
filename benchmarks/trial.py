"""How long a trial takes: coplay against a straightforward loop of the published kind, on one machine, with as many threads.

    python benchmarks/trial.py --threads 2 --json benchmarks/results/trial.json
    python benchmarks/trial.py --threads 2 --model smollm2 --init-adapter DIR --trials 1 --parts compare,products --json benchmarks/results/trial_smollm2.json
    python benchmarks/trial.py --threads 2 --model smollm2 --init-adapter DIR --trials 1 --parts compare --pair --games 5 --rounds 10 --episodes 1 --json benchmarks/results/trial_smollm2_longer.json
    python benchmarks/trial.py --render          # put the tables into docs/benchmarks.md

Five parts, each of which can be run alone with ``--parts``: *compare* (both loops, alternating), *sections* (where the time goes),
*scaling* (how coplay's time grows), *memory* (peak of a process of its own for each) and *products* (which share of the machine's peak coplay's matrix
products reach). Markdown goes to standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from machine import machine

HERE = Path(__file__).resolve().parent
RESULTS = {
    "table": HERE / "results" / "trial.json",
    "real model": HERE / "results" / "trial_smollm2.json",
    "longer": HERE / "results" / "trial_smollm2_longer.json",
}
"""Of the embedded model and of a real one, by the words in the markers of their tables."""
PAGE = HERE.parent / "docs" / "benchmarks.md"
ARMS = {"shaper vs naive": "shapellm/ipd", "naive vs naive": "shapellm/ipd-baseline"}
SEEDS = (0, 1, 2, 3, 4)
AXES: dict[str, tuple[int, ...]] = {
    "seeds": (1, 2, 5, 10),
    "games": (2, 5, 10),
    "rounds": (10, 20, 40),
    "episodes": (2, 5, 10),
    "threads": (1, 2),
}
"""What is varied, one at a time, around the recipe's five seeds, five games, twenty rounds and five episodes."""

COPLAY_RUN, ONE_PROCESS, ONE_SEED = "coplay", "coplay, one process", "coplay, one seed"
"""Coplay as `coplay train` runs it, a worker process a thread; all seeds in one process with all threads; the first seed alone."""

PAIR = (COPLAY_RUN, "straightforward")
"""What ``--pair`` compares."""

PARTS = ("compare", "sections", "scaling", "memory", "products")
USUAL_PARTS = PARTS[:4]
CHILDREN = ("libraries and model", "coplay, 1 seed", "coplay, 5 seeds", "straightforward, 1 seed")
QUICK = {"games": 2, "rounds": 4, "episodes": 2}
"""With ``--quick`` everything is this small: a check that the script works, not a measurement."""

REAL = {"games": 3, "rounds": 6, "episodes": 2}
"""The size of a trial of a real model, which takes minutes in the straightforward loop."""

SIZES = {"games": "N, parallel games", "rounds": "T, rounds of an episode", "episodes": "E, episodes of a trial"}
"""What the size of a trial can be changed to."""

Job = Callable[[int], Any]
"""Runs the trial of that number."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    if options.child:
        print(json.dumps(peak_memory(options.child, ARMS[options.arm], options)))
        return 0
    if options.render:
        return render()
    limit_threads(options.threads)
    import tables

    result = measured(options)
    print(tables.page(result))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, help="CPU threads for both loops; by default all cores")
    parser.add_argument("--trials", type=int, default=5, help="measured trials of each loop, after one to warm up")
    parser.add_argument("--model", default="tiny", help="the language model; of others than tiny trials are smaller")
    parser.add_argument(
        "--init-adapter",
        metavar="DIR",
        help="where learners start: a model whose replies are mostly illegal reads few prompts",
    )
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"), help="of both loops")
    parser.add_argument(
        "--pair", action="store_true", help="compare with coplay's usual way alone, which takes half the time"
    )
    parser.add_argument("--parts", default=",".join(USUAL_PARTS), help=f"which parts, of {','.join(PARTS)}")
    for name, what in SIZES.items():
        parser.add_argument(
            f"--{name}", type=int, help=f"{what}; the recipe's by default, of a real model {REAL[name]}"
        )
    parser.add_argument("--quick", action="store_true", help="tiny games: checks the script, measures nothing")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the measurements there")
    parser.add_argument(
        "--render", action="store_true", help="measure nothing: put the last results into docs/benchmarks.md"
    )
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--arm", choices=list(ARMS), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.threads = options.threads or len(os.sched_getaffinity(0))
    options.parts = options.parts.split(",")
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"--parts: unknown {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    if options.trials < 1:
        parser.error("--trials must be at least 1")
    return options


def limit_threads(threads: int) -> None:
    """The same limit for PyTorch and for the tokenizers of both loops; before either is used."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that was asked for."""
    start, load = time.perf_counter(), os.getloadavg()[0]
    result: dict[str, Any] = {"version": 1, "settings": settings(options), "machine": machine()}
    if "memory" in options.parts:
        result["memory"] = {arm: memory(arm, options) for arm in ARMS}
    for arm, recipe in ARMS.items():
        if {"compare", "sections", "products"} & set(options.parts):
            with contenders(recipe, options) as (jobs, config):
                if "compare" in options.parts:
                    compared = {name: jobs[name] for name in PAIR} if options.pair else jobs
                    result.setdefault("compare", {})[arm] = compare(compared, config, options.trials)
                if "sections" in options.parts:
                    result.setdefault("sections", {})[arm] = sections(jobs, options.trials + 1)
                if "products" in options.parts:
                    from products import products

                    result.setdefault("products", {})[arm] = products(
                        jobs[ONE_PROCESS], options.trials + 2, options.precision
                    )
    if "scaling" in options.parts:
        result["scaling"] = scaling(ARMS["shaper vs naive"], options)
    result["machine"] |= {"load_before": load, "minutes": (time.perf_counter() - start) / 60}
    return result


def settings(options: argparse.Namespace) -> dict[str, Any]:
    sized = {"model": options.model, "precision": options.precision, **size(options)}
    return {"threads": options.threads, "trials": options.trials, "quick": options.quick, "seeds": len(SEEDS), **sized}


def size(options: argparse.Namespace) -> dict[str, int]:
    """What the size of a trial is changed to; nothing for the recipe's."""
    if options.quick:
        return QUICK
    asked = {name: getattr(options, name) for name in SIZES if getattr(options, name) is not None}
    return asked if options.model == "tiny" else REAL | asked


# ---------------------------------------------------------------------- the contenders


def config_of(recipe: str, options: argparse.Namespace, **changes: Any) -> Any:
    """A recipe's config, with fewer and smaller games if only the script is to be checked."""
    from coplay.models.known import Precision
    from coplay.recipes import make_config

    base = {"model": options.model, "precision": Precision(options.precision)}
    base |= {"seeds": SEEDS, "threads": options.threads, **size(options)}
    config = make_config(recipe)
    if options.init_adapter:  # the straightforward loop's reference is the model without adapters
        start = {"init_adapter": options.init_adapter, "reference": "base"}
        base["adapter"] = config.adapter.model_copy(update=start)
    return config.model_copy(update=base | changes)


def coplay_job(config: Any) -> tuple[Job, Any]:
    """Runs trials of coplay; and the training state they change."""
    from coplay.runs.factory import build

    state = build(config)
    return lambda trial: state.run_trial(trial), state  # not bound: the timers replace it in the class later


@contextlib.contextmanager
def contenders(recipe: str, options: argparse.Namespace) -> Iterator[tuple[dict[str, Job], Any]]:
    """Both loops from the same start; and coplay in one process, and with a single seed, which shares no pass between seeds."""
    from straightforward import StraightforwardRun

    from coplay.runs.executors import InProcess, LocalProcesses

    config = config_of(recipe, options)
    together, state = coplay_job(config)
    alone, _ = coplay_job(config.model_copy(update={"seeds": SEEDS[:1]}))
    run = StraightforwardRun(config, SEEDS[0], start=state)
    number = min(options.threads, len(config.seeds))
    workers = LocalProcesses(config, InProcess(state).state_dicts(), workers=number, threads=options.threads)
    try:
        yield (
            {
                COPLAY_RUN: workers.run_trial,
                "straightforward": lambda trial: run.trial(
                    trial
                ),  # not bound: the timers replace it in the class later
                ONE_PROCESS: together,
                ONE_SEED: alone,
            },
            config,
        )
    finally:
        workers.close()


# ---------------------------------------------------------------------- the parts


def compare(jobs: Mapping[str, Job], config: Any, trials: int) -> dict[str, Any]:
    """Alternate the loops, trial after trial. The first trial warms up, and must have been the same games."""
    first = {name: job(0) for name, job in jobs.items()}
    same = all(
        same_games(first[name][1], first["straightforward"], config)
        for name in (COPLAY_RUN, ONE_PROCESS)
        if name in jobs
    )
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for trial in range(1, trials + 1):
        for name, job in jobs.items():
            times[name].append(timed(job, trial))
    return {
        "seeds": {name: len(config.seeds) if name in (COPLAY_RUN, ONE_PROCESS) else 1 for name in jobs},
        "times": times,
        "same_games": same,
    }


def same_games(records: Sequence[Mapping[str, Any]], played: Sequence[Any], config: Any) -> bool:
    """Whether the seed that both played went the same way, in the games that coplay keeps for reading."""
    from coplay.games import make_game

    game = make_game(config.game)
    theirs = [record["states"] for record in records if record["seed"] == SEEDS[0]]
    first = [[game.state_name(one) for one in episode.outcomes] for episode in played if episode.game == 0]
    return theirs == [first[0], first[-1]][: len(first)]  # of one episode there is one record


def timed(job: Job, trial: int) -> float:
    start = time.perf_counter()
    job(trial)
    return time.perf_counter() - start


def sections(jobs: Mapping[str, Job], trial: int) -> dict[str, dict[str, float]]:
    """One more trial of each loop under timers: seconds a section."""
    from sections import COPLAY, STRAIGHTFORWARD, Clock

    found = {}
    for name, job, watched in (
        ("coplay", ONE_PROCESS, COPLAY),
        ("straightforward", "straightforward", STRAIGHTFORWARD),
    ):
        with Clock(watched) as clock:
            jobs[job](trial)
        found[name] = clock.seconds
    return found


def scaling(recipe: str, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Coplay's time for a trial with one thing varied at a time. Every point starts anew; equal points are measured once."""
    from coplay.models.threads import set_threads

    known: dict[str, list[float]] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    for axis, values in AXES.items():
        for value in values:
            config = config_of(recipe, options, **{axis: tuple(range(value)) if axis == "seeds" else value})
            key = config.model_dump_json()
            known[key] = known.get(key) or a_few_trials(config, max(2, options.trials // 2))
            found.setdefault(axis, []).append({"value": value, "times": known[key]})
    set_threads(options.threads)
    return found


def a_few_trials(config: Any, trials: int) -> list[float]:
    """Times of coplay's trials from the start, after one to warm up, in as many processes as the run is worth."""
    from coplay.runs.executors import executor_for
    from coplay.runs.factory import build

    with executor_for(build(config)) as executor:
        executor.run_trial(0)
        return [timed(executor.run_trial, trial) for trial in range(1, trials + 1)]


def memory(arm: str, options: argparse.Namespace) -> dict[str, float]:
    """Peak resident memory in MB of a fresh process for each loop, after one trial."""
    found = {}
    for child in CHILDREN:
        command = [sys.executable, __file__, "--child", child, "--arm", arm, "--threads", str(options.threads)]
        command += ["--model", options.model, "--precision", options.precision]
        command += ["--quick"] if options.quick else []
        command += [f"--{name}={value}" for name, value in size(options).items()] if not options.quick else []
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[child] = json.loads(output.splitlines()[-1])
    return found


def peak_memory(child: str, recipe: str, options: argparse.Namespace) -> float:
    """In a child: run one trial and tell this process's peak."""
    limit_threads(options.threads)
    config = config_of(recipe, options)
    if child == "libraries and model":
        import straightforward  # noqa: F401  # its imports are part of the floor

        from coplay.models.loading import load_model

        load_model(config.model, precision=config.precision)
    elif child == "straightforward, 1 seed":
        from straightforward import StraightforwardRun

        StraightforwardRun(config, SEEDS[0]).trial(0)
    else:
        seeds = SEEDS[:1] if "1 seed" in child else SEEDS
        coplay_job(config.model_copy(update={"seeds": seeds}))[0](0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def render() -> int:
    """Rewrite the tables of the documentation page."""
    import tables

    text = PAGE.read_text(encoding="utf-8")
    for kind, results in RESULTS.items():
        text = tables.rendered(text, tables.read(results), of=kind)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE} now shows {', '.join(path.name for path in RESULTS.values())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
