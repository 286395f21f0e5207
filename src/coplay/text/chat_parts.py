"""The text that a model read, taken apart into the messages it was made of, for readers."""

from __future__ import annotations

import re

from coplay.text.chat import ChatMessage

_TURN = re.compile(
    r"(?:<start_of_turn>|<\|im_start\|>|<\|start_header_id\|>)(\w+)(?:<\|end_header_id\|>)?\n+"
    r"(.*?)(?:<end_of_turn>|<\|im_end\|>|<\|eot_id\|>|\Z)",
    re.DOTALL,
)
"""A turn of Gemma's, of ChatML and of Llama's; the last one may be open."""


def messages_of(prompt: str) -> list[ChatMessage]:
    r"""The messages of a prompt; one of the user's, with the whole text, where no turns are found.

    Args:
        prompt: the exact text, tags included. The empty turn that the model is to fill is left out.

    Example:
        >>> messages_of("<bos><start_of_turn>user\nPlay.\n<end_of_turn>\n<start_of_turn>model\n")
        [ChatMessage(role='user', text='Play.')]
    """
    found = []
    for role, text in _TURN.findall(prompt):
        said = text.strip()
        if role == "system":
            found.append(ChatMessage("system", said))
        elif role in ("model", "assistant"):
            found += [ChatMessage("assistant", said)] if said else []
        else:
            found.append(ChatMessage("user", said))
    return found or [ChatMessage("user", prompt)]
