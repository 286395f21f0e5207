"""A language model that chooses among the legal actions: it writes one of them, and all other tokens are masked.

Small models often do not follow a format. Here no reply is illegal and none is made up: the probability of an action is the model's own, scaled to
the legal actions wherever their texts part. Replies tell these probabilities, so what a message or a round changes can be measured without noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request, Turn
from coplay.models.constrained import common_start, probabilities
from coplay.models.encoding import PromptEncoder
from coplay.models.scoring import Prompt
from coplay.players.base import player_error
from coplay.players.policy import cached
from coplay.players.sampling import sample
from coplay.players.shared_model import SharedModel
from coplay.text.chat import ChatMessage

_CACHED = 100_000
"""Prompts whose probabilities are kept before starting afresh."""

Asked = tuple[str, tuple[str, ...]]
"""What a distribution depends on: the prompt, and the texts of the legal actions."""


class ChoosingModel:
    """A language model as a player of games that list their choices.

    Args:
        name: what to call it.
        shared: the loaded model, shared by players of any seat and game.
        game: the rules; each request of the seat lists its choices.
        memory: what it is shown of the past.
        system: its system prompt; None for none.

    Raises:
        UsageError: if the game asks the seat for open replies.
    """

    tells_probabilities: ClassVar[bool] = True

    def __init__(
        self, name: str, shared: SharedModel, game: Game, seat: str, *, memory: Memory, system: str | None = None
    ) -> None:
        if not game.most_choices(seat):
            raise UsageError(
                f"player {name!r} chooses among listed actions; game {game.name!r} also asks {seat} for open replies, such as messages."
                " Leave out choose:, or play without them, e.g. ipd-3:talk=0"
            )
        self.name, self.game, self.memory = name, game, memory
        self._shared = shared
        self._before = [] if system is None else [ChatMessage("system", system)]
        self._encoder = PromptEncoder(shared.loaded.tokenizer)
        self._stop = shared.loaded.chat.stop
        self._known: dict[Asked, tuple[float, ...]] = {}

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        listed = [self._listed(request) for request in requests]
        asked = [(self._prompt(request), tuple(actions)) for request, actions in zip(requests, listed, strict=True)]
        found = cached(self._known, asked, self._distributions, most=_CACHED)
        return [
            self._reply(request, actions, probs)
            for request, actions, probs in zip(requests, listed, found, strict=True)
        ]

    def _listed(self, request: Request) -> Mapping[str, Action]:
        """The text of each legal action, with the action."""
        return {self.game.render_action(request, action): action for action in self.game.choices(request) or ()}

    def _prompt(self, request: Request) -> str:
        """The text that the model continues."""
        chat = chat_messages(self.game, request, self.memory)
        return self._shared.loaded.chat.conversation([*self._before, *chat])

    def _distributions(self, asked: Sequence[Asked]) -> list[tuple[float, ...]]:
        """The probability of each action, one row a prompt."""
        prompts: list[Prompt] = []
        options: list[list[Prompt]] = []
        for text, words in asked:
            prompt, *whole = self._encoder.encode([text, *(text + word for word in words)])
            shared = len(common_start([prompt, *whole]))  # a word may merge with the prompt's last characters
            prompts.append(prompt[:shared])
            options.append([ids[shared:] for ids in whole])
        engine = self._shared.engine
        scorer = engine.generator.choices if engine else self._shared.scorer
        return probabilities(scorer, [self._shared.slot] * len(prompts), prompts, options, stop=self._stop)

    def _reply(self, request: Request, actions: Mapping[str, Action], probs: tuple[float, ...]) -> Reply:
        if not all(map(math.isfinite, probs)):
            raise player_error(self.name, request, "gave numbers that are not finite; the model is broken")
        i = sample(probs, request.draw)
        text = list(actions)[i]
        return Reply(text, actions[text], logprobs=(math.log(probs[i]),), probs=probs)

    def prompt_text(self, turn: Turn) -> str | None:
        """Not kept: prompts follow from the game."""
        return None
