"""What a mediator says and how it is written: messages as data, replies as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.notices import Standing
from coplay.games.records import Action, Round
from coplay.text.final_line import final_line, parse_final, without_thoughts
from coplay.text.parsing import shown_line

NONE = "none"
"""The name of silence, where notices have theirs."""

OWN = "letter"
"""The name of a message in the mediator's own words."""

MAX_LETTER = 500
"""Characters of a message in the mediator's own words."""

Message: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""What a mediator does: the notice's name, and each addressed seat with the text that it reads."""

_WORD = re.compile(r"[\w-]+")

_LETTER = re.compile(r"TO\s+([\w-]+)\s*:\s*(.+)", re.IGNORECASE)


def is_message(action: object) -> TypeGuard[Message]:
    """Whether an action is one of a mediator's."""
    return (
        isinstance(action, tuple) and len(action) == 2 and isinstance(action[0], str) and isinstance(action[1], tuple)
    )


def addressed(action: Action | None) -> Mapping[str, str]:
    """Who is addressed by a mediator's action, with what each reads; nobody by silence, and by a reply that could not be parsed."""
    return dict(action[1]) if is_message(action) else {}


def notice_name(action: Action | None) -> str | None:
    """The name of the notice that a mediator's action sends, ``none`` for silence; None for a reply that could not be parsed."""
    return action[0] if is_message(action) else None


def rate(game: Game, seat: str, past: Sequence[Round]) -> float | None:
    """A seat's mean cooperation in rounds that are over: 1 less its shortfall; None where nothing is known."""
    found = [value for one in past if (value := game.shortfall(one, seat)) is not None]
    return 1.0 - sum(found) / len(found) if found else None


def least_cooperative(game: Game, past: Sequence[Round], *, count: int) -> tuple[str, ...]:
    """The ``count`` seats with the lowest rate of cooperation so far, in the order of seats; of equals the first."""
    rates = {seat: rate(game, seat, past) for seat in game.seats}
    order = {seat: 1.0 if known is None else known for seat, known in rates.items()}
    chosen = sorted(order, key=order.__getitem__)[:count]
    return tuple(seat for seat in game.seats if seat in chosen)


_ANYBODY = Standing("", 0, None, 0.0)


def standing(game: Game, seat: str, now: Round, past: Sequence[Round], *, live: bool = True) -> Standing:
    """How a seat stands when a round begins; nothing is looked up for texts that are always the same."""
    if not live:
        return _ANYBODY
    score = sum((one.payoffs or {}).get(seat) or 0.0 for one in past)
    return Standing(seat, game.rounds - now.number, rate(game, seat, past), score)


def words_of(names: Sequence[str], words: str, *, where: str) -> dict[str, str]:
    """The word that a mediator writes for silence and for each notice.

    Args:
        names: the names of silence and of the notices.
        words: the words in this order with ``+`` between them; empty for the names in capitals.
        where: the game, for errors.

    Raises:
        UsageError: unless there is one word for each name, all different.

    Example:
        >>> words_of(["none", "intervene"], "PASS+CALL", where="ipd-3+mediator")
        {'none': 'PASS', 'intervene': 'CALL'}
    """
    found = words.split("+") if words else [name.upper() for name in names]
    if len(found) != len(names) or len(set(found)) != len(found) or not all(map(_WORD.fullmatch, found)):
        raise UsageError(
            f"{where}: words={words} must be {len(names)} different words with + between them, for {', '.join(names)}; e.g. words="
            + "+".join(name.upper() for name in names)
        )
    return dict(zip(names, found, strict=True))


def word_of(message: Message, words: Mapping[str, str], *, chosen: bool) -> str:
    """How a mediator writes a message: the notice's word, and where it chooses them the seats.

    Example:
        >>> word_of(("intervene", (("player-2", "..."),)), {"intervene": "INTERVENE"}, chosen=True)
        'INTERVENE player-2'
    """
    name, said = message
    return " ".join([words[name], *((seat for seat, _ in said) if chosen else ())])


def message_words(messages: Sequence[Message], words: Mapping[str, str], *, chosen: bool) -> dict[str, Message]:
    """Each message by what means it."""
    return {word_of(one, words, chosen=chosen): one for one in messages}


def parse_chosen(text: str, messages: Sequence[Message], words: Mapping[str, str]) -> Message | None:
    """The message that a reply's last line means: a notice's word, and behind it no more than the seats that it is for, in any order.

    Args:
        text: the reply.
        messages: all that the mediator can send.
        words: the word of each notice, by its name.

    Example:
        >>> both = ("intervene", (("player-1", "..."), ("player-2", "...")))
        >>> parse_chosen("I write to both: INTERVENE player-2 and player-1.", [both], {"intervene": "INTERVENE"}) == both
        True
    """
    name = parse_final(text, {words[one[0]]: one[0] for one in messages})
    if name is None:
        return None
    behind = (final_line(text) or "").rpartition(words[name])[2]
    seats = [word for word in re.findall(r"[\w-]+", behind) if word != "and"]
    said = {one: sorted(seat for seat, _ in one[1]) for one in messages if one[0] == name}
    return next((one for one, to in said.items() if to == sorted(seats)), None)


def parse_letters(text: str, seats: Sequence[str]) -> Message | None:
    r"""A reply in the mediator's own words: ``NONE`` alone, or lines ``TO SEAT: TEXT``, each seat at most once.

    Args:
        text: the reply; thoughts before it are no part of it.
        seats: who may be addressed.

    Returns:
        The message; None for an unknown seat, a seat twice, text that is too long or holds characters that are not shown, and for any other line.

    Example:
        >>> parse_letters("TO player-2: Please cooperate.", ["player-1", "player-2"])
        ('letter', (('player-2', 'Please cooperate.'),))
    """
    said = without_thoughts(text)
    found = [line.strip() for line in (said or "").splitlines() if line.strip()]
    if [line.upper() for line in found] == ["NONE"]:
        return (NONE, ())
    letters: dict[str, str] = {}
    for line in found:
        match = _LETTER.fullmatch(line)
        line_shown = shown_line(match[2]) if match else None
        if (
            match is None
            or line_shown is None
            or match[1] not in seats
            or match[1] in letters
            or len(line_shown) > MAX_LETTER
        ):
            return None
        letters[match[1]] = line_shown
    return (OWN, tuple((seat, letters[seat]) for seat in seats if seat in letters)) if letters else None


def render_letters(message: Message) -> str:
    """The reply that means a message in the mediator's own words; :func:`parse_letters` reads it back."""
    return "\n".join(f"TO {seat}: {text}" for seat, text in message[1]) or "NONE"
