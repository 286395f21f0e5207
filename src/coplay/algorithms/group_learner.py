"""A language model that learns from games in rounds by group gradients, all seeds in one bank.

Self-play: one slot fills every seat of a seed's games. A past self is a slot that is not trained; :meth:`GroupLearner.remember` makes one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

import torch
from torch import Tensor

from coplay.algorithms.base import UpdateMetrics
from coplay.algorithms.group_gradient import Credited, credited_replies, group_loss
from coplay.group_credit import lone_games
from coplay.losses import rate_share
from coplay.models.optimiser import SlotAdam
from coplay.players.round_language_model import RoundLanguageModel
from coplay.rounds.config import GroupGradient
from coplay.rounds.types import RoundEpisode


class GroupLearner:
    """See the module.

    Args:
        player: the language model; a seed's situations are spoken by the seed's slot.
        seeds: the seeds.
        slots: the slot of each.
        reference: the slot of the reference policy.
        settings: the method and its weights.
    """

    def __init__(
        self,
        player: RoundLanguageModel,
        *,
        seeds: Sequence[int],
        slots: Sequence[int],
        reference: int,
        settings: GroupGradient,
    ) -> None:
        self.player, self.reference, self.settings = player, reference, settings
        self.slots = dict(zip(seeds, slots, strict=True))
        self.bank = player.generator.scorer.bank
        # no moments for slots behind the learners': past selves and frozen co-players never step
        rates = [settings.learning_rate] * (max(slots) + 1)
        self.adam = SlotAdam(self.bank.parameters(), rates, eps=settings.adam_eps)
        self._collected: dict[int, list[tuple[RoundEpisode, Collection[str]]]]
        self.forget()

    def collect(self, episodes: Sequence[RoundEpisode], trained: Sequence[Collection[str]]) -> None:
        """Remember games until the next update.

        Args:
            episodes: the games.
            trained: for each the seats that the learner itself filled.
        """
        for episode, seats in zip(episodes, trained, strict=True):
            self._collected[episode.seed].append((episode, seats))

    def update(self) -> UpdateMetrics:
        """One optimiser step of every seed that has something to learn from, then forget the games.

        Returns:
            For each seed ``loss``, ``entropy``, ``kl`` (to the reference, if it has weight), ``tokens`` and ``grad_norm`` (the gradient's
            length before it is limited, if it is); ``note`` if there was nothing, or if games had no baseline.
        """
        metrics: UpdateMetrics = {}
        learnt: dict[int, int] = {}
        self.adam.zero_grad()
        for seed, slot in self.slots.items():
            games = self._collected[seed]
            credited = credited_replies(
                [episode for episode, _ in games],
                self.player.words.game.seats,
                [seats for _, seats in games],
                self.settings,
            )
            if not credited:
                metrics[seed] = {"note": "update skipped: nothing was said"}
                continue
            learnt[seed] = slot
            metrics[seed] = {**self._backward(slot, credited), **_note([episode for episode, _ in games])}
        if learnt:
            if self.settings.max_grad_norm is not None:
                lengths_P = self.adam.clip_grad_norm(self.settings.max_grad_norm).tolist()
                for seed, slot in learnt.items():
                    metrics[seed]["grad_norm"] = lengths_P[slot]
            updates = int(self.adam.steps_P.max()) + 1
            share = rate_share(updates, warmup=0, decay=self.settings.decay_updates, final=self.settings.final_rate)
            self.adam.step(list(learnt.values()), scale=share)
            self.bank.touch(list(learnt.values()))
        self.adam.zero_grad()
        self.forget()
        return metrics

    def remember(self, seed: int, slot: int) -> None:
        """Copy a seed's present self into another slot, as a past self to play against."""
        with torch.no_grad():
            for parameter in self.bank.parameters():
                parameter[slot] = parameter[self.slots[seed]]
        self.bank.touch([slot])

    def tensors(self) -> dict[str, Tensor]:
        """What it carries from update to update, its adapters aside, for a checkpoint."""
        return {f"adam.{key}": value for key, value in self.adam.state_dict().items()}

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""
        self.adam.load_state_dict({key.removeprefix("adam."): value for key, value in state.items()})

    def forget(self) -> None:
        """Forget the games collected since the last update."""
        self._collected = {seed: [] for seed in self.slots}

    def _backward(self, slot: int, credited: Sequence[Credited]) -> dict[str, float | str]:
        """Add a seed's gradient to what is there; some replies at a time."""
        tokens = sum(len(one.reply.tokens) for one in credited)
        # equal replies to equal prompts side by side: they are scored once
        credited = sorted(credited, key=lambda one: (one.reply.prompt, one.reply.tokens))
        loss = entropy = kl = 0.0
        for part in _parts(credited, self.settings.rows):
            prompts, replies = [one.reply.prompt for one in part], [one.reply.tokens for one in part]
            temperature, generator = self.player.temperature, self.player.generator
            scores = generator.score([slot] * len(part), prompts, replies, temperature=temperature, grad=True)
            sampled_N = torch.tensor([x for one in part for x in one.reply.logprobs]).to(scores.logprobs_N)
            credits_N = torch.tensor([one.credit for one in part]).to(scores.logprobs_N)[scores.rows_N]
            reference_N = None
            if self.settings.kl_coef:
                reference = generator.score([self.reference] * len(part), prompts, replies, temperature=temperature)
                reference_N = reference.logprobs_N
                kl += float((scores.logprobs_N.detach() - reference_N).sum()) / tokens
            of_part = group_loss(
                scores.logprobs_N, sampled_N, credits_N, scores.entropies_N, reference_N, self.settings, tokens=tokens
            )
            of_part.backward()  # type: ignore[no-untyped-call]
            loss += float(of_part.detach())
            entropy += float(scores.entropies_N.detach().sum()) / tokens
        found: dict[str, float | str] = {"loss": loss, "entropy": entropy, "tokens": float(tokens)}
        return {**found, "kl": kl} if self.settings.kl_coef else found


def _note(episodes: Sequence[RoundEpisode]) -> dict[str, str]:
    """What is to be known of a seed's groups."""
    lone = lone_games(torch.tensor([episode.group for episode in episodes]))
    return {"note": f"no baseline for {lone} of {len(episodes)} games: alone in their group"} if lone else {}


def _parts(credited: Sequence[Credited], rows: int) -> Iterator[list[Credited]]:
    """Sorted replies in parts of so many different ones, equal ones in one part."""
    alike = [list(group) for _, group in groupby(credited, key=lambda one: (one.reply.prompt, one.reply.tokens))]
    for start in range(0, len(alike), rows):
        yield [one for group in alike[start : start + rows] for one in group]
