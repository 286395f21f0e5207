"""Stored games as chats: who said what in which order, who may know of it, and what nobody else read.

Nothing of the game itself is loaded: that could run foreign code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.report.values import Record, at, is_number, items, section, whole

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
    """What was asked for; empty where that was not kept."""
    reply: str
    """The reply as it came."""
    action: str | None
    """What it was parsed as; None if it could not be."""
    lines: tuple[Line, ...]
    """What the seat had read; nothing for players that read no text."""
    readers: tuple[str, ...] | None
    """The other seats that may know of it; None if that was not kept."""
    told: tuple[tuple[str, tuple[str, ...]], ...]
    """Texts that some seats alone were told of it, each with these seats; nothing where all others know of it."""
    probs: tuple[tuple[str, float], ...]
    """The probability of each action, where it is known by name."""
    fallback: bool
    """Whether the reply named no action, so that the model was made to choose one."""
    final: bool
    """Whether it was said in the last phase of the round."""

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
    void: bool
    """Whether it counts neither in memories nor in mean payoffs."""
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
    readers_known: bool
    """Whether it was kept who may know of each act."""
    order_known: bool
    """Whether the order of acts was kept; runs of version 1 kept neither that nor all phases."""


def chat_of(record: Record, *, first: int = 0) -> Chat:
    """A stored game as a chat.

    Args:
        record: a game as ``episodes.jsonl`` and ``games.jsonl`` keep it, whatever it holds.
        first: the first round that is shown, from 0; ``ROUNDS_AT_ONCE`` are.
    """
    rounds, players = items(record.get("rounds")), section(record, "players")
    seats = tuple(players)
    totals = {seat: sum(_paid(one, seat) or 0.0 for one in rounds) for seat in seats}
    shown = range(min(max(first, 0), max(len(rounds) - 1, 0)), len(rounds))[:ROUNDS_AT_ONCE]
    return Chat(
        step=whole(record, "step", 0),
        seed=whole(record, "seed", 0),
        game=whole(record, "game", 0),
        episode=whole(record, "episode", 1),
        seats=tuple((seat, str(name or ""), totals[seat]) for seat, name in players.items()),
        rounds=tuple(_round(record, t, seats) for t in shown),
        length=len(rounds),
        first=shown[0] if shown else 0,
        readers_known=all(_readers(act, seats) is not None for one in rounds for act in _acts(one)),
        order_known=all(act.get("phase") for one in rounds for act in _acts(one)),
    )


def _acts(one: object) -> list[Record]:
    """The acts of a round, in order."""
    return [act for act in items(at(one, "acts")) if isinstance(act, Mapping)]


def _readers(act: Record, seats: Sequence[str]) -> tuple[str, ...] | None:
    """The other seats that may know of an act; None if that was not kept."""
    if "readers" not in act:
        return tuple(seat for seat in seats if seat != act.get("seat"))
    readers = act["readers"]
    return tuple(map(str, readers)) if isinstance(readers, Mapping) else None


def _prompt(act: Record) -> list[str]:
    """The lines that were read before an act."""
    prompt = act.get("prompt")
    return str(prompt).split("\n") if prompt else []


def _round(record: Record, t: int, seats: Sequence[str]) -> ChatRound:
    rounds, states = items(record.get("rounds")), items(record.get("states"))
    acts = _acts(rounds[t])
    read = {seat: {line for act in acts if act.get("seat") == seat for line in _prompt(act)} for seat in seats}
    known: dict[str, set[str]] = {}
    for act in _acts(rounds[t - 1]) if t else ():
        known.setdefault(str(act.get("seat")), set()).update(_prompt(act))
    said = []
    for act in acts:
        seat = str(act.get("seat"))
        others = set().union(*(lines for other, lines in read.items() if other != seat))
        said.append(_said(act, acts[-1], seats, others, known.get(seat)))
        known.setdefault(seat, set()).update(_prompt(act))
    places = list(enumerate(seats))
    return ChatRound(
        number=t + 1,
        state=str(states[t]) if t < len(states) else "",
        void=at(rounds[t], "void") is True,
        dealt=tuple((seat, s, str(words)) for s, seat in places if (words := at(rounds[t], "dealt", seat))),
        said=tuple(said),
        payoffs=tuple((seat, s, _paid(rounds[t], seat)) for s, seat in places),
    )


def _said(act: Record, last: Record, seats: Sequence[str], others: set[str], known: set[str] | None) -> Said:
    seat, action = str(act.get("seat")), act.get("action")
    told: dict[str, list[str]] = {}
    for reader, text in section(act, "readers").items():
        told.setdefault(str(text), []).append(reader)
    return Said(
        seat=seat,
        place=seats.index(seat) if seat in seats else 0,
        phase=str(act.get("phase") or ""),
        reply=str(act.get("reply") or ""),
        action=None if action is None else str(act.get("shown", action)),
        lines=tuple(
            Line(
                line,
                bool(line.strip()) and bool(others) and line not in others,
                known is not None and line not in known,
            )
            for line in _prompt(act)
        ),
        readers=_readers(act, seats),
        told=tuple((text, tuple(who)) for text, who in told.items()),
        probs=tuple((name, float(p)) for name, p in section(act, "probs").items() if is_number(p)),
        fallback=act.get("fallback") is True,
        final=(act.get("phase"), act.get("turn")) == (last.get("phase"), last.get("turn")),
    )


def _paid(one: object, seat: str) -> float | None:
    payoff = at(one, "payoffs", seat)
    return float(payoff) if is_number(payoff) else None
