"""The classes that OpenSpiel knows games in Python by. Imported when OpenSpiel is there."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pyspiel

from coplay.adapters.openspiel.shape import Shape, shape_of
from coplay.adapters.openspiel.walk import Walk
from coplay.games.base import Game

_KINDS = pyspiel.GameType

MOST_WALKS = 4096
"""Points that a game keeps, so that its states need not be walked to anew."""

_registered: dict[str, tuple[Game, Any]] = {}
"""The games that OpenSpiel has by name, and their types."""


def registered(game: Game, name: str, rounds: int) -> Any:
    """The ``pyspiel.Game`` of a game of coplay; see :func:`coplay.adapters.openspiel.as_pyspiel`.

    Args:
        game: the rules.
        name: OpenSpiel's short name for it; another game of that name gets a number behind it.
        rounds: T, rounds of an episode.
    """
    short, number = name, 1
    while short in _registered and _registered[short][0] != game:
        number += 1
        short = f"{name}_{number}"
    if short not in _registered:
        shape = shape_of(game, rounds)
        kind = _kind(game, short, shape)
        _registered[short] = (game, kind)

        class Registered(CoplayGame):
            """The game as OpenSpiel makes it. A class, which is never freed: OpenSpiel lets go of it after Python has ended."""

            def __init__(self, params: dict[str, Any] | None = None) -> None:
                super().__init__(game, kind, params or {})

        pyspiel.register_game(kind, Registered)
    return pyspiel.load_game(short, {"rounds": rounds})


def _kind(game: Game, short: str, shape: Shape) -> Any:
    """What OpenSpiel knows of a game whatever its rounds."""
    if shape.total is None:
        utility = _KINDS.Utility.GENERAL_SUM
    else:
        utility = _KINDS.Utility.ZERO_SUM if shape.total == 0 else _KINDS.Utility.CONSTANT_SUM
    return _KINDS(
        short_name=short,
        long_name=game.description,
        dynamics=_KINDS.Dynamics.SIMULTANEOUS if shape.at_once else _KINDS.Dynamics.SEQUENTIAL,
        chance_mode=_KINDS.ChanceMode.EXPLICIT_STOCHASTIC if shape.chance else _KINDS.ChanceMode.DETERMINISTIC,
        information=_KINDS.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=_KINDS.RewardModel.TERMINAL,
        max_num_players=len(game.seats),
        min_num_players=len(game.seats),
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification={"rounds": 1},
    )


class CoplayGame(pyspiel.Game):  # type: ignore[misc]
    """A game of coplay of so many rounds."""

    def __init__(self, game: Game, kind: Any, params: dict[str, Any]) -> None:
        self.rounds = int(params.get("rounds", 1))
        self.rules = game.lasting(self.rounds)
        shape = shape_of(self.rules, self.rounds)
        info = pyspiel.GameInfo(
            num_distinct_actions=shape.actions,
            max_chance_outcomes=shape.chance,
            num_players=len(game.seats),
            min_utility=shape.lowest,
            max_utility=shape.highest,
            utility_sum=shape.total,
            max_game_length=shape.length,
        )
        super().__init__(kind, info, params)
        self._walks: OrderedDict[tuple[int, ...], Walk] = OrderedDict()

    def walk(self, actions: tuple[int, ...], step: int) -> Walk:
        """Where a history leads.

        Args:
            actions: OpenSpiel's history.
            step: how many of its actions came last, at once: what was before them is known as a rule.
        """
        walks = self._walks
        found = walks.get(actions)
        if found is None:
            before = walks.get(actions[:-step]) if step else None
            found = Walk.along(self.rules, self.rounds, actions) if before is None else before.played(actions[-step:])
            walks[actions] = found
            if len(walks) > MOST_WALKS:
                walks.popitem(last=False)
        return found

    def new_initial_state(self) -> CoplayState:
        """Before the first round."""
        return CoplayState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CoplayObserver:
        """What tells what a player knows: all of it, whatever is asked for."""
        return CoplayObserver()


class CoplayState(pyspiel.State):  # type: ignore[misc]
    """A point of a game of coplay. It keeps nothing but OpenSpiel's history, so that copies and files of it are complete."""

    @property
    def walk(self) -> Walk:
        """The same point in coplay."""
        game: CoplayGame = self.get_game()
        return game.walk(tuple(self.history()), 0)

    def current_player(self) -> int:
        """Whose decision it is."""
        walk = self.walk
        if walk.over:
            return int(pyspiel.PlayerId.TERMINAL)
        if walk.phase is None:
            return int(pyspiel.PlayerId.CHANCE)
        seats = walk.phase.seats
        return walk.game.seats.index(seats[0]) if len(seats) == 1 else int(pyspiel.PlayerId.SIMULTANEOUS)

    def _legal_actions(self, player: int) -> list[int]:
        walk = self.walk
        seat = walk.game.seats[player]
        asked = walk.phase is not None and seat in walk.phase.seats
        return list(range(len(walk.options(seat)))) if asked else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """What chance can deal."""
        return [(i, p) for i, (_, p) in enumerate(self.walk.deals())]

    def _apply_action(self, action: int) -> None:
        self.get_game().walk((*self.history(), action), 1)

    def _apply_actions(self, actions: list[int]) -> None:
        self.get_game().walk((*self.history(), *actions), len(actions))

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"deal {action}"
        return str(self.walk.options(self.walk.game.seats[player])[action].reply.text)

    def is_terminal(self) -> bool:
        """Whether the episode is over."""
        return self.walk.over

    def returns(self) -> list[float]:
        """The sum of each seat's payoffs, once the episode is over."""
        walk = self.walk
        return walk.returns() if walk.over else [0.0] * len(walk.game.seats)

    def __str__(self) -> str:
        """All that was done, for a reader."""
        walk = self.walk
        now = [] if walk.now is None else [walk.now]
        return "\n".join(map(repr, [*walk.past.rounds, *now])) or "start"


class CoplayObserver:
    """What a player knows, as text."""

    def __init__(self) -> None:
        self.tensor = None
        self.dict: dict[str, Any] = {}

    def set_from(self, state: CoplayState, player: int) -> None:
        """There are no tensors."""

    def string_from(self, state: CoplayState, player: int) -> str:
        """All that the seat has seen."""
        walk = state.walk
        return walk.known(walk.game.seats[player])
