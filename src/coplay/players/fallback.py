"""A reply that names no action is followed by a question that the model can only answer with one (SEPO, section 3.4).

What the model has said becomes a turn of the conversation, so its reasons are before it when it decides. One forward pass decides where the first
tokens of the actions differ. Nothing is sampled: there is no probability by which the action could be trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.records import Action, Reply, Request
from coplay.models.constrained import common_start, likeliest
from coplay.models.encoding import PromptEncoder
from coplay.models.generation import Generator
from coplay.models.scoring import Prompt
from coplay.text.chat import ChatMessage

_MOST_WORDS = 16
"""Actions that the question lists."""

_SAID = (ChatMessage("user", "?"), ChatMessage("assistant", "?"))
"""A conversation to try a chat template with."""


def final_question(words: Sequence[str]) -> ChatMessage:
    """What is asked after a reply that names no action; many words are not listed again."""
    if len(words) > _MOST_WORDS:
        return ChatMessage("user", "State your final action, in the form that was asked for:")
    return ChatMessage("user", f"State your final action ({'/'.join(words)}):")


class Fallback:
    """Finds an action for replies that name none.

    Args:
        game: the game.
        generator: the model that has replied, and what ends its replies.
        encoder: its tokenizer.
        render: from a conversation to the text that the model continues.

    Raises:
        UsageError: if the model's chat template takes no conversation of several turns.
    """

    def __init__(
        self,
        game: Game,
        generator: Generator,
        encoder: PromptEncoder,
        render: Callable[[Sequence[ChatMessage]], str],
    ) -> None:
        self.game, self.generator, self.encoder, self.render = game, generator, encoder, render
        try:
            render([*_SAID, final_question("?")])
        except UsageError:
            raise UsageError(
                "a fallback asks in a second turn, and the model's chat template takes single turns only; set fallback=false"
                " (for a player: its name without fallback:), or use a model that was trained on conversations"
            ) from None

    def recovered(
        self,
        slots: Sequence[int],
        requests: Sequence[Request],
        chats: Sequence[Sequence[ChatMessage]],
        replies: Sequence[Reply],
    ) -> list[Reply]:
        """The replies, those without an action with the one that the model then chooses, and without tokens and log-probabilities.

        A reply whose log-probabilities are not finite stays as it is: the model is broken, which must be seen.

        Args:
            slots: the slot of each request.
            requests: what was asked.
            chats: each as the conversation that the model has read, with the reply as its last turn.
            replies: what it has replied.

        Raises:
            UsageError: if the game does not list the choices of a request.
        """
        found = list(replies)
        rows = [
            row for row, reply in enumerate(replies) if reply.action is None and all(map(math.isfinite, reply.logprobs))
        ]
        if not rows:
            return found
        actions = [self._actions(requests[row]) for row in rows]
        asked = [
            self._asked([*chats[row], final_question(list(own))], list(own))
            for row, own in zip(rows, actions, strict=True)
        ]
        chosen = likeliest(
            self.generator.choices,
            [slots[row] for row in rows],
            [prompt for prompt, _ in asked],
            [options for _, options in asked],
            stop=self.generator.stop,
        )
        for row, own, choice in zip(rows, actions, chosen, strict=True):
            if choice is not None:
                action = list(own.values())[choice]
                found[row] = replies[row]._replace(action=action, tokens=(), logprobs=(), fallback=True)
        return found

    def _actions(self, request: Request) -> dict[str, Action]:
        """The text of each legal action, with the action."""
        choices = self.game.choices(request)
        if not choices:
            raise UsageError(
                f"a fallback chooses among listed actions; game {self.game.name!r} lists none in phase {request.phase.name!r}."
                f" Set fallback=false (for a player: its name without fallback:)"
            )
        return {self.game.render_action(request, choice): choice for choice in choices}

    def _asked(self, chat: Sequence[ChatMessage], words: Sequence[str]) -> tuple[Prompt, list[Prompt]]:
        """The question's tokens, and those of each word behind it, as they are tokenised there."""
        text = self.render(chat)
        prompt, *whole = self.encoder.encode([text, *(text + word for word in words)])
        shared = len(common_start([prompt, *whole]))  # a word may merge with the prompt's last characters
        options = [ids[shared:] for ids in whole]
        if len(set(options)) != len(options):
            raise UsageError(
                f"a fallback cannot choose: the model's tokenizer gives some of the actions {', '.join(words)} the same tokens; set fallback=false"
            )
        return prompt[:shared], options
