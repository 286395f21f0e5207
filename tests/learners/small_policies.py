"""A policy with illegal replies, small enough to reason about, and games to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from coplay.games import make_game
from coplay.games.matrix import Joint
from coplay.games.memory import Memory, Observation
from coplay.models.scoring import Scores
from coplay.play.loop.loop import Table, play_episode
from coplay.players.base import Player
from coplay.types import Episode, Move, View

IPD = make_game("ipd")
STATES: list[Joint | None] = [None, *IPD.own_states("row")]
"""The memory states of a last-round player, in the order of tables."""


class WordPolicy:
    """Five words, of which ``3`` is the first action and ``1`` the second; logits by memory state, all states apart."""

    legal = (3, 1)
    width = len(STATES)

    def __init__(self, *, slots: int = 1, seed: int = 0, scale: float = 1.0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.base = torch.randn(self.width, 5, generator=generator) * scale
        self.theta = nn.Parameter(torch.zeros(slots, self.width, 5))
        self.scored: list[int] = []

    def score(self, slots: Sequence[int], observations: Sequence[Observation], *, grad: bool = False) -> Scores:
        self.scored.append(len(observations))
        states = [STATES.index(observation.last) for observation in observations]
        with torch.set_grad_enabled(grad):
            logits = self.base[states] + self.theta[torch.tensor(list(slots)), states]
        return Scores(logits, torch.eye(self.width)[states])

    def reference_logprobs(self, observations: Sequence[Observation], replies: Sequence[int]) -> list[float]:
        logprobs = torch.log_softmax(self.base, -1)
        return [float(logprobs[STATES.index(o.last), reply]) for o, reply in zip(observations, replies, strict=True)]

    def parameters(self) -> list[nn.Parameter]:
        return [self.theta]

    def touch(self, slots: Sequence[int]) -> None:
        pass

    def forget(self) -> None:
        pass

    def reply_text(self, reply: int) -> str:
        return "vwxyz"[reply]

    def prompt_text(self, observation: Observation) -> str:
        return str(observation.last)


@dataclass(frozen=True)
class Fickle:
    """Plays by its draw: cooperates, defects, or says something illegal."""

    cooperates: float = 0.5
    illegal: float = 0.0
    name: str = "fickle"
    memory: Memory = Memory.LAST_ROUND

    def act(self, views: Sequence[View]) -> list[Move]:
        return [self._move(view.draw) for view in views]

    def _move(self, draw: float) -> Move:
        if draw < self.illegal:
            return Move(None, "?")
        rest = (draw - self.illegal) / (1.0 - self.illegal)
        return Move("cooperate", "C") if rest < self.cooperates else Move("defect", "D")


def play(
    row: Player,
    column: Player,
    *,
    games: int,
    rounds: int,
    occasion: tuple[int | str, ...] = ("test",),
    seeds: Sequence[int] = (0,),
    episodes: int = 1,
) -> list[Episode]:
    """The episodes of one trial, in order."""
    tables = [Table(IPD, seed, index) for seed in seeds for index in range(games)]
    played: list[Episode] = []
    for episode in range(episodes):
        played += play_episode(tables, {"row": row, "column": column}, rounds=rounds, occasion=(*occasion, episode))
    return played
