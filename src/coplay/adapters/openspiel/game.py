"""A game of OpenSpiel as a game of coplay; see :mod:`coplay.adapters.hosted` for what it has in common with those of other libraries.

- Seats are OpenSpiel's players with its numbers, ``player-0`` and so on: its texts name them so. They do not change from round to round.
- Actions are OpenSpiel's words for them. A seat sees its information state; where a game has none, the observations at all its moves.
- Chance is dealt with the round: a number for each chance node that may come. The same numbers deal the same, whoever plays.
- The payoff of a reply that cannot be parsed is one less than the game's lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from coplay.adapters.hosted import HostedGame, Known
from coplay.adapters.openspiel.chance import Chance, chance_of_game, next_chance
from coplay.adapters.openspiel.package import pyspiel
from coplay.games.base import MOST_PAYOFF
from coplay.games.records import Action, Round


class Reached(NamedTuple):
    """A state of OpenSpiel at which a player is to act, or the end."""

    state: Any
    """The ``pyspiel.State``; not to be changed."""
    chance: int
    """How many chance nodes came before."""


@dataclass(frozen=True)
class SpielGame(HostedGame):
    """See the module. Made by :func:`coplay.adapters.openspiel.naming.openspiel_game`, which refuses games that cannot be played so."""

    name: str
    """``openspiel:`` and OpenSpiel's own string for the game, e.g. ``openspiel:kuhn_poker``."""
    rounds: int = 1
    """Games of an episode."""
    description: str = field(init=False)
    """OpenSpiel's name for it."""
    seats: tuple[str, ...] = field(init=False)
    """Its players."""
    draws: int = field(init=False)
    """Chance nodes that a game may have."""
    max_choices: int = field(init=False)
    """Different actions of the game."""

    def __post_init__(self) -> None:
        """Ask OpenSpiel what the game is."""
        game = self.spiel
        described = f"{game.get_type().long_name}, as OpenSpiel plays it. Every round is a complete game."
        seats = tuple(f"player-{number}" for number in range(game.num_players()))
        asked = {"description": described, "seats": seats, "max_choices": game.num_distinct_actions()}
        for key, value in {**asked, "draws": game.max_chance_nodes_in_history()}.items():
            object.__setattr__(self, key, value)

    @cached_property
    def spiel(self) -> Any:
        """The ``pyspiel.Game``."""
        return pyspiel().load_game(self.name.partition(":")[2])

    @cached_property
    def null_payoff(self) -> float:
        """What a seat gets for a reply that cannot be parsed."""
        return float(max(-MOST_PAYOFF, self.spiel.min_utility() - 1.0))

    # ------------------------------------------------------------------ states of OpenSpiel

    def begun(self, deal: Chance) -> Reached:
        """The first decision after a deal."""
        state = self.spiel.new_initial_state()
        return Reached(state, next_chance(state, deal.numbers, 0))

    def moved(self, state: Reached, actions: dict[int, Action], deal: Chance) -> Reached:
        """After these players' actions, and the chance that follows."""
        after = state.state.clone()
        moves = {player: actions_of(after, player)[str(action)] for player, action in actions.items()}
        if (
            after.is_simultaneous_node()
        ):  # players without legal actions are given action 0, as in OpenSpiel's own simulations
            after.apply_actions([moves.get(player, 0) for player in range(len(self.seats))])
        else:
            (action,) = moves.values()
            after.apply_action(action)
        return Reached(after, next_chance(after, deal.numbers, state.chance))

    def asked(self, state: Reached) -> Sequence[int]:
        """OpenSpiel's players that are to act."""
        if state.state.is_terminal():
            return ()
        if state.state.is_simultaneous_node():
            return [player for player in range(len(self.seats)) if state.state.legal_actions(player)]
        return (state.state.current_player(),)

    def knows(self, state: Reached, player: int) -> Known:
        """The information state; the observation where a game has none."""
        at, has_states = state.state, self.spiel.get_type().provides_information_state_string
        text = at.information_state_string(player) if has_states else at.observation_string(player)
        asked = not at.is_terminal() and (at.is_simultaneous_node() or at.current_player() == player)
        return Known(text.strip(), tuple(actions_of(at, player)) if asked else ())

    def returns(self, state: Reached) -> Sequence[float]:
        """OpenSpiel's returns."""
        found: Sequence[float] = state.state.returns()
        return found

    # ------------------------------------------------------------------ rules

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> Chance:
        """The numbers as they are: what they deal may depend on what is done."""
        return Chance(tuple(chance))

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[Chance, float]] | None:
        """All that chance can deal; None in large games, and where chance depends on what is done."""
        return self._deals

    @cached_property
    def _deals(self) -> Sequence[tuple[Chance, float]] | None:
        return chance_of_game(self.spiel)

    def spectate(self, one: Round) -> Round:
        """Where everybody sees everything all acts, else none; payoffs."""
        open_ = self.spiel.get_type().information == pyspiel().GameType.Information.PERFECT_INFORMATION
        return replace(one, deal=None) if open_ else super().spectate(one)


def actions_of(state: Any, player: int) -> dict[str, int]:
    """OpenSpiel's legal actions of a player by the words for them, in its order; words that occur twice get the action's number."""
    numbers = state.legal_actions(player)
    words = [" ".join(state.action_to_string(player, number).split()).strip(" ,") for number in numbers]
    if len(set(words)) < len(words):
        words = [f"{word} ({number})" for word, number in zip(words, numbers, strict=True)]
    return dict(zip(words, numbers, strict=True))
