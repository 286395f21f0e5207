"""A language model as a policy: one seat's prompts, scored under the slots of a bank that all seats share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from coplay.games.matrix import MatrixGame
from coplay.games.memory import Observation
from coplay.models.bank import REFERENCE
from coplay.models.loading import LoadedModel, encode_all, reply_tokens
from coplay.models.scoring import Prompt, Scorer, Scores
from coplay.text.chat import renderer
from coplay.text.prompts import Layout, write_message

_REMEMBERED = 400_000
"""How many prompts and reference log-probabilities are remembered before starting afresh."""


class LanguageModelPolicy:
    """The distribution over one-token replies to a seat's prompts (ShapeLLM, equation 1 with L = 1).

    Nothing is masked: any token may be sampled, and every token but the action labels is an illegal reply (appendix A.2).

    Args:
        loaded: the model.
        scorer: scores prompts under the bank's slots.
        game: the rules.
        seat: the reader of the prompts.
        labels: the seat's action labels; by default the game's.
        layout: how the prompt lays out the payoffs.
        reference: the slot of the reference policy; by default the base model.

    Raises:
        UsageError: if a label is not a single token in the model's tokenizer.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        scorer: Scorer,
        *,
        game: MatrixGame,
        seat: str,
        labels: Sequence[str] | None = None,
        layout: Layout = Layout.LIST,
        reference: int = REFERENCE,
    ) -> None:
        self.reference = reference
        self.scorer, self.game, self.seat, self.layout = scorer, game, seat, layout
        self.labels = tuple(labels or game.labels[seat])
        self.tokenizer = loaded.tokenizer
        self.render = renderer(loaded.chat, loaded.tokenizer)
        self.width = int(loaded.model.config.get_text_config().hidden_size)
        self.legal = reply_tokens(self.tokenizer, self.prompt_text(Observation()), self.labels)
        self._prompts: dict[Observation, Prompt] = {}
        self._reference: dict[tuple[Observation, int], float] = {}
        self._texts: dict[int, str] = {}

    def prompt_text(self, observation: Observation) -> str:
        """The exact text the model reads."""
        return self.render(write_message(self.game, self.seat, observation, labels=self.labels, layout=self.layout))

    def prompts(self, observations: Sequence[Observation]) -> list[Prompt]:
        """The same as token ids, each tokenised once."""
        missing = list(dict.fromkeys(o for o in observations if o not in self._prompts))
        if missing:
            if len(self._prompts) >= _REMEMBERED:
                self._prompts.clear()
                missing = list(dict.fromkeys(observations))
            encoded = encode_all(self.tokenizer, [self.prompt_text(o) for o in missing])
            self._prompts.update(zip(missing, encoded, strict=True))
        return [self._prompts[o] for o in observations]

    def score(self, slots: Sequence[int], observations: Sequence[Observation], *, grad: bool = False) -> Scores:
        """Score each (slot, observation); see :class:`coplay.players.policy.Policy`."""
        return self.scorer.score(slots, self.prompts(observations), grad=grad)

    def reference_logprobs(self, observations: Sequence[Observation], replies: Sequence[int]) -> list[float]:
        """Log-probabilities under the reference policy. It never changes, so each is computed once (until :meth:`forget`)."""
        pairs = list(zip(observations, replies, strict=True))
        missing = list(dict.fromkeys(pair for pair in pairs if pair not in self._reference))
        if missing:
            if len(self._reference) >= _REMEMBERED:
                self._reference.clear()
                missing = list(dict.fromkeys(pairs))
            scores = self.score([self.reference] * len(missing), [observation for observation, _ in missing])
            logprobs_RV = torch.log_softmax(scores.logits_RV, dim=-1)
            chosen = torch.tensor([reply for _, reply in missing], device=logprobs_RV.device)
            for pair, value in zip(missing, logprobs_RV.gather(1, chosen[:, None])[:, 0].tolist(), strict=True):
                self._reference[pair] = value
        return [self._reference[pair] for pair in pairs]

    def parameters(self) -> list[nn.Parameter]:
        """The bank's adapters, all slots of all learners."""
        return self.scorer.bank.parameters()

    def touch(self, slots: Sequence[int]) -> None:
        """Say that these slots have changed."""
        self.scorer.bank.touch(slots)

    def forget(self) -> None:
        """Drop the reference log-probabilities."""
        self._reference.clear()

    def reply_text(self, reply: int) -> str:
        """The token's text."""
        if reply not in self._texts:
            self._texts[reply] = str(self.tokenizer.decode([reply]))
        return self._texts[reply]
