"""Tags that a message makes only together with the adjacent text of the template or of another message."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from coplay.text.arrangements import MARK
from coplay.text.chat import ChatMessage

_ROOM = "' {} '"
"""How a message is kept apart from the adjacent text; templates take spaces away."""


def kept_apart(messages: Sequence[ChatMessage], frame: str, tags: Collection[str]) -> list[ChatMessage]:
    """The messages, with room around those that would make a tag together with the frame, or with one another.

    Args:
        messages: as a template is given them.
        frame: what it makes of as many marks.
        tags: what is a tag.
    """
    pieces = re.split(MARK.format("([0-9]+)"), frame)
    found = list(messages)
    while (seam := next((i for i in _seams(found, pieces, tags) if found[i] is messages[i]), None)) is not None:
        found[seam] = messages[seam]._replace(text=_ROOM.format(messages[seam].text))
    return found


def _seams(messages: Sequence[ChatMessage], pieces: Sequence[str], tags: Collection[str]) -> Iterator[int]:
    """The messages at whose ends there is a tag, whether or not the template takes white space away."""
    most = max(map(len, tags), default=0)
    for texts in ([one.text for one in messages], [one.text.strip() for one in messages]):
        before = pieces[0]
        for at in range(1, len(pieces), 2):
            index = int(pieces[at])
            for after in (texts[index], pieces[at + 1]):
                left, right = before[-most:], after[:most]
                if any(_spans(tag, left, right) for tag in tags):
                    yield index
                before = left + after


def _spans(tag: str, left: str, right: str) -> bool:
    """Whether a tag begins in one text and ends in the next."""
    at = (left + right).find(tag, max(0, len(left) - len(tag) + 1))
    return 0 <= at < len(left)
