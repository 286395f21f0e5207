"""Chat formats: a message becomes the exact text a model reads.

``gemma`` and ``llama`` are the forms printed in ShapeLLM (Figures 17-19 and 11), to the character; ``template`` is the tokenizer's
own chat template, for every other family.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from coplay.errors import UsageError
from coplay.text.prompts import Message


class ChatFormat(StrEnum):
    """How a message is wrapped for a model."""

    GEMMA = "gemma"
    """One user turn."""
    LLAMA = "llama"
    """Rules in the system turn, the situation in the user turn."""
    TEMPLATE = "template"
    """The tokenizer's chat template."""


def gemma(message: Message) -> str:
    """Gemma's user turn as in Figures 17-19: the closing tag stands on a line of its own."""
    return f"<bos><start_of_turn>user\n{message.text}\n<end_of_turn>\n<start_of_turn>model\n"


def llama(message: Message) -> str:
    """Llama's system and user turns as in Figure 11, with the full stop the figure prints between them."""
    labels = " and ".join([", ".join(message.labels[:-1]), message.labels[-1]])
    return (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        f"{message.rules} Please only use {labels} to reply.<|eot_id|>."
        "<|start_header_id|>user<|end_header_id|>\n\n"
        f"{message.situation}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def detect(tokenizer: Any) -> ChatFormat:
    """The format a tokenizer was trained with, told by the special tokens in its vocabulary."""
    known = tokenizer.get_vocab()
    if "<start_of_turn>" in known and "<end_of_turn>" in known:
        return ChatFormat.GEMMA
    if "<|start_header_id|>" in known and "<|eot_id|>" in known:
        return ChatFormat.LLAMA
    if getattr(tokenizer, "chat_template", None):
        return ChatFormat.TEMPLATE
    raise UsageError(
        "the model's tokenizer has no chat template and none of the known chat tokens;"
        " use an instruction-tuned model, or set chat=gemma or chat=llama"
    )


def renderer(chat: ChatFormat, tokenizer: Any = None) -> Callable[[Message], str]:
    """The function that wraps messages in this format; ``template`` needs the tokenizer."""
    if chat is ChatFormat.GEMMA:
        return gemma
    if chat is ChatFormat.LLAMA:
        return llama

    def template(message: Message) -> str:
        turns = [{"role": "system", "content": message.rules}, {"role": "user", "content": message.situation}]
        try:
            text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception:  # templates without a system role raise jinja errors of their own choosing
            turns = [{"role": "user", "content": message.text}]
            text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return str(text)

    return template
