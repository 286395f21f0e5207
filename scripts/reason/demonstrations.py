"""Demonstrations of SEPO's games: prompts as the package words them, replies that give a strategy's reason and then an action.

What is learnt and what is played are two things. Seats are played by scripted players, one each for a whole game, so that all kinds of pasts occur;
every question of these games is answered once, by a strategy in the first half of the training and by the base behaviour in the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from talk.demonstrations import GARBLED, Demonstration

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import make_script, sample
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS
from coplay.rng import stream

UNIFORM = 0.4
"""How often a seat is played by a uniform player, whose actions make rare pasts; else by one of the demonstrators and their opponents."""


@dataclass(frozen=True)
class Lessons:
    """What strategies do in one game and what they say."""

    game: Game
    """The game."""
    scripts: Mapping[tuple[str, str], Player]
    """Players by name and seat: the demonstrators, their opponents, and a uniform player."""

    @property
    def strategies(self) -> Mapping[str, float]:
        """The demonstrators, with their weights."""
        return DEMONSTRATIONS[self.game.name].strategies

    def chances(self, name: str, request: Request) -> tuple[float, ...]:
        """How likely a strategy is to choose each legal action."""
        probs = self.scripts[name, request.seat].act([request])[0].probs
        assert probs is not None
        return probs

    def choices(self, request: Request) -> Sequence[Action]:
        """The legal actions."""
        choices = self.game.choices(request)
        assert choices is not None
        return choices

    def reply(self, request: Request, strategy: str, action: Action) -> str:
        """A strategy's reason for an action, and the action."""
        reason = DEMONSTRATIONS[self.game.name].reason(self.game, request, strategy, action)
        return f"{reason}\n{self.game.render_action(request, action)}"

    def of_strategies(self, request: Request, rng: np.random.Generator) -> str:
        """A strategy by its weight, what it does here, and why."""
        name = str(rng.choice(list(self.strategies), p=list(self.strategies.values())))
        i = sample(self.chances(name, request), float(rng.random()))
        return self.reply(request, name, self.choices(request)[i])

    def at_random(self, request: Request, rng: np.random.Generator) -> str:
        """The base behaviour: any legal action, all equally likely, and the reason of a strategy that could have chosen it here.

        Where none of the demonstrators could have, as with most demands of several items, it is the reason of any of them.
        """
        i = int(rng.integers(len(self.choices(request))))
        fitting = [name for name in self.strategies if self.chances(name, request)[i] > 0]
        name = str(rng.choice(fitting or list(self.strategies)))
        return self.reply(request, name, self.choices(request)[i])


def lessons_of(name: str) -> Lessons:
    """The lessons of a game by its name."""
    game, shown = make_game(name), DEMONSTRATIONS[name]
    names = dict.fromkeys((*shown.strategies, *shown.opponents, "uniform"))
    return Lessons(game, {(one, seat): make_script(one, game, seat) for one in names for seat in game.seats})


@dataclass(frozen=True)
class Demonstrator:
    """Plays every seat, each as another player, and keeps what was asked with what is to be replied."""

    name: str
    lessons: Lessons
    early: bool
    rng: np.random.Generator
    roles: Mapping[tuple[int, str], str]
    """Who plays a seat of a game."""
    kept: list[Demonstration]
    memory: Memory = Memory.TRANSCRIPT

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply:
        lessons = self.lessons
        answer = lessons.of_strategies if self.early else lessons.at_random
        self.kept.append(Demonstration(lessons.game, request, answer(request, self.rng)))
        if self.rng.random() < GARBLED:
            return Reply("?")
        return lessons.scripts[self.roles[request.game, request.seat], request.seat].act([request])[0]


def roles_of(lessons: Lessons, games: int, rng: np.random.Generator) -> dict[tuple[int, str], str]:
    """Who plays each seat of some games."""
    names = sorted({name for name, _ in lessons.scripts} - {"uniform"})
    return {
        (index, seat): "uniform" if rng.random() < UNIFORM else str(rng.choice(names))
        for index in range(games)
        for seat in lessons.game.seats
    }


def demonstrations(lessons: Lessons, *, seed: int, batch: int, games: int, early: bool) -> list[Demonstration]:
    """Play some games, and return every question with an answer.

    Args:
        lessons: the game and its strategies.
        seed: of the build.
        batch: names the random streams.
        games: how many games.
        early: whether strategies answer, as in the first half of the training, or chance.
    """
    game = lessons.game
    rng = stream(seed, "demonstrations", game.name, batch)
    player = Demonstrator("demonstrator", lessons, early, rng, roles_of(lessons, games, rng), [])
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    tables = [Table(game, seed, index, index, seated) for index in range(games)]
    play_episode(game, tables, rounds=game.rounds, streams=StreamNames(("demonstrate", batch)))
    return player.kept
