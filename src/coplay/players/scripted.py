"""Scripted players: strategies and mixtures by name, in any seat of any game that has the words for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import ClassVar

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.catalogue import GAMES
from coplay.games.mediation_words import notice_name
from coplay.games.memory import Joint, Memory, Observation, own_view
from coplay.games.records import Action, Reply, Request, Round
from coplay.games.strategy import Recall
from coplay.players.automaton import Automaton, automaton_of, edges_of, memory_one
from coplay.players.base import OneByOne, Player, player_error
from coplay.players.game_player import game_player
from coplay.players.sampling import sample
from coplay.players.strategies import (
    SUMS_UP,
    Past,
    Rule,
    alternator,
    alternator_defect_first,
    always_cooperate,
    always_defect,
    defect_once,
    forgiveness,
    generous_tit_for_tat,
    grim_trigger,
    suspicious_tit_for_tat,
    tit_for_tat,
    tit_for_two_tats,
    win_stay_lose_shift,
    zd_extort_2,
)

MESSAGE = "message"
"""The name of phases in which seats talk."""

MOST_NAMED = 12
"""How many legal actions an error lists."""


_REMEMBERED = {Memory.NONE: 0, Memory.LAST_ROUND: 1}
"""How many rounds a rule is shown; of a transcript all."""


@dataclass(frozen=True)
class Strategy(OneByOne):
    """A rule that cooperates or not, by the words that the game has for it."""

    name: str
    """The strategy as it was asked for, e.g. ``"random:0.3"``."""
    memory: Memory
    """The least that the strategy needs: ``none``, ``last_round`` or ``transcript``."""
    game: Game
    """The game that is played."""
    rule: Rule
    """What it does."""
    tells_probabilities: ClassVar[bool] = True

    @property
    def recalls(self) -> Recall | None:
        """What a rule that reads the whole past needs of it, see :data:`coplay.games.strategy.Recall`; None for others, and where seats do not see all."""
        sums_up = SUMS_UP.get(self.rule)
        if sums_up is None or self.game.actions is None:
            return None

        def recall(seat: str, rounds: Sequence[Round]) -> Hashable:
            outcomes = [self.game.outcome(one) for one in rounds]
            index = self.game.seats.index(seat)
            joints = tuple(own_view(index, outcome.conduct) for outcome in outcomes if not outcome.void)
            return sums_up(past_of(self.game, seat, Observation(transcript=joints)))

        return recall

    def automaton(self, seat: str, slot: int | None, joints: Sequence[Joint]) -> Automaton | None:
        """See :class:`coplay.players.automaton.Automatic`: the rule is asked about one past of each kind that it tells apart."""
        sums_up = tuple if self.memory in _REMEMBERED else SUMS_UP.get(self.rule)
        if sums_up is None:
            return None
        conducts = self.game.conducts(seat)
        did = {joint: past_of(self.game, seat, Observation(last=joint)) for joint in joints}
        start: Past = ()

        def after(past: Past, joint: Joint) -> Past:
            longer = (*past, *did[joint])
            return longer[len(longer) - _REMEMBERED.get(self.memory, len(longer)) :]

        def edges(past: Past) -> tuple[float, ...]:
            p = self.rule(past)
            return edges_of((p, 1.0 - p))

        return automaton_of(conducts, joints, start, after=after, same=sums_up, edges=edges)

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        cooperative, greedy = self.game.conducts(request.seat)
        p = self.rule(past_of(self.game, request.seat, request.observation))
        probs = (p, 1.0 - p)
        i = sample(probs, request.draw)
        try:
            action = self.game.perform((cooperative, greedy)[i], request)
        except ValueError as error:
            raise player_error(self.name, request, f"cannot act: {error}") from None
        text = self.game.render_action(request, action)
        if self.game.actions is None:
            return Reply(text, action)
        return Reply(text, action, logprobs=(math.log(probs[i]),), probs=probs)


@dataclass(frozen=True)
class Mixture(OneByOne):
    """A player that draws each action from a distribution over the legal actions of the request, whatever was played before.

    Where a request has too many legal actions to list, it draws one of the game's examples: of messages any, whatever it plays otherwise.
    """

    name: str
    """As it was asked for, e.g. ``"uniform"`` or ``"always:rock"``."""
    game: Game
    """The game that is played."""
    distribution: Callable[[Sequence[Action]], tuple[float, ...]]
    """From the legal actions to the probability of each; all 0 if it plays none of them."""
    memory: ClassVar[Memory] = Memory.NONE
    tells_probabilities: ClassVar[bool] = True

    def automaton(self, seat: str, slot: int | None, joints: Sequence[Joint]) -> Automaton | None:
        """See :class:`coplay.players.automaton.Automatic`."""
        actions = () if self.game.actions is None else self.game.actions[seat]
        probs = self.distribution(actions) if actions else ()
        return memory_one(actions, joints, [edges_of(probs)]) if any(probs) else None

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        choices = self.game.choices(request)
        listed = choices is not None
        choices = choices if choices is not None else self.game.examples(request)
        if not choices:
            what = f"needs a list of legal actions; phase {request.phase.name!r} of {self.game.name!r} has none."
            raise player_error(self.name, request, f"{what} Give the game choices() or examples() for it")
        probs = self.distribution(choices)
        if not any(probs) and request.phase.name == MESSAGE:
            probs = (1.0 / len(choices),) * len(choices)
        if not any(probs):
            legal = ", ".join(self.game.show(choice) for choice in choices[:MOST_NAMED])
            more = f" and {len(choices) - MOST_NAMED} more" if len(choices) > MOST_NAMED else ""
            what = f"has no legal action of phase {request.phase.name!r} in {self.game.name!r}; legal are {legal}{more}"
            raise player_error(self.name, request, what)
        i = sample(probs, request.draw)
        reply = Reply(self.game.render_action(request, choices[i]), choices[i])
        return reply._replace(logprobs=(math.log(probs[i]),), probs=probs) if listed else reply


def past_of(game: Game, seat: str, observation: Observation) -> list[tuple[bool, bool]]:
    """What an observation shows, as rules take it."""
    rounds = observation.transcript or ((observation.last,) if observation.last else ())
    if not rounds:
        return []
    bad_words = [game.conducts(other)[1] for other in game.playing_seats if other != seat]
    own_bad = game.conducts(seat)[1]
    # a mediator is the last, and has no word here
    return [(own != own_bad, not any(map(eq, others, bad_words))) for own, *others in rounds]


@dataclass(frozen=True)
class Script:
    """An entry of the registry: a strategy by name, before it knows its game and seat."""

    description: str
    """One sentence for a person."""
    build: Callable[[str, Game, str, str | None], Player]
    """(name, game, seat, parameter) to the player; raises UsageError where it cannot be played or the parameter is not allowed."""
    parameter: str = ""
    """What may follow the colon, for a person; empty if nothing may."""


def _script(rule: Rule, memory: Memory = Memory.TRANSCRIPT) -> Script:
    """The entry of a rule without parameters, described by its docstring."""
    description = " ".join((rule.__doc__ or "").split())
    return Script(description, lambda name, game, seat, parameter: strategy(name, rule, memory, game, seat))


def strategy(name: str, rule: Rule, memory: Memory, game: Game, seat: str) -> Strategy:
    """Play a rule in a game that knows how to cooperate and how not to; raises UsageError in any other."""
    counts = [len(game.conducts(one)) for one in dict.fromkeys((*game.playing_seats, seat))]
    if any(count != 2 for count in counts):
        what = "no word for cooperating" if not any(counts) else f"{' x '.join(map(str, counts))} actions"
        raise UsageError(
            f"this strategy is for games in which every seat cooperates or does not; game {game.name!r} has {what}."
            " Use 'uniform' or 'always:ACTION'."
        )
    return Strategy(name, memory, game, rule)


def _generous(name: str, game: Game, seat: str, parameter: str | None) -> Player:
    """``generous_tit_for_tat[:P]``."""
    strategy(name, tit_for_tat, Memory.LAST_ROUND, game, seat)  # raises in games whose payoffs mean nothing to it
    p = forgiveness(game, seat) if parameter is None else _probability(parameter)
    return strategy(name, generous_tit_for_tat(p), Memory.LAST_ROUND, game, seat)


def _random(name: str, game: Game, seat: str, parameter: str | None) -> Player:
    """``random[:P]``."""
    if parameter is None:
        either = game.actions is None and len(game.conducts(seat)) == 2
        return _random(name, game, seat, "0.5") if either else _uniform(name, game, seat, None)
    n = len(game.conducts(seat))
    if n != 2:
        raise UsageError(
            f"a probability fits two actions, seat {seat!r} of game {game.name!r} has {n}. Write 'random'."
        )
    p = _probability(parameter)
    return strategy(name, lambda past: p, Memory.NONE, game, seat)


def _uniform(name: str, game: Game, seat: str, parameter: str | None) -> Player:
    """``uniform``."""
    return Mixture(name, game, lambda choices: (1.0 / len(choices),) * len(choices))


def _always(name: str, game: Game, seat: str, parameter: str | None) -> Player:
    """``always:ACTION``."""
    if parameter is None:
        example = game.actions[seat][0] if game.actions is not None else "ACTION"
        raise UsageError(f"an action is missing. Write for example 'always:{example}'.")
    parameter = game.action_named(seat, parameter)

    def distribution(choices: Sequence[Action]) -> tuple[float, ...]:
        named = [parameter in (game.show(action), game.label(seat, action)) for action in choices]
        if not any(named):  # of a mediator's messages a notice names those to all groups of seats
            named = [parameter == notice_name(action) for action in choices]
        return tuple(one / max(sum(named), 1) for one in named)

    return Mixture(name, game, distribution)


def _probability(parameter: str) -> float:
    try:
        value = float(parameter)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{parameter!r} is not a probability. Write a number from 0 to 1, e.g. 0.3.")
    return value


PLAYERS: dict[str, Script] = {
    "always_cooperate": _script(always_cooperate, Memory.NONE),
    "always_defect": _script(always_defect, Memory.NONE),
    "tit_for_tat": _script(tit_for_tat, Memory.LAST_ROUND),
    "generous_tit_for_tat": Script(
        "Tit for tat that forgives a defection as often as the payoffs allow, or with probability P (Nowak & Sigmund, 1992).",
        _generous,
        parameter="the probability of forgiving, from 0 to 1",
    ),
    "suspicious_tit_for_tat": _script(suspicious_tit_for_tat, Memory.LAST_ROUND),
    "tit_for_two_tats": _script(tit_for_two_tats),
    "grim_trigger": _script(grim_trigger),
    "win_stay_lose_shift": _script(win_stay_lose_shift, Memory.LAST_ROUND),
    "alternator": _script(alternator),
    "alternator_defect_first": _script(alternator_defect_first),
    "defect_once": _script(defect_once),
    "zd_extort_2": _script(zd_extort_2, Memory.LAST_ROUND),
    "random": Script(
        "Play at random: all actions equally often, or random:P cooperate with probability P.",
        _random,
        parameter="the probability of cooperating, from 0 to 1",
    ),
    "uniform": Script(
        "Any legal action, all equally often; where a game does not list them, one of its examples.", _uniform
    ),
    "always": Script(
        "always:ACTION plays one action, given by its name or label, in a game of any size; of a mediator always:NOTICE.",
        _always,
        parameter="an action of the seat",
    ),
}
"""The scripted players, by name. A colon introduces a parameter: ``random:0.3``."""

EARLIER_NAMES = {"cooperate": "always_cooperate", "defect": "always_defect", "reciprocate": "tit_for_tat"}
"""What the strategies of games with text were called in configs of version 1."""


OTHER_LIBRARIES = {"axelrod": "coplay.adapters.axelrod"}
"""Libraries whose strategies have a prefix, such as ``axelrod:ZD-Extort-2``, and the modules that have ``PREFIX_player(NAME, GAME, SEAT)``: imported by name, as
they know all else."""


def of_other_library(spec: str) -> bool:
    """Whether a spec names a strategy of another library. Like scripts, these know actions by what they are, not by what they are called."""
    library, colon, _ = spec.partition(":")
    return bool(colon) and library in OTHER_LIBRARIES


def is_script(spec: str, game: Game | None = None) -> bool:
    """Whether a spec names a scripted player of a game; without one, of any game of the catalogue."""
    games = GAMES.values() if game is None else [game]
    name = spec.partition(":")[0]
    return name in PLAYERS or any(name in one.strategies for one in games)


def games_with(spec: str) -> list[str]:
    """The games of the catalogue that have a strategy of that name."""
    name = spec.partition(":")[0]
    return [game.name for game in GAMES.values() if name in game.strategies]


def make_script(spec: str, game: Game, seat: str) -> Player:
    """Build the scripted player that ``spec`` names, for one seat of a game.

    Args:
        spec: a name of :data:`PLAYERS`, with a parameter after a colon where it takes one: ``"tit_for_tat"``,
            ``"random:0.3"``, ``"always:heads"``.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: for an unknown name or seat, a parameter that is not allowed, or a strategy that the game has no words for.

    Example:
        >>> from coplay.games import make_game
        >>> make_script("random:0.3", make_game("ipd"), "row").name
        'random:0.3'
    """
    name, colon, rest = spec.partition(":")
    parameter = rest if colon else None
    if seat not in game.seats:
        raise unknown("seat", seat, game.seats)
    if name in game.strategies:
        return game_player(spec, game, seat)
    if name not in PLAYERS:
        raise unknown("player", name, [*game.strategies, *PLAYERS], listed="players")
    script = PLAYERS[name]
    if colon and not script.parameter:
        raise UsageError(f"player {spec!r}: {name!r} takes no parameter. Write {name!r}.")
    try:
        return script.build(spec, game, seat, parameter)
    except UsageError as error:
        raise UsageError(f"player {spec!r}: {error}") from None
