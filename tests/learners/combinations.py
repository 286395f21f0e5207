"""Learners on policies of every kind, each with games to learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from small_policies import IPD, RandomPlayer, WordPolicy, occupant_of
from torch import Tensor

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode
from coplay.learners.base import Learner
from coplay.learners.dqn import DQNLearner
from coplay.learners.exact import ExactLearner
from coplay.learners.group_learner import GroupLearner
from coplay.learners.ppo import PPOLearner
from coplay.learners.q_learner import QLearner
from coplay.learners.q_learning import QTable
from coplay.learners.q_network import QNetwork
from coplay.learners.reinforce import ReinforceLearner
from coplay.learners.settings import DQN, PPO, ExactGradient, GroupGradient, Lola, QLearning, Reinforce
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.choice_model import ChoiceModel
from coplay.players.network import NetworkPolicy
from coplay.players.policy import Policy
from coplay.players.scripted import make_script
from coplay.players.tabular import InitialPolicy, TabularPolicy
from coplay.players.text_model import TextModel

SPLIT = make_game("split-no-comm")

ADAM_EPS = 1e-4
"""With Adam's usual epsilon an entry whose gradient is rounding noise takes a whole step in the noise's direction."""

Seeds = Sequence[int]

# --- Policies --------------------------------------------------------------------------------------------------------------------------


def table(seeds: Seeds) -> TabularPolicy:
    initial = InitialPolicy(0.6, (0.9, 0.3, 0.7, 0.4))
    return TabularPolicy("table", IPD, "row", Memory.LAST_ROUND, slots=len(seeds), sharing=0.5, initial=initial)


def words(seeds: Seeds) -> WordPolicy:
    return WordPolicy(slots=len(seeds))


def one_token(seeds: Seeds) -> ChoiceModel:
    """``tiny``, which replies with a label, on the IPD."""
    loaded = load_model("tiny", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("learner", seed) for seed in seeds], rank=2, alpha=32.0)
    return ChoiceModel("model", loaded, Scorer(loaded.model, bank), game=IPD, memory=Memory.LAST_ROUND, seats=IPD.seats)


def network(seeds: Seeds) -> NetworkPolicy:
    """A small one, on the IPD."""
    return NetworkPolicy("network", "learner", IPD, IPD.seats, Memory.WINDOW, window=2, hidden=(8, 6), seeds=seeds)


def text(seeds: Seeds, *, temperature: float = 1.0) -> TextModel:
    """``tiny-talk``, which generates its proposals, on Split No-Comm."""
    loaded = load_model("tiny-talk", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("learner", seed) for seed in seeds], rank=2, alpha=32.0)
    return TextModel(
        "model", loaded, Scorer(loaded.model, bank), game=SPLIT, memory=Memory.LAST_ROUND, max_tokens=10,
        temperature=temperature,
    )  # fmt: skip


# --- Learners --------------------------------------------------------------------------------------------------------------------------


def ppo(policy: Policy, seeds: Seeds, **settings: Any) -> PPOLearner:
    values = {
        "learning_rate": 3e-3,
        "adam_eps": ADAM_EPS,
        "score_scaling": True,
        "minibatch": 5,
        "epochs": 2,
        **settings,
    }
    return PPOLearner("learner", policy, seeds=seeds, slots=range(len(seeds)), ppo=PPO.model_validate(values))


def group(policy: Policy, seeds: Seeds, game: Game, **settings: Any) -> GroupLearner:
    values = {"learning_rate": 3e-3, "adam_eps": ADAM_EPS, "method": "advantage_alignment", **settings}
    return GroupLearner(
        "learner", policy, game=game, seeds=seeds, slots=range(len(seeds)),
        settings=GroupGradient.model_validate(values),
    )  # fmt: skip


def q_learning(seeds: Seeds) -> QLearner:
    settings = QLearning(epsilon_initial=0.9, epsilon_updates=5)
    return QLearner("learner", QTable("q", IPD, "row", Memory.LAST_ROUND, slots=len(seeds)), seeds=seeds, q=settings)


def dqn(seeds: Seeds, **settings: Any) -> DQNLearner:
    values = {"learning_rate": 3e-3, "least": 8, "minibatch": 6, "steps": 3, "buffer": 50, "epsilon_updates": 5}
    q = QNetwork("q", "learner", IPD, IPD.seats, Memory.WINDOW, window=2, hidden=(8, 6), seeds=seeds)
    return DQNLearner("learner", q, seeds=seeds, dqn=DQN.model_validate({**values, "adam_eps": ADAM_EPS, **settings}))


# --- Games -----------------------------------------------------------------------------------------------------------------------------


def played(
    game: Game, seats: Mapping[str, Learner | Player], seeds: Seeds, number: int, *, games: int = 4, rounds: int = 3
) -> list[Episode]:
    """An episode at each table, two games a group; learners or players in the seats."""
    tables = [
        Table(game, seed, index // 2, index, {seat: occupant_of(who, seed) for seat, who in seats.items()})
        for seed in seeds
        for index in range(games)
    ]
    return play_episode(game, tables, rounds=rounds, streams=StreamNames(("train", number)))


def against_random(learner: Learner, seeds: Seeds, number: int) -> list[Episode]:
    """In row's seat of the IPD, against a player some of whose replies are illegal."""
    return played(IPD, {"row": learner, "column": RandomPlayer(0.6, illegal=0.1)}, seeds, number)


def self_play(learner: Learner, seeds: Seeds, number: int) -> list[Episode]:
    """In both seats of the IPD."""
    return played(IPD, {"row": learner, "column": learner}, seeds, number)


def split_with_script(learner: Learner, seeds: Seeds, number: int) -> list[Episode]:
    """In alice's seat of Split No-Comm, against a script."""
    return played(SPLIT, {"alice": learner, "bob": make_script("always_cooperate", SPLIT, "bob")}, seeds, number)


def split_self_play(learner: Learner, seeds: Seeds, number: int) -> list[Episode]:
    """In both seats of Split No-Comm."""
    return played(SPLIT, {"alice": learner, "bob": learner}, seeds, number)


@dataclass(frozen=True)
class Combination:
    """A learner on a policy."""

    make: Callable[[Seeds], Any]
    """A fresh one with a slot for each seed, in their order."""
    episodes: Callable[[Any, Seeds, int], list[Episode]]
    """Games of these seeds with what it has learnt so far; the number names their random streams."""

    def learn(self, learner: Learner, seeds: Seeds, *numbers: int) -> None:
        """Play and update, once for each number."""
        for number in numbers:
            learner.collect(self.episodes(learner, seeds, number))
            learner.update((number,))


ANY_LEARNER_ANY_POLICY = {
    "PPO, table": Combination(lambda seeds: ppo(table(seeds), seeds), against_random),
    "PPO, words": Combination(lambda seeds: ppo(words(seeds), seeds), against_random),
    "PPO, network": Combination(lambda seeds: ppo(network(seeds), seeds), against_random),
    "PPO, one token": Combination(lambda seeds: ppo(one_token(seeds), seeds), against_random),
    "PPO, one token, self-play": Combination(lambda seeds: ppo(one_token(seeds), seeds), self_play),
    "PPO, text": Combination(lambda seeds: ppo(text(seeds), seeds), split_with_script),
    "PPO, text, self-play": Combination(lambda seeds: ppo(text(seeds), seeds), split_self_play),
    "group, table": Combination(lambda seeds: group(table(seeds), seeds, IPD, kl_coef=0.1), self_play),
    "group, words": Combination(lambda seeds: group(words(seeds), seeds, IPD, kl_coef=0.1), against_random),
    "group, network": Combination(lambda seeds: group(network(seeds), seeds, IPD, kl_coef=0.1), self_play),
    "group, one token": Combination(lambda seeds: group(one_token(seeds), seeds, IPD, kl_coef=0.1), self_play),
    "group, text": Combination(
        lambda seeds: group(text(seeds), seeds, SPLIT, kl_coef=0.1, entropy_coef=0.01), split_self_play
    ),
}
"""Learners that train any policy, on every policy."""

CHOICES_ALONE = {
    "Q-learning": Combination(q_learning, against_random),
    "DQN": Combination(dqn, against_random),
    "DQN with a future": Combination(lambda seeds: dqn(seeds, discount=0.9, target_every=2), self_play),
    "REINFORCE": Combination(
        lambda seeds: ReinforceLearner("learner", table(seeds), seeds=seeds, reinforce=Reinforce()), against_random
    ),
    "exact": Combination(
        lambda seeds: ExactLearner("learner", table(seeds), seeds=seeds, rounds=3, exact=ExactGradient()),
        against_random,
    ),
    "LOLA": Combination(
        lambda seeds: ExactLearner("learner", table(seeds), seeds=seeds, rounds=3, exact=Lola()), against_random
    ),
}
"""Learners that train tables or networks of values."""

EVERY = {**ANY_LEARNER_ANY_POLICY, **CHOICES_ALONE}


def state_of(learner: Learner, seed: int) -> dict[str, Tensor]:
    """A seed's state, copied."""
    return {key: value.clone() for key, value in learner.state_dict(seed).items()}


def same_state(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    """Whether two states have the same names and, to the bit, the same values."""
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)
