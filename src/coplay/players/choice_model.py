"""A language model that replies with one token: prompts of a game in normal form, scored under the slots of a bank that all seats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from coplay.games.choice_prompts import PayoffFormat, Spacing
from coplay.games.memory import START, WINDOW_ROUNDS, Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Turn
from coplay.models.bank import REFERENCE
from coplay.models.encoding import PromptEncoder
from coplay.models.labels import reply_tokens
from coplay.models.loading import LoadedModel
from coplay.models.scoring import Prompt, Scorer, Scores
from coplay.players.choice import ChoicePolicy, Key
from coplay.players.policy import BankParameters, cached

_CACHED = 400_000
"""How many prompts and reference log-probabilities are cached before starting afresh."""


class ChoiceModel(ChoicePolicy, BankParameters):
    """The distribution over one-token replies to a seat's prompts (ShapeLLM, equation 1 with L = 1; docs/theory/shapellm.md).

    Nothing is masked: any token may be sampled, and every token but the action labels is an illegal reply (appendix A.2).

    Args:
        seats: where it may sit.
        labels: its action labels, in any of its seats; by default the game's.
        payoff_format: how the prompt sets out the payoffs.
        spacing: which spaces the prompt has.
        reference: the slot of the reference policy; by default the base model.
        system: a system prompt, which stands before the rules; None for none.

    Raises:
        UsageError: if a label is not a single token in the model's tokenizer.
    """

    window = WINDOW_ROUNDS
    """H, the rounds that ``Memory.WINDOW`` shows."""

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        scorer: Scorer,
        *,
        game: NormalFormGame,
        memory: Memory,
        seats: Sequence[str],
        labels: Sequence[str] | None = None,
        payoff_format: PayoffFormat = PayoffFormat.LIST,
        spacing: Spacing = Spacing.PAPER,
        reference: int = REFERENCE,
        system: str | None = None,
    ) -> None:
        super().__init__(name, memory)
        self.reference, self.system = reference, system
        self.scorer, self.game, self.labels = scorer, game, labels
        self.payoff_format, self.spacing = payoff_format, spacing
        self.tokenizer = loaded.tokenizer
        self.encoder = PromptEncoder(loaded.tokenizer)
        self.chat = loaded.chat
        self.width = scorer.width
        self._legal: Mapping[str, tuple[int, ...]] = {
            seat: reply_tokens(self.tokenizer, self._prompt(Key(seat, START)), labels or game.labels[seat])
            for seat in seats
        }
        self._prompts: dict[Key, Prompt] = {}
        self._reference: dict[tuple[Key, int], float] = {}
        self._texts: dict[int, str] = {}

    def legal(self, seat: str) -> tuple[int, ...]:
        """The tokens of the seat's labels."""
        return self._legal[seat]

    def actions(self, seat: str) -> tuple[str, ...]:
        """The game's."""
        return self.game.actions[seat]

    def _prompt(self, key: Key) -> str:
        parts = self.game.prompt_parts(
            key.seat, key.observation, labels=self.labels, payoff_format=self.payoff_format, spacing=self.spacing
        )
        return self.chat.prompt(parts, system=self.system)

    def prompt_text(self, turn: Turn) -> str:
        """The exact text the model reads."""
        return self._prompt(Key(turn.seat, turn.observation))

    def prompts(self, keys: Sequence[Key]) -> list[Prompt]:
        """The prompts as token ids, each tokenised once."""
        return cached(
            self._prompts, keys, lambda new: self.encoder.encode([self._prompt(key) for key in new]), most=_CACHED
        )

    @property
    def shares_passes(self) -> bool:
        """As the scorer does with the ends of prompts, which are all that is scored here."""
        return self.scorer.shares_passes

    def score(self, slots: Sequence[int], keys: Sequence[Key], *, grad: bool = False) -> Scores:
        """See :class:`coplay.players.choice.ChoicePolicy`."""
        return self.scorer.score(slots, self.prompts(keys), grad=grad)

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probabilities under the reference policy. It never changes, so each is computed once (until :meth:`clear_cache`)."""
        pairs = [(Key(turn.seat, turn.observation), turn.reply.tokens[0]) for turn in turns]
        return cached(self._reference, pairs, self._score_reference, most=_CACHED)

    def _score_reference(self, pairs: Sequence[tuple[Key, int]]) -> list[float]:
        scores = self.score([self.reference] * len(pairs), [key for key, _ in pairs])
        chosen_R1 = torch.tensor([[reply] for _, reply in pairs], device=scores.logits_RV.device)
        logprobs: list[float] = torch.log_softmax(scores.logits_RV, dim=-1).gather(1, chosen_R1)[:, 0].tolist()
        return logprobs

    def bump_version(self, slots: Sequence[int]) -> None:
        """See :class:`coplay.players.policy.Policy`."""
        super().bump_version(slots)
        self.scorer.bank.bump_version(slots)

    def clear_cache(self) -> None:
        """Drop distributions and reference log-probabilities."""
        super().clear_cache()
        self._reference.clear()
        if self.scorer.packed is not None:
            self.scorer.packed.clear()

    def reply_text(self, seat: str, reply: int) -> str:
        """The token's text."""
        if reply not in self._texts:
            self._texts[reply] = str(self.tokenizer.decode([reply]))
        return self._texts[reply]
