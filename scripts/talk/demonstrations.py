"""Demonstrations of the games with text: prompts as the package words them, replies of scripted styles.

A style is drawn anew for every reply, so what a seat did before says nothing of what it will do; what its co-player did says something
only as far as the style ``tit_for_tat`` has a share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.chat_matrix import IPD_AB
from coplay.games.memory import START, Memory
from coplay.games.normal_form import ACTION
from coplay.games.records import Action, Occupant, Phase, Reply, Request, Round
from coplay.games.split import ITEMS, QUANTITY, SEATS
from coplay.games.trust_and_split import BEATEN_BY, COINS
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import past_of
from coplay.players.strategies import Rule, always_cooperate, always_defect, tit_for_tat
from coplay.rng import stream

Style = Callable[[Game, Request, np.random.Generator], Action]
"""The rules, what a seat knows and its chance in; what it does out."""

STRATEGIES: Mapping[str, Rule] = {
    "always_cooperate": always_cooperate,
    "always_defect": always_defect,
    "tit_for_tat": tit_for_tat,
}
"""The styles that are strategies of the package."""

IN_KIND: Mapping[str, float] = {"ipd-ab": 0.20, "split-no-comm": 0.15, "trust-and-split": 0.15}
"""Share of ``tit_for_tat``, times the reciprocity of the build; what is left of it is shared by ``always_cooperate`` and ``always_defect``."""

EARLY = 0.75
"""Share of ``tit_for_tat`` in the first half of the training, whatever the game; the other styles share the rest. So the model learns to see
what its co-player did in the last round; how much it makes of it is then what the second half shows. What is played in the first half is
another matter: half of it is ``always_cooperate``, half ``always_defect``, since among players that answer in kind there is little to answer."""

SHARES: Mapping[str, Mapping[str, float]] = {
    "ipd-ab": {"always_cooperate": 0.45, "always_defect": 0.35},
    "split-no-comm": {"always_cooperate": 0.35, "always_defect": 0.20, "half": 0.10, "any": 0.20},
    "trust-and-split": {"always_cooperate": 0.35, "always_defect": 0.20, "half": 0.10, "any": 0.20},
}
"""Of the other styles."""

SURE = 0.95
"""In other matrix games: how often the better action is chosen."""

HIGHEST = 5
"""Largest payoff of these games; the smallest is 0."""

TRUTH, LIE = 0.88, 0.04
"""Of Trust-and-Split's messages: how many name the hand that is held, and how many another one; the rest is small talk."""

SMALL_TALK = (
    "Hello.",
    "Let us share the coins fairly.",
    "I would rather not say.",
    "Whoever has the upper hand should get more.",
)
"""Messages that name no hand."""

GARBLED = 0.01
"""Share of replies, in the past that prompts show, that cannot be parsed; none of them is learnt."""


class Demonstration(NamedTuple):
    """One question and its answer."""

    game: Game
    """The rules and their words."""
    request: Request
    """What the seat knows."""
    reply: str
    """What it replies."""


@dataclass(frozen=True)
class Demonstrator:
    """Plays every seat, and keeps what was asked and replied."""

    name: str
    game: Game
    reciprocity: float
    early: bool
    rng: np.random.Generator
    kept: list[Demonstration]
    memory: Memory = Memory.LAST_ROUND

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        texts = [self._one(request) for request in requests]
        return [Reply(text, self.game.parse_action(one, text)) for one, text in zip(requests, texts, strict=True)]

    def _one(self, request: Request) -> str:
        game = self.game
        style = draw_style(game.name, self.rng, reciprocity=self.reciprocity, early=self.early)
        text = game.render_action(request, style(game, request, self.rng))
        self.kept.append(Demonstration(game, request, text))
        if self.early:
            played = style_named(str(self.rng.choice(["always_cooperate", "always_defect"])))
            text = game.render_action(request, played(game, request, self.rng))
        return "?" if self.rng.random() < GARBLED else text


LEARNER = "learner"
"""What metrics call whoever is in the seats, as in the recipes."""


def tables_of(game: Game, player: Player, *, seed: int, games: int) -> list[Table]:
    """So many tables, each dealt for itself, with one player in every seat."""
    seated = dict.fromkeys(game.seats, Occupant(player, player.name, learner=LEARNER))
    return [Table(game, seed, index, index, seated) for index in range(games)]


def demonstrations(
    name: str, *, seed: int, batch: int, games: int, rounds: int, reciprocity: float, early: bool = False
) -> list[Demonstration]:
    """Play some games, and return every question with its answer.

    Args:
        name: the game's.
        seed: of the build.
        batch: names the random streams.
        games: how many games.
        rounds: of each.
        reciprocity: 0 to 1, how much of :data:`IN_KIND` is kept.
        early: whether :data:`EARLY` counts instead.
    """
    game = make_game(name)
    player = Demonstrator("demonstrator", game, reciprocity, early, stream(seed, "demonstrations", name, batch), [])
    tables = tables_of(game, player, seed=seed, games=games)
    play_episode(game, tables, rounds=rounds, streams=StreamNames(("demonstrate", batch)))
    return player.kept


def other_matrix_games(*, seed: int, batch: int, games: int) -> list[Demonstration]:
    """First questions of matrix games with an action that is better whatever the co-player does, which is chosen.

    They are worded as the dilemma is, so that payoffs are something to be read, and its two labels something to be sure of: a model that has
    only ever been unsure which of two labels to choose cannot become sure.
    """
    rng = stream(seed, "other games", batch)
    shown = []
    for index in range(games):
        payoffs, better = _dominance_solvable(rng)
        game = IPD_AB.with_payoffs(payoffs)
        seat = SEATS[int(rng.integers(2))]
        request = first_request(seed, index, seat, ("other games", batch))
        action = better if rng.random() < SURE else 1 - better
        shown.append(Demonstration(game, request, game.render_action(request, game.actions[seat][action])))
    return shown


def first_request(seed: int, index: int, seat: str, path: tuple[int | str, ...]) -> Request:
    """What a seat of a matrix game is asked before anything was played."""
    return Request(
        seed=seed,
        game=index,
        seat=seat,
        phase=Phase(ACTION, SEATS),
        now=Round(0),
        past=(),
        own=(),
        observation=START,
        slot=None,
        rng_path=path,
        draw=0.0,
    )


def _dominance_solvable(rng: np.random.Generator) -> tuple[list[float], int]:
    """Payoffs of a symmetric game that is no dilemma, and its dominant action."""
    while True:
        both, first, second, neither = rng.integers(HIGHEST + 1, size=4)
        better = 0 if both > second and first > neither else 1 if both < second and first < neither else None
        dilemma = second > both > neither > first or first > neither > both > second
        if better is not None and not dilemma:
            return [float(x) for x in (both, first, second, neither)], better


def draw_style(game: str, rng: np.random.Generator, *, reciprocity: float, early: bool) -> Style:
    """A style by its share."""
    if early and rng.random() < EARLY:
        return style_named("tit_for_tat")
    in_kind = reciprocity * IN_KIND[game]
    shares = {**SHARES[game], "tit_for_tat": in_kind}
    for style in ("always_cooperate", "always_defect"):
        shares[style] += (IN_KIND[game] - in_kind) / 2
    return style_named(str(rng.choice(list(shares), p=list(shares.values()))))


def style_named(name: str) -> Style:
    """A strategy of the package, or one of chance; messages are chance in all of them."""

    def style(game: Game, request: Request, rng: np.random.Generator) -> Action:
        if request.phase.name == "message":
            return _message(request.now.deal.hands[request.seat], rng)
        if name in STRATEGIES:
            cooperative, greedy = game.conducts(request.seat)
            p = STRATEGIES[name](past_of(game, request.seat, request.observation))
            return game.perform(cooperative if p == 1.0 else greedy, request)
        items = (COINS,) if game.name == "trust-and-split" else ITEMS
        if name == "half":
            return dict.fromkeys(items, QUANTITY // 2)
        return {item: int(rng.integers(QUANTITY + 1)) for item in items}

    return style


def _message(hand: str, rng: np.random.Generator) -> str:
    kind = rng.random()
    if kind >= TRUTH + LIE:
        return str(rng.choice(SMALL_TALK))
    named = hand if kind < TRUTH else str(rng.choice([other for other in BEATEN_BY if other != hand]))
    return str(rng.choice([f"My hand is {named}.", f"I have {named}."], p=[0.8, 0.2]))
