"""Tables for games that are not in normal form: a softmax over the choices of a request, looked up by what the seat knows.

What a seat knows in a round (the phase, what it was dealt, what was done so far) and what its memory shows of earlier rounds is its information
set. Its row in the table is a hash of it, so a table has a fixed size and needs no list of all information sets; with :data:`ROWS` rows two of
them share one now and then.

See docs/theory/other_learners.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request, Turn
from coplay.models.generation import TokenScores
from coplay.players.policy import ReplyScores, TableParameters, ValueEstimates, one_token_scores, slot_of
from coplay.players.sampling import drawn_reply

ROWS = 512
"""Rows of a table."""


def information_set(request: Request) -> str:
    """What a seat knows when it acts, as text that is equal for equal knowledge; see the module."""
    return repr(
        (request.seat, request.phase.name, request.phase.turn, request.now.deal, request.now.acts, request.observation)
    )


def row_of(information: str) -> int:
    """The row of an information set."""
    return int.from_bytes(hashlib.blake2b(information.encode(), digest_size=8).digest()) % ROWS


def legal_choices(game: Game, request: Request) -> Sequence[Action]:
    """The choices of a request; raises CoplayError if the game does not list them, or lists more than it declares."""
    choices = game.choices(request)
    most = game.most_choices(request.seat)
    if choices is None or not 0 < len(choices) <= most:
        listed = "none" if choices is None else str(len(choices))
        raise CoplayError(
            f"game {game.name!r} lists {listed} choices in phase {request.phase.name!r}; a table needs 1 to max_choices={most}"
        )
    return choices


def most_of_all(game: Game) -> int:
    """The largest number of choices that a request of any seat has, as far as they are listed: the width of a table for any of them."""
    return max(game.most_choices(seat) for seat in game.seats)


class InformationTable(TableParameters):
    """A softmax over the choices of each information set.

    Args:
        game: the rules; every request has at most ``max_choices`` choices.
    """

    tells_probabilities: ClassVar[bool] = True
    reference = -1
    width = ROWS

    def __init__(self, name: str, game: Game, memory: Memory, *, slots: int) -> None:
        self.name, self.game, self.memory = name, game, memory
        self.values: ValueEstimates | None = None
        self.theta = nn.Parameter(torch.zeros(slots, ROWS, most_of_all(game)))

    # ------------------------------------------------------------------ acting

    @torch.no_grad()
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        sets = [information_set(request) for request in requests]
        slots, rows = [slot_of(request) for request in requests], [row_of(one) for one in sets]
        logits_RA = self.theta[torch.tensor(slots), torch.tensor(rows)].double()
        values = [None] * len(rows) if self.values is None else self.values(slots, _one_hot(rows))
        return [
            self._reply(request, information, logits_A, value)
            for request, information, logits_A, value in zip(requests, sets, logits_RA, values, strict=True)
        ]

    def _reply(self, request: Request, information: str, logits_A: Tensor, value: float | None) -> Reply:
        choices = legal_choices(self.game, request)
        probs: tuple[float, ...] = tuple(torch.softmax(logits_A[: len(choices)], -1).tolist())
        return drawn_reply(self.game, request, choices, probs, indexed=True)._replace(
            value=value, information=information
        )

    # ------------------------------------------------------------------ scoring again

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """See :class:`coplay.players.policy.Policy`."""
        rows = [row_of(turn.reply.information) for turn in turns]
        counts_R1 = torch.tensor([[len(turn.reply.probs or ())] for turn in turns])
        with torch.set_grad_enabled(grad):
            slots_R = torch.tensor(list(slots))
            logits_RA = self.theta[slots_R.clamp(min=0), torch.tensor(rows)]
            if self.reference in slots:  # the uniform policy that every table starts from
                logits_RA = torch.where((slots_R != self.reference)[:, None], logits_RA, torch.zeros_like(logits_RA))
            legal_RA = torch.arange(logits_RA.shape[1]) < counts_R1
            logprobs_RA = torch.log_softmax(logits_RA.masked_fill(~legal_RA, -1e9), -1)
            chosen_R1 = torch.tensor([turn.reply.tokens for turn in turns])
            entropies_R = -(logprobs_RA.exp() * logprobs_RA).masked_fill(~legal_RA, 0.0).sum(-1)
            return ReplyScores(logprobs_RA.gather(1, chosen_R1)[:, 0], entropies_R, _one_hot(rows))

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """See :class:`coplay.players.policy.Policy`; a reply is one token."""
        return one_token_scores(self.score_replies(slots, turns, grad=grad))

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probabilities under the uniform policy that every table starts from."""
        return [-math.log(len(turn.reply.probs or (1,))) for turn in turns]

    def reply_key(self, turn: Turn) -> tuple[str | tuple[int, ...], ...]:
        """See :class:`coplay.players.policy.Policy`."""
        return (turn.reply.information, turn.reply.tokens)

    def clear_cache(self) -> None:
        """Nothing is computed ahead."""

    def prompt_text(self, turn: Turn) -> str:
        """What the seat knew, for a reader."""
        return turn.reply.information


def _one_hot(rows: Sequence[int]) -> Tensor:
    return nn.functional.one_hot(torch.tensor(list(rows)), ROWS).float()
