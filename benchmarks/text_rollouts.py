"""Games with text: coplay's rollouts and training beside the straightforward ways, on one machine in one run.

    python benchmarks/text_rollouts.py --out benchmarks/results/text_rollouts.json
    python benchmarks/text_rollouts.py --render    # those results into docs/benchmarks.md

Rollouts are compared with ``transformers.generate`` row by row, which is how a loop over games is written first; training with TRL's
``GRPOTrainer`` on the same model, the same adapter, the same prompts and as many replies of as many tokens (``pip install 'coplay[bench]'``; left
out if TRL is not there). Ratios of one run count; seconds are for orientation.
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
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

GAMES = ("ipd-ab", "split-no-comm", "trust-and-split")

LEARNER = "learner"
"""What the recipes call the only learner, which fills both seats."""

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results" / "text_rollouts.json"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
BEGIN, END = "<!-- text rollouts: begin -->", "<!-- text rollouts: end -->"

SLOT = 0
"""The slot of the only seed's adapter."""

TRL_BATCH = 64
"""Replies that TRL scores at a time, as many as coplay."""

TRL_GROUP = 8
"""Replies to each prompt that TRL compares."""


def main() -> None:
    options = _arguments()
    if options.render:
        render()
        return
    import torch
    from trial import machine

    load = os.getloadavg()[0]

    torch.set_num_threads(options.threads)
    found: dict[str, Any] = {
        "version": 1,
        "machine": {**machine(), "load_before": load},
        "threads": options.threads,
        "games": options.games,
        "rounds": options.rounds,
        "rollouts": {game: rollouts(game, options) for game in GAMES},
        "training": {game: training(game, options) for game in GAMES},
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["machine"]["packages"]["trl"] = metadata.version("trl")
    print(table(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def state_of(game: str, options: argparse.Namespace) -> Any:
    """The recipe's training state with one seed."""
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_values
    from coplay.runs.factory import build

    values = {
        "seeds": [0],
        "games": options.games,
        "rounds": options.rounds,
        "threads": options.threads,
        "model": options.model,
        "workers": 1,
    }
    return build(with_values(make_config(f"adalign/{game}-grpo"), values))


def timed(job: Callable[[], Any], *, repeat: int) -> tuple[float, Any]:
    """Median seconds of several runs after a first one that does not count, and what the last returned."""
    job()
    seconds, found = [], None
    for _ in range(repeat):
        begin = time.perf_counter()
        found = job()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), found


# ---------------------------------------------------------------------- rollouts


def rollouts(game: str, options: argparse.Namespace) -> dict[str, float]:
    """Games per second of coplay, and of a loop that generates reply by reply."""
    state = state_of(game, options)
    player = state.learners[LEARNER].player
    ours, _ = timed(lambda: play(state, player, options.games, options.rounds), repeat=options.repeat)
    few, slow = max(1, options.games // 8), RowByRow(player)
    theirs, _ = timed(lambda: play(state, slow, few, options.rounds), repeat=1)
    return {"coplay": options.games / ours, "row by row": few / theirs}


def play(state: Any, player: Any, count: int, rounds: int) -> list[Any]:
    """The first so many of a trial's games, the player in every seat."""
    from coplay.games.records import Occupant
    from coplay.play.loop import StreamNames, Table, play_episode

    seated = dict.fromkeys(state.game.seats, Occupant(player, player.name, SLOT))
    tables = [Table(state.game, 0, index // state.config.group_size, index, seated) for index in range(count)]
    return play_episode(state.game, tables, rounds=rounds, streams=StreamNames(("benchmark",)))


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


def training(game: str, options: argparse.Namespace) -> dict[str, float]:
    """Reply tokens per second of whole training steps: sampling and the update."""
    state = state_of(game, options)
    seconds, trial = timed(lambda: state.run_trial(1), repeat=options.repeat)
    tokens = trial.lines[0][f"tokens/{LEARNER}"]
    found = {"coplay": tokens / seconds}
    with contextlib.suppress(ImportError):
        found["TRL"] = trl(state, options)
    return found


def trl(state: Any, options: argparse.Namespace) -> float:
    """The same by TRL: the prompts of one trial, as many replies, one optimiser step for all of them."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from coplay.models.loading import model_path

    player = state.learners[LEARNER].player
    replies = []
    for game in play(state, player, options.games, options.rounds):
        turns = {seat: iter(own) for seat, own in game.turns.items()}
        replies += [next(turns[act.seat]).reply for one in game.rounds for act in one.acts]
    wanted = max(TRL_BATCH, len(replies) // TRL_BATCH * TRL_BATCH)
    prompts = [player.decode(reply.prompt) for reply in replies[::TRL_GROUP]]
    path, adapter = model_path(state.config.model), state.config.adapter
    lengths: list[int] = []
    seconds: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        """Seconds and tokens of each optimiser step with the sampling before it."""

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            lengths.clear()
            self.begin = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds.append(time.perf_counter() - self.begin)
            counted.append(sum(lengths))

    counted: list[int] = []

    def reward(completions: Sequence[str], completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
        lengths.extend(map(len, completion_ids))
        return [float(len(text) % 7) for text in completions]

    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
        logging.getLogger("transformers").setLevel(logging.ERROR)
        GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(path),
            processing_class=AutoTokenizer.from_pretrained(path),
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": prompts * 4}),
            callbacks=[Clock()],
            peft_config=LoraConfig(
                r=adapter.rank, lora_alpha=adapter.alpha, target_modules=list(adapter.targets), task_type="CAUSAL_LM"
            ),
            args=GRPOConfig(
                output_dir=scratch,
                per_device_train_batch_size=TRL_BATCH,
                gradient_accumulation_steps=wanted // TRL_BATCH,
                num_generations=TRL_GROUP,
                max_completion_length=player.max_tokens,
                max_steps=2,
                beta=state.config.learners[LEARNER].group.kl_coef,
                temperature=player.temperature,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                disable_tqdm=True,
            ),
        ).train()
    return counted[-1] / seconds[-1]


# ---------------------------------------------------------------------- telling


def render() -> None:
    """Rewrite the table of the documentation page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    machine = found["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        f"{found['games']} games of {found['rounds']} rounds, {found['threads']} thread(s) for all. {machine['cpu']}; {packages}. Load average"
        f" when it began: {machine['load_before']:.1f}.",
        "",
        "| what | game | coplay | other | ratio |",
        "|---|---|---|---|---|",
    ]
    for what, unit in (("rollouts", "games/s"), ("training", "reply tokens/s")):
        for game, numbers in found[what].items():
            for name, value in numbers.items():
                if name != "coplay":
                    ours = numbers["coplay"]
                    lines.append(
                        f"| {what}, {unit} | {game} | {ours:.2f} | {name} {value:.2f} | **{ours / value:.1f}** |"
                    )
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=64, help="games at a time (default: 64)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of a game (default: 10)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of coplay, the median counts (default: 3)")
    parser.add_argument("--model", default="tiny-talk", help="a model that comes with coplay, a directory or a Hub id")
    parser.add_argument("--out", type=Path, help="write JSON here as well")
    parser.add_argument("--render", action="store_true", help=f"put {RESULTS.name} into {PAGE.name}, measure nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
