"""Networks: a multi-layer perceptron on the features of a request, and a softmax over the choices that the game lists.

Every slot has a network of its own, and all slots share a pass. A network of nobody's learning yet chooses uniformly: its last layer is zero.

See docs/theory/other_learners.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.features import features_in_words
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request, Turn
from coplay.models.generation import TokenScores
from coplay.models.stacked_mlp import StackedMLP
from coplay.players.policy import ReplyScores, ValueEstimates, one_token_scores, slot_of
from coplay.players.sampling import drawn_reply
from coplay.rng import stream_seed


class Network:
    """Features in, a number for each choice out; what networks that choose have in common.

    Args:
        name: what to call it in records.
        learner: names the random streams of the initial weights.
        game: the rules; they list the choices of every request of the seats.
        seats: the seats that it may sit in; their features must be as many.
        memory: ``none``, ``last_round`` or ``window``.
        window: H, of the window memory.
        hidden: widths of the hidden layers.
        seeds: the run's seeds, a slot each.
    """

    shares_passes: ClassVar[bool] = True
    tells_probabilities: ClassVar[bool] = False  # what it knows is more than its memory shows: payoffs, rounds over

    def __init__(
        self,
        name: str,
        learner: str,
        game: Game,
        seats: Sequence[str],
        memory: Memory,
        *,
        window: int,
        hidden: Sequence[int],
        seeds: Sequence[int],
    ) -> None:
        self.name, self.game, self.memory, self.window = name, game, memory, window
        self.rounds = {Memory.NONE: 0, Memory.LAST_ROUND: 1}.get(memory, window)
        self.features = game.feature_names(seats[0], window=self.rounds)
        self.choices = max(game.most_choices(seat) for seat in seats)
        self.slots = len(seeds)
        starts = [stream_seed(seed, "network", learner) for seed in seeds]
        self.network = StackedMLP(len(self.features), hidden, self.choices, seeds=starts)
        self.width = self.network.width

    def features_of(self, requests: Sequence[Request]) -> list[tuple[float, ...]]:
        """The features of each request; raises CoplayError where the game gives too few or too many."""
        found = [self.game.features(request, window=self.rounds) for request in requests]
        wrong = next((i for i, one in enumerate(found) if len(one) != len(self.features)), None)
        if wrong is not None:
            raise CoplayError(
                f"game {self.game.name!r} gives {len(found[wrong])} features to {requests[wrong].seat} in phase"
                f" {requests[wrong].phase.name!r}; feature_names() lists {len(self.features)}"
            )
        return found

    def choices_of(self, request: Request) -> Sequence[Action]:
        """The choices of a request; raises CoplayError if the game lists none, or more than it said."""
        choices = self.game.choices(request)
        if choices is None or not 0 < len(choices) <= self.choices:
            listed = "none" if choices is None else str(len(choices))
            raise CoplayError(
                f"game {self.game.name!r} lists {listed} choices for {request.seat} in phase {request.phase.name!r}; a network needs 1 to"
                f" most_choices()={self.choices}"
            )
        return choices

    def prompt_text(self, turn: Turn) -> str:
        """The features that are not 0, for a reader."""
        return features_in_words(self.features, turn.reply.features)

    def parameters(self) -> list[nn.Parameter]:
        """See :class:`coplay.players.policy.Policy`."""
        return self.network.parameters()

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """See :class:`coplay.players.policy.Policy`."""
        return self.network.slot_state(slot)

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`coplay.players.policy.Policy`."""
        self.network.load_slot_state(slot, state)

    def bump_version(self, slots: Sequence[int]) -> None:
        """Nothing is computed ahead."""

    def clear_cache(self) -> None:
        """Nothing is computed ahead."""


@dataclass(frozen=True)
class Replies:
    """Replies as a network reads them again, one row each."""

    features_RF: Tensor
    """What the seat was shown."""
    legal_RA: Tensor
    """Which outputs were choices."""
    chosen_R1: Tensor
    """Which of them it took."""

    def rows(self, rows_R: Tensor) -> Replies:
        """Some of them."""
        return Replies(self.features_RF[rows_R], self.legal_RA[rows_R], self.chosen_R1[rows_R])


class NetworkPolicy(Network):
    """A softmax over the choices of a request."""

    reference = -1
    values: ValueEstimates | None = None

    # ------------------------------------------------------------------ acting

    @torch.no_grad()
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        features = self.features_of(requests)
        choices = [self.choices_of(request) for request in requests]
        slots = [slot_of(request) for request in requests]
        hidden_RH, logits_RA = self.network(slots, torch.from_numpy(np.array(features, dtype=np.float32)))
        legal_RA = _legal([len(listed) for listed in choices], self.choices)
        probs_RA = torch.softmax(logits_RA.double().masked_fill(~legal_RA, -math.inf), -1).tolist()
        values = [None] * len(slots) if self.values is None else self.values(slots, hidden_RH)
        return [
            self._reply(request, listed, tuple(probs[: len(listed)]), value, shown)
            for request, listed, probs, value, shown in zip(requests, choices, probs_RA, values, features, strict=True)
        ]

    def _reply(
        self,
        request: Request,
        choices: Sequence[Action],
        probs: tuple[float, ...],
        value: float | None,
        shown: tuple[float, ...],
    ) -> Reply:
        return drawn_reply(self.game, request, choices, probs, indexed=True)._replace(value=value, features=shown)

    # ------------------------------------------------------------------ scoring again

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """See :class:`coplay.players.policy.Policy`; entropies are over the choices of each request."""
        return self.score(slots, self.read(turns), grad=grad)

    def read(self, turns: Sequence[Turn]) -> Replies:
        """Replies as :meth:`score` takes them; a learner that scores the same ones several times reads them once."""
        replies = [turn.reply for turn in turns]
        return Replies(
            torch.from_numpy(np.array([reply.features for reply in replies], dtype=np.float32)),
            _legal([len(reply.probs or ()) for reply in replies], self.choices),
            torch.from_numpy(np.array([reply.tokens for reply in replies])),
        )

    def score(self, slots: Sequence[int], replies: Replies, *, grad: bool = False) -> ReplyScores:
        """See :meth:`score_replies`."""
        slots_R, legal_RA = np.asarray(slots), replies.legal_RA
        with torch.set_grad_enabled(grad):
            hidden_RH, logits_RA = self.network(np.maximum(slots_R, 0), replies.features_RF)
            if self.reference in slots_R:  # the uniform policy that every network starts from
                learnt_R1 = torch.from_numpy(slots_R != self.reference)[:, None]
                logits_RA = torch.where(learnt_R1, logits_RA, torch.zeros_like(logits_RA))
            logprobs_RA = torch.log_softmax(logits_RA.masked_fill(~legal_RA, -1e9), -1)
            entropies_R = -(logprobs_RA.exp() * logprobs_RA).masked_fill(~legal_RA, 0.0).sum(-1)
            return ReplyScores(logprobs_RA.gather(1, replies.chosen_R1)[:, 0], entropies_R, hidden_RH)

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """See :class:`coplay.players.policy.Policy`; a reply is one token."""
        return one_token_scores(self.score_replies(slots, turns, grad=grad))

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probabilities under the uniform policy that every network starts from."""
        return [-math.log(len(turn.reply.probs or (1,))) for turn in turns]

    def reply_key(self, turn: Turn) -> tuple[str | int | tuple[int, ...], ...]:
        """See :class:`coplay.players.policy.Policy`."""
        return (repr(turn.reply.features), len(turn.reply.probs or ()), turn.reply.tokens)


def _legal(counts: Sequence[int], most: int) -> Tensor:
    """Which of ``most`` outputs are choices of a row, [R, A]."""
    return torch.from_numpy(np.arange(most) < np.asarray(counts)[:, None])
