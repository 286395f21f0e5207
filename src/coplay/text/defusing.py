"""A message is data: whatever in it would be read as part of a conversation's frame is broken up, so that it is read as text.

What a frame is made of, its tags, are a tokenizer's special and added tokens, and the literal text of a chat template, found by rendering.
"""

# ruff: noqa: RUF001 - tags of some families hold letters that look like others
from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from coplay.text.final_line import THINK
from coplay.text.lookalikes import Lookalikes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MOST_WORDS = 4
"""Of a line of a frame that is a tag as a whole; longer ones are prose, such as what a template says where nobody else does."""

_LEAST_MARKS = 3
"""Marks without a letter that are a tag, as in ``###``; fewer are punctuation."""

_LONGEST_TAG = 80

_FIRST_LINE = re.compile(r"\W*\w[^\n]*")

_BRACKETED = re.compile(
    "|".join(
        rf"[{a}]{{1,3}}[^{a}{b}\s]{{1,80}}[{b}]{{1,3}}"
        for a, b in (("<", ">"), (r"\[", r"\]"), ("{", "}"), ("＜", "＞"), ("【", "】"), ("«", "»"))
    )
)
"""Of bounded length, so that a text of nothing but brackets is looked through at once."""

_INSTEAD = "?_.-~"
"""What a tag of one character is replaced by."""

_MOST_PASSES = 8

FAMILIES = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin_of_text|>", "<|end_of_text|>", "<|eom_id|>"),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    *("<｜User｜>", "<｜Assistant｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<|turn>", "<turn|>"),
    *(
        "<BOS_TOKEN>",
        "<EOS_TOKEN>",
        "<end_of_utterance>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
    ),
    *("### Instruction:", "### Response:", "### Human:", "### Assistant:", "### User:", "### System:", "### Input:"),
    *("USER:", "ASSISTANT:", "SYSTEM:", "\n\nHuman:", "\n\nAssistant:"),
)
"""Tags of the common families' frames: where a template is not known, as behind an endpoint, these are broken up."""

_SHAPE = re.compile(r"<[|｜](?=[^\s<>|｜])|(?<=[^\s<>|｜])[|｜]>")
"""The two ends of tags of the shape that nothing but frames has."""


def is_tag(text: str) -> bool:
    """Whether a text can mark a frame: it holds a mark, no letter or digit alone, and more than white space or a little punctuation."""
    text = text.strip()
    if any(letter.isalnum() for letter in text):
        return not text.replace(" ", "").isalnum()
    return len(text) >= _LEAST_MARKS


def first_tag(text: str) -> str:
    r"""A text up to the end of its first line with a letter, if that is a tag of a line or two; else nothing.

    Example:
        >>> first_tag("\n\nUser: ")
        '\n\nUser:'
    """
    found = _FIRST_LINE.match(text)
    tag = (found[0] if found else text).rstrip()
    return tag if len(tag) <= _LONGEST_TAG and is_tag(tag) else ""


def brackets(texts: Iterable[str]) -> set[str]:
    """What stands in brackets in some texts."""
    return {one for text in texts for one in _BRACKETED.findall(text) if is_tag(one)}


def tags_of_frame(between: Iterable[str], tokens: Collection[str]) -> set[str]:
    """The tags in what a template writes around messages.

    A line of a few words is one as a whole, if it holds a mark, and so is whatever is in brackets on a line.

    Args:
        between: the texts before, between and behind messages.
        tokens: the tokenizer's own tags, which end a line too.
    """
    cut = re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))) or "(?!)")
    lines = {line.strip() for text in between for piece in cut.split(text) for line in piece.splitlines()}
    return brackets(lines) | {line for line in lines if len(line.split()) <= _MOST_WORDS and is_tag(line)}


def tags_of_tokenizer(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """The special tokens of a tokenizer, and those of its added tokens that hold a mark.

    A letter, a digit or white space is never a tag: no text could do without it.
    """
    special = {str(token) for token in tokenizer.all_special_tokens}
    added: set[str] = set()
    for token in tokenizer.added_tokens_decoder.values():
        (special if token.special else added).add(str(token))
    found = {one.strip() for one in special} | {one.strip() for one in added if is_tag(one)}
    return {one for one in found if one and not (len(one) == 1 and one.isalnum())}


class Defuser:
    """Breaks up tags in messages.

    Args:
        tags: what is broken up; thoughts' tags are left alone in what a seat has said itself.
        tokenizer: whose tokens a message must not become, whatever the tokenizer does to a text first; None for none.
        letters: the tags that a reader makes of letters, since they are no tokens: what looks like one of them is broken up as well.
        shape: matches tags that are not known by name.
    """

    def __init__(
        self,
        tags: Iterable[str],
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        letters: Iterable[str] = (),
        shape: re.Pattern[str] | None = None,
    ) -> None:
        self.tags = tuple(sorted(set(tags), key=lambda tag: (-len(tag), tag)))
        """Longest first."""
        self._breaks = {tag: self._broken(tag) for tag in self.tags}
        self._own = tuple(tag for tag in self.tags if tag not in THINK)
        self._lookalikes = Lookalikes(letters, shape=shape)
        self._tokenizer = tokenizer
        normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
        self._normalise = None if normalizer is None else normalizer.normalize_str
        self._seen = {self._view(tag): tag for tag in self.tags} if self._normalise else {}
        self._thought_ids: set[int] = set()
        self._ids = self._frame_ids()
        self._known: dict[tuple[str, bool], str] = {}

    def _broken(self, tag: str) -> str:
        if len(tag) == 1:
            return next(mark for mark in _INSTEAD if mark not in self.tags)
        marks = [i for i, letter in enumerate(tag) if not letter.isalnum()]
        at = marks[-1] if tag[0].isalnum() and marks else 1  # a word stays whole where only what follows makes it a tag
        return f"{tag[:at]} {tag[at:]}"

    def _frame_ids(self) -> frozenset[int]:
        """The ids of tags; not that of unknown text, which any text may hold."""
        tokenizer = self._tokenizer
        if tokenizer is None or (self._normalise is None and hasattr(tokenizer, "backend_tokenizer")):
            return frozenset()  # such a tokenizer finds its tokens in the text as it is
        known = tokenizer.get_vocab()
        self._thought_ids = {known[tag] for tag in THINK if tag in known}
        return frozenset(known[tag] for tag in self.tags if tag in known) - {tokenizer.unk_token_id}

    def defused(self, text: str, *, own: bool = False) -> str:
        """A text without tags: a space stands in each, and a tag of one character is replaced.

        Args:
            text: what somebody said.
            own: whether the model that is to read it said it itself: then it may hold its thoughts.
        """
        key = (text, own)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= 10_000:
                self._known.clear()
            found = self._known[key] = self._without(text, own)
        return found

    def _without(self, text: str, own: bool) -> str:
        text = self._as_written(text, own)
        if self._normalise is None and not self._ids:
            return text
        for attempt in range(_MOST_PASSES):
            if not self._still(text, own):
                return text
            text = self._plainer(text, attempt)
            text = self._as_written(text, own)
        return "".join(letter for letter in text if letter.isalnum() or letter.isspace())

    def _as_written(self, text: str, own: bool) -> str:
        tags = self._own if own else self.tags
        broken = True
        while broken:  # breaking one may make another; each gap is widened a few times at most
            broken = False
            for tag in tags:
                if tag in text:
                    text, broken = text.replace(tag, self._breaks[tag]), True
            plain = self._lookalikes.broken(text, besides=THINK if own else ())
            text, broken = plain, broken or plain != text
        return text

    def _view(self, text: str) -> str:
        """The text as the tokenizer looks at it."""
        assert self._normalise is not None
        return str(self._normalise(text)).replace("▁", " ").strip()

    def _still(self, text: str, own: bool) -> bool:
        """Whether the tokenizer finds a tag though none is written."""
        if self._normalise is not None:
            view = self._view(text)
            if any(seen in view for seen, tag in self._seen.items() if seen and not (own and tag in THINK)):
                return True
        if self._tokenizer is None or not self._ids:
            return False
        given = self._tokenizer(text, add_special_tokens=False, padding=False, truncation=False)["input_ids"]
        return not self._ids.isdisjoint(set(given) - self._thought_ids if own else given)

    def _plainer(self, text: str, attempt: int) -> str:
        """First each character as the tokenizer looks at it, then the whole text, then with room around its marks."""
        if self._normalise is not None and attempt == 0:
            return "".join(self._letter(letter) for letter in text)
        if self._normalise is not None and attempt == 1:
            return self._view(text)
        return re.sub(r"([^\w\s])", r" \1 ", text)

    def _letter(self, letter: str) -> str:
        return letter if letter.isalnum() or letter.isspace() else (self._view(letter) or "")


class FamilyDefuser(Defuser):
    """For readers whose template is not known: the tags of the common families, and whatever has their shape."""

    def __init__(self) -> None:
        super().__init__(FAMILIES, letters=FAMILIES, shape=_SHAPE)
