"""Chat formats: a message becomes the exact text a model reads.

``gemma`` and ``llama`` are the forms printed in ShapeLLM (Figures 17-19 and 11), to the character, for models that are named with one of
them; ``template`` is the tokenizer's own chat template, for every other model (:mod:`coplay.text.model_chat`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Literal, NamedTuple

from coplay.errors import UsageError

Role = Literal["system", "user", "assistant"]


DAY = "2025-01-01"
"""What chat templates that write the date take for today, so that a model reads the same whenever a run is repeated."""


def checked_day(text: str) -> str:
    """A day as templates are given it.

    Raises:
        ValueError: if it is not written as YYYY-MM-DD.
    """
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"write a day as YYYY-MM-DD, e.g. {DAY}") from None


class ChatFormat(StrEnum):
    """How a message is wrapped for a model."""

    GEMMA = "gemma"
    """One user turn."""
    LLAMA = "llama"
    """Rules in the system turn, the situation in the user turn."""
    TEMPLATE = "template"
    """The tokenizer's chat template."""


class ChatMessage(NamedTuple):
    """One message of a conversation."""

    role: Role
    """Who speaks: the game, or the seat itself."""
    text: str
    """The text of the turn."""


@dataclass(frozen=True)
class PromptParts:
    """The parts of a self-contained prompt, before any chat format."""

    rules: str
    """Players, actions and payoffs."""
    context: str
    """Counts or transcript of earlier rounds; empty if the memory shows none."""
    state: str
    """What was done in the last round; empty before the first."""
    instruction: str
    """What to reply."""
    labels: tuple[str, ...]
    """The labels that are legal replies, in the order of the seat's actions."""

    @property
    def situation(self) -> str:
        """Everything but the rules."""
        return "\n".join(part for part in (self.context, self.state, self.instruction) if part)

    @property
    def text(self) -> str:
        """The whole prompt."""
        return f"{self.rules}\n{self.situation}"


def gemma(message: PromptParts) -> str:
    """Gemma's user turn as in Figures 17-19: the closing tag stands on a line of its own."""
    return f"<bos><start_of_turn>user\n{message.text}\n<end_of_turn>\n<start_of_turn>model\n"


def llama(message: PromptParts) -> str:
    """Llama's system and user turns as in Figure 11, with the full stop the figure prints between them."""
    labels = " and ".join([", ".join(message.labels[:-1]), message.labels[-1]])
    return (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        f"{message.rules} Please only use {labels} to reply.<|eot_id|>."
        "<|start_header_id|>user<|end_header_id|>\n\n"
        f"{message.situation}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def turns(form: ChatFormat, messages: Sequence[ChatMessage]) -> str:
    """A conversation in the forms of Google's and Meta's own templates, for models without a template of their own.

    Args:
        form: ``gemma`` or ``llama``.
        messages: the messages so far, the last one from the game.

    Raises:
        UsageError: for a turn that the format does not have.
    """
    begin, turn, ask = _TURNS[form]
    gemma_roles = {"user": "user", "assistant": "model"}
    roles = gemma_roles if form is ChatFormat.GEMMA else {role: role for role in ("system", "user", "assistant")}
    if unknown := next((message.role for message in messages if message.role not in roles), None):
        raise UsageError(f"the model's chat format, {form}, has no turn of the {unknown}")
    return begin + "".join(turn.format(role=roles[one.role], text=one.text) for one in messages) + ask


def end_of_turn(form: ChatFormat) -> str:
    """The tag that ends a turn in ``gemma`` or ``llama``."""
    return {ChatFormat.GEMMA: "<end_of_turn>", ChatFormat.LLAMA: "<|eot_id|>"}[form]


_TURNS = {
    ChatFormat.GEMMA: ("<bos>", "<start_of_turn>{role}\n{text}<end_of_turn>\n", "<start_of_turn>model\n"),
    ChatFormat.LLAMA: (
        "<|begin_of_text|>",
        "<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
}
"""Beginning, a turn, and the question for a reply, in the forms of Google's and Meta's own templates."""
