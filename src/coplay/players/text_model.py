"""A language model that replies in text: a conversation as its prompt, its reply sampled token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import WINDOW_ROUNDS, Memory
from coplay.games.records import Reply, Request, Turn
from coplay.models.bank import REFERENCE
from coplay.models.conversations import generator_of
from coplay.models.encoding import PromptEncoder
from coplay.models.generation import Generator, TokenScores
from coplay.models.loading import LoadedModel
from coplay.models.sampling import Complete, Generated
from coplay.models.scoring import Prompt, Scorer
from coplay.players.completion import Completion
from coplay.players.fallback import Fallback
from coplay.players.policy import BankParameters, ReplyScores, ValueEstimates, cached
from coplay.rng import draws
from coplay.text.chat import ChatMessage
from coplay.text.final_line import THINK

_CACHED = 10_000
"""How many prompts and texts are cached before starting afresh."""


_TAG_TOKENS = 16
"""Tokens at a prompt's end that hold a tag, however it is tokenised."""


@dataclass(frozen=True)
class Prepared:
    """Requests of a player on their way to replies."""

    requests: Sequence[Request]
    """What was asked."""
    chats: Sequence[tuple[ChatMessage, ...]]
    """The conversation that the model reads for each."""
    prompts: Sequence[Prompt]
    """Each as token ids."""
    begun: Sequence[str]
    """The text that each reply continues."""
    slots: Sequence[int]
    """The slot of each."""
    chance_RL: npt.NDArray[np.float64]
    """Uniform numbers for each token."""
    complete: Complete | None
    """What ends a reply, besides the model."""


class TextModel(BankParameters):
    """A language model as a player of any game.

    Nothing is masked: it may say anything, and what cannot be parsed is data.

    Args:
        max_tokens: tokens a reply may have.
        reference: the slot of the reference policy; by default the base model.
        fallback: whether a reply that names no action is followed by a choice among the actions; see :mod:`coplay.players.fallback`.
        system: a system prompt, which begins every conversation; None for none.
        generator: what samples; by default one of its own.

    Raises:
        UsageError: if there is to be a fallback and the model reads single turns only.
    """

    window = WINDOW_ROUNDS
    """H, the rounds that ``Memory.WINDOW`` shows."""

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        scorer: Scorer,
        *,
        game: Game,
        memory: Memory = Memory.CHAT,
        max_tokens: int = 400,
        temperature: float = 1.0,
        reference: int = REFERENCE,
        fallback: bool = False,
        system: str | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.name, self.memory = name, memory
        self.loaded, self.scorer, self.game = loaded, scorer, game
        self.max_tokens, self.temperature, self.reference = max_tokens, temperature, reference
        self.values: ValueEstimates | None = None
        self.stop = loaded.chat.stop
        self.generator = generator or generator_of(scorer, stop=self.stop)
        self.encoder = PromptEncoder(loaded.tokenizer)
        self.completion = Completion(game, self.decode, loaded.chat.stop_texts)
        self.fallback = fallback
        self.system = system
        self._fallback = Fallback(game, self.generator, self.encoder, self._render) if fallback else None
        self._prompts: dict[tuple[ChatMessage, ...], Prompt] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        self.width = scorer.width

    def request_text(self, request: Request) -> str:
        """The exact text the model reads."""
        return self._render(self._chat(request))

    def _chat(self, request: Request) -> list[ChatMessage]:
        """What the model reads, as a conversation."""
        chat = chat_messages(self.game, request, self.memory)
        return chat if self.system is None else [ChatMessage("system", self.system), *chat]

    def _render(self, chat: Sequence[ChatMessage]) -> str:
        """A conversation as the text that the model continues."""
        return self.loaded.chat.conversation(chat)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Sample a reply to each request, with the numbers of its own stream."""
        asked = self.prepare(requests)
        generated = self.generator.generate(
            asked.slots,
            asked.prompts,
            torch.from_numpy(asked.chance_RL),
            temperature=self.temperature,
            complete=asked.complete,
        )
        return self.finish(asked, generated)

    def prepare(self, requests: Sequence[Request]) -> Prepared:
        """What is generated from for each request."""
        chats = [tuple(self._chat(one)) for one in requests]
        prompts = self._encoded(chats)
        begun = [self._begun(prompt) for prompt in prompts]
        return Prepared(
            requests=requests,
            chats=chats,
            prompts=prompts,
            begun=begun,
            slots=[REFERENCE if request.slot is None else request.slot for request in requests],
            chance_RL=np.stack([draws(one.seed, "reply", *one.rng_path, n=self.max_tokens) for one in requests]),
            complete=self.completion.of(requests, begun),
        )

    def finish(self, asked: Prepared, generated: Sequence[Generated]) -> list[Reply]:
        """The replies that were generated, parsed; those that name no action perhaps with a fallback."""
        requests, chats, prompts, begun = asked.requests, asked.chats, asked.prompts, asked.begun
        replies = []
        for request, prompt, before, one in zip(requests, prompts, begun, generated, strict=True):
            ended = bool(one.tokens) and one.tokens[-1] in self.stop
            text = self.completion.without_end(self.decode(one.tokens[:-1] if ended else one.tokens))
            action = self.game.parse_action(request, before + text)
            replies.append(Reply(text, action, one.tokens, one.logprobs, prompt))
        if self._fallback is None:
            return replies
        said = [
            (*chat, ChatMessage("assistant", before + reply.text))
            for chat, before, reply in zip(chats, begun, replies, strict=True)
        ]
        return self._fallback.recovered(asked.slots, requests, said, replies)

    def _begun(self, prompt: Prompt) -> str:
        """The tag of a thought that the prompt has opened, as some chat templates do, where the game's replies may reason first; else nothing."""
        if not self.completion.ends_replies:
            return ""
        return THINK[0] if self.decode(prompt[-_TAG_TOKENS:]).rstrip().endswith(THINK[0]) else ""

    def _encoded(self, chats: Sequence[tuple[ChatMessage, ...]]) -> list[Prompt]:
        """Conversations as token ids, each rendered and tokenised once."""

        def encode(new: Sequence[tuple[ChatMessage, ...]]) -> list[Prompt]:
            return self.encoder.encode([self._render(chat) for chat in new])

        return cached(self._prompts, chats, encode, most=_CACHED)

    def decode(self, tokens: Sequence[int]) -> str:
        """Token ids as text; kept, since the same replies and beginnings of replies come again and again."""
        key = tuple(tokens)
        text = self._texts.get(key)
        if text is None:
            if len(self._texts) >= _CACHED:
                self._texts.clear()
            text = self._texts[key] = str(self.loaded.tokenizer.decode(list(key), skip_special_tokens=False))
        return text

    # ------------------------------------------------------------------ scoring again

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """See :class:`coplay.players.policy.Policy`."""
        prompts, replies = [turn.reply.prompt for turn in turns], [turn.reply.tokens for turn in turns]
        return self.generator.score(slots, prompts, replies, temperature=self.temperature, grad=grad)

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """See :class:`coplay.players.policy.Policy`; entropies are means over a reply's tokens."""
        tokens = self.score_tokens(slots, turns, grad=grad)
        with torch.set_grad_enabled(grad):
            zeros_R = tokens.logprobs_N.new_zeros(len(turns))
            sizes_R = zeros_R.index_add(0, tokens.rows_N, torch.ones_like(tokens.logprobs_N.detach()))
            logprobs_R = zeros_R.index_add(0, tokens.rows_N, tokens.logprobs_N)
            entropies_R = zeros_R.index_add(0, tokens.rows_N, tokens.entropies_N) / sizes_R.clamp(min=1)
        hidden_RH = self.scorer.score(slots, [turn.reply.prompt for turn in turns], grad=grad).hidden_RH
        return ReplyScores(logprobs_R, entropies_R, hidden_RH)

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """See :class:`coplay.players.policy.Policy`."""
        tokens = self.score_tokens([self.reference] * len(turns), turns)
        logprobs: list[float] = (
            tokens.logprobs_N.new_zeros(len(turns)).index_add(0, tokens.rows_N, tokens.logprobs_N).tolist()
        )
        return logprobs

    def reply_key(self, turn: Turn) -> tuple[tuple[int, ...], ...]:
        """See :class:`coplay.players.policy.Policy`."""
        return (turn.reply.prompt, turn.reply.tokens)

    def clear_cache(self) -> None:
        """See :class:`coplay.players.policy.Policy`."""
        self.generator.clear()
        if self.scorer.packed is not None:
            self.scorer.packed.clear()

    def prompt_text(self, turn: Turn) -> str | None:
        """See :class:`coplay.players.policy.Policy`."""
        return self.decode(turn.reply.prompt) if turn.reply.prompt else None
