"""A policy that learns by group gradients, all seeds at once, in any number of seats.

In self-play one slot fills several seats of a seed's games. A past self is a slot that is not trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import torch
from torch import Tensor

from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics, part, prefixed
from coplay.learners.group_credit import lone_games
from coplay.learners.group_gradient import Credited, credited_replies, group_loss
from coplay.learners.losses import lr_factor
from coplay.learners.settings import GroupGradient
from coplay.models.optimiser import SlotAdam
from coplay.players.policy import Policy


class GroupLearner:
    """See the module; ``seats`` are the game's playing seats, in order."""

    def __init__(
        self,
        name: str,
        policy: Policy,
        *,
        seats: Sequence[str],
        seeds: Sequence[int],
        slots: Sequence[int],
        settings: GroupGradient,
    ) -> None:
        self.name, self.policy, self.seats, self.settings = name, policy, tuple(seats), settings
        self.player = policy
        self.slots = dict(zip(seeds, slots, strict=True))
        # no moments for slots behind the learners': past selves and frozen co-players never step
        rates = [settings.learning_rate] * (max(slots) + 1)
        self.adam = SlotAdam(policy.parameters(), rates, eps=settings.adam_eps)
        self._collected: dict[int, list[Episode]] = {seed: [] for seed in self.slots}

    def collect(self, episodes: Sequence[Episode]) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        for episode in episodes:
            self._collected[episode.seed].append(episode)

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """One optimiser step of every seed that has something to learn from, then discard the games.

        Returns:
            For each seed ``loss``, ``entropy``, ``kl`` (to the reference, if it has weight), ``tokens`` and ``grad_norm`` (the gradient's
            norm before it is limited, if it is); ``note`` if there was nothing, or if games had no baseline;
            :data:`~coplay.learners.base.DIVERGED` for a seed whose gradient is not finite, which does not step.
        """
        metrics: UpdateMetrics = {}
        learnt: dict[int, int] = {}
        self.adam.zero_grad()
        for seed, slot in self.slots.items():
            episodes = self._collected[seed]
            credited = credited_replies(episodes, self.seats, self.name, self.settings) if episodes else []
            if not credited:
                metrics[seed] = {"note": "update skipped: no replies to learn from"}
                continue
            learnt[seed] = slot
            metrics[seed] = {**self._backward(slot, credited), **_note(episodes)}
        if learnt:
            if self.settings.max_grad_norm is not None:
                norms_P = self.adam.clip_grad_norm(self.settings.max_grad_norm).tolist()
                for seed, slot in learnt.items():
                    metrics[seed]["grad_norm"] = norms_P[slot]
            factors = {slot: self._lr_factor(slot) for slot in learnt.values()}
            for factor in dict.fromkeys(factors.values()):  # one, unless a seed has skipped an update
                bad = self.adam.step([slot for slot, own in factors.items() if own == factor], scale=factor)
                for seed in (seed for seed, slot in learnt.items() if slot in bad):
                    metrics[seed][DIVERGED] = "the gradient is not finite"
            self.policy.bump_version(list(learnt.values()))
        self.adam.zero_grad()
        self._collected = {seed: [] for seed in self.slots}
        return metrics

    def _lr_factor(self, slot: int) -> float:
        """The schedule's factor of a slot's next step; updates that were skipped do not count."""
        settings, number = self.settings, int(self.adam.steps_P[slot]) + 1
        return lr_factor(number, warmup=0, decay=settings.lr_decay_updates, end=settings.lr_end_factor)

    def clear_cache(self) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        self.policy.clear_cache()

    def state_dict(self, seed: int) -> SeedState:
        """See :class:`coplay.learners.base.Learner`."""
        slot = self.slots[seed]
        return {
            **prefixed("policy.", self.policy.slot_state(slot)),
            **prefixed("adam.", self.adam.slot_state(slot)),
        }

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        slot = self.slots[seed]
        self.policy.load_slot_state(slot, part(state, "policy."))
        self.adam.load_slot_state(slot, part(state, "adam."))

    def _backward(self, slot: int, credited: Sequence[Credited]) -> dict[str, float | str]:
        """Add a seed's gradient to what is there; some replies at a time."""
        tokens = sum(len(one.turn.reply.tokens) for one in credited)
        # equal replies to equal prompts side by side: they are scored once
        credited = sorted(credited, key=lambda one: self.policy.reply_key(one.turn))
        loss = entropy = kl = 0.0
        for some in self._microbatches(credited):
            turns = [one.turn for one in some]
            scores = self.policy.score_tokens([slot] * len(some), turns, grad=True)
            sampled_N = torch.tensor([x for turn in turns for x in turn.reply.logprobs]).to(scores.logprobs_N)
            credits_N = torch.tensor([one.credit for one in some]).to(scores.logprobs_N)[scores.rows_N]
            reference_N = None
            if self.settings.kl_coef:
                reference_N = self.policy.score_tokens([self.policy.reference] * len(some), turns).logprobs_N
                kl += float((scores.logprobs_N.detach() - reference_N).sum()) / tokens
            of_some = group_loss(
                scores.logprobs_N, sampled_N, credits_N, scores.entropies_N, reference_N, self.settings, tokens=tokens
            )
            of_some.backward()  # type: ignore[no-untyped-call]
            loss += float(of_some.detach())
            entropy += float(scores.entropies_N.detach().sum()) / tokens
        found: dict[str, float | str] = {"loss": loss, "entropy": entropy, "tokens": float(tokens)}
        return {**found, "kl": kl} if self.settings.kl_coef else found

    def _microbatches(self, credited: Sequence[Credited]) -> Iterator[list[Credited]]:
        """Sorted replies in parts of so many different ones, equal ones in one part."""
        alike = [list(group) for _, group in groupby(credited, key=lambda one: self.policy.reply_key(one.turn))]
        size = self.settings.microbatch_size
        for start in range(0, len(alike), size):
            yield [one for group in alike[start : start + size] for one in group]


def _note(episodes: Sequence[Episode]) -> dict[str, str]:
    """What is to be known of a seed's groups."""
    lone = lone_games(torch.tensor([episode.group for episode in episodes]))
    return {"note": f"no baseline for {lone} of {len(episodes)} games: alone in their group"} if lone else {}
