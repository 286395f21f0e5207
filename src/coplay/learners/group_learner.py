"""A policy that learns by group gradients, all seeds at once, in any number of seats.

In self-play one slot fills several seats of a seed's games. A past self is a slot that is not trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.games.base import Game
from coplay.games.records import Episode, Turn
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics, part, prefixed
from coplay.learners.group_credit import lone_games
from coplay.learners.group_gradient import Credited, credited_replies, group_loss
from coplay.learners.losses import lr_factor
from coplay.learners.movement import cannot_learn, movement_of
from coplay.learners.ratios import SHARE, off_by, scores_anew
from coplay.learners.safety_credit import safety_game, safety_metrics
from coplay.learners.settings import GroupGradient
from coplay.models.generation import TokenScores
from coplay.models.optimiser import SlotAdam
from coplay.players.policy import Policy


class GroupLearner:
    """See the module."""

    def __init__(
        self,
        name: str,
        policy: Policy,
        *,
        game: Game,
        seeds: Sequence[int],
        slots: Sequence[int],
        settings: GroupGradient,
    ) -> None:
        self.name, self.policy, self.game, self.settings = name, policy, game, settings
        self.player = policy
        self.slots = dict(zip(seeds, slots, strict=True))
        # no moments for slots behind the learners': past selves and frozen co-players never step
        rates = [settings.learning_rate] * (max(slots) + 1)
        self.adam = SlotAdam(policy.parameters(), rates, eps=settings.adam_eps)
        self.moving = movement_of(name, policy, self.slots)
        self._collected: dict[int, list[Episode]] = {seed: [] for seed in self.slots}

    def collect(self, episodes: Sequence[Episode]) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        for episode in episodes:
            self._collected[episode.seed].append(episode)

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """One optimiser step of every seed that has something to learn from, then discard the games.

        Returns:
            For each seed ``loss``, ``entropy``, ``kl`` (to the reference, if it has weight), ``tokens`` and ``grad_norm`` (the gradient's
            norm before it is limited, if it is), with a clip ``clipped_first`` (the share of replies whose ratio is outside it at the first step);
            ``note`` if there was nothing, or if games had no baseline;
            :data:`~coplay.learners.base.DIVERGED` for a seed whose gradient is not finite, which does not step.
        """
        metrics: UpdateMetrics = {}
        left: dict[int, list[Credited]] = {}
        for seed in self.slots:
            episodes = self._collected[seed]
            credited = self._credited(episodes) if episodes else []
            if not credited:
                metrics[seed] = {"note": "update skipped: no replies to learn from"}
                continue
            left[seed] = credited
            metrics[seed] = {**self._safety_metrics(episodes), **_note(episodes)}
        olds: dict[int, list[Tensor]] = {seed: [] for seed in left}
        for epoch in range(self.settings.epochs):
            self._step(left, olds, metrics, first=epoch == 0)
        self._collected = {seed: [] for seed in self.slots}
        return metrics

    def _credited(self, episodes: Sequence[Episode]) -> list[Credited]:
        game = self.game if self._measures(episodes) else None
        return credited_replies(episodes, self.game.playing_seats, self.name, self.settings, game=game)

    def _measures(self, episodes: Sequence[Episode]) -> bool:
        """Whether these games are credited by a safety objective: it has weight, or co-players come from pools that must not be mixed.

        One who does not play, such as a mediator, has none.
        """
        plays = any(seat in self.game.playing_seats for one in episodes for seat in one.seats_of(self.name))
        pooled = any(occupant.pool for one in episodes for occupant in one.seated.values())
        return plays and (pooled or self.settings.safety.active)

    def _safety_metrics(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """The safety objective of a seed's games, if there is one."""
        if not self._measures(episodes):
            return {}
        seen = [safety_game(self.game, one, seat) for one in episodes for seat in one.seats_of(self.name)]
        return safety_metrics(seen, self.settings.safety)

    def _step(
        self, left: dict[int, list[Credited]], olds: dict[int, list[Tensor]], metrics: UpdateMetrics, *, first: bool
    ) -> None:
        """One optimiser step of all seeds that are left; those that end their update with it are taken out.

        Args:
            left: what each seed learns from.
            olds: of each seed the log-probabilities before the update, see :meth:`_backward`; the first step fills them in.
            metrics: gets the figures of the first step; later ones see the same games.
            first: whether it is the update's first step.
        """
        self.adam.zero_grad()
        for seed in list(left):
            update = self._backward(self.slots[seed], left[seed], olds[seed])
            if first:
                metrics[seed] = {**update.metrics, **metrics[seed]}
            elif self.settings.epochs_kl is not None and update.moved > self.settings.epochs_kl:
                del left[seed]
        if left:
            learnt = {seed: self.slots[seed] for seed in left}
            if self.settings.max_grad_norm is not None:
                norms_P = self.adam.clip_grad_norm(self.settings.max_grad_norm).tolist()
                for seed, slot in learnt.items():
                    metrics[seed].setdefault("grad_norm", norms_P[slot])

            def nothing_reaches(slot: int) -> bool:
                turns = [one.turn for seed, own in learnt.items() if own == slot for one in left[seed]]
                return cannot_learn(self.moving, self.policy, slot, turns)

            factors = {slot: self._lr_factor(slot) for slot in learnt.values()}
            for factor in dict.fromkeys(factors.values()):  # one, unless a seed has skipped an update
                alike = [slot for slot, own in factors.items() if own == factor]
                bad = self.moving.adam_step(self.adam, alike, scale=factor, zero_is_wrong=nothing_reaches)
                for seed in [seed for seed, slot in learnt.items() if slot in bad]:
                    metrics[seed][DIVERGED] = "the gradient is not finite"
                    del left[seed]
            self.policy.bump_version(list(learnt.values()))
        self.adam.zero_grad()

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

    def _backward(self, slot: int, credited: Sequence[Credited], olds: list[Tensor]) -> _Pass:
        """Add a seed's gradient to what is there; some replies at a time.

        Args:
            slot: the seed's.
            credited: what it learns from.
            olds: of each part of the replies the log-probabilities of their tokens before the update; if it is empty, this is the update's first
                pass, which fills it: with those recorded, or with its own where ratios would not start at 1 (see ratios).
        """
        tokens = sum(len(one.turn.reply.tokens) for one in credited)
        clip, first = self.settings.clip, not olds
        whole = clip is not None
        # equal replies to equal prompts side by side: they are scored once
        credited = sorted(credited, key=lambda one: self.policy.reply_key(one.turn))
        loss = entropy = kl = moved = clipped = 0.0
        for part_number, some in enumerate(self._microbatches(credited)):
            turns = [one.turn for one in some]
            scores = self.policy.score_tokens([slot] * len(some), turns, grad=True)
            self.moving.connected(scores.logprobs_N, [slot])
            if first:
                olds.append(self._before(scores, turns))
            old_N = olds[part_number]
            credits_N = torch.tensor([one.credit for one in some]).to(scores.logprobs_N)
            reference_N = None
            if self.settings.kl_coef:
                reference_N = self.policy.score_tokens([self.policy.reference] * len(some), turns).logprobs_N
                kl += float((scores.logprobs_N.detach() - reference_N).sum()) / tokens
            moved += float((old_N - scores.logprobs_N.detach()).sum()) / len(credited)
            columns: list[Tensor | None] = [scores.logprobs_N, old_N, scores.entropies_N, reference_N]
            if whole:
                columns = [_of_replies(column, scores.rows_N, len(turns)) for column in columns]
            else:
                credits_N = credits_N[scores.rows_N]
            logprobs_N, olds_N, entropies_N, references_N = columns
            assert logprobs_N is not None and olds_N is not None and entropies_N is not None
            if clip is not None:
                clipped += float((off_by(logprobs_N, olds_N) > clip).sum()) / len(credited)
            number = len(credited) if whole else tokens
            of_some = group_loss(logprobs_N, olds_N, credits_N, entropies_N, references_N, self.settings, tokens=number)
            of_some.backward()  # type: ignore[no-untyped-call]
            loss += float(of_some.detach())
            entropy += float(scores.entropies_N.detach().sum()) / tokens
        found: dict[str, float | str] = {"loss": loss, "entropy": entropy, "tokens": float(tokens)}
        if self.settings.kl_coef:
            found["kl"] = kl
        if whole:
            found["clipped_first"] = clipped
        return _Pass(found, moved)

    def _before(self, scores: TokenScores, turns: Sequence[Turn]) -> Tensor:
        """The log-probabilities of replies' tokens before an update's first step: those recorded, or those of this pass."""
        sampled_N = torch.tensor([x for turn in turns for x in turn.reply.logprobs]).to(scores.logprobs_N)
        clip, present_N = self.settings.clip, scores.logprobs_N.detach()
        if clip is None:  # importance weights make up for the engine that sampled
            return sampled_N
        off_R = off_by(
            *(present_N.new_zeros(len(turns)).index_add(0, scores.rows_N, one_N) for one_N in (present_N, sampled_N))
        )
        return present_N if scores_anew(self.policy, clip) or bool((off_R > SHARE * clip).any()) else sampled_N

    def _microbatches(self, credited: Sequence[Credited]) -> Iterator[list[Credited]]:
        """Sorted replies in parts of so many different ones, equal ones in one part."""
        alike = [list(group) for _, group in groupby(credited, key=lambda one: self.policy.reply_key(one.turn))]
        size = self.settings.microbatch_size
        for start in range(0, len(alike), size):
            yield [one for group in alike[start : start + size] for one in group]


class _Pass(NamedTuple):
    """One pass over a seed's replies."""

    metrics: dict[str, float | str]
    """Its figures."""
    moved: float
    """The estimated KL, in nats a reply, from the policy that played to the present one."""


def _of_replies(values_N: Tensor | None, rows_N: Tensor, replies: int) -> Tensor | None:
    """Sums over the tokens of each reply."""
    return None if values_N is None else values_N.new_zeros(replies).index_add(0, rows_N, values_N)


def _note(episodes: Sequence[Episode]) -> dict[str, str]:
    """What is to be known of a seed's groups."""
    lone = lone_games(torch.tensor([episode.group for episode in episodes]))
    return {"note": f"no baseline for {lone} of {len(episodes)} games: alone in their group"} if lone else {}
