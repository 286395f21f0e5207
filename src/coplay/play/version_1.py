"""Stored games of version 1, translated: older runs, recordings and published results.

Version 1 kept a game by seats: for each round a turn, which was the seat's last reply, with the replies before it in ``before``. Recordings also kept
``rounds`` with the acts in order; runs did not. Neither kept who may know of an act, nor which rounds are void. So in what is translated no act has
readers, but a mediator's, whose addressees were kept; a round is void if it was void for a seat; and acts of runs are in this order: each seat's first
one, then each seat's second one, and so on, in the order of seats with a mediator first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from coplay.files.reading import expected_shape
from coplay.games.records import ActRecord, EpisodeRecord, RoundRecord


def stored_games(lines: Sequence[Mapping[str, Any]], path: Path) -> list[EpisodeRecord]:
    """Games of any version that is known, in today's form.

    Args:
        lines: the lines of an ``episodes.jsonl`` or a ``games.jsonl``.
        path: the file, for errors.

    Raises:
        UsageError: if one is of version 1 and has another form, with its line.
    """
    return [stored_game(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]


def stored_game(line: Mapping[str, Any], where: object) -> EpisodeRecord:
    """One of :func:`stored_games`; ``where`` is told in errors."""
    if line.get("version", 1) != 1:
        return cast("EpisodeRecord", line)
    with expected_shape(where):
        return translated(line)


def translated(line: Mapping[str, Any]) -> EpisodeRecord:
    """A game of version 1 in today's form.

    Raises:
        AttributeError, IndexError, KeyError, TypeError, ValueError: if it has another form.
    """
    states, seats = list(line["states"]), line["seats"]
    turns = {seat: list(about["turns"]) for seat, about in seats.items()}
    complete = line.get("rounds")
    if any(len(own) != len(states) for own in turns.values()) or len(complete or states) != len(states):
        raise ValueError("its turns are not as many as its rounds")
    found: EpisodeRecord = {
        "step": line["step"],
        "seed": line["seed"],
        "game": line["game"],
        "episode": line["episode"],
        "states": states,
        "players": {seat: about["player"] for seat, about in seats.items()},
        "rounds": [
            _round({seat: own[number] for seat, own in turns.items()}, complete[number]["acts"] if complete else None)
            for number in range(len(states))
        ],
    }
    if line.get("fallback"):
        found["fallback"] = list(line["fallback"])
    return found


def _round(turns: Mapping[str, Mapping[str, Any]], acts: Sequence[Mapping[str, Any]] | None) -> RoundRecord:
    payoffs = {seat: turn["payoff"] for seat, turn in turns.items()}
    found: RoundRecord = {"acts": [*(_in_seats(turns) if acts is None else _in_acts(turns, acts))], "payoffs": payoffs}
    if None in payoffs.values():
        found["void"] = True
    dealt = {seat: str(turn["dealt"]) for seat, turn in turns.items() if turn.get("dealt")}
    if dealt:
        found["dealt"] = dealt
    return found


def _said(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All replies of a turn, in order; of a seat that was not asked none."""
    before = list(turn.get("before", ()))
    return [*before, turn] if before or turn["reply"] is not None else []


def _in_seats(turns: Mapping[str, Mapping[str, Any]]) -> Iterator[ActRecord]:
    """The acts of a round whose order is not known."""
    said = {seat: _said(turns[seat]) for seat in sorted(turns, key=lambda seat: "to" not in turns[seat])}
    for k in range(max(map(len, said.values()), default=0)):
        yield from (_act(seat, own[k], turns[seat]) for seat, own in said.items() if k < len(own))


def _in_acts(turns: Mapping[str, Mapping[str, Any]], acts: Sequence[Mapping[str, Any]]) -> Iterator[ActRecord]:
    """The acts of a round as they were recorded, with what each seat's turn says of them."""
    said = {seat: iter(_said(turn)) for seat, turn in turns.items()}
    for act in acts:
        seat = act["seat"]
        one = next(said[seat], None)
        if one is None:
            raise ValueError(f"{seat} has more acts than replies")
        found = _act(seat, one, turns[seat])
        found["phase"], found["action"] = act["phase"], act["action"]
        if one["action"] is not None and one["action"] != act["action"]:
            found["shown"] = one["action"]
        if act["turn"]:
            found["turn"] = act["turn"]
        if "chances" in act and "probs" not in found:
            found["probs"] = list(act["chances"])
        yield found
    if any(next(left, None) is not None for left in said.values()):
        raise ValueError("a seat has more replies than acts")


def _act(seat: str, one: Mapping[str, Any], turn: Mapping[str, Any]) -> ActRecord:
    """A reply of a turn as an act."""
    found: ActRecord = {
        "seat": seat,
        "phase": str(one.get("phase", "")),
        "reply": str(one["reply"] or ""),
        "action": one["action"],
        "readers": {str(reader): str(text) for reader, text in turn["to"].items()} if "to" in turn else None,
    }
    if one["prompt"] is not None:
        found["prompt"] = one["prompt"]
    if one is turn and turn.get("probs"):
        found["probs"] = dict(turn["probs"])
    if one.get("retries"):
        found["retries"] = one["retries"]
    if one.get("fallback"):
        found["fallback"] = True
    return found
