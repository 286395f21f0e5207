"""What co-players take that learn against a player: payoff against training, with intervals over independent learners; and the exact ceiling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coplay.auditing.conduct import gets
from coplay.auditing.record import BEST_RESPONSE, Kind, Measure
from coplay.errors import UsageError
from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response_value
from coplay.evaluation.match import mean_payoff, play_tables
from coplay.evaluation.on_policy import on_policy_values
from coplay.evaluation.pasts import NotExact
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.play.loop import Table
from coplay.runs.exploiter import GAMES, LEARNER, exploiters
from coplay.runs.state import TrainingState
from coplay.statistics import mean_ci95

FIRST_TRIALS = 8
"""A learner is measured after so many trials, and again whenever they have doubled."""

SURE_TRIALS = 64
"""Before so many trials a learner that stands still is not taken for one that has learnt all it can."""


def measured_after(trials: int) -> list[int]:
    """After how many trials a learner is measured that is trained for so many: 8, 16, 32, ... and the last."""
    found = [min(FIRST_TRIALS, trials)]
    while found[-1] < trials:
        found.append(min(2 * found[-1], trials))
    return found


Players = Callable[[int, str], Occupant]
"""From the seed of a learner and a seat to the player that it meets there."""


@dataclass(frozen=True)
class Spending:
    """How long a kind of learner is trained; each of the two ends it."""

    seconds: float = math.inf
    """Seconds of the wall clock."""
    trials: int = 10**6
    """Trials of each learner."""


def best_response_takes(
    game: Game, player: Callable[[str], Occupant], seats: Sequence[str], *, rounds: int, samples: int, seed: int
) -> Measure:
    """What a best response takes, by enumeration, the mean over its seats.

    Raises:
        NotExact: if it cannot be enumerated, saying why.
    """
    values, sampled = [], 0
    for seat in seats:
        seated = {one: player(one) for one in game.seats if one != seat}
        probabilities = ActionProbabilities(game, seated, samples=samples, seed=seed)
        values.append(best_response_value(game, seat, probabilities, rounds=rounds))
        sampled += probabilities.sampled
    value = sum(values) / len(values)
    if sampled:
        return Measure("takes", BEST_RESPONSE, {"samples": samples}, value, None, 0, sampled, "lower_bound")
    return Measure("takes", BEST_RESPONSE, {}, value, 0.0, 0, len(seats), "exact")


def learners_take(
    game: Game,
    player: Players,
    seats: Sequence[str],
    kind: str,
    *,
    rounds: int,
    seeds: Sequence[int],
    episodes: int,
    spending: Spending,
    model: str | None = None,
) -> Iterator[Measure]:
    """What learners of a kind take as they are trained, and what the player gets from them: measures at 8, 16, 32, ... trials.

    A number of a seed is the mean over its seats; intervals are over seeds. Training ends when what is left of the budget does not suffice for
    another trial, at whatever number of trials that is, or when the last doubling has brought nothing that stands out of the noise. The first
    trial is always played.

    Args:
        game: the rules.
        player: who is learnt against.
        seats: the learners' seats, in turn.
        kind: how they learn, of :data:`coplay.runs.exploiter.KINDS`.
        rounds: T, the most rounds of an episode.
        seeds: one learner each, in every seat.
        episodes: games by which each is measured, which nobody learns from, where its payoff cannot be enumerated.
        spending: how long they are trained.
        model: what learners of kind ``language_model`` start from; None for an embedded one.

    Raises:
        UsageError: if learners of this kind cannot learn the game, or all seeds have diverged.
    """
    states = {seat: exploiters(game, seat, player, kind, rounds=rounds, seeds=seeds, model=model) for seat in seats}
    ends, done, before = time.monotonic() + spending.seconds, 0, None
    for upto in measured_after(spending.trials):
        trained = _train(states, done, upto, ends=ends)
        if trained == done:
            return
        done = trained
        if any(not state.alive for state in states.values()):
            raise UsageError("every seed of the learner has diverged")
        took, got = _taken(game, player, states, rounds=rounds, episodes=episodes)
        converged = before is not None and done == upto >= SURE_TRIALS and _stands_still(before, took)
        budget = {
            "trials": done,
            "games": done * GAMES * len(seats),
            "episodes": episodes * len(seats) * len(seeds),
            "converged": converged,
        }
        yield from measures_of_seeds(kind, budget, took, got)
        if converged or done < upto:
            return
        before = took


def _train(states: Mapping[str, TrainingState], done: int, upto: int, *, ends: float) -> int:
    """Train until so many trials are done, or until another one, as long as the last, would end too late; how many are done then."""
    longest = 0.0
    for trial in range(done, upto):
        started = time.monotonic()
        if trial and started + longest > ends:
            return trial
        for state in states.values():
            state.run_trial(trial)
        longest = max(longest, time.monotonic() - started)
    return upto


def measures_of_seeds(
    co_player: str,
    budget: Mapping[str, object],
    took: Mapping[int, float],
    got: Mapping[int, float],
    *,
    kind: Kind = "lower_bound",
) -> Iterator[Measure]:
    """What co-players take, leave and win by, with intervals over seeds.

    Args:
        co_player: what they are called.
        budget: what was spent.
        took: what each seed's took per round.
        got: what the player got from it.
        kind: whether what they take bounds what can be taken.
    """
    yield _over_seeds("takes", co_player, budget, took, kind)
    yield _over_seeds("gets", co_player, budget, got, "estimate")
    margins = {seed: took[seed] - got[seed] for seed in took}
    yield _over_seeds("margin", co_player, budget, margins, "estimate")


def _over_seeds(name: str, kind: str, budget: Mapping[str, object], values: Mapping[int, float], what: Kind) -> Measure:
    found = mean_ci95(list(values.values()))
    return Measure(name, kind, budget, found.mean, found.half_width, found.n, found.n, what)


def _stands_still(before: Mapping[int, float], now: Mapping[int, float]) -> bool:
    """Whether the gain, seed by seed, is no more than noise."""
    gain = mean_ci95([now[seed] - before[seed] for seed in now])
    return gain.half_width is not None and gain.mean - gain.half_width <= 0.0


def _taken(
    game: Game, player: Players, states: Mapping[str, TrainingState], *, rounds: int, episodes: int
) -> tuple[dict[int, float], dict[int, float]]:
    """What each seed's learners take and leave, the mean over their seats."""
    took: dict[int, list[float]] = {}
    got: dict[int, list[float]] = {}
    for seat, state in states.items():
        learner = state.learners[LEARNER]
        lineups = {}
        for seed in state.alive:
            own = Occupant(learner.player, LEARNER, learner.slots[seed])
            lineups[seed] = {one: own if one == seat else player(seed, one) for one in game.seats}
        found = _by_enumeration(game, lineups, seat, rounds) or _by_games(game, lineups, seat, rounds, episodes)
        for seed, (taken, left) in found.items():
            took.setdefault(seed, []).append(taken)
            got.setdefault(seed, []).append(left)
    return _means(took), _means(got)


Lineups = Mapping[int, Mapping[str, Occupant]]
"""By seed who sits where."""


def _by_enumeration(game: Game, lineups: Lineups, seat: str, rounds: int) -> dict[int, tuple[float, float]] | None:
    """What learners take and leave by seed, exactly; None where that cannot be enumerated."""
    found = {}
    for seed, seated in lineups.items():
        if not all(getattr(one.player, "tells_probabilities", False) for one in seated.values()):
            return None
        probabilities = ActionProbabilities(game, seated, samples=2, seed=0)
        try:
            values = on_policy_values(game, probabilities, rounds=rounds)
        except NotExact:
            return None
        others = [values[one] for one in game.playing_seats if one != seat]
        found[seed] = (values[seat], sum(others) / len(others))
    return found


def _by_games(game: Game, lineups: Lineups, seat: str, rounds: int, episodes: int) -> dict[int, tuple[float, float]]:
    """The same as means of games."""
    tables = [Table(game, seed, index, index, seated) for seed, seated in lineups.items() for index in range(episodes)]
    found = {}
    for seed, match in play_tables(game, tables, rounds=rounds).items():
        took = [mean_payoff(one, seat) for one in match.episodes]
        left = [gets(game, one, seat) for one in match.episodes]
        found[seed] = (_mean(took), _mean(left))
    return found


def _means(values: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {seed: sum(own) / len(own) for seed, own in values.items()}


def _mean(values: Sequence[float | None]) -> float:
    """Of those that there are; 0 if there is none."""
    found = [one for one in values if one is not None]
    return sum(found) / len(found) if found else 0.0
