"""Mediators by rule: the baselines of Learning to Mediate, appendices A.5 and A.6, and their like.

``always:NOTICE`` and ``uniform`` (the paper's "random-50 %", which speaks in two rounds of three where there are two notices) are players of
any game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from coplay.games.base import Game
from coplay.games.mediation_words import Message
from coplay.games.memory import Memory
from coplay.games.per_round import PerRound
from coplay.games.records import Action, Request, Round
from coplay.games.strategy import GameStrategy

Messages = Callable[[Round, Sequence[Round]], Sequence[Message]]
"""From the round that begins and the earlier ones to all that the mediator can do, silence first."""

Collective = Callable[[Round], Mapping[str, float]]
"""What a round came to for all: :meth:`coplay.games.base.Game.collective`."""

Speaks = Callable[[Game, Collective, Sequence[Round], float], float]
"""From the game, what rounds came to, the earlier rounds and the parameter to the probability of a message."""


def never(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Never sends a message."""
    return 0.0


def always(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends the strongest notice before every round."""
    return 1.0


def coin(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends a notice before half of the rounds, or with probability P; each notice equally often."""
    return parameter


def coop_thresh(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends the strongest notice while the mean cooperation of the episode so far is below a threshold, by default 0.5; before the first round too."""
    levels = [one["cooperation"] for one in map(collective, past) if "cooperation" in one]
    return float((sum(levels) / len(levels) if levels else 0.0) < parameter)


def defector(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends the strongest notice after rounds in which anybody defected."""
    return float(bool(past) and any(game.shortfall(past[-1], seat) for seat in game.playing_seats))


def payoff_thresh(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends the strongest notice while the mean payoff of a seat and round so far is below a threshold."""
    levels = [collective(one)["welfare"] / len(game.playing_seats) for one in past]
    return float(bool(levels) and sum(levels) / len(levels) < parameter)


def gain_thresh(game: Game, collective: Collective, past: Sequence[Round], parameter: float) -> float:
    """Sends the strongest notice after rounds in which the firms' mean profit gain was above a threshold, by default 0.30."""
    return float(bool(past) and collective(past[-1]).get("profit_gain", 0.0) > parameter)


def mediator_strategies(game: Game, messages: Messages, notices: Sequence[str]) -> dict[str, GameStrategy]:
    """The rules for the mediator's seat of a game.

    Args:
        game: the game that is played, without the mediator.
        messages: what the mediator can do in a round.
        notices: the names of its notices, the mildest first.
    """
    collective = PerRound(game.collective)

    def rule(
        speaks: Speaks, *, parameter: str = "", default: float = 0.0, most: float = 1.0, any_notice: bool = False
    ) -> GameStrategy:
        def play(request: Request, value: float | None) -> Mapping[Action, float]:
            """Silence, or the messages with the strongest notice; all with any notice."""
            p = speaks(game, collective, request.past, default if value is None else value)
            silent, *said = messages(request.now, request.past)
            said = said if any_notice else [one for one in said if one[0] == notices[-1]]
            found: dict[Action, float] = {silent: 1.0 - p} if p < 1.0 else {}
            found.update({one: p / len(said) for one in said} if p > 0.0 else {})
            return found

        description = " ".join((speaks.__doc__ or "").split())
        return GameStrategy(
            description,
            play,
            parameter=parameter,
            default=default if parameter else None,
            most=most,
            memory=Memory.TRANSCRIPT,
        )

    cooperative = [game.cooperation_payoff(seat) for seat in game.playing_seats]
    known = [value for value in cooperative if value is not None]
    found = {"never": rule(never), "always_intervene": rule(always), "defector": rule(defector)}
    found["coin"] = rule(coin, parameter="the probability of a message, from 0 to 1", default=0.5, any_notice=True)
    found["coop_thresh"] = rule(coop_thresh, parameter="a rate of cooperation, from 0 to 1", default=0.5)
    found["gain_thresh"] = rule(gain_thresh, parameter="a profit gain, from 0 to 10", default=0.3, most=10.0)
    if known:
        half = sum(known) / len(known) / 2
        found["payoff_thresh"] = rule(payoff_thresh, parameter="a payoff a round, from 0", default=half, most=1e9)
    return found
