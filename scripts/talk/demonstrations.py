"""Demonstrations of the games in rounds: prompts as the package words them, replies of scripted styles.

A style is drawn anew for every reply, so what a seat did before says nothing of what it will do; what its co-player did says something
only as far as the style ``reciprocate`` has a share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from coplay.games.repeated import IPD_AB
from coplay.games.rounds import SEATS, Action
from coplay.players.round_scripted import RULES
from coplay.rounds.play import play_rounds, tables_of
from coplay.rounds.types import Reply, Situation
from coplay.text.rounds import WORDED, Worded, WordedMatrix

from coplay.games.split import BEATEN_BY, COINS, ITEMS, QUANTITY
from coplay.rng import stream

Style = Callable[[Situation, np.random.Generator], Action]
"""What a seat knows and its chance in, what it does out."""

RECIPROCATE: Mapping[str, float] = {"ipd-ab": 0.20, "split-no-comm": 0.15, "trust-and-split": 0.15}
"""Share of replies in kind, times the reciprocity of the build; what is left of it is shared by ``cooperate`` and ``defect``."""

EARLY = 0.75
"""Share of replies in kind in the first half of the training, whatever the game; the other styles share the rest. So the model learns to see
what its co-player did in the last round; how much it makes of it is then what the second half shows. What is played in the first half is
another matter: half of it is ``cooperate``, half ``defect``, since among players that answer in kind there is little to answer."""

SHARES: Mapping[str, Mapping[str, float]] = {
    "ipd-ab": {"cooperate": 0.45, "defect": 0.35},
    "split-no-comm": {"cooperate": 0.35, "defect": 0.20, "half": 0.10, "any": 0.20},
    "trust-and-split": {"cooperate": 0.35, "defect": 0.20, "half": 0.10, "any": 0.20},
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
"""Share of replies, in the past that prompts show, that cannot be read; none of them is learnt."""


class Demonstration(NamedTuple):
    """One question and its answer."""

    situation: Situation
    """What the seat knows."""
    words: Worded
    """The game."""
    reply: str
    """What it says."""


@dataclass(frozen=True)
class Demonstrator:
    """Plays every seat, and keeps what was asked and answered."""

    name: str
    words: Worded
    reciprocity: float
    early: bool
    rng: np.random.Generator
    kept: list[Demonstration]

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """See :class:`coplay.rounds.play.RoundPlayer`."""
        return [Reply(self._one(situation)) for situation in situations]

    def _one(self, situation: Situation) -> str:
        game = self.words.game.name
        style = draw_style(game, self.rng, reciprocity=self.reciprocity, early=self.early)
        said = self.words.say(situation, style(situation, self.rng))
        self.kept.append(Demonstration(situation, self.words, said))
        if self.early:
            played = style_named(game, str(self.rng.choice(["cooperate", "defect"])))
            said = self.words.say(situation, played(situation, self.rng))
        return "?" if self.rng.random() < GARBLED else said


def demonstrations(
    game: str, *, seed: int, batch: int, games: int, rounds: int, reciprocity: float, early: bool = False
) -> list[Demonstration]:
    """Play some games, and return every question with its answer.

    Args:
        game: its name.
        seed: of the build.
        batch: names the stream of chance.
        games: how many games.
        rounds: of each.
        reciprocity: 0 to 1, how much of :data:`RECIPROCATE` is kept.
        early: whether :data:`EARLY` counts instead.
    """
    words = WORDED[game]
    player = Demonstrator("demonstrator", words, reciprocity, early, stream(seed, "demonstrations", game, batch), [])
    seats = dict.fromkeys(words.game.seats, player)
    play_rounds(words, tables_of(seed, range(games), seats), rounds=rounds, occasion=("demonstrate", batch))
    return player.kept


def other_matrix_games(*, seed: int, batch: int, games: int) -> list[Demonstration]:
    """First questions of matrix games with an action that is better whatever the co-player does, which is chosen.

    They are worded as the dilemma is, so that payoffs are something to be read, and its two labels something to be sure of: a model that has
    only ever been unsure which of two labels to say cannot become sure.
    """
    rng = stream(seed, "other games", batch)
    shown = []
    for index in range(games):
        payoffs, better = _dominance_solvable(rng)
        words = WordedMatrix(replace(IPD_AB, matrix=IPD_AB.matrix.with_payoffs(payoffs)))
        seat = SEATS[int(rng.integers(2))]
        situation = Situation(seed, index, index, seat, 0, "action", None, {}, (), ("other games", batch))
        action = better if rng.random() < SURE else 1 - better
        shown.append(Demonstration(situation, words, words.say(situation, words.game.actions[action])))
    return shown


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
        return style_named(game, "reciprocate")
    in_kind = reciprocity * RECIPROCATE[game]
    shares = {**SHARES[game], "reciprocate": in_kind}
    for style in ("cooperate", "defect"):
        shares[style] += (RECIPROCATE[game] - in_kind) / 2
    return style_named(game, str(rng.choice(list(shares), p=list(shares.values()))))


def style_named(game: str, name: str) -> Style:
    """A rule of the package, or one of chance; messages are chance in all of them."""

    def style(situation: Situation, rng: np.random.Generator) -> Action:
        if situation.phase == "message":
            return _message(situation.seen.hands[situation.seat], rng)
        if name in RULES[game]:
            return RULES[game][name](situation)
        items = (COINS,) if game == "trust-and-split" else ITEMS
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
