"""How far a player can be steered if it goes on learning where it is deployed: by a shaper that commits to a policy, beside a naive co-player.

The player starts as it is audited, by its memory-one policy, and after each episode takes a step along the exact gradient of its own payoff per round.
The shaper does not learn: it is the best memory-one policy that a search finds (:mod:`coplay.learners.commitment`). The naive co-player starts uniform
and learns by the player's rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from coplay.auditing.conduct import ANY
from coplay.auditing.learning import Players, measures_of_seeds
from coplay.auditing.record import NAIVE, SHAPER, Kind, Measure
from coplay.errors import UsageError
from coplay.evaluation.match import play_match
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.games.records import Occupant
from coplay.players.named import make_player

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.learners.commitment import Rule


class Known(NamedTuple):
    """A player's memory-one policy."""

    policy_FA: Tensor
    """Its probabilities, [1 + n·m, A]."""
    counted: bool
    """Whether they were counted in games, as the player tells none or remembers more than the last round."""


def steering(
    game: Game, player: Players, seats: Sequence[str], *, rounds: int, episodes: int, seeds: Sequence[int]
) -> tuple[list[Measure], list[str]]:
    """What a shaper and a naive co-player take from the player while it learns, and notes on what that rests on.

    Args:
        game: the rules.
        player: who is steered.
        seats: the co-player's seats, in turn.
        rounds: T, the rounds of an episode.
        episodes: games in which the policy of a player is counted that tells no probabilities, or remembers more than the last round.
        seeds: one search each.

    Raises:
        UsageError: for games other than matrix games, saying so.
    """
    import torch

    from coplay.learners.commitment import Rule, best_commitment, course, learning_logits

    if not isinstance(game, MatrixGame):
        raise UsageError(f"{game.name!r} is no matrix game, in which alone the gradient of a payoff is exact")
    rule = Rule()
    took: dict[str, dict[int, list[float]]] = {SHAPER: {}, NAIVE: {}}
    got: dict[str, dict[int, list[float]]] = {SHAPER: {}, NAIVE: {}}
    counted = False
    for seat in seats:
        known = [_known(game, player(seed, game.other(seat)), seat, rounds, episodes, seed) for seed in seeds]
        counted = counted or any(one.counted for one in known)
        start_PFA = torch.stack([learning_logits(one.policy_FA) for one in known])
        uniform_PFA = torch.zeros(len(seeds), len(game.states) + 1, len(game.actions[seat]), dtype=torch.float64)
        learn = partial(course, game, seat, start_BFA=start_PFA, rounds=rounds, rule=rule)
        shaped_PFA = best_commitment(game, seat, start_PFA=start_PFA, rounds=rounds, rule=rule, seeds=seeds)
        committed, beside = learn(fixed_BFA=shaped_PFA), learn(fixed_BFA=uniform_PFA, naive=True)
        for name, one in ((SHAPER, committed), (NAIVE, beside)):
            for seed, taken, left in zip(seeds, one.shaper_B.tolist(), one.learner_B.tolist(), strict=True):
                took[name].setdefault(seed, []).append(taken)
                got[name].setdefault(seed, []).append(left)
    budget = {"episodes": rule.episodes}
    kinds: dict[str, Kind] = {SHAPER: "lower_bound", NAIVE: "estimate"}
    measures = [
        one
        for name, kind in kinds.items()
        for one in measures_of_seeds(name, budget, _means(took[name]), _means(got[name]), kind=kind)
    ]
    return measures, [_told(rule, counted=counted)]


def _known(game: MatrixGame, player: Occupant, seat: str, rounds: int, episodes: int, seed: int) -> Known:
    """The player's policy: told, or counted in games with a co-player that does anything."""
    from coplay.learners.memory_one import PolicyCounts, read_policy

    told = read_policy([player], game, game.other(seat), seeds=[seed])
    if told is not None:
        return Known(told[0], counted=False)
    seated = {game.other(seat): player, seat: Occupant(make_player(ANY, game, seat), ANY)}
    counts = PolicyCounts(game, game.other(seat), seeds=[seed])
    counts.add(play_match(game, seated, rounds=rounds, episodes=episodes, seed=seed).episodes)
    return Known(counts.policy()[0], counted=True)


def _means(values: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {seed: sum(own) / len(own) for seed, own in values.items()}


def _told(rule: Rule, *, counted: bool) -> str:
    """What the measures rest on."""
    learns = (
        f"with {SHAPER} and {NAIVE} the player learns: from its policy of one round's memory on, after each of {rule.episodes} episodes it takes"
        f" a step of {rule.learning_rate:g} along the exact gradient of its payoff per round; {SHAPER} keeps to one policy, {NAIVE} learns by"
        " the same rule"
    )
    from_games = f"; that policy was counted in games with {ANY}, and is the one most like what the player did"
    return learns + (from_games if counted else "")
