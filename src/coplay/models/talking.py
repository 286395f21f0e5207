"""How a model is talked to, without its weights: for prompts that are shown, and for what is checked before anything is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coplay.models.ends import ends_of_files
from coplay.models.known import EMBEDDED, printed_form
from coplay.models.loading import files_of, load_tokenizer, model_path
from coplay.text.chat import DAY, ChatFormat

if TYPE_CHECKING:
    from coplay.text.model_chat import Chat


def model_chat(name: str, chat: ChatFormat | None, *, chat_date: str = DAY, choices: bool = False) -> Chat:
    """How a model is talked to, without its weights, and without its tokenizer where none is needed.

    Args:
        name: the model.
        chat: the chat format; None for the model's own.
        chat_date: what chat templates take for today, as YYYY-MM-DD.
        choices: whether only prompts for one-token replies are asked for: those of printed forms need no tokenizer.

    Raises:
        UsageError: if there is no such model, or it has no chat format.
    """
    path = model_path(name)
    from coplay.text.model_chat import Chat

    named = chat is not None and chat is not ChatFormat.TEMPLATE
    if choices and (named or (chat is None and name in EMBEDDED)):
        return Chat(None, chat, printed=printed_form(name), day=chat_date)
    return Chat(
        load_tokenizer(name), chat, printed=printed_form(name), ends=ends_of_files(files_of(path)), day=chat_date
    )
