"""A trial: episodes played, two clocks on which learners update, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coplay.arena import Arena
from coplay.metrics import episode_record, play_metrics, update_metrics
from coplay.play import RoundClock, Table, play_episode
from coplay.types import Episode, Trial

if TYPE_CHECKING:
    from coplay.algorithms.base import Occasion, UpdateMetrics


def run_trial(arena: Arena, tables: list[Table], trial: int) -> Trial:
    """One trial of every seed: E episodes, with each learner updating on its own clock.

    Learners that are reset every trial start it as they started the run.
    The games for reading are the first and last episode of each seed's first table.
    """
    config, game = arena.config, arena.game
    updates: dict[str, list[UpdateMetrics]] = {seat: [] for seat in arena.learners}
    played = []
    shown = []
    for table in tables:
        table.start_trial()
    arena.start_trial()
    for learner in arena.learners.values():
        learner.forget()  # a resumed run has nothing remembered, and must end with the same files
    for episode in range(config.episodes):
        games = play_episode(
            tables,
            arena.players,
            rounds=config.rounds,
            occasion=("train", trial, episode),
            after_round=_round_clock(arena, (trial, episode), updates),
        )
        played += games
        if episode in (0, config.episodes - 1):
            shown += [
                episode_record(game, arena.players, g, step=trial + 1, number=episode + 1) for g in games if g.game == 0
            ]
        for seat, learner in arena.learners.items():  # all collect before any learns: see Learner
            if config.seats[seat].update in ("episode", "trial"):
                learner.collect(games)
        _learn(arena, "episode", (trial, episode), updates)
    _learn(arena, "trial", (trial,), updates)
    lines: dict[int, dict[str, Any]] = {}
    for seed in config.seeds:
        lines[seed] = dict(play_metrics(game, [g for g in played if g.seed == seed]))
        for seat, of_seat in updates.items():
            lines[seed] |= update_metrics(seat, [update[seed] for update in of_seat])
    return Trial(lines, shown)


def _learn(arena: Arena, clock: str, occasion: Occasion, updates: dict[str, list[UpdateMetrics]]) -> None:
    """Update the learners whose clock this is."""
    for seat, learner in arena.learners.items():
        if arena.config.seats[seat].update == clock:
            updates[seat].append(learner.update(occasion))


def _round_clock(arena: Arena, occasion: Occasion, updates: dict[str, list[UpdateMetrics]]) -> RoundClock | None:
    """What to do after each round; None if no learner updates so often."""
    config = arena.config
    learners = [learner for seat, learner in arena.learners.items() if config.seats[seat].update == "round"]
    if not learners:
        return None

    def after_round(number: int, games: Sequence[Episode]) -> None:
        latest = [game.latest_round(finished=number == config.rounds - 1) for game in games]
        for learner in learners:
            learner.collect(latest)
        _learn(arena, "round", (*occasion, number), updates)

    return after_round
