"""Replies that reason before they act: tokens per second of coplay's rollouts and training beside the straightforward ways.

    python benchmarks/reasoned_rollouts.py --out benchmarks/results/reasoned_rollouts.json
    python benchmarks/reasoned_rollouts.py --model smollm2 --games 8 --max-tokens 256

As ``text_rollouts.py``, on the prompts of ``ipd-8``, and in reply tokens per second for rollouts too: coplay ends a reply at its action, so it would
play more games in the same time whatever a token costs. What that check costs is measured as well: the same rollouts, whose replies are looked at
and go on. TRL is left out if it is not there (``pip install 'coplay[bench]'``). Ratios of one run count; seconds are for orientation.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from text_rollouts import LEARNER, RowByRow, play, timed, trl

GAME = "ipd-8"


def main() -> None:
    options = _arguments()
    import torch
    from trial import machine

    load = os.getloadavg()[0]
    torch.set_num_threads(options.threads)
    found: dict[str, Any] = {
        "version": 1,
        "machine": {**machine(), "load_before": load},
        **{
            name: getattr(options, name)
            for name in ("model", "threads", "games", "rounds", "max_tokens", "temperature")
        },
        "rollouts": rollouts(options),
        "looking for actions": looking(options),
        "training": training(options),
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["machine"]["packages"]["trl"] = metadata.version("trl")
    print(table(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def state_of(options: argparse.Namespace) -> Any:
    """A GRPO learner in both seats, with one seed."""
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_overrides, with_values
    from coplay.runs.factory import build

    values = {
        "game": GAME,
        "seeds": [0],
        "games": options.games,
        "rounds": options.rounds,
        "threads": options.threads,
        "model": options.model,
        "workers": 1,
    }
    learner = {"max_tokens": options.max_tokens, "temperature": options.temperature}
    config = with_values(make_config("adalign/ipd-ab-grpo"), values)
    return build(with_overrides(config, [f"{LEARNER}.{key}={value}" for key, value in learner.items()]))


def rollouts(options: argparse.Namespace) -> dict[str, float]:
    """Reply tokens per second of coplay, and of a loop that generates reply by reply."""
    state = state_of(options)
    player = state.learners[LEARNER].player
    ours = _speed(state, player, options.games, options.rounds, repeat=options.repeat)
    theirs = _speed(state, RowByRow(player), max(1, options.games // 8), options.rounds, repeat=1)
    return {"coplay": ours, "row by row": theirs}


def looking(options: argparse.Namespace) -> dict[str, float]:
    """Reply tokens per second of coplay where it looks for actions and goes on all the same, and where it does not look."""
    state = state_of(options)
    found = {}
    for name, looks in (("coplay", True), ("without", False)):
        with _going_on(looking=looks):
            player = state.learners[LEARNER].player
            found[name] = _speed(state, player, options.games, options.rounds, repeat=options.repeat)
    return found


def _speed(state: Any, player: Any, count: int, rounds: int, *, repeat: int) -> float:
    seconds, games = timed(lambda: play(state, player, count, rounds), repeat=repeat)
    return sum(len(turn.reply.tokens) for game in games for own in game.turns.values() for turn in own) / seconds


@contextlib.contextmanager
def _going_on(*, looking: bool) -> Iterator[None]:
    """Replies that do not end at their action, though perhaps it is looked for."""
    from coplay.players.completion import Completion

    of = Completion.of

    def never(self: Completion, requests: Sequence[Any], begun: Sequence[str]) -> Any:
        complete = of(self, requests, begun) if looking else None
        return None if complete is None else lambda row, tokens: complete(row, tokens) and False

    Completion.of = never  # type: ignore[method-assign]
    try:
        yield
    finally:
        Completion.of = of  # type: ignore[method-assign]


def training(options: argparse.Namespace) -> dict[str, float]:
    """Reply tokens per second of whole training steps: sampling and the update."""
    state = state_of(options)
    seconds, trial = timed(lambda: state.run_trial(1), repeat=options.repeat)
    found = {"coplay": trial.lines[0][f"tokens/{LEARNER}"] / seconds}
    with contextlib.suppress(ImportError):
        found["TRL"] = trl(state, options)
    return found


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        f"{GAME}, {found['model']}, {found['games']} games of {found['rounds']} rounds, at most {found['max_tokens']} tokens a reply, temperature"
        f" {found['temperature']:g}, {found['threads']} thread(s) for all. {found['machine']['cpu']}. Load average when it began:"
        f" {found['machine']['load_before']:.1f}.",
        "",
        "| what | coplay, reply tokens/s | other | ratio |",
        "|---|---|---|---|",
    ]
    for what in ("rollouts", "looking for actions", "training"):
        ours = found[what]["coplay"]
        lines += [
            f"| {what} | {ours:.0f} | {name} {value:.0f} | **{ours / value:.2f}** |"
            for name, value in found[what].items()
            if name != "coplay"
        ]
        if len(found[what]) == 1:
            lines.append(f"| {what} | {ours:.0f} | | |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=64, help="games at a time (default: 64)")
    parser.add_argument("--rounds", type=int, default=8, help="rounds of a game (default: 8)")
    parser.add_argument("--max-tokens", type=int, default=64, help="most tokens of a reply (default: 64)")
    parser.add_argument(
        "--temperature",
        type=float,
        default=2.0,
        help="sampling temperature (default: 2, so that the embedded model, which knows nothing of these prompts, gives long replies)",
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of coplay, the median counts (default: 3)")
    parser.add_argument("--model", default="tiny-talk", help="a model of `coplay models`, a directory or a Hub id")
    parser.add_argument("--out", type=Path, help="write JSON here as well")
    return parser.parse_args()


if __name__ == "__main__":
    main()
