"""What a checkout says in other words than before: the one file to edit when a refactoring renames something.

Cases are written in the old words, and records are compared in the old words. A checkout that speaks the new ones gets its commands through
:func:`command_for`, and what it writes comes back through :func:`record_of`. So to rename a setting or a metric, add a line to a table; to
give a file another shape, change the function of that file in ``OLD_FORM``; to give it another name, change ``RECORDS`` or ``TENSORS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""A line of a ``.jsonl`` file, or a ``.json`` file."""

# ---------------------------------------------------------------------- to be edited

_PPO = {
    "warmup_updates": "lr_warmup_updates",
    "decay_updates": "lr_decay_updates",
    "final_rate": "lr_end_factor",
}

RENAMED_KEYS: dict[str, str] = {
    **{f"{seat}.ppo.{old}": f"{seat}.ppo.{new}" for seat in ("row", "column") for old, new in _PPO.items()},
    **{f"{seat}.player": f"seats.{seat}" for seat in ("row", "column")},
    **{f"{seat}.learner": f"{seat}.policy" for seat in ("row", "column")},
    **{f"{seat}.q.endless": f"{seat}.q.infinite_horizon" for seat in ("row", "column")},
    "past_selves.share": "past_selves.probability",
    "past_selves.every": "past_selves.snapshot_interval",
    "past_selves.kept": "past_selves.pool_size",
    "temperature": "learner.temperature",
    "co_player": "seats.bob",
}
"""Settings, old to new. What is below a setting goes with it: ``"row": "seats.row"`` renames ``row.memory`` as well."""

RENAMED_METRICS: dict[str, str] = {}
"""Keys of ``metrics.jsonl``, old to new, in full: ``"illegal/row": "unreadable/row"``."""

NEW_METRICS = ("clipped_first/",)
"""What keys of ``metrics.jsonl`` begin with that checkouts of before did not write."""

RENAMED_WORDS: dict[str, str] = {"reciprocate": "tit_for_tat"}
"""Other words of a command, old to new, in full: recipes, options, players."""

RECORDS = ("metrics.jsonl", "episodes.jsonl", "eval.json", "stdout.json")
"""Files of records, by their last names; ``stdout.json`` is what ``coplay eval --json`` printed."""

TENSORS = ("adapters/*/adapter_model.safetensors",)
"""Files of tensors. Checkpoints are left out: each learner's state is kept seed by seed now."""

TEXT_GAMES = ("ipd-ab", "split-no-comm", "trust-and-split")
"""The games whose scripted players had names of their own."""

ALICE_AND_BOB = ("alice", "bob")
"""Seats of the games with text."""


def speaks_new_words(checkout: Path) -> bool:
    """Whether a checkout has the new names."""
    return (checkout / "src" / "coplay" / "play" / "loop.py").exists()


def metrics_line(line: Record) -> Record:
    """A line of ``metrics.jsonl`` with its old keys: without ``retries`` replies that were asked for again used to be 0."""
    old = {new: old for old, new in RENAMED_METRICS.items()}
    found = {old.get(key, key): value for key, value in line.items() if not key.startswith(NEW_METRICS)}
    for seat in ALICE_AND_BOB:
        if f"illegal/{seat}" in found:
            found.setdefault(f"retried/{seat}", 0.0)
    return found


def episode(game: Record) -> Record:
    """A line of ``episodes.jsonl`` in its old form: by seats, and turns of games with text said so where nothing was dealt or said before."""
    if game.get("version", 1) > 1:
        game = _by_seats(game)
    for seat, side in game["seats"].items():
        for turn in side["turns"] if seat in ALICE_AND_BOB else ():
            turn.setdefault("dealt", None)
            turn.setdefault("before", [])
    return game


def _by_seats(game: Record) -> Record:
    """A game of version 2 as version 1 had it: for each seat a turn a round, its last reply with those before it."""
    names, rounds = game.pop("players"), game.pop("rounds")
    game.pop("fallback", None)
    seats = {seat: {"player": name, "turns": [_turn(one, seat) for one in rounds]} for seat, name in names.items()}
    return {**game, "version": 1, "seats": seats}


def _turn(one: Record, seat: str) -> Record:
    own = [act for act in one["acts"] if act["seat"] == seat]
    replies = [_old_reply(act) for act in own] or [{"prompt": None, "reply": None, "action": None}]
    probs = own[-1].get("probs") if own else None
    turn = {**replies[-1], "payoff": one["payoffs"][seat], "probs": probs if isinstance(probs, dict) else None}
    if seat in one.get("dealt", {}):
        turn["dealt"] = one["dealt"][seat]
    if own and own[-1]["phase"] == "mediation":
        turn["to"] = own[-1]["readers"]
    told = [text for act in one["acts"] for reader, text in (act.get("readers") or {}).items() if reader == seat]
    if told:
        turn["told"] = told[0]
    if own[:-1]:
        turn["before"] = [{"phase": act["phase"], **reply} for act, reply in zip(own, replies[:-1], strict=False)]
    return turn


def _old_reply(act: Record) -> Record:
    more = {key: act[key] for key in ("retries", "fallback") if key in act}
    return {"prompt": act.get("prompt"), "reply": act["reply"], "action": act.get("shown", act["action"]), **more}


def evaluation(summary: Record) -> Record:
    """An ``eval.json``, or what ``coplay eval --json`` prints, in its old form.

    The dilemma with text has its actions by name now. An interval of one game is null instead of 0. What runs have learnt is named as it was
    typed. Scripted players have one name in all games.
    """
    if summary.get("game") not in TEXT_GAMES:
        return _with_old_intervals(summary)
    for cell in summary.get("cells", ()):
        for key in ("player", "co_player"):
            cell[key] = _old_player(cell[key])
    if "players" in summary:
        summary["players"] = [_old_player(name) for name in summary["players"]]
    for one in (summary, *summary.get("seeds", {}).values()):
        for side in one.get("seats", {}).values():
            if one.get("game") == "ipd-ab" and "defect" in side["actions"]:
                side["actions"]["greedy"] = side["actions"].pop("defect")
            side["player"] = _old_player(side["player"])
    return _with_old_intervals(summary)


def _with_old_intervals(summary: Record) -> Record:
    for one in (summary, *summary.get("seeds", {}).values()):
        for side in one.get("seats", {}).values():
            if "ci95" in side and side["ci95"] is None:
                side["ci95"] = 0.0
            side["player"] = _old_learner(side["player"])
    return summary


def _old_player(name: str) -> str:
    return {new: old for old, new in RENAMED_WORDS.items()}.get(name, name)


def _old_learner(name: str) -> str:
    """What a run has learnt was called by its role."""
    run = re.fullmatch(r"\.\./[\w-]+/run:(row|column)(:\d)? (\(seed \d\))", name)
    return name if run is None else f"{'shaper' if run[1] == 'row' else 'naive'} {run[3]}"


# ---------------------------------------------------------------------- what uses it

OLD_FORM: Mapping[str, Callable[[Record], Record]] = {
    "metrics.jsonl": metrics_line,
    "episodes.jsonl": episode,
    "eval.json": evaluation,
    "stdout.json": evaluation,
}
"""By file, from a record in new words to the same one in old words."""


def command_for(command: Sequence[str], *, new: bool) -> list[str]:
    """A case's command, in new words if that is what the checkout speaks."""
    return [_renamed(word) for word in command] if new else list(command)


def record_of(file: str, record: Record, *, new: bool) -> Record:
    """A record of a file of that name, in old words."""
    return OLD_FORM[file](record) if new else record


def _renamed(word: str) -> str:
    """A word of a command in new words; of a setting the longest part that has a new name is renamed."""
    key, equals, value = word.partition("=")
    if not equals:
        return RENAMED_WORDS.get(word, word)
    parts = key.split(".")
    for end in range(len(parts), 0, -1):
        head = ".".join(parts[:end])
        if head in RENAMED_KEYS:
            return ".".join([RENAMED_KEYS[head], *parts[end:]]) + equals + value
    return word
