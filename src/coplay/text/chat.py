"""Chat formats: a message becomes the exact text a model reads.

``gemma`` and ``llama`` are the forms printed in ShapeLLM (Figures 17-19 and 11), to the character; ``template`` is the tokenizer's
own chat template, for every other family.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

from coplay.errors import UsageError
from coplay.text.templates import refuse_endless

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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

    role: Literal["system", "user", "assistant"]
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


def detect(tokenizer: PreTrainedTokenizerBase) -> ChatFormat:
    """The format that a tokenizer was trained with, recognised by the special tokens in its vocabulary."""
    known = tokenizer.get_vocab()
    if "<start_of_turn>" in known and "<end_of_turn>" in known:
        return ChatFormat.GEMMA
    if "<|start_header_id|>" in known and "<|eot_id|>" in known:
        return ChatFormat.LLAMA
    if getattr(tokenizer, "chat_template", None):
        return ChatFormat.TEMPLATE
    raise UsageError(
        "the model's tokenizer has no chat template and none of the known chat tokens;"
        " use an instruction-tuned model, or set chat=gemma or chat=llama (--chat in verbs that take a model)"
    )


def renderer(chat: ChatFormat, tokenizer: PreTrainedTokenizerBase | None = None) -> Callable[[PromptParts], str]:
    """The function that wraps messages in this format; ``template`` needs the tokenizer."""
    if chat is ChatFormat.GEMMA:
        return gemma
    if chat is ChatFormat.LLAMA:
        return llama

    if tokenizer is None:
        raise ValueError("the template format needs the tokenizer")

    def template(message: PromptParts) -> str:
        turns = [{"role": "system", "content": message.rules}, {"role": "user", "content": message.situation}]
        try:
            return _applied(tokenizer, turns)
        except UsageError:
            raise
        except Exception:  # templates without a system role raise jinja errors of their own choosing
            turns = [{"role": "user", "content": message.text}]
        try:
            return _applied(tokenizer, turns)
        except UsageError:
            raise
        except Exception as error:  # as above
            raise UsageError(
                f"the model's chat template fails ({_reason(error)}); set chat=gemma or chat=llama"
            ) from None

    return template


def _applied(tokenizer: PreTrainedTokenizerBase, turns: list[dict[str, str]]) -> str:
    """What the tokenizer's own template makes of a conversation; UsageError for one that does not end."""
    source = tokenizer.chat_template
    if isinstance(source, str):  # else several by name, of which transformers chooses one
        refuse_endless(source, turns, getattr(tokenizer, "special_tokens_map", {}))
    return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))


def _reason(error: Exception) -> str:
    """An error of a template in a short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def render_chat(chat: ChatFormat, messages: Sequence[ChatMessage], tokenizer: PreTrainedTokenizerBase) -> str:
    """A conversation as the exact text that a model continues with its reply.

    A model with a chat template is given that; others the form their family is trained with. Messages cannot
    imitate the format: tags of the tokenizer in them are broken up (:func:`defused`).

    Args:
        chat: the format, for tokenizers without a template of their own.
        messages: the messages so far, the last one from the game.
        tokenizer: the model's.

    Raises:
        UsageError: if the tokenizer's template refuses the conversation, as some do that know one turn only.
    """
    tags = special_tags(tokenizer)
    turns = [{"role": message.role, "content": defused(message.text, tags)} for message in messages]
    if getattr(tokenizer, "chat_template", None):
        try:
            return _applied(tokenizer, turns)
        except UsageError:
            raise
        except Exception as error:  # templates raise jinja errors of their own choosing
            raise UsageError(
                f"the model's chat template does not take this conversation ({_reason(error)}); show the last round only"
            ) from None
    begin, turn, ask = _TURNS[chat]
    gemma_roles = {"user": "user", "assistant": "model"}
    roles = gemma_roles if chat is ChatFormat.GEMMA else {role: role for role in ("system", "user", "assistant")}
    if unknown := next((message.role for message in messages if message.role not in roles), None):
        raise UsageError(f"the model's chat format, {chat}, has no turn of the {unknown}")
    written = [turn.format(role=roles[one["role"]], text=one["content"]) for one in turns]
    return begin + "".join(written) + ask


_TURNS = {
    ChatFormat.GEMMA: ("<bos>", "<start_of_turn>{role}\n{text}<end_of_turn>\n", "<start_of_turn>model\n"),
    ChatFormat.LLAMA: (
        "<|begin_of_text|>",
        "<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
}
"""Beginning, a turn, and the question for a reply, in the forms of Google's and Meta's own templates."""


def special_tags(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """The special tokens of a tokenizer as text, longest first, without those of one character."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    tags = added | {str(token) for token in tokenizer.all_special_tokens}
    return sorted((tag for tag in tags if len(tag) > 1), key=len, reverse=True)


def defused(text: str, tags: Sequence[str]) -> str:
    """Untrusted text with every tag broken by a space after its first character, so that it is read as text."""
    broken = True
    while broken:  # breaking one may not make another, but a tag may hold a tag
        broken = False
        for tag in tags:
            if tag in text:
                text, broken = text.replace(tag, f"{tag[0]} {tag[1:]}"), True
    return text


ENDS = ("<end_of_turn>", "<|eot_id|>", "<|im_end|>")
"""What ends a turn in Gemma's, Llama's and Qwen's formats."""


def end_of_turn(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The tokens that end a reply: whichever formats' ends of a turn the tokenizer has, and its end of text."""
    known = tokenizer.get_vocab()
    return frozenset(known[tag] for tag in (*ENDS, tokenizer.eos_token) if tag in known)


def closing(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token with which a reply is to end: the first of these that the tokenizer has; raises UsageError if it has none."""
    known = tokenizer.get_vocab()
    found = next((known[tag] for tag in (*ENDS, tokenizer.eos_token) if tag in known), None)
    if found is None:
        raise UsageError("the model's tokenizer has no token that ends a reply; use an instruction-tuned model")
    return int(found)
