"""The published kind of training loop, one seed at a time: what coplay's trial is measured against.

This is ShapeLLM's loop on TRL 0.11.4 (appendices A.2 and A.3) as a competent person would write it today with Transformers, PEFT and
PyTorch. Each agent has its own copy of the base model, wrapped by PEFT, with a value head and one ``torch.optim.Adam``.

- *Acting*: one forward pass over the prompts of the N parallel games, one row a prompt.
- *Update*: old log-probabilities and values are computed again over all transitions, reference log-probabilities with the adapter
  switched off, then one full forward and backward pass for each minibatch.

Where the published code wastes time, this does not: it calls the decoder once instead of ``generate``, keeps the acting prompts'
token ids, runs the language-model head on the last position only, runs the two passes without gradients in large batches, and computes
no statistics. What remains is the difference in design: no seed shares a pass with another, and nothing is computed once and kept.

Games, prompts, draws of chance, minibatch orders, hyper-parameters and the mathematics of credit and losses are coplay's own, so from
the same start both play the same games and make the same updates; ``tests/benchmarks/test_benchmark_reference.py`` holds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from coplay.games import make_game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import START, Observation
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.learners.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages, whiten
from coplay.learners.losses import clipped_policy_loss, clipped_value_loss, lr_factor
from coplay.learners.ppo import entropy_coef_at
from coplay.learners.settings import PPO
from coplay.models.entropy import restricted_entropy
from coplay.models.labels import reply_tokens
from coplay.models.loading import load_model
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.rng import stream
from coplay.runs.config import Config
from coplay.runs.state import TrainingState

ROWS_A_PASS = 128
"""Rows in a pass without gradients. TRL takes no more than a minibatch; more rows cost less each."""


@dataclass(frozen=True)
class Step:
    """One round, as its agent remembers it."""

    prompt: list[int]
    token: int
    score: float
    ends_episode: bool


@dataclass(frozen=True)
class Batch:
    """The transitions of one update."""

    prompts: list[list[int]]
    tokens_R: Tensor
    old_logprobs_R: Tensor
    old_values_R: Tensor
    advantages_R: Tensor
    returns_R: Tensor


class Agent:
    """One learner of one seed, with a base model of its own."""

    def __init__(self, config: Config, game: MatrixGame, seat: str, seed: int) -> None:
        (learner,) = config.seats[seat]
        settings = config.learners[learner]
        self.game, self.seat, self.seed, self.payoff_format = game, seat, seed, config.payoff_format
        self.learner, self.update_on = learner, settings.update
        self.name, self.memory, self.ppo = settings.role, settings.memory, settings.ppo
        self.labels = tuple(settings.labels or game.labels[seat])
        loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat, precision=config.precision)
        self.tokenizer: Any = loaded.tokenizer.backend_tokenizer
        self.render = loaded.chat.prompt
        self.legal = reply_tokens(loaded.tokenizer, self._text(START), self.labels)
        adapter = config.adapter
        rank, alpha, targets = adapter.rank, adapter.alpha, list(adapter.targets)
        lora = LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets, lora_dropout=0.0, task_type="CAUSAL_LM")
        self.model: Any = get_peft_model(loaded.model, lora).eval()
        base = self.model.get_base_model()
        self.decoder, self.unembed = base.get_decoder(), base.get_output_embeddings()
        self.device = base.device
        vocabulary = self.unembed.weight.shape[0]
        self._order_V = np.array([*self.legal, *(token for token in range(vocabulary) if token not in self.legal)])
        self.head = nn.Linear(base.config.hidden_size, 1).to(self.device)
        self.optimiser = _adam(self.ppo, [p for p in self.model.parameters() if p.requires_grad], self.head)
        self.moments, self.kl_coef, self.updates = RunningMoments(), self.ppo.kl_coef, 0
        self._asked: list[list[list[int]]] = []
        self._collected: dict[int, list[Step]] = {}

    # ------------------------------------------------------------------ acting

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Sample one token for each request, legal replies first in the order of the draw, as coplay does."""
        prompts = self.tokenised([request.observation for request in requests])
        self._asked.append(prompts)
        probs_RV = np.exp(self.acting_logprobs(prompts).astype(np.float64))
        draws_R = np.array([request.draw for request in requests])
        below_RV = np.cumsum(probs_RV[:, self._order_V], axis=1) <= draws_R[:, None]
        chosen_R = self._order_V[np.minimum(below_RV.sum(axis=1), len(self._order_V) - 1)].tolist()
        return [Reply("", self._action(token), (token,)) for token in chosen_R]

    def tokenised(self, observations: Sequence[Observation]) -> list[list[int]]:
        """Write and tokenise the prompts, in one call of the tokenizer."""
        texts = [self._text(observation) for observation in observations]
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    @torch.no_grad()
    def acting_logprobs(self, prompts: Sequence[list[int]]) -> np.ndarray[Any, Any]:
        """Log-probabilities of every reply to each prompt, [R, V]."""
        logits_RV, _ = self.forward(prompts)
        return torch.log_softmax(logits_RV, dim=-1).cpu().numpy()

    def _text(self, observation: Observation) -> str:
        parts = self.game.prompt_parts(self.seat, observation, labels=self.labels, payoff_format=self.payoff_format)
        return self.render(parts)

    def _action(self, token: int) -> str | None:
        return self.game.actions[self.seat][self.legal.index(token)] if token in self.legal else None

    # ------------------------------------------------------------------ the model

    def forward(self, prompts: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Logits [R, V] and the last hidden state [R, H] at the end of each prompt, left-padded."""
        longest = max(map(len, prompts))
        ids_RL = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts], device=self.device)
        lengths_R = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        positions_RL = torch.arange(longest, device=self.device) - (longest - lengths_R)[:, None]
        seen_RL, positions_RL = (positions_RL >= 0).long(), positions_RL.clamp(min=0)
        out = self.decoder(input_ids=ids_RL, attention_mask=seen_RL, position_ids=positions_RL, use_cache=False)
        hidden_RH = out.last_hidden_state[:, -1]
        return self.unembed(hidden_RH).float(), hidden_RH.float()

    def values(self, hidden_RH: Tensor) -> Tensor:
        """The value head's estimates, [R]."""
        values_R: Tensor = self.head(hidden_RH)[:, 0]
        return values_R

    # ------------------------------------------------------------------ learning

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the agent's side of these games. Rounds that the co-player's illegal reply voided are dropped."""
        for place, episode in enumerate(episodes):
            replies, payoffs = episode.turns[self.seat], episode.payoffs(self.seat)
            kept = [t for t, payoff in enumerate(payoffs) if payoff is not None]
            steps = self._collected.setdefault(episode.game, [])
            for t in kept:
                (token,), payoff = replies[t].reply.tokens, payoffs[t]
                assert payoff is not None
                steps.append(Step(self._asked[t][place], token, payoff, t == kept[-1]))
        self._asked = []

    def update(self, rng_path: tuple[int, ...]) -> None:
        """Learn from what was collected, then discard it."""
        sequences = [steps for steps in self._collected.values() if steps]
        if sum(map(len, sequences)) >= 2:
            batch = self._batch(sequences)
            for epoch in range(self.ppo.epochs):
                order = stream(self.seed, "minibatch", self.learner, *rng_path, epoch).permutation(len(batch.prompts))
                for start in range(0, len(order), self.ppo.minibatch):
                    self._step(batch, order[start : start + self.ppo.minibatch])
        self.updates += 1
        self._collected = {}

    def _batch(self, sequences: Sequence[Sequence[Step]]) -> Batch:
        steps = [step for sequence in sequences for step in sequence]
        prompts = [step.prompt for step in steps]
        tokens_R = torch.tensor([step.token for step in steps], device=self.device)
        logprobs_R, values_R = self.recomputed(prompts, tokens_R)
        rewards_R = self._rewards(steps, logprobs_R - self.reference(prompts, tokens_R))
        advantages_R = self._advantages(sequences, rewards_R, values_R)
        return Batch(prompts, tokens_R, logprobs_R, values_R, whiten(advantages_R), advantages_R + values_R)

    @torch.no_grad()
    def recomputed(self, prompts: Sequence[list[int]], tokens_R: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the replies, and values, as they are before the update."""
        parts = [
            (_chosen(logits_RV, tokens_R[rows]), self.values(hidden_RH))
            for rows in _slices(len(prompts))
            for logits_RV, hidden_RH in [self.forward(prompts[rows])]
        ]
        logprobs, values = zip(*parts, strict=True)
        return torch.cat(logprobs), torch.cat(values)

    @torch.no_grad()
    def reference(self, prompts: Sequence[list[int]], tokens_R: Tensor) -> Tensor:
        """Log-probabilities of the replies without the adapter."""
        with self.model.disable_adapter():
            parts = [_chosen(self.forward(prompts[rows])[0], tokens_R[rows]) for rows in _slices(len(prompts))]
        return torch.cat(parts)

    def _rewards(self, steps: Sequence[Step], kl_R: Tensor) -> Tensor:
        ppo = self.ppo
        scores_R = torch.tensor([step.score for step in steps], device=self.device)
        if ppo.score_scaling:
            self.moments.update(scores_R)
            std = self.moments.std
            scores_R = (scores_R - self.moments.mean * ppo.score_normalisation) / (std if std >= 1e-6 else 1.0)
        rewards_R = scores_R - self.kl_coef * kl_R
        if ppo.kl_adaptive:
            self.kl_coef = adapted_kl_coefficient(
                self.kl_coef, float(kl_R.mean()), target=ppo.kl_target, horizon=ppo.kl_horizon, samples=len(steps)
            )
        return rewards_R

    def _advantages(self, sequences: Sequence[Sequence[Step]], rewards_R: Tensor, values_R: Tensor) -> Tensor:
        """GAE over the rounds of each game, cut where the config says."""
        lengths = [len(sequence) for sequence in sequences]
        cut = self.ppo.gae_chain == "episode"
        ends = [
            torch.tensor([(cut and step.ends_episode) or step is sequence[-1] for step in sequence])
            for sequence in sequences
        ]
        advantages_BT = generalised_advantages(
            pad_sequence(list(torch.split(rewards_R, lengths)), batch_first=True),
            pad_sequence(list(torch.split(values_R, lengths)), batch_first=True),
            pad_sequence(ends, batch_first=True).to(self.device),
            gamma=self.ppo.gamma,
            lam=self.ppo.lam,
        )
        return torch.cat([row[:length] for row, length in zip(advantages_BT, lengths, strict=True)])

    def _step(self, batch: Batch, rows: np.ndarray[Any, Any]) -> None:
        """One minibatch: full forward pass, backward pass, Adam."""
        ppo = self.ppo
        rows_R = torch.from_numpy(rows).to(self.device)
        logits_RV, hidden_RH = self.forward([batch.prompts[row] for row in rows.tolist()])
        logprobs_R = _chosen(logits_RV, batch.tokens_R[rows_R])
        values_R = self.values(hidden_RH if ppo.value_gradient == "trunk" else hidden_RH.detach())
        old_R = batch.old_logprobs_R[rows_R]
        policy_R = clipped_policy_loss(logprobs_R, old_R, batch.advantages_R[rows_R], clip=ppo.clip)
        value_R = clipped_value_loss(values_R, batch.old_values_R[rows_R], batch.returns_R[rows_R], clip=ppo.value_clip)
        loss = policy_R.mean() + ppo.value_coef * value_R.mean() - self._entropy_bonus(logits_RV)
        ratio = torch.exp(logprobs_R.detach() - old_R).mean()
        if not bool(torch.isfinite(loss)) or float(ratio) > ppo.ratio_threshold:
            return
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if ppo.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.optimiser.param_groups[0]["params"], ppo.max_grad_norm)
        factor = lr_factor(
            self.updates + 1, warmup=ppo.lr_warmup_updates, decay=ppo.lr_decay_updates, end=ppo.lr_end_factor
        )
        self.optimiser.param_groups[0]["lr"] = ppo.learning_rate * factor
        self.optimiser.step()

    def _entropy_bonus(self, logits_RV: Tensor) -> Tensor | float:
        ppo = self.ppo
        if ppo.entropy_initial == ppo.entropy_final == 0.0:
            return 0.0
        return entropy_coef_at(self.updates, ppo) * restricted_entropy(logits_RV[:, list(self.legal)]).mean()

    # ------------------------------------------------------------------ comparing with coplay

    @torch.no_grad()
    def start_from(self, state: TrainingState) -> None:
        """Take over the adapter and the value head that coplay's learner of the same name and seed has now."""
        learner: Any = state.learners[self.learner]
        weights_H = learner.heads.weights[learner.position[self.seed]]
        self.head.weight.copy_(weights_H[None, :-1])
        self.head.bias.copy_(weights_H[-1:])
        own = dict(self.model.named_parameters())
        for name, weight in coplay_adapter(state, self.learner, self.seed).items():
            own[name].copy_(weight)

    def adapter(self) -> dict[str, Tensor]:
        """Copies of the adapter's weights by PEFT's names."""
        return {name: p.detach().clone() for name, p in self.model.named_parameters() if p.requires_grad}


class StraightforwardRun:
    """One seed of an experiment: its tables and its agents.

    Args:
        config: the experiment; each seat is filled by one language-model learner, which has no other.
        seed: the seed.
        start: where to take the agents' first weights from, so that both loops play the same games.
    """

    def __init__(self, config: Config, seed: int, *, start: TrainingState | None = None) -> None:
        game = make_game(config.game)
        assert isinstance(game, MatrixGame)
        self.config, self.game = config, game
        self.agents = {seat: Agent(config, game, seat, seed) for seat in game.seats}
        seated = {seat: Occupant(agent, agent.name) for seat, agent in self.agents.items()}
        self.tables = [Table(game, seed, 0, index, seated) for index in range(config.games)]
        if start is not None:
            for agent in self.agents.values():
                agent.start_from(start)

    def trial(self, trial: int) -> list[Episode]:
        """One trial: E episodes, with each agent updating on its own clock. Returns the games."""
        config = self.config
        played: list[Episode] = []
        for table in self.tables:
            table.start_trial()
        for episode in range(config.episodes):
            streams = StreamNames(("train", trial), episode)
            games = play_episode(self.game, self.tables, rounds=config.rounds, streams=streams)
            played += games
            for agent in self.agents.values():
                agent.collect(games)
            for agent in self._due("episode"):
                agent.update((trial, episode))
        for agent in self._due("trial"):
            agent.update((trial,))
        return played

    def _due(self, clock: str) -> Iterator[Agent]:
        return (agent for agent in self.agents.values() if agent.update_on == clock)


def coplay_adapter(state: TrainingState, learner: str, seed: int) -> dict[str, Tensor]:
    """Copies of the weights of a learner's slot of coplay's bank, by PEFT's names."""
    assert state.bank is not None
    slot = state.learners[learner].slots[seed]
    return {
        f"base_model.model.{name}.lora_{side}.default.weight": weight.detach()[slot].clone()
        for name, pair in state.bank.weights.items()
        for side, weight in zip("AB", pair, strict=True)
    }


def _adam(ppo: PPO, adapter: list[nn.Parameter], head: nn.Linear) -> torch.optim.Adam:
    head_rate = ppo.learning_rate if ppo.head_learning_rate is None else ppo.head_learning_rate
    groups: list[dict[str, Any]] = [
        {"params": adapter, "eps": ppo.adam_eps},
        {"params": list(head.parameters()), "lr": head_rate},
    ]
    return torch.optim.Adam(groups, lr=ppo.learning_rate)


def _chosen(logits_RV: Tensor, tokens_R: Tensor) -> Tensor:
    return torch.log_softmax(logits_RV, dim=-1).gather(1, tokens_R[:, None])[:, 0]


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_A_PASS) for start in range(0, rows, ROWS_A_PASS))
