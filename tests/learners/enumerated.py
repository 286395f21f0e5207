"""Small games with a mediator, and all their episodes with their probabilities: what estimators are held against."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant, Outcome, Phase, Reply, Request, Round, Turn, in_order
from coplay.learners.ppo import PPOLearner
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.network import NetworkPolicy

PLAYERS, MEDIATOR = ("player-1", "player-2"), "mediator"


class Nudged(Game):
    """Each round a mediator speaks or not, then two players cooperate or defect. It is paid the share that cooperates, less 0.1 if it spoke."""

    name = "nudged"
    description = "A mediator speaks or not; two players cooperate or defect."
    seats = (*PLAYERS, MEDIATOR)
    rounds = 2
    max_choices = 2

    def next_phase(self, now: Round) -> Phase | None:
        return in_order(now, [Phase("mediation", (MEDIATOR,)), Phase("action", PLAYERS)])

    def choices(self, request: Request) -> Sequence[str]:
        return ("none", "speak") if request.seat == MEDIATOR else ("cooperate", "defect")

    def payoffs(self, now: Round) -> dict[str, float | None]:
        did = now.actions("action")
        cooperation = [did[seat] for seat in PLAYERS].count("cooperate") / 2
        spoke = now.actions("mediation")[MEDIATOR] == "speak"
        return {**dict.fromkeys(PLAYERS, cooperation), MEDIATOR: cooperation - 0.1 * spoke}

    def conducts(self, seat: str) -> tuple[str, ...]:
        return () if seat == MEDIATOR else ("cooperate", "defect")

    def outcome(self, one: Round) -> Outcome:
        did = one.actions("action")
        return Outcome((*(str(did[seat]) for seat in PLAYERS), None))

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return "?"


def answer(request: Request) -> tuple[float, float]:
    """How the players of :class:`Nudged` reply: a message helps now, and cooperation by both helps in the next round. Quarters."""
    spoken = request.now.actions("mediation")[MEDIATOR] == "speak"
    last = request.past[-1].actions("action") if request.past else {}
    warm = all(last.get(seat) == "cooperate" for seat in PLAYERS)
    return (0.75, 0.25) if spoken or warm else (0.25, 0.75)


@dataclass(frozen=True)
class Forced:
    """Chooses what the number of its game says, and tells with which probability it would have."""

    game: Game
    digits: Sequence[Mapping[tuple[int, str], int]]
    """For each game the choice of every round and seat."""
    policy: Any = None
    """Who tells the probabilities; None for :func:`answer` or another rule."""
    rule: Callable[[Request], Sequence[float]] = answer
    name: str = "forced"

    @property
    def memory(self) -> Memory:
        return Memory.NONE if self.policy is None else self.policy.memory

    @property
    def window(self) -> int:
        return getattr(self.policy, "window", 3)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.policy.act(requests) if self.policy is not None else [Reply("") for _ in requests]
        return [self._forced(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _forced(self, request: Request, reply: Reply) -> Reply:
        choices = self.game.choices(request)
        assert choices is not None
        i = self.digits[request.game][request.now.number, request.seat]
        probs = tuple(reply.probs or self.rule(request))
        return reply._replace(action=choices[i], tokens=(i,), logprobs=(math.log(probs[i]),), probs=probs)


@dataclass(frozen=True)
class Enumerated:
    """All episodes of a game with a mediator."""

    episodes: list[Episode]
    """One for each way that all seats can choose."""
    others_E: Tensor
    """The probability of what all but the mediator chose."""
    policy_E: Tensor
    """That of what the mediator chose."""

    @property
    def probabilities(self) -> Tensor:
        return self.others_E * self.policy_E

    def rewards(self) -> Tensor:
        """What the mediator is paid."""
        return torch.tensor([one.payoffs(MEDIATOR) for one in self.episodes], dtype=torch.float64)

    def turns(self) -> list[list[Turn]]:
        """The mediator's turns of each episode."""
        return [one.turns[MEDIATOR] for one in self.episodes]


def enumerate_episodes(
    game: Game, policy: Any, *, rounds: int, choices: Mapping[str, int], rule: Callable[[Request], Sequence[float]]
) -> Enumerated:
    """All episodes of a game in which each seat has so many choices in each round."""
    places = [(number, seat) for number in range(rounds) for seat in choices]
    ways = [dict(zip(places, way, strict=True)) for way in product(*(range(choices[seat]) for _, seat in places))]
    mediator, players = Forced(game, ways, policy), Forced(game, ways, rule=rule)
    seated = {seat: Occupant(players, "rule") for seat in game.seats} | {
        MEDIATOR: Occupant(mediator, "learner", 0, "learner")
    }
    tables = [Table(game, 0, index, index, seated) for index in range(len(ways))]
    episodes = play_episode(game, tables, rounds=rounds, streams=StreamNames(("test",)))

    def probability(one: Episode, seats: Sequence[str]) -> float:
        return math.exp(sum(sum(turn.reply.logprobs) for seat in seats for turn in one.turns[seat]))

    others = [seat for seat in game.seats if seat != MEDIATOR]
    return Enumerated(
        episodes,
        torch.tensor([probability(one, others) for one in episodes], dtype=torch.float64),
        torch.tensor([probability(one, [MEDIATOR]) for one in episodes], dtype=torch.float64),
    )


def shaken(policy: Any, scale: float = 0.3) -> Any:
    """The same policy, away from the uniform one that it starts as."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return policy


def logprobs_of(policy: NetworkPolicy, all_: Enumerated) -> Tensor:
    """Log-probabilities of the mediator's choices, with gradients."""
    turns = [turn for own in all_.turns() for turn in own]
    scores = policy.score_replies([0] * len(turns), turns, grad=True)
    return scores.logprobs_R.double().view(len(all_.episodes), -1)


def means_of(everything: Enumerated) -> dict[tuple[tuple[float, ...], tuple[int, ...]], float]:
    """E[r | s, a], by what the mediator is shown and chooses."""
    sums: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for e, own in enumerate(everything.turns()):
        for t, turn in enumerate(own):
            chance = float(everything.probabilities[e])
            cell = sums[turn.reply.features, turn.reply.tokens]
            cell[0] += chance * float(everything.rewards()[e, t])
            cell[1] += chance
    return {key: total / weight for key, (total, weight) in sums.items()}


def gradient(value: Tensor, policy: Any) -> Tensor:
    """The gradient of a number along all parameters, in a line."""
    return torch.cat([one.flatten() for one in torch.autograd.grad(value, policy.parameters())])


def first_gradient(learner: PPOLearner, episode: Episode) -> Tensor:
    """The gradient of PPO's first step on one episode, not taken; in a line."""
    caught: list[Tensor] = []

    def step(slots: Sequence[int], *, scale: float = 1.0) -> list[int]:
        caught.append(
            torch.cat([(p.grad if p.grad is not None else p * 0).flatten() for p in learner.policy.parameters()])
        )
        return []

    learner.policy_adam.step = step  # type: ignore[method-assign]
    learner.moving.waiting.clear()  # a step that is not taken would be refused
    learner.collect([episode])
    learner.update((0,))
    assert len(caught) == 1
    return caught[0].detach().double()
