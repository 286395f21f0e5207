"""A game of OpenSpiel as a game of coplay: one round is one of OpenSpiel's episodes.

- Seats are OpenSpiel's players with its numbers, ``player-0`` and so on: its texts name them so. They do not change from round to round.
- A phase is one decision: of one seat, or of all that move at once. Actions are OpenSpiel's words for them.
- A seat sees its information state, its own actions and its own payoff, nothing else: what others did it learns from the information state.
  Where a game has no information states, it sees the observations at all its moves.
- Chance is dealt with the round: a number for each chance node that may come. The same numbers deal the same, whoever plays.
- A reply that cannot be parsed ends the round. The seat gets one less than the game's lowest payoff, and the round is void for the others: which
  action a foreign game would put in its place cannot be said.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from coplay.adapters.openspiel.chance import chance_of_game, next_chance
from coplay.adapters.openspiel.package import pyspiel
from coplay.adapters.openspiel.views import Chance, Known, SeatView
from coplay.games.base import MOST_PAYOFF, Game
from coplay.games.records import Act, Action, Outcome, Phase, Request, Round
from coplay.text.rendering import join, lines

MOST_POINTS = 4096
"""Points of games that are kept, so that play need not begin anew at each move."""


class Point(NamedTuple):
    """A point of a game of OpenSpiel at which a player is to act, or the end."""

    state: Any
    """The ``pyspiel.State``; not to be changed."""
    chance: int
    """How many chance nodes came before."""
    known: tuple[tuple[Known, ...], ...]
    """For each player what it knew at each of its moves so far."""


@dataclass(frozen=True)
class SpielGame(Game):
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

    decimals = 2

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

    @cached_property
    def _points(self) -> OrderedDict[tuple[Chance, tuple[Act, ...]], Point]:
        return OrderedDict()

    def point(self, deal: Chance, acts: tuple[Act, ...]) -> Point:
        """Where OpenSpiel is after these acts, all of which can be parsed: at a decision, or at the end."""
        points = self._points
        found = points.get((deal, acts))
        if found is not None:
            points.move_to_end((deal, acts))
            return found
        phases = [tuple(group) for _, group in groupby(acts, key=lambda act: (act.phase, act.turn))]
        fresh: list[tuple[Act, ...]] = []
        before = acts
        while before and (deal, before) not in points:  # as a rule the acts before the last phase are known
            fresh.append(phases.pop())
            before = before[: -len(fresh[-1])]
        now = points.get((deal, before)) or self._begun(deal)
        for phase in reversed(fresh):
            now = self._after(now, phase, deal)
        points[deal, acts] = now
        if len(points) > MOST_POINTS:
            points.popitem(last=False)
        return now

    def _begun(self, deal: Chance) -> Point:
        state = self.spiel.new_initial_state()
        return Point(state, next_chance(state, deal.numbers, 0), ((),) * len(self.seats))

    def _after(self, now: Point, acts: Sequence[Act], deal: Chance) -> Point:
        """After the acts of one phase."""
        state = now.state.clone()
        chosen = {self.seats.index(act.seat): str(act.action) for act in acts}
        known = tuple(
            (*own, self._known(state, player)) if player in chosen else own for player, own in enumerate(now.known)
        )
        moves = {player: actions_of(state, player)[action] for player, action in chosen.items()}
        if (
            state.is_simultaneous_node()
        ):  # players without legal actions are given action 0, as in OpenSpiel's own simulations
            state.apply_actions([moves.get(player, 0) for player in range(len(self.seats))])
        else:
            (action,) = moves.values()
            state.apply_action(action)
        return Point(state, next_chance(state, deal.numbers, now.chance), known)

    def _reached(self, one: Round) -> Point:
        """The last point of a round: that before a reply which could not be parsed, if there is one."""
        failed = next(((act.phase, act.turn) for act in one.acts if act.action is None), None)
        return self.point(one.deal, tuple(act for act in one.acts if (act.phase, act.turn) != failed))

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

    def next_phase(self, now: Round) -> Phase | None:
        """The decision that OpenSpiel comes to. A phase's number counts decisions of the same seats, as hidden ones of others may not show."""
        if any(act.action is None for act in now.acts):
            return None
        state = self.point(now.deal, now.acts).state
        if state.is_terminal():
            return None
        if state.is_simultaneous_node():
            players = [player for player in range(len(self.seats)) if state.legal_actions(player)]
        else:
            players = [state.current_player()]
        seats = tuple(self.seats[player] for player in players)
        name = f"move of {join(seats)}"
        return Phase(name, seats, sum(act.phase == name and act.seat == seats[0] for act in now.acts))

    def choices(self, request: Request) -> Sequence[Action]:
        """OpenSpiel's words for the legal actions."""
        view: SeatView = request.now.deal
        return view.known[-1].legal

    def observe(self, one: Round, seat: str) -> Round:
        """The seat's own actions and payoff, and what it knew at each of its moves."""
        acts = tuple(act for act in one.acts if act.seat == seat)
        if isinstance(one.deal, SeatView):
            return replace(one, deal=SeatView(one.deal.known[: len(acts) + 1]), acts=acts)
        player, point = self.seats.index(seat), self._reached(one)
        known = point.known[player]
        if len(known) < len(acts):  # its last reply could not be parsed
            known = (*known, self._known(point.state, player))
        known = (*known, self._known(point.state, player))
        paid = None if one.payoffs is None else {seat: one.payoffs[seat]}
        return Round(one.number, SeatView(known), acts, paid)

    def _known(self, state: Any, player: int) -> Known:
        has_states = self.spiel.get_type().provides_information_state_string
        text = state.information_state_string(player) if has_states else state.observation_string(player)
        asked = not state.is_terminal() and (state.is_simultaneous_node() or state.current_player() == player)
        return Known(text.strip(), tuple(actions_of(state, player)) if asked else ())

    def spectate(self, one: Round) -> Round:
        """Where everybody sees everything all acts, else none; payoffs."""
        open_ = self.spiel.get_type().information == pyspiel().GameType.Information.PERFECT_INFORMATION
        return replace(one, deal=None, acts=one.acts if open_ else ())

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """OpenSpiel's returns; see the module for replies that could not be parsed."""
        failed = {act.seat for act in now.acts if act.action is None}
        if failed:
            return {seat: self.null_payoff if seat in failed else None for seat in self.seats}
        return dict(zip(self.seats, map(float, self._reached(now).state.returns()), strict=True))

    def outcome(self, one: Round) -> Outcome:
        """No word for what a seat did; a round with a reply that could not be parsed is void."""
        parsed = all(act.action is not None for act in one.acts)
        return Outcome(tuple(None for _ in self.seats), parsed, void=not parsed)

    # ------------------------------------------------------------------ words

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """What the seat knows, and its legal actions."""
        known: Known = now.deal.known[-1]
        told = f"What you know:\n{known.text}" if known.text else "Nothing has been done yet."
        return lines(told, f"Reply with {join([self.label(seat, one) for one in known.legal], 'or')} and nothing else.")

    def show_deal(self, one: Round, seat: str) -> str | None:
        """What the seat knew before anything was done."""
        begun = self.observe(Round(one.number, one.deal), seat)
        return begun.deal.known[0].text or None


def actions_of(state: Any, player: int) -> dict[str, int]:
    """OpenSpiel's legal actions of a player by the words for them, in its order; words that occur twice get the action's number."""
    numbers = state.legal_actions(player)
    words = [" ".join(state.action_to_string(player, number).split()).strip(" ,") for number in numbers]
    if len(set(words)) < len(words):
        words = [f"{word} ({number})" for word, number in zip(words, numbers, strict=True)]
    return dict(zip(words, numbers, strict=True))
