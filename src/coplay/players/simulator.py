"""A player that decides as another was measured to: by the coefficients of ``coplay fit-simulator``, as ``simulator:FILE[@PERSONA]``.

It tells nobody anything: where messages are asked for it sends an empty one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

from coplay.errors import UsageError, suggestion
from coplay.files.naming import user_path
from coplay.files.reading import as_object, expected_shape, read_json
from coplay.games.base import Game
from coplay.games.decisions import Decisions
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request, Round
from coplay.players.base import OneByOne, player_error
from coplay.players.personas import SIGN, split_persona
from coplay.text.rendering import join

PREFIX = "simulator:"
"""What its name begins with."""

CONTEXT = "{context}"
"""What stands for the circumstances of an episode in its name."""

VERSION = 1
"""Of the file that is read."""


@dataclass(frozen=True)
class Simulator(OneByOne):
    """See the module."""

    name: str
    """As it was asked for."""
    game: Game
    """The game that is played."""
    decisions: Decisions
    """What it decides in this game."""
    weights: tuple[float, ...]
    """The coefficient of each of the game's features."""
    spread: float | None
    """The standard deviation of numbers around their prediction; None for decisions of two kinds."""
    about: str
    """What it was fitted to, for reports."""
    memory: Memory = Memory.NONE
    """It reads the earlier rounds themselves."""
    _known: dict[tuple[float, ...], float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def tells_probabilities(self) -> bool:
        """Whether replies carry the probabilities of the legal actions: where decisions are of two kinds."""
        return self.spread is None

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        if request.phase.name != self.decisions.phase:
            return self._silent(request)
        views = self.decisions.view(request.now, request.past[-1:], request.seat)
        predicted = {name: self._predicted(features) for name, features in views.items()}
        if self.spread is None:
            return self._chosen(request, predicted)
        draw = min(max(request.draw, 1e-12), 1 - 1e-12)
        (name,) = predicted
        value = NormalDist(predicted[name], self.spread).inv_cdf(draw)
        action = self.decisions.action({name: value}, request.seat)
        return Reply(self.game.render_action(request, action), action)

    def _predicted(self, features: tuple[float, ...]) -> float:
        """The probability of a 1, or the expected number."""
        found = self._known.get(features)
        if found is None:
            score = math.fsum(w * x for w, x in zip(self.weights, features, strict=True))
            found = 0.5 * (1.0 + math.tanh(0.5 * score)) if self.spread is None else score
            if self.spread is None:  # numbers rarely come again
                self._known[features] = found
        return found

    def _chosen(self, request: Request, predicted: Mapping[str, float]) -> Reply:
        """One of the legal actions, by the product of the probabilities of its decisions."""
        choices = self.game.choices(request)
        actions: Sequence[Action] = choices if choices is not None else self._combined(request, predicted)
        probs = []
        for action in actions:
            p = 1.0
            for name, did in self.decisions.decided(action, request.seat).items():
                p *= predicted[name] if did else 1.0 - predicted[name]
            probs.append(p)
        left = request.draw
        chosen = max(range(len(probs)), key=probs.__getitem__)
        for i, p in enumerate(probs):
            if left < p:
                chosen = i
                break
            left -= p
        text = self.game.render_action(request, actions[chosen])
        return Reply(text, actions[chosen], logprobs=(math.log(probs[chosen]),), probs=tuple(probs))

    def _combined(self, request: Request, predicted: Mapping[str, float]) -> list[Action]:
        names = list(predicted)
        return [
            self.decisions.action({name: float(bits >> i & 1) for i, name in enumerate(names)}, request.seat)
            for bits in range(2 ** len(names))
        ]

    def _silent(self, request: Request) -> Reply:
        """An empty message, or where there must be one the game's example."""
        action = self.game.parse_action(request, "")
        if action is not None:
            return Reply("", action)
        for example in self.game.examples(request):
            return Reply(self.game.render_action(request, example), example)
        raise player_error(
            self.name, request, f"was fitted to phase {self.decisions.phase!r}, not {request.phase.name!r}"
        )


@dataclass(frozen=True)
class ByContext(OneByOne):
    """A simulator for each circumstance that an episode may have, such as what firms are told to do."""

    name: str
    """As it was asked for."""
    game: Game
    """The game that is played."""
    simulators: Mapping[str, Simulator]
    """By :meth:`coplay.games.base.Game.context`."""
    memory: Memory = Memory.NONE
    """As simulators'."""

    @property
    def about(self) -> str:
        """What they were fitted to, for reports."""
        return "; ".join(dict.fromkeys(one.about for one in self.simulators.values()))

    @property
    def tells_probabilities(self) -> bool:
        """As simulators do."""
        return all(one.tells_probabilities for one in self.simulators.values())

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        return self.simulators[self.game.context(request.now)].reply(request)


def names_simulator(spec: str) -> bool:
    """Whether a player's name is that of a simulator."""
    return spec.startswith(PREFIX)


def simulator(spec: str, game: Game, seat: str) -> Simulator | ByContext:
    """The simulator that a name stands for; one for each circumstance of an episode where ``{context}`` is in the name.

    Args:
        spec: ``simulator:FILE``, in which ``{context}`` stands for the circumstances of the episode, such as ``P0`` in Bertrand competition, with ``@PERSONA`` where the file has several players: a player's whole name, or its persona.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: if the file or the player in it cannot be read, it was fitted to other decisions, or the game has a message that nobody
            read in the games that it was fitted to.
    """
    if CONTEXT in spec:
        return ByContext(spec, game, {one: _fitted(spec.replace(CONTEXT, one), game) for one in _contexts(spec, game)})
    return _fitted(spec, game)


def _fitted(spec: str, game: Game) -> Simulator:
    """One simulator from its file."""
    rest = spec.removeprefix(PREFIX)
    file, persona = (rest, None) if user_path(rest).is_file() else (rest.partition(SIGN)[0], rest.partition(SIGN)[2])
    if not file:
        raise UsageError(f"player {spec!r}: a file is missing; write {PREFIX}FILE, made by coplay fit-simulator")
    path = _path(file)
    try:
        found = as_object(read_json(path), path, newest=VERSION)
    except FileNotFoundError:
        raise UsageError(f"player {spec!r}: there is no file {path}; coplay fit-simulator makes one") from None
    with expected_shape(path):
        name = _player_in(found["players"], persona or None, spec)
        own = found["players"][name]
        about = f"simulator fitted to {int(own['games'])} games of {split_persona(name)[0]}"
        decisions = _decisions(spec, game, found, about)
        weights = _weights(spec, decisions, found, own)
        spread = own["spread"]
        if spread is not None and not float(spread) > 0:
            raise ValueError("spread must be above 0")
        return Simulator(spec, game, decisions, weights, None if spread is None else float(spread), about)


def _contexts(spec: str, game: Game) -> list[str]:
    """The circumstances that an episode of a game may have."""
    found = [game.context(Round(0, deal)) for deal, _ in game.deals(()) or ()] if game.contexts else []
    if not found:
        raise UsageError(f"player {spec!r}: game {game.name!r} has no circumstances for {CONTEXT} to stand for")
    return found


PACKAGED = Path(__file__).parent / "simulators"
"""Simulators that come with coplay."""


def packaged() -> list[str]:
    """The names of the simulators that come with coplay."""
    return sorted(path.stem for path in PACKAGED.glob("*.json"))


def _path(file: str) -> Path:
    """The file that a name means: a path, or one that comes with coplay."""
    path = user_path(file)
    return PACKAGED / f"{file}.json" if file in packaged() and not path.exists() else path


def _player_in(players: Mapping[str, Any], persona: str | None, spec: str) -> str:
    """The name of the player that is meant."""
    if persona is None:
        if len(players) == 1:
            return next(iter(players))
        raise UsageError(f"player {spec!r}: name one of its players after {SIGN}: {join(list(players), 'or')}")
    found = [name for name in players if persona == name or name.endswith(f"{SIGN}{persona}")]
    if len(found) != 1:
        told = "no player" if not found else "several players"
        raise UsageError(
            f"player {spec!r}: the file has {told} {persona!r}.{suggestion(persona, players)} It has: {', '.join(players)}"
        )
    return found[0]


def _decisions(spec: str, game: Game, found: Mapping[str, Any], about: str) -> Decisions:
    """The game's decisions, if they are those that were fitted."""
    decisions = game.decisions()
    if decisions is None or (decisions.phase, decisions.kind) != (found["phase"], found["kind"]):
        raise UsageError(f"player {spec!r} is a {about}, which have other decisions than game {game.name!r}")
    return decisions


def _weights(spec: str, decisions: Decisions, found: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[float, ...]:
    """The coefficient of each feature of the game; 0 for one that never varied."""
    for name in decisions.messages:
        if not own["read"].get(name):
            raise UsageError(
                f"player {spec!r}: in the games that it was fitted to nobody read the message {name!r}, so its effect is not known; record games"
                " with it, or play without it"
            )
    missing = [name for name in decisions.features if name not in found["features"]]
    if missing:
        raise UsageError(
            f"player {spec!r} was fitted without {join(missing)}, which this game has; fit it to this game"
        )
    known = {name: float(value) for name, value in own["coefficients"].items()}
    if not all(map(math.isfinite, known.values())):
        raise ValueError("a coefficient is not finite")
    return tuple(known.get(name, 0.0) for name in decisions.features)
