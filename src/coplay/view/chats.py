"""Recorded games as chats: who said what in which order, who read it, and what nobody else read.

A record says what each seat read, not what its game lets others know. So a message counts as read by a seat if it stands in what was new in a
later prompt of that seat; of seats that read no text nothing is said. Nothing of the game itself is loaded: that could run foreign code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from coplay.report.replay import PackedGame, pack_game
from coplay.report.values import Record, at, is_number, items, section

ROUNDS_AT_ONCE = 50
"""Rounds on one page."""


@dataclass(frozen=True)
class Line:
    """A line of a prompt."""

    text: str
    """What it says."""
    own: bool
    """Whether no other seat that reads text read it in this round."""
    new: bool
    """Whether the seat had not read it the time before."""


@dataclass(frozen=True)
class Said:
    """One reply of a seat, with what it had read."""

    seat: str
    """Who."""
    place: int
    """Which seat that is, in the order of seats."""
    phase: str
    """What was asked for, of a message; empty for what decides the round."""
    reply: str
    """The reply as it came."""
    action: str | None
    """What it was parsed as; None if it could not be."""
    lines: tuple[Line, ...] = ()
    """What the seat had read; nothing for players that read no text."""
    reads_text: bool = False
    """Whether there is a prompt."""
    readers: tuple[str, ...] | None = None
    """The seats that read it afterwards, of a message; None for what is not a message."""
    silent: tuple[str, ...] = ()
    """Other seats of whose reading nothing is known, as they keep no prompts."""
    probs: tuple[tuple[str, float], ...] = ()
    """The probability of each action, where it is known."""
    fallback: bool = False
    """Whether the reply named no action, so that the model was made to choose one."""
    letter: bool = False
    """Whether it is a mediator's text, whose readers are recorded."""

    @property
    def same(self) -> bool:
        """Whether the reply is the action and nothing else."""
        return self.reply.strip() == (self.action or "")

    @property
    def own_lines(self) -> int:
        """How many of the lines no other seat read."""
        return sum(line.own for line in self.lines)


@dataclass(frozen=True)
class ChatRound:
    """One round."""

    number: int
    """From 1."""
    state: str
    """What all seats did, in short."""
    dealt: tuple[tuple[str, int, str], ...]
    """Seat, its place, and what it alone was dealt."""
    said: tuple[Said, ...]
    """Everything that was said, in order."""
    payoffs: tuple[tuple[str, int, float | None], ...]
    """Seat, its place, and its payoff; None where its round was void."""


@dataclass(frozen=True)
class Chat:
    """A game, or the part of it that fits a page."""

    step: int
    """The trial."""
    seed: int
    """The seed."""
    game: int
    """Which of the parallel games."""
    episode: int
    """The episode within the trial."""
    seats: tuple[tuple[str, str, float], ...]
    """Each seat with its player and the sum of its payoffs."""
    rounds: tuple[ChatRound, ...]
    """The rounds of this page."""
    length: int
    """Rounds in all."""
    first: int
    """The first of the page, from 0."""


def chat_of(record: Record, *, first: int = 0) -> Chat:
    """A recorded game as a chat.

    Args:
        record: a line of ``episodes.jsonl`` or ``games.jsonl``, whatever it holds.
        first: the first round that is shown, from 0; ``ROUNDS_AT_ONCE`` are.
    """
    seats = tuple(section(record, "seats"))
    lines: dict[str, int] = {}
    game = pack_game(record, seats, lines)
    texts = list(lines)
    length = max([len(game["states"]), *(len(turns) for turns in game["seats"])], default=0)
    shown = range(min(max(first, 0), max(length - 1, 0)), length)[:ROUNDS_AT_ONCE]
    rounds = tuple(_round(record, game, seats, t, texts) for t in shown)
    players = [str(at(record, "seats", seat, "player") or "") for seat in seats]
    totals = [sum(float(p) for turn in turns if is_number(p := turn.get("payoff"))) for turns in game["seats"]]
    about = tuple(zip(seats, players, totals, strict=True))
    return Chat(
        game["step"], game["seed"], game["game"], game["episode"], about, rounds, length, shown[0] if shown else 0
    )


def _round(record: Record, game: PackedGame, seats: Sequence[str], t: int, texts: Sequence[str]) -> ChatRound:
    turns = [own[t] if t < len(own) else {} for own in game["seats"]]
    read = [{n for part in _parts(turn) for n in _read(part)} for turn in turns]
    said: list[tuple[tuple[int, int], Said]] = []
    for s, (seat, turn) in enumerate(zip(seats, turns, strict=True)):
        others = set().union(*(read[o] for o in range(len(seats)) if o != s))
        known = (
            {n for part in _parts(game["seats"][s][t - 1]) for n in _read(part)}
            if 0 < t <= len(game["seats"][s])
            else None
        )
        *messages, last = _parts(turn) or [{}]
        for k, part in enumerate([*messages, last]):
            if k == len(messages) and not part.get("reply") and part.get("action") is None and not part.get("read"):
                continue  # a seat that was not asked
            lines = _lines(part, texts, others, known)
            one = _said(seat, s, part, lines, is_message=k < len(messages))
            said.append(((0, k) if k < len(messages) else (1, 0), one))
            known = set(_read(part)) | (known or set())
        said += [((-1, 0), letter) for letter in _letters(seat, s, turn)]
    ordered = _in_order(said, _acts(record, t))
    states = game["states"]
    return ChatRound(
        t + 1,
        states[t] if t < len(states) else "",
        tuple(
            (seat, s, str(turn["dealt"]))
            for s, (seat, turn) in enumerate(zip(seats, turns, strict=True))
            if turn.get("dealt")
        ),
        tuple(_with_readers(one, seats, game, t, texts) for one in ordered),
        tuple((seat, s, _payoff(turn)) for s, (seat, turn) in enumerate(zip(seats, turns, strict=True)) if turn),
    )


def _parts(turn: Record) -> list[Record]:
    """What a seat was asked for in a round, in order; the last one decides the round."""
    before = [part for part in items(turn.get("before")) if isinstance(part, dict)]
    return [*before, turn] if turn else []


def _read(part: Record) -> list[int]:
    """The numbers of the lines of a prompt."""
    return [n for n in items(part.get("read")) if isinstance(n, int)]


def _lines(part: Record, texts: Sequence[str], others: set[int], known: set[int] | None) -> tuple[Line, ...]:
    return tuple(
        Line(
            texts[n], bool(texts[n].strip()) and bool(others) and n not in others, known is not None and n not in known
        )
        for n in _read(part)
    )


def _said(seat: str, place: int, part: Record, lines: tuple[Line, ...], *, is_message: bool) -> Said:
    action = part.get("action")
    probs = section(part, "probs") if not is_message else {}
    return Said(
        seat,
        place,
        str(part.get("phase") or "") if is_message else "",
        str(part.get("reply") or ""),
        None if action is None else str(action),
        lines,
        reads_text=bool(part.get("read")),
        readers=() if is_message else None,
        probs=tuple((name, float(p)) for name, p in probs.items() if is_number(p)),
        fallback=part.get("fallback") is True,
    )


def _letters(seat: str, place: int, turn: Record) -> list[Said]:
    """What a mediator wrote, equal texts once: its readers are recorded."""
    readers: dict[str, list[str]] = {}
    for one in items(turn.get("to")):
        reader, text = items(one)
        readers.setdefault(str(text), []).append(str(reader))
    return [Said(seat, place, "message", text, text, readers=tuple(who), letter=True) for text, who in readers.items()]


def _acts(record: Record, t: int) -> list[str]:
    """The seats in the order in which they acted in a round, where that is recorded."""
    rounds = items(record.get("rounds"))
    acts = items(at(rounds[t], "acts")) if t < len(rounds) else ()
    return [str(at(act, "seat")) for act in acts]


def _in_order(said: Sequence[tuple[tuple[int, int], Said]], acts: Sequence[str]) -> list[Said]:
    """As it was said: by the recorded acts; else by phases and, within a phase, who had read the other's message after that other."""
    ordered = [one for _, one in sorted(said, key=lambda entry: entry[0])]
    if acts:
        letters = [one for one in ordered if one.letter]
        queues = {seat: [one for one in ordered if one.seat == seat and not one.letter] for seat in dict.fromkeys(acts)}
        found = [queues[seat].pop(0) for seat in acts if queues[seat]]
        return [*letters, *found, *(one for queue in queues.values() for one in queue)]
    keys = {id(one): key for key, one in said}
    for i, one in enumerate(ordered):
        for j in range(i + 1, len(ordered)):
            later = ordered[j]
            if one.readers is not None and keys[id(one)] == keys[id(later)] and _stands_in(later, _fresh(one)):
                ordered.insert(i, ordered.pop(j))
                break
    return ordered


def _fresh(one: Said) -> str:
    """What was new in what a seat had read."""
    lines = [line.text for line in one.lines if line.new]
    return "\n".join(lines or [line.text for line in one.lines])


def _with_readers(one: Said, seats: Sequence[str], game: PackedGame, t: int, texts: Sequence[str]) -> Said:
    """A message with the seats that read it."""
    if one.readers is None or one.letter:
        return one
    readers, silent = [], []
    for s, seat in enumerate(seats):
        if seat == one.seat:
            continue
        prompts = list(_new_prompts(game["seats"][s], t, texts))
        if not prompts:
            silent.append(seat)
        elif any(_stands_in(one, prompt) for prompt in prompts):
            readers.append(seat)
    return replace(one, readers=tuple(readers), silent=tuple(silent))


def _new_prompts(turns: Sequence[Record], t: int, texts: Sequence[str]) -> Iterator[str]:
    """What was new in each prompt of a seat in a round and in the first of the round after it."""
    before = [_read(part) for part in _parts(turns[t - 1])][-1:] if 0 < t <= len(turns) else []
    known = before[0] if before else []
    now = _parts(turns[t]) if t < len(turns) else []
    after = _parts(turns[t + 1])[:1] if t + 1 < len(turns) else []
    for part in (*now, *after):
        read = _read(part)
        if read:
            yield "\n".join(texts[n] for n in _beyond(known, read))
            known = read


def _beyond(known: Sequence[int], read: Sequence[int]) -> Sequence[int]:
    """The lines of a prompt after those with which the prompt before it began, too."""
    same = 0
    while same < min(len(known), len(read)) and known[same] == read[same]:
        same += 1
    return read[same:]


def _stands_in(one: Said, prompt: str) -> bool:
    """Whether a message stands in a prompt, as a whole: not ``3`` within ``30``."""
    text = " ".join((one.action or "").split())
    if not text:
        return False
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", " ".join(prompt.split())) is not None


def _payoff(turn: Record) -> float | None:
    payoff = turn.get("payoff")
    return float(payoff) if is_number(payoff) else None
