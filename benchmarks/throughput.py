"""What the benchmarks of games in text share: their command line, how runs alternate, and the two others that coplay is measured against.

The others are ``transformers.generate`` called for one reply after the other, which is how a loop over games is written first, and TRL's
``GRPOTrainer`` on the same model, an adapter of the same shape, the prompts of coplay's own games and as many replies.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "benchmarks.md"

LEARNER = "learner"
"""What the recipes call the only learner."""

SLOT = 0
"""The slot of the only seed's adapter."""

VERSION = 2
"""Version of the form of results: the rate of every run."""

GROUP = 8
"""Replies to each prompt that TRL compares."""

INSTALL = "TRL is not installed; leave it out with --without-trl, or: pip install -e '.[bench]'"

Job = Callable[[], float]
"""Does some work, and says how much: games, or tokens of replies."""

Rates = list[float]
"""Work per second of each repeat."""


# ---------------------------------------------------------------------- command line


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that the benchmarks have in common."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--threads", type=int, default=1, help="CPU threads of all (default: 1)")
    found.add_argument("--repeat", type=int, default=5, help="runs of each, in turn, after one to warm up (default: 5)")
    found.add_argument(
        "--cpu-time", action="store_true", help="count this process's CPU time: for a busy machine, with one thread"
    )
    found.add_argument("--without-trl", action="store_true", help="do not compare with TRL")
    found.add_argument("--out", type=Path, help="write JSON here as well")
    found.add_argument("--render", action="store_true", help=f"put the last results into {PAGE.name}, measure nothing")
    return found


def begin(options: argparse.Namespace) -> dict[str, Any]:
    """Limit the threads, and say what the figures depend on. Ends here if TRL is wanted and not there."""
    import torch
    from machine import machine

    if options.cpu_time:
        Clock.now = time.process_time
    os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    found: dict[str, Any] = {"version": VERSION, "machine": {**machine(), "load_before": os.getloadavg()[0]}}
    if not options.without_trl:
        try:
            import trl
        except ImportError:
            raise SystemExit(INSTALL) from None
        found["machine"]["packages"]["trl"] = trl.__version__
    return {**found, "threads": options.threads, "repeat": options.repeat, "cpu_time": options.cpu_time}


def end(found: Mapping[str, Any], table: str, out: Path | None) -> None:
    """Print the table, and write the results."""
    print(table)
    if out is not None:
        out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def results(name: str) -> Mapping[str, Any]:
    """The last results of a benchmark."""
    file = RESULTS / f"{name}.json"
    try:
        found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SystemExit(f"{file} is not there; measure first: python benchmarks/{name}.py --out {file}") from None
    if found["version"] != VERSION:
        raise SystemExit(
            f"{file} is of version {found['version']}; measure again: python benchmarks/{name}.py --out {file}"
        )
    return found


def render(mark: str, table: str) -> None:
    """Replace what stands between a benchmark's marks on the documentation page."""
    first, last = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(first)
    PAGE.write_text(f"{before}{first}\n{table}\n{last}{rest.partition(last)[2]}", encoding="utf-8")


def setting(found: Mapping[str, Any]) -> str:
    """A sentence on machine, versions and repeats."""
    machine = found["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"{'CPU time, ' if found['cpu_time'] else ''}{found['threads']} thread(s) for all, medians of {found['repeat']} runs in turn, and the range of the ratios of neighbouring runs."
        f" {machine['cpu']}; {packages}. Load average when it began: {machine['load_before']:.1f}."
    )


def row(cells: Sequence[str], rates: Mapping[str, Rates], other: str) -> str:
    """A line of a table: coplay against another."""
    ours, theirs = rates["coplay"], rates[other]
    ratios = [one / two for one, two in zip(ours, theirs, strict=True)]
    middle = f"{_rate(ours)} | {other} {_rate(theirs)}"
    ratio = f"**{statistics.median(ratios):.1f}** | {min(ratios):.1f} to {max(ratios):.1f}"
    return f"| {' | '.join(cells)} | {middle} | {ratio} |"


def _rate(rates: Rates) -> str:
    """The median, with as many digits as tell slow ones apart."""
    return f"{statistics.median(rates):,.{0 if min(rates) > 10 else 2}f}"


HEAD = ("| coplay | other | ratio | over runs |", "|---|---|---|---|")
"""The columns that :func:`row` adds."""


# ---------------------------------------------------------------------- measuring


class Clock:
    """What time is measured by."""

    now: Callable[[], float] = time.perf_counter


def in_turn(jobs: Mapping[str, Job], repeat: int) -> dict[str, Rates]:
    """Run jobs one after the other, again and again, after a first time that does not count."""
    for job in jobs.values():
        job()
    found: dict[str, Rates] = {name: [] for name in jobs}
    for _ in range(repeat):
        for name, job in jobs.items():
            found[name].append(rate(job))
    return found


def rate(job: Job) -> float:
    """Work per second."""
    start = Clock.now()
    done = job()
    return done / (Clock.now() - start)


def play(state: Any, player: Any, count: int, rounds: int) -> list[Any]:
    """The first so many of a trial's games, the player in every seat."""
    from coplay.games.records import Occupant
    from coplay.play.loop import StreamNames, Table, play_episode

    seated = dict.fromkeys(state.game.seats, Occupant(player, player.name, SLOT))
    tables = [Table(state.game, 0, index // state.config.group_size, index, seated) for index in range(count)]
    return play_episode(state.game, tables, rounds=rounds, streams=StreamNames(("benchmark",)))


def reply_tokens(games: Sequence[Any]) -> int:
    """Tokens of all replies of these games."""
    return sum(len(turn.reply.tokens) for game in games for own in game.turns.values() for turn in own)


class RowByRow:
    """A player that asks ``transformers.generate`` for one reply after the other."""

    name = "row by row"

    def __init__(self, player: Any) -> None:
        self.player, self.memory, self.model = player, player.memory, player.loaded.model

    def act(self, requests: Sequence[Any]) -> list[Any]:
        """See :class:`coplay.players.base.Player`."""
        import torch

        from coplay.games.records import Reply
        from coplay.models.loading import encode

        replies = []
        for request in requests:
            prompt = encode(self.player.loaded.tokenizer, self.player.request_text(request))
            torch.manual_seed(request.game)
            with torch.no_grad(), self.player.scorer.bank.route([SLOT]):
                ids = torch.tensor([prompt])
                out = self.model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=True,
                    temperature=self.player.temperature,
                    top_k=0,
                    max_new_tokens=self.player.max_tokens,
                    eos_token_id=sorted(self.player.stop),
                    pad_token_id=0,
                )
            tokens = out[0, len(prompt) :].tolist()
            text = self.player.decode([token for token in tokens if token not in self.player.stop])
            replies.append(Reply(text, self.player.game.parse_action(request, text), tuple(tokens)))
        return replies


# ---------------------------------------------------------------------- training


def training(state: Any, options: argparse.Namespace, *, batch: int) -> dict[str, Rates]:
    """Tokens of replies per second of whole training steps, sampling and update: coplay's trials and TRL's steps in turn.

    Args:
        state: a training state with one seed.
        options: repeats, and whether TRL takes part.
        batch: replies that TRL computes gradients of at a time.
    """
    trials = iter(range(1, 10**6))

    def trial() -> float:
        return float(state.run_trial(next(trials)).lines[0][f"tokens/{LEARNER}"])

    if options.without_trl:
        return in_turn({"coplay": trial}, options.repeat)
    trial()
    ours: Rates = []
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = trl_steps(state, options.repeat, batch=batch, before=lambda: ours.append(rate(trial)))
    return {"coplay": ours, "TRL": theirs}


def trl_steps(state: Any, repeat: int, *, batch: int, before: Callable[[], None]) -> Rates:
    """Tokens of replies per second of each of TRL's steps but the first: prompts of one trial, as many replies, one optimiser step for them all.

    Not as TRL's defaults have it: single precision, and no gradient checkpointing, which cost time on a small model on a CPU and gain nothing.

    Args:
        state: the training state whose game, model, adapter and sampling are TRL's too.
        repeat: how many steps are timed.
        batch: replies that it computes gradients of at a time.
        before: called before each of these steps.
    """
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from coplay.models.loading import model_path

    config, player = state.config, state.learners[LEARNER].player
    path, adapter = model_path(config.model), config.adapter
    prompts = _prompts(state, player)
    passes = -(-len(prompts) // batch)
    size = max(GROUP, len(prompts) // passes // GROUP * GROUP)
    asked = Random(0).sample(
        prompts, size * passes // GROUP
    )  # in games' order, every eighth prompt might be of one round
    found: Rates = []
    lengths: list[int] = []

    class Steps(TrainerCallback):  # type: ignore[misc]
        """Times each optimiser step with the sampling before it."""

        def on_step_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step:
                before()
            lengths.clear()
            self.start = Clock.now()

        def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step > 1:
                found.append(sum(lengths) / (Clock.now() - self.start))

    def reward(completions: Sequence[str], completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
        lengths.extend(map(len, completion_ids))
        return [float(len(text) % 7) for text in completions]

    logging.getLogger("transformers").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch:
        GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(path),
            processing_class=AutoTokenizer.from_pretrained(path),
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": asked * (repeat + 1)}),
            callbacks=[Steps()],
            peft_config=LoraConfig(
                r=adapter.rank, lora_alpha=adapter.alpha, target_modules=list(adapter.targets), task_type="CAUSAL_LM"
            ),
            args=GRPOConfig(
                output_dir=scratch,
                per_device_train_batch_size=size,
                gradient_accumulation_steps=passes,
                num_generations=GROUP,
                max_completion_length=player.max_tokens,
                max_steps=repeat + 1,
                beta=config.learners[LEARNER].group.kl_coef,
                temperature=player.temperature,
                bf16=False,
                gradient_checkpointing=False,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            ),
        ).train()
    return found


def _prompts(state: Any, player: Any) -> list[str]:
    """What the learner is asked in one trial, as text."""
    learner = state.learners[LEARNER]
    collected: list[Any] = []
    collect, learner.collect = learner.collect, collected.extend
    try:
        state.run_trial(0)
    finally:
        learner.collect = collect
    turns = [turn for game in collected for seat in game.seats_of(LEARNER) for turn in game.turns[seat]]
    return [player.decode(turn.reply.prompt) for turn in turns]
