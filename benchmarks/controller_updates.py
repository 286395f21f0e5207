"""Updates of a learned mediator: five seeds in one pass against a plain PyTorch loop of the same network on the same games.

    python benchmarks/controller_updates.py [--threads 1] [--repeat 5] [--out benchmarks/results/controller_updates.json]

An update is Table 4's (Learning to Mediate Equilibrium Selection in LLM Games): 20 episodes of 5 rounds a seed, 4 epochs, minibatches of 64, a network
of 256, 128 and 64 with LayerNorm. The plain loop comes in three forms, by what goes through its network at a time: one step, one episode, or one
minibatch of one seed. All start from the same weights and see the same games; the benchmark checks that they end with the same ones.
Times are CPU times of this process, all loops in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from machine import machine
from plain_controller import Per, PlainController, Step, sequential
from torch import nn

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant
from coplay.learners.ppo import PPOLearner
from coplay.learners.presets import CONTROLLER
from coplay.models.threads import keep_freed_memory
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.named import make_player
from coplay.players.network import NetworkPolicy
from coplay.rng import stream
from coplay.runs.workers import collect_seldom

GAME, SEAT = "ipd-3:talk=0+mediator", "mediator"
SEEDS, GAMES, ROUNDS, HIDDEN = (0, 1, 2, 3, 4), 20, 5, (256, 128, 64)
NAME = "mediator"


def fresh(game: Game, seeds: Sequence[int] = SEEDS) -> PPOLearner:
    """The learner before any update."""
    policy = NetworkPolicy(NAME, NAME, game, [SEAT], Memory.WINDOW, window=3, hidden=HIDDEN, seeds=seeds)
    return PPOLearner(NAME, policy, seeds=seeds, slots=range(len(seeds)), ppo=CONTROLLER)


def played(game: Game, learner: PPOLearner, number: int) -> list[Episode]:
    """The episodes of an update of every seed."""
    others = {seat: Occupant(make_player("random:0.5", game, seat), "random") for seat in game.seats if seat != SEAT}
    tables = [
        Table(game, seed, index, index, {**others, SEAT: Occupant(learner.player, NAME, slot, NAME)})
        for seed, slot in learner.slots.items()
        for index in range(GAMES)
    ]
    return play_episode(game, tables, rounds=ROUNDS, streams=StreamNames(("train", number)))


def steps_of(episode: Episode) -> list[Step]:
    """An episode as the plain loop keeps it."""
    return [
        Step(turn.reply.features, turn.reply.tokens[0], payoff, sum(turn.reply.logprobs), turn.reply.value or 0.0)
        for turn, payoff in episode.scored_turns(SEAT)
    ]


def plain_loops(learner: PPOLearner, per: Per) -> list[PlainController]:
    """A plain controller for each seed, with the learner's weights."""
    found = []
    for position, slot in enumerate(learner.slots.values()):
        network = sequential(learner.player.slot_state(slot), HIDDEN)
        head = learner.heads.weights.detach()[position]
        critic = nn.Linear(HIDDEN[-1], 1)
        with torch.no_grad():
            critic.weight.copy_(head[None, :-1])
            critic.bias.copy_(head[-1:])
        found.append(PlainController(network, critic, CONTROLLER, per=per))
    return found


def timed(work: Callable[[], None]) -> float:
    """CPU seconds."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def one_repeat(game: Game, number: int) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds of an update of all seeds in each loop; and how far each plain loop's outputs end from coplay's."""
    learner = fresh(game)
    loops = {per: plain_loops(learner, per) for per in get_args(Per)}
    episodes = played(game, learner, number)
    own = {seed: [steps_of(one) for one in episodes if one.seed == seed] for seed in SEEDS}
    orders = {
        seed: [
            stream(seed, "minibatch", NAME, number, epoch).permutation(GAMES * ROUNDS)
            for epoch in range(CONTROLLER.epochs)
        ]
        for seed in SEEDS
    }

    def coplay() -> None:
        learner.collect(episodes)
        learner.update((number,))

    def plain(per: Per) -> None:
        for seed, controller in zip(SEEDS, loops[per], strict=True):
            controller.learn(own[seed], orders[seed])

    seconds = {"coplay": timed(coplay)}
    seconds |= {per: timed(lambda per=per: plain(per)) for per in get_args(Per)}  # type: ignore[misc]
    return seconds, {per: _distance(learner, loops[per], episodes) for per in get_args(Per)}


def _distance(learner: PPOLearner, loops: Sequence[PlainController], episodes: Sequence[Episode]) -> float:
    """The largest difference of a log-probability."""
    most = 0.0
    for seed, slot, loop in zip(SEEDS, learner.slots.values(), loops, strict=True):
        turns = [turn for one in episodes if one.seed == seed for turn in one.turns[SEAT]]
        with torch.no_grad():
            ours = learner.policy.score_replies([slot] * len(turns), turns).logprobs_R
            logits = loop.actor(loop.trunk(torch.tensor([turn.reply.features for turn in turns])))
            theirs = torch.log_softmax(logits, -1)[range(len(turns)), [turn.reply.tokens[0] for turn in turns]]
        most = max(most, float((ours - theirs).abs().max()))
    return most


def measured(repeat: int) -> dict[str, Any]:
    """All loops in turn, after one round to warm up."""
    game = make_game(GAME)
    one_repeat(game, 0)
    runs = [one_repeat(game, 1 + number) for number in range(repeat)]
    seconds = {name: [run[0][name] for run in runs] for name in runs[0][0]}
    return {"seconds": seconds, "largest_difference": {per: max(run[1][per] for run in runs) for per in get_args(Per)}}


def table(found: Mapping[str, Any]) -> str:
    """A line for each loop."""
    seconds = found["seconds"]
    lines = ["| loop | CPU time of an update of five seeds | times coplay's | over repeats |", "|---|---|---|---|"]
    for name, times in seconds.items():
        ratios = [slow / fast for slow, fast in zip(times, seconds["coplay"], strict=True)]
        words = "coplay" if name == "coplay" else f"plain, one {name} at a time"
        lines.append(
            f"| {words} | {1000 * statistics.median(times):.1f} ms | {statistics.median(ratios):.1f} |"
            f" {min(ratios):.1f} to {max(ratios):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of all (default: 1)")
    parser.add_argument(
        "--repeat", type=int, default=5, help="runs of each, in turn, after one to warm up (default: 5)"
    )
    parser.add_argument("--out", type=Path, help="write JSON here as well")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # these two as a run does; they help the plain loops as well
    collect_seldom()
    load = os.getloadavg()[0]
    found = {
        "version": 1,
        "machine": machine(),
        "load_before": load,
        "threads": options.threads,
        "game": GAME,
        **measured(options.repeat),
    }
    print(table(found))
    print("largest difference of a log-probability after an update:", found["largest_difference"])
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
