"""How a model is talked to: the one place that renders its prompts and conversations, and that knows where its replies end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from functools import cached_property
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.text.arrangements import MARK, Arrangement, arranged, arrangements, fault, marks_of, missing
from coplay.text.chat import (
    DAY,
    ChatFormat,
    ChatMessage,
    PromptParts,
    Role,
    checked_day,
    end_of_turn,
    gemma,
    llama,
    turns,
)
from coplay.text.defusing import FAMILIES, Defuser, brackets, first_tag, tags_of_frame, tags_of_tokenizer
from coplay.text.final_line import THINK
from coplay.text.seams import kept_apart
from coplay.text.templates import ChatTemplate, TemplateFailed

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MOST_SHAPES = 10_000

_SHAPES: tuple[tuple[Role, ...], ...] = (
    ("user",),
    ("system", "user"),
    ("user", "assistant"),
    ("user", "assistant", "user"),
    ("system", "user", "assistant", "user", "assistant"),
)
"""Conversations in which a template shows its frame."""


class Chat:
    """How a model is talked to.

    Args:
        tokenizer: the model's; None for a format that needs none.
        format: how messages are wrapped; None for the model's own chat template.
        printed: the form of prompts for one-token replies if ``format`` is None, of models that were made for it.
        ends: what ends a reply by the model's generation config: tokens and texts.
        size: how many tokens the model knows; None for all of the tokenizer's.
        day: what templates take for today, as YYYY-MM-DD.

    Raises:
        UsageError: if there is no template where one is needed, its text is not what transformers makes of it, or the day is none.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase | None,
        format: ChatFormat | None = None,
        *,
        printed: ChatFormat | None = None,
        ends: Iterable[int | str] = (),
        size: int | None = None,
        day: str = DAY,
    ) -> None:
        source = _source(tokenizer) if format in (None, ChatFormat.TEMPLATE) else None
        self.format = format or printed or ChatFormat.TEMPLATE
        """How prompts are wrapped."""
        if source is None and self.format is ChatFormat.TEMPLATE:
            raise UsageError(
                "the model's tokenizer has no chat template; use an instruction-tuned model, or set chat=gemma or chat=llama"
                " (--chat in verbs that take a model) if the model was trained with that format"
            )
        self.day = _checked(day)
        """What templates take for today, as YYYY-MM-DD."""
        self._day = datetime.combine(date.fromisoformat(self.day), time.min)
        self._tokenizer, self._size, ends = tokenizer, size, tuple(ends)
        self._ends = frozenset(one for one in ends if isinstance(one, int) and self._is_known(one))
        self._end_texts = tuple(one for one in ends if isinstance(one, str) and one)
        self._template: ChatTemplate | None = None
        self._fitting: dict[tuple[str, ...], Arrangement] = {}
        self._known: dict[tuple[tuple[Role, ...], Arrangement], tuple[str, str | None]] = {}
        if source is not None and tokenizer is not None:
            self._template = ChatTemplate(source, tokenizer.special_tokens_map)
            self._compare(tokenizer, self._template)

    # ------------------------------------------------------------------ texts

    def prompt(self, parts: PromptParts, *, system: str | None = None) -> str:
        """A self-contained prompt as the exact text that a model continues with its reply.

        Args:
            parts: the game's own words.
            system: a system prompt, which stands before the rules; None for none.

        Raises:
            UsageError: if the model's template does not show all of it.
        """
        if system is not None:
            parts = replace(parts, rules=f"{self.defused(system)}\n\n{parts.rules}")
        if self.format is ChatFormat.GEMMA:
            return gemma(parts)
        if self.format is ChatFormat.LLAMA:
            return llama(parts)
        messages = [ChatMessage("system", parts.rules), ChatMessage("user", parts.situation)]
        return self._shown(messages, glue="\n")

    def conversation(self, messages: Sequence[ChatMessage]) -> str:
        """A conversation as the exact text that a model continues with its reply.

        Messages cannot imitate the format: tags in them are broken up (:meth:`defused`).

        Args:
            messages: the messages so far, the last one from the game.

        Raises:
            UsageError: if the model's template refuses the conversation, or leaves out or changes a message.
        """
        safe = [ChatMessage(one.role, self.defused(one.text, own=one.role == "assistant")) for one in messages]
        if self._template is None:
            return turns(self.format, arranged(safe, Arrangement(folded=self.format is ChatFormat.GEMMA), "\n\n"))
        return self._shown(safe, glue="\n\n")

    def defused(self, text: str, *, own: bool = False) -> str:
        """A text in which nothing is read as part of the frame.

        Args:
            text: what somebody said.
            own: whether the model that is to read it said it itself: then it may hold its thoughts.
        """
        return self._defuser.defused(text, own=own)

    @cached_property
    def _defuser(self) -> Defuser:
        tokens = set() if self._tokenizer is None else tags_of_tokenizer(self._tokenizer)
        return Defuser(self.tags, self._tokenizer, letters=self.tags - tokens)

    @cached_property
    def tags(self) -> frozenset[str]:
        """What messages must not hold: tags of the tokenizer and the literal text of the template, as far as it marks turns."""
        tokens = set(FAMILIES) if self._tokenizer is None else tags_of_tokenizer(self._tokenizer)
        if self._template is None:
            frames, literals = [turns(self.format, marks_of(("user", "assistant", "user")))], []
        else:
            frames, literals = self._frames(), self._template.literals
        between = [part for text in frames for part in re.split(MARK.format("[0-9]+"), text)]
        return frozenset(tokens | tags_of_frame(between, tokens) | brackets(literals))

    def _frames(self) -> list[str]:
        """Conversations of texts that the template does not write, rendered."""
        texts = (self._marked(shape, reply=reply) for shape in _SHAPES for reply in (True, False))
        return [text for text in texts if text is not None]

    # ------------------------------------------------------------------ where replies end

    @cached_property
    def stop(self) -> frozenset[int]:
        """The tokens that end a reply: the generation config's, the tokenizer's end of text, and what the format puts behind a reply."""
        return self._ends | self._eos | {token for tag in self._closings for token in self._token(tag)}

    @cached_property
    def stop_texts(self) -> tuple[str, ...]:
        """The texts that end a reply and are no part of it: the generation config's, and what the format puts behind a reply if that is no token."""
        own = [tag for tag in self._closings if tag and not self._token(tag)]
        return tuple(dict.fromkeys([*self._end_texts, *own]))

    @cached_property
    def closing(self) -> tuple[int, ...]:
        """The tokens that end a reply in training: what the format puts behind one.

        Raises:
            UsageError: if there is nothing that ends a reply.
        """
        at_end, *_ = self._closings
        if own := self._token(at_end) or self._encoded(at_end):
            return own
        for ids in (self._eos, self._ends, self.stop):
            if ids:
                return (min(ids),)
        if self.stop_texts:
            return self._encoded(self.stop_texts[0])
        raise UsageError(
            "nothing ends the model's replies: its tokenizer has no end of text, and neither its chat template nor its generation config"
            " names a token; use an instruction-tuned model"
        )

    @property
    def _eos(self) -> frozenset[int]:
        found = None if self._tokenizer is None else self._tokenizer.eos_token_id
        return frozenset() if found is None or not self._is_known(int(found)) else frozenset([int(found)])

    def _is_known(self, token: int) -> bool:
        """Whether the model can write it."""
        return token >= 0 and (self._size is None or token < self._size)

    @cached_property
    def _closings(self) -> tuple[str, ...]:
        """What stands behind a reply, a token or else a line: at the end of a conversation, then before another turn; empty if nothing does."""
        if self.format is not ChatFormat.TEMPLATE:
            return (end_of_turn(self.format),)
        assert self._tokenizer is not None
        tokens = sorted(tags_of_tokenizer(self._tokenizer), key=len, reverse=True)
        found = []
        for shape in (("user", "assistant"), ("user", "assistant", "user")):
            text = self._marked(shape, reply=False) or ""
            behind = text.partition(MARK.format(1))[2].partition(MARK.format(2))[0]
            token = next((token for token in tokens if behind.lstrip().startswith(token)), "")
            found.append(token or first_tag(behind))
        return tuple(found)

    def _token(self, tag: str) -> tuple[int, ...]:
        """The id of a token; nothing if the tokenizer does not have it."""
        known = {} if self._tokenizer is None else self._tokenizer.get_vocab()
        return (int(known[tag]),) if tag in known and self._is_known(int(known[tag])) else ()

    def _encoded(self, tag: str) -> tuple[int, ...]:
        """The tokens of a text that the format puts behind a reply."""
        if self._tokenizer is None:
            return ()
        ids = self._tokenizer(tag, add_special_tokens=False, padding=False, truncation=False)["input_ids"]
        return tuple(map(int, ids)) if all(map(self._is_known, ids)) else ()

    # ------------------------------------------------------------------ the model's template

    def _shown(self, messages: Sequence[ChatMessage], *, glue: str) -> str:
        """A conversation by the model's template, in the first arrangement that shows every message."""
        shape = tuple(one.role for one in messages)
        known = self._fitting.get(shape)
        reasons: list[str] = []
        for arrangement in arrangements(shape) if known is None else [known, *arrangements(shape)]:
            given = arranged(messages, arrangement, glue)
            try:
                text = self._rendered(given, arrangement)
            except TemplateFailed as error:
                reasons.append(f"does not take this conversation ({error})" if len(shape) > 2 else f"fails ({error})")
                continue
            lacking = missing(given, text)
            reason = (
                self._fault(given, arrangement) if lacking is None else f"leaves out or changes a message ({lacking})"
            )
            if reason is None:
                apart = self._apart(given, arrangement)
                if apart != given:
                    text = self._rendered(apart, arrangement)
                if len(self._fitting) >= _MOST_SHAPES:
                    self._fitting.clear()
                self._fitting[shape] = arrangement
                return text
            reasons.append(reason)
        shorter = "show the last round only, " if len(shape) > 2 else ""
        raise UsageError(
            f"the model's chat template {reasons[0]}; {shorter}use another model, or set chat=gemma or chat=llama if it was trained with"
            " that format"
        )

    def _rendered(self, messages: Sequence[ChatMessage], arrangement: Arrangement, *, reply: bool = True) -> str:
        assert self._template is not None
        contents = [[{"type": "text", "text": one.text}] if arrangement.parts else one.text for one in messages]
        given = [{"role": one.role, "content": content} for one, content in zip(messages, contents, strict=True)]
        return self._template.render(given, moment=self._day, reply=reply)

    def _apart(self, messages: list[ChatMessage], arrangement: Arrangement) -> list[ChatMessage]:
        """The messages, spaced so that none makes a tag together with the adjacent text of the template."""
        frame, _ = self._of_marks(tuple(one.role for one in messages), arrangement)
        return kept_apart(messages, frame, self._outer_tags)

    @cached_property
    def _outer_tags(self) -> tuple[str, ...]:
        """The tags but those of thoughts, which a model's own messages may hold."""
        return tuple(tag for tag in self._defuser.tags if tag not in THINK)

    def _fault(self, messages: Sequence[ChatMessage], arrangement: Arrangement) -> str | None:
        """What a template does wrong with conversations of this shape, found by rendering marks; None for nothing."""
        return self._of_marks(tuple(one.role for one in messages), arrangement)[1]

    def _of_marks(self, shape: tuple[Role, ...], arrangement: Arrangement) -> tuple[str, str | None]:
        """The text of a conversation of marks, and what is wrong with it."""
        found = self._known.get((shape, arrangement))
        if found is None:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            try:
                text = self._rendered(marks_of(shape), arrangement)
                found = text, fault(shape, text)
            except TemplateFailed as error:
                found = "", f"fails ({error})"
            self._known[shape, arrangement] = found
        return found

    def _marked(self, shape: Sequence[Role], *, reply: bool) -> str | None:
        """A conversation of marks, in the first arrangement that shows them; None if there is none."""
        for arrangement in arrangements(shape):
            try:
                text = self._rendered(arranged(marks_of(shape), arrangement, "\n\n"), arrangement, reply=reply)
            except TemplateFailed:
                continue
            if missing(marks_of(shape), text) is None:
                return text
        return None

    def _compare(self, tokenizer: PreTrainedTokenizerBase, template: ChatTemplate) -> None:
        """Refuse a template whose text is another one in transformers, by a conversation that it takes."""
        for shape in _SHAPES[::-1]:
            given = [{"role": one.role, "content": one.text} for one in marks_of(shape)]
            today = date.today()
            try:
                ours = template.render(given, moment=datetime.combine(today, time.min))
            except TemplateFailed:
                continue
            if template.told_the_time():  # what it does a moment later nobody has seen end
                return
            try:
                theirs = tokenizer.apply_chat_template(given, tokenize=False, add_generation_prompt=True)
            except Exception as error:  # jinja's, or the template's own
                theirs = f"{type(error).__name__}: {error}"
            if theirs != ours and today == date.today():
                at = next(
                    (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
                    min(len(ours), len(theirs)),
                )
                raise UsageError(
                    f"the model's chat template has another text in transformers from letter {at} on: {theirs[at : at + 40]!r} there,"
                    f" {ours[at : at + 40]!r} here; set chat=gemma or chat=llama if the model was trained with that format"
                )
            return


def _checked(day: str) -> str:
    try:
        return checked_day(day)
    except ValueError as error:
        raise UsageError(f"chat_date: {error}, not {day!r}") from None


def _source(tokenizer: PreTrainedTokenizerBase | None) -> str | None:
    """A tokenizer's chat template; of several the one that transformers takes; None for none."""
    if tokenizer is None or not getattr(tokenizer, "chat_template", None):
        return None
    try:
        return str(tokenizer.get_chat_template())
    except ValueError:
        raise UsageError(
            "the model's tokenizer has several chat templates and none is called default; name one of them so in its files"
        ) from None
