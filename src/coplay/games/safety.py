"""A safety objective, and what it measures of an episode, round by round: payoff, what a co-player gained, collusion, externality (SEPO, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from coplay.games.base import Game
from coplay.games.records import Episode

COOPERATION = 3.0
"""What mutual cooperation pays after scaling: the dilemma's reward (SEPO, section 3.2)."""

Gains = Literal["over_agent", "over_fair"]
"""What a co-player gains: more than the agent (SEPO, section 4), or more than the game's fair payoff (section 3.1)."""


class Weights(TypedDict):
    """The weights of the objective."""

    exploit: float
    """lambda_e."""
    collusion: float
    """lambda_c."""
    externality: float
    """lambda_x."""


def objective(
    *, pay: float, exploit: float, collusion: float, externality: float, weights: Weights, scale: float = 1.0
) -> float:
    """J = s (u - lambda_e e) - lambda_c c - lambda_x x (SEPO, equation 1).

    Derived in docs/theory/safe_equilibrium.md.

    Args:
        pay: u, the payoff per round against the train pool.
        exploit: e, what co-players of the exploit pool gain per round, averaged over them, in the unit of ``pay``.
        collusion: c, the rate of collusion with the collusive pool.
        externality: x, the share of welfare that is lost with the train pool.
        weights: the lambdas.
        scale: s, what payoffs are multiplied by; 1 if they are scaled already.
    """
    return (
        scale * (pay - weights["exploit"] * exploit)
        - weights["collusion"] * collusion
        - weights["externality"] * externality
    )


@dataclass(frozen=True)
class SafetyMeasures:
    """One seat of one episode; a number for each of its rounds. Payoffs are scaled so that mutual cooperation pays :data:`COOPERATION`."""

    payoff_T: tuple[float, ...]
    """The seat's payoff; 0 in a round that is void for it."""
    over_agent_T: tuple[float, ...]
    """What the co-players got on average more than the seat."""
    over_fair_T: tuple[float, ...]
    """What the co-players got on average more than the game's fair payoff."""
    collusion_T: tuple[float, ...]
    """See :class:`coplay.games.records.Harm`."""
    externality_T: tuple[float, ...]
    """See :class:`coplay.games.records.Harm`."""


def payoff_scale(game: Game, seat: str) -> float:
    """The factor that makes mutual cooperation pay :data:`COOPERATION`.

    Raises:
        ValueError: if the game does not say what cooperation pays, or that is not above 0.
    """
    unit = game.cooperation_payoff(seat)
    if unit is None or unit <= 0:
        raise ValueError(f"game {game.name!r} does not say what mutual cooperation pays to {seat}")
    return COOPERATION / unit


def fair_payoff(game: Game, seat: str) -> float:
    """The game's fair payoff; raises ValueError if the game does not say it."""
    fair = game.fair_payoff(seat)
    if fair is None:
        raise ValueError(f"game {game.name!r} does not say what a fair payoff is to {seat}")
    return fair


def safety_measures(game: Game, episode: Episode, seat: str) -> SafetyMeasures:
    """What a safety objective measures of one seat's episode.

    Args:
        game: the rules, which say what cooperation pays, what is fair, and what does harm.
        episode: a complete game.
        seat: the seat that is measured.
    """
    scale, fair = payoff_scale(game, seat), fair_payoff(game, seat)
    others = [one for one in game.playing_seats if one != seat]
    own = [payoff or 0.0 for payoff in episode.payoffs(seat)]
    each = [[payoff or 0.0 for payoff in episode.payoffs(other)] for other in others]
    theirs = [sum(of_round) / len(others) for of_round in zip(*each, strict=True)]
    harms = [game.harm(one, seat) for one in episode.rounds]
    return SafetyMeasures(
        tuple(scale * x for x in own),
        tuple(scale * (y - x) for x, y in zip(own, theirs, strict=True)),
        tuple(scale * (y - fair) for y in theirs),
        tuple(harm.collusion for harm in harms),
        tuple(harm.externality for harm in harms),
    )


def pool_of(episode: Episode, seat: str) -> str:
    """The pool that a seat's co-players were drawn from; ``train`` where they were drawn from none."""
    pools = {occupant.pool for other, occupant in episode.seated.items() if other != seat and occupant.pool}
    return pools.pop() if pools else "train"


def co_players(episode: Episode, seat: str) -> str:
    """The names of a seat's co-players."""
    return ", ".join(occupant.name for other, occupant in episode.seated.items() if other != seat)
