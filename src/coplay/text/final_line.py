"""Replies that may reason before they act: the action stands on the last line that is not empty (SEPO, section 3.4).

Thoughts between ``<think>`` and ``</think>`` are no part of a reply, whatever they hold; a reply whose thought does not end has no last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from coplay.text.rendering import join

ActionT = TypeVar("ActionT")

THINK = ("<think>", "</think>")
"""The tags around a thought."""

_THOUGHT = re.compile(f"{THINK[0]}.*?{THINK[1]}", re.DOTALL)


def without_thoughts(text: str) -> str | None:
    """A reply without its thoughts; None while one is not closed.

    A closing tag without an opening one ends a thought that the prompt began: what stands before it is dropped.
    """
    rest = _THOUGHT.sub("", text)
    if THINK[0] in rest:
        return None
    return rest.rpartition(THINK[1])[2]


def final_line(text: str) -> str | None:
    """The last line that is not empty, trimmed; None if there is none, or while a thought is not closed."""
    said = without_thoughts(text)
    return None if said is None else _last_line(said)


def _last_line(said: str) -> str | None:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else None


@lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these words, whole; of words that begin alike the longest."""
    some = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w\-.])(?:{some})(?![\w\-])(?!\.\d)")


def _only_word(line: str | None, words: Iterable[str]) -> re.Match[str] | None:
    """Where the one word on a line stands; None if there is no word, or more than one."""
    known = tuple(words)
    found = list(_pattern(known).finditer(line)) if line and known else []
    return found[0] if len(found) == 1 else None


def parse_final(text: str, actions: Mapping[str, ActionT]) -> ActionT | None:
    r"""The action whose word stands on the last line, with anything around it; None if no word does, or more than one.

    Words are matched whole and as they are written: the ``C`` of another word means nothing, and neither does ``cooperate`` in a sentence.

    Args:
        text: the reply as it came.
        actions: word to action.

    Example:
        >>> parse_final("They defected last time, so I do too.\nAction: DEFECT", {"COOPERATE": "cooperate", "DEFECT": "defect"})
        'defect'
    """
    found = _only_word(final_line(text), actions)
    return None if found is None else actions[found[0]]


def ends_with_word(text: str, words: Iterable[str]) -> bool:
    r"""Whether a reply can end here: one word stands on its last line, and it is not the beginning of a longer one.

    Whatever would have come next is cut off: of ``COOPERATE or DEFECT`` there is only ``COOPERATE``.

    Args:
        text: the reply so far.
        words: the words, e.g. of all legal actions.

    Example:
        >>> ends_with_word("Action: BET", ["BET", "PASS"]), ends_with_word("Action: BET", ["BET", "BET HALF"])
        (True, False)
    """
    said, known = without_thoughts(text), tuple(words)
    found = None if said is None else _only_word(_last_line(said), known)
    if said is None or found is None:
        return False
    behind = said[len(said.rstrip()) :]  # the line was trimmed
    rest = found.string[found.start() :] + behind
    return not any(word.startswith(rest) for word in known if word != found[0])


def last_characters(words: Iterable[str]) -> str:
    """The characters of which one is in any text that makes :func:`ends_with_word` true; empty if any text may."""
    known = tuple(words)
    if any(word != other and other.startswith(word) for word in known for other in known):
        return ""  # what tells a word from a longer one is whatever stands behind it
    return "".join(sorted({word[-1] for word in known}))


def ask_for(words: Sequence[str]) -> str:
    """The question for a reply that may reason first and ends with one of a few words."""
    return ask_for_line("your action", join(words, "or"))


def ask_for_line(what: str, form: str) -> str:
    """The same for a reply that ends with anything else on a line of its own; ``form`` says how it is written."""
    return f"Give your reason in a sentence or two, then write {what} on a line of its own: {form}."
