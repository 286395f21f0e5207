"""Players of coplay as policies of OpenSpiel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from coplay.adapters.openspiel.package import openspiel_module
from coplay.adapters.openspiel.twins import Twin, twin_of
from coplay.errors import UsageError
from coplay.evaluation.action_probabilities import SAMPLES, UNLIKELY, ActionProbabilities
from coplay.games.catalogue import GameSpec, make_game
from coplay.players.named import PlayerSpec
from coplay.runs.occupants import occupant_of


def as_policy(game: GameSpec, *players: PlayerSpec, rounds: int = 1, samples: int = SAMPLES, seed: int = 0) -> Any:
    """A player of coplay, or one for each seat, as a joint policy of OpenSpiel.

    Args:
        game: a game of OpenSpiel (``openspiel:leduc_poker``), ``kuhn``, which is OpenSpiel's own ``kuhn_poker`` for one round, or any game of coplay
            that :func:`coplay.adapters.openspiel.as_pyspiel` takes.
        players: one for all seats, or one for each, by name or object; a run's name stands for its first seed.
        rounds: T, rounds of an episode; games of OpenSpiel are one round.
        samples: replies at each information set, of a player that does not tell its probabilities.
        seed: of those.

    Returns:
        An ``open_spiel.python.policy.Policy``; its ``game`` is the ``pyspiel.Game`` that it plays.

    Raises:
        UsageError: for another number of players than seats, or if OpenSpiel is not installed. The policy itself raises it where a player gives
            replies that cannot be parsed: OpenSpiel knows legal actions alone.
    """
    rules = make_game(game).lasting(rounds)
    if len(players) not in (1, len(rules.seats)):
        raise UsageError(
            f"game {rules.name!r} has {len(rules.seats)} seats; give one player for all or one for each, got {len(players)}"
        )
    specs = players * len(rules.seats) if len(players) == 1 else players
    seated = {seat: occupant_of(spec, rules, seat) for seat, spec in zip(rules.seats, specs, strict=True)}
    probabilities = ActionProbabilities(rules, seated, samples=samples, seed=seed, halves=False)
    return _policy_class()(twin_of(rules, rounds), probabilities)


@cache
def _policy_class() -> Callable[[Twin, ActionProbabilities], Any]:
    """The class, made when OpenSpiel is first needed."""
    base: Any = openspiel_module("open_spiel.python.policy").Policy

    class CoplayPolicy(base):  # type: ignore[misc]
        """How players of coplay act, in OpenSpiel's states."""

        def __init__(self, twin: Twin, probabilities: ActionProbabilities) -> None:
            super().__init__(twin.spiel, list(range(len(twin.game.seats))))
            self.twin, self.probabilities = twin, probabilities

        def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
            """See ``open_spiel.python.policy.Policy``."""
            player = state.current_player() if player_id is None else player_id
            seat = self.twin.game.seats[player]
            return _probabilities(self.twin, self.probabilities, seat, state, state.legal_actions(player))

    return CoplayPolicy


def _probabilities(
    twin: Twin, probabilities: ActionProbabilities, seat: str, state: Any, legal: Sequence[int]
) -> dict[int, float]:
    """The probability of each legal action, by OpenSpiel's number."""
    question, choices = twin.asked(state, seat)
    (options,) = probabilities.of([question])
    likely: Mapping[str, float] = {repr(option.reply.action): option.weights[2] for option in options}
    illegal = likely.get(repr(None), 0.0)
    if illegal > UNLIKELY:
        name = probabilities.seated[seat].name
        raise UsageError(
            f"player {name!r} replies to {seat} what cannot be parsed, with probability {illegal:.2g}; a policy of OpenSpiel has legal actions alone"
        )
    return {number: likely.get(repr(action), 0.0) for number, action in zip(legal, choices, strict=True)}
