"""Credit for a safety objective: payoff less penalties, each penalty credited to the games that earned it.

The objective (SEPO, equation 1) is, with means over rounds, games and co-players,

    J = mean over the train pool of (s u - lambda_x x) - lambda_e * mean over the exploit pool of s g - lambda_c * mean over the collusive pool of c

with s the payoff scale, g what the co-player gained, c and x the harms. Every game therefore has a reward of its own in each round, and J's gradient
is the sum over pools of the mean over its games of returns times the gradient of log pi: ``credit="rollout"``.

The published ways subtract P = lambda_e e + lambda_c c + lambda_x x from every round of the train pool's games instead. As one number, P is part of
every group's baseline and cancels exactly (``shared``, algorithm 1). As one number for each rollout, from games of its own (``auxiliary``), it does
not depend on the tokens it is credited to, and its expected gradient is zero. Derived, with an enumerated example, in docs/theory/safe_equilibrium.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.games.base import Game
from coplay.games.records import Episode
from coplay.games.safety import SafetyMeasures, co_players, objective, pool_of, safety_measures
from coplay.learners.settings import SafetyTerms

TRAIN, EXPLOIT, COLLUSIVE = "train", "exploit", "collusive"
"""The pools that are learnt from."""


@dataclass(frozen=True)
class SafetyGame:
    """One game as a safety objective sees it, from the seat of the learner."""

    pool: str
    """The pool its co-player is from."""
    co_player: str
    """The co-player."""
    group: int
    """The group it is in."""
    measures: SafetyMeasures
    """What was measured, round by round."""

    def gains(self, terms: SafetyTerms) -> tuple[float, ...]:
        """What the co-player gained in each round, by the objective's measure."""
        return self.measures.over_fair_T if terms.measure == "over_fair" else self.measures.over_agent_T


def safety_game(game: Game, episode: Episode, seat: str) -> SafetyGame:
    """What a safety objective needs of a game, from one of its seats."""
    measures = safety_measures(game, episode, seat)
    return SafetyGame(pool_of(episode, seat), co_players(episode, seat), episode.group, measures)


def safety_rewards(games: Sequence[SafetyGame], terms: SafetyTerms, *, rounds: int) -> Tensor:
    """The learner's reward of every round of every game, [B, T], in scaled payoffs; see the module.

    Derived in docs/theory/safe_equilibrium.md.

    Penalties of games of the exploit and the collusive pool are *not* weighted here but by :func:`pool_weights`: advantages may be divided by their
    group's deviation, in which a weight would cancel.

    Args:
        games: what was played.
        terms: the objective.
        rounds: T; shorter games are padded with zeros.
    """
    own = [_rewards_of(one, terms) for one in games]
    rewards_BT = torch.tensor([[*of_game, *[0.0] * (rounds - len(of_game))] for of_game in own], dtype=torch.float64)
    if terms.credit == "rollout":
        return rewards_BT
    penalties_B = torch.zeros(len(games), dtype=torch.float64)
    places = _places_in_group(games)
    for b, one in enumerate(games):
        if one.pool == TRAIN:
            auxiliary = [other for i, other in enumerate(games) if places[i] == places[b] and other.pool != TRAIN]
            penalties_B[b] = penalty(games if terms.credit == "shared" else auxiliary, terms)
    lengths_B1 = torch.tensor([[len(of_game)] for of_game in own])
    played_BT = torch.arange(rounds) < lengths_B1
    return rewards_BT - penalties_B[:, None] * played_BT


def penalty(games: Sequence[SafetyGame], terms: SafetyTerms) -> float:
    """P = lambda_e e + lambda_c c + lambda_x x, estimated from some games; the externality from those of the train pool, or from all if there are none.

    Derived in docs/theory/safe_equilibrium.md.
    """
    train = [one for one in games if one.pool == TRAIN] or list(games)
    return 0.0 - objective(
        pay=0.0,
        exploit=_exploit(games, terms),
        collusion=_collusion(games),
        externality=_externality(train),
        weights=terms.weights,
    )


def exploited_by(games: Sequence[SafetyGame], terms: SafetyTerms) -> dict[str, float]:
    """What each co-player of the exploit pool gained a round, on average over its games (SEPO, section 3.2: one by one, then averaged)."""
    found: dict[str, list[float]] = {}
    for one in games:
        if one.pool == EXPLOIT:
            found.setdefault(one.co_player, []).extend(one.gains(terms))
    return {name: _mean(gains) for name, gains in found.items()}


def pool_weights(games: Sequence[SafetyGame], terms: SafetyTerms) -> Tensor:
    """What a game's credit is multiplied by, [B]: its penalty's weight, and a factor that makes every pool count as one mean, whatever its number of games.

    Derived in docs/theory/safe_equilibrium.md.

    A game with weight 0 teaches nothing: with ``credit`` other than ``rollout`` all but those of the train pool, and with ``floor`` those with a
    co-player of the exploit pool that gained nothing.
    """
    counts = {pool: sum(one.pool == pool for one in games) for pool in (TRAIN, EXPLOIT, COLLUSIVE)}
    gains = exploited_by(games, terms)

    def weight(one: SafetyGame) -> float:
        if one.pool == TRAIN:
            return 1.0
        if terms.credit != "rollout" or one.pool not in counts:
            return 0.0
        if one.pool == COLLUSIVE:
            return terms.collusion
        return 0.0 if terms.floor and gains[one.co_player] <= 0 else terms.exploit

    return torch.tensor([weight(one) * len(games) / counts.get(one.pool, 1) for one in games], dtype=torch.float64)


def safety_metrics(games: Sequence[SafetyGame], terms: SafetyTerms) -> dict[str, float]:
    """The objective and its terms as these games show them: ``pay``, ``exploit``, ``collusion``, ``externality`` and ``safety``, in scaled payoffs.

    Derived in docs/theory/safe_equilibrium.md.
    """
    train = [one for one in games if one.pool == TRAIN]
    pay = _mean([x for one in train for x in one.measures.payoff_T])
    return {
        "pay": pay,
        "exploit": _exploit(games, terms),
        "collusion": _collusion(games),
        "externality": _externality(train),
        "safety": pay - penalty(games, terms),
    }


def _exploit(games: Sequence[SafetyGame], terms: SafetyTerms) -> float:
    return _mean([max(0.0, gain) if terms.floor else gain for gain in exploited_by(games, terms).values()])


def _collusion(games: Sequence[SafetyGame]) -> float:
    return _mean([x for one in games if one.pool == COLLUSIVE for x in one.measures.collusion_T])


def _externality(games: Sequence[SafetyGame]) -> float:
    return _mean([x for one in games for x in one.measures.externality_T])


def _rewards_of(one: SafetyGame, terms: SafetyTerms) -> list[float]:
    measures = one.measures
    if one.pool == EXPLOIT:
        return [-gain for gain in one.gains(terms)]
    if one.pool == COLLUSIVE:
        return [-collusion for collusion in measures.collusion_T]
    price = terms.externality if terms.credit == "rollout" else 0.0
    return [payoff - price * x for payoff, x in zip(measures.payoff_T, measures.externality_T, strict=True)]


def _places_in_group(games: Sequence[SafetyGame]) -> list[int]:
    """The place of each game within its group: rollouts of one place belong together."""
    seen: dict[int, int] = {}
    places = []
    for one in games:
        places.append(seen.get(one.group, 0))
        seen[one.group] = places[-1] + 1
    return places


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
