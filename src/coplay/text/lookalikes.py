"""Tags that are written in another way: in letters of another case or width, with characters in them that are not shown, or as entities.

No tokenizer takes them for tags, but a reader whose letters make the tags may, and a server may tidy up what it is sent.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

_LETTERS = 4
"""A tag of so many letters is one in letters of any case; ``<S>`` is not ``<s>``."""

_ENTITY = re.compile(r"&(?:amp;)*(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});", re.ASCII)

_AS_IT_IS = re.compile(r"[\t\n\r -%'-~]*")
"""Texts in which every letter stands for itself."""

_HIDDEN = ("Cc", "Cf", "Mn", "Me")
"""Categories of characters that are not shown by themselves; white space aside."""


class Lookalikes:
    """Breaks up what looks like a tag.

    Args:
        tags: those that begin with a mark count; a word with a colon is too common.
        shape: matches tags that are not known by name, each from its first mark on.
    """

    def __init__(self, tags: Iterable[str], *, shape: re.Pattern[str] | None = None) -> None:
        self._shape = shape
        tags = sorted({tag for tag in map(str.strip, tags) if tag and not tag[0].isalnum() and len(tag) > 1}, key=len)
        forms = {tag: _folded(tag)[0] for tag in tags}
        self._any_case = {forms[tag].lower(): tag for tag in tags if _letters(tag) >= _LETTERS}
        self._one_case = {forms[tag]: tag for tag in tags if _letters(tag) < _LETTERS}

    def broken(self, text: str, *, besides: Iterable[str] = ()) -> str:
        """The text with a space behind the first mark of whatever looks like a tag.

        Args:
            text: what somebody said.
            besides: tags that it may hold.
        """
        if not (self._any_case or self._one_case or self._shape):
            return text
        folded, ends = _folded(text)
        besides = tuple(besides)
        places = {ends[found.start()] for found in self._shape.finditer(folded)} if self._shape else set()
        for view, forms in ((_lowered(folded), self._any_case), (folded, self._one_case)):
            for form, tag in forms.items():
                at = -1 if tag in besides else view.find(form)
                while at >= 0:
                    places.add(ends[at])
                    at = view.find(form, at + 1)
        for place in sorted(places, reverse=True):
            text = f"{text[:place]} {text[place:]}"
        return text


def _letters(tag: str) -> int:
    return sum(letter.isalnum() for letter in tag)


def _lowered(text: str) -> str:
    """The text in small letters, as many as before."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(one if len(one.lower()) > 1 else one.lower() for one in text)


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The text in plain letters, and for each of them where what it was made of ends."""
    if _AS_IT_IS.fullmatch(text):
        return text, range(1, len(text) + 1)
    letters: list[str] = []
    ends: list[int] = []
    at = 0
    while at < len(text):
        found = _ENTITY.match(text, at) if text[at] == "&" else None
        end = found.end() if found else at + 1
        for letter in _unescaped(found[0]) if found else text[at]:
            for plain in unicodedata.normalize("NFKD", letter):
                if plain.isspace() or unicodedata.category(plain) not in _HIDDEN:
                    letters.append(plain)
                    ends.append(end)
        at = end
    return "".join(letters), ends


def _unescaped(text: str) -> str:
    """An entity's character, however often it was escaped."""
    while "&" in text and (once := html.unescape(text)) != text:
        text = once
    return text
