"""A language model in a seat of a game in rounds: its conversation as a prompt, its reply token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from coplay.models.generation import Generator
from coplay.models.loading import LoadedModel, encode_all
from coplay.models.scoring import Scorer
from coplay.rng import draws
from coplay.rounds.types import Reply, Situation
from coplay.text.chat import conversation, end_of_turn
from coplay.text.rounds import Past, Worded


class RoundLanguageModel:
    """A language model as a player of a game in rounds.

    Nothing is masked: it may say anything, and what cannot be read is data.

    Args:
        name: what to call it in tables.
        loaded: the model.
        scorer: the model with its bank.
        words: the game in words.
        slot: the slot that speaks in a situation, e.g. a seed's, or a past self's.
        past: how much of the past its prompts show.
        longest: tokens a reply may have.
        temperature: logits are divided by it.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        scorer: Scorer,
        words: Worded,
        *,
        slot: Callable[[Situation], int],
        past: Past = Past.CHAT,
        longest: int = 400,
        temperature: float = 1.0,
    ) -> None:
        self._name, self.loaded, self.words, self.slot = name, loaded, words, slot
        self.past, self.longest, self.temperature = past, longest, temperature
        self.stop = end_of_turn(loaded.tokenizer)
        self.generator = Generator(scorer, stop=self.stop)

    @property
    def name(self) -> str:
        """See :class:`coplay.rounds.play.RoundPlayer`."""
        return self._name

    def prompt_text(self, situation: Situation) -> str:
        """The exact text the model reads."""
        lines = self.words.conversation(situation, self.past)
        return conversation(self.loaded.chat, lines, self.loaded.tokenizer)

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """Sample a reply in each situation, with the numbers of its own stream."""
        prompts = encode_all(self.loaded.tokenizer, [self.prompt_text(situation) for situation in situations])
        chance_RL = np.stack([draws(one.seed, "reply", *one.stream, n=self.longest) for one in situations])
        slots = [self.slot(situation) for situation in situations]
        generated = self.generator.generate(slots, prompts, torch.from_numpy(chance_RL), temperature=self.temperature)
        return [
            Reply(self._text(one.tokens), prompt=prompt, tokens=one.tokens, logprobs=one.logprobs)
            for prompt, one in zip(prompts, generated, strict=True)
        ]

    def _text(self, tokens: Sequence[int]) -> str:
        """The reply without the token that ended it."""
        said = tokens[:-1] if tokens and tokens[-1] in self.stop else tokens
        return self.decode(said)

    def decode(self, tokens: Sequence[int]) -> str:
        """Token ids as text."""
        return str(self.loaded.tokenizer.decode(list(tokens), skip_special_tokens=False))
