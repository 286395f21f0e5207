"""Configs of version 1, translated: what older runs and published results were written with.

Version 1 knew two kinds of run. Matrix games had a section for ``row`` and one for ``column``; games with text (``"kind": "rounds"``) had one
``learner`` and one ``co_player``.
"""

from __future__ import annotations

from collections.abc import Mapping

RENAMED = {
    "longest": "max_tokens",
    "past": "memory",
    "price": "parse_error_penalty",
    "reward_constant": "reward_scale",
    "final_rate": "lr_end_factor",
    "decay_updates": "lr_decay_updates",
    "warmup_updates": "lr_warmup_updates",
    "rows": "microbatch_size",
    "start": "init_adapter",
    "endless": "infinite_horizon",
    "layout": "payoff_format",
    "share": "probability",
    "every": "snapshot_interval",
    "kept": "pool_size",
}
"""Keys of version 1 and what they are called now."""

SCRIPTS = {"cooperate": "always_cooperate", "defect": "always_defect", "reciprocate": "tit_for_tat"}
"""What strategies were called in games with text."""

RUN = (
    "recipe",
    "model",
    "four_bit",
    "chat",
    "seeds",
    "trials",
    "rounds",
    "games",
    "eval_games",
    "checkpoint_every",
    "threads",
    "workers",
)
"""Keys of both kinds that kept their names."""


SECTIONS = ("version", "game", "adapter")
MATRIX_SECTIONS = (*SECTIONS, "layout", "episodes", "row", "column")
TEXT_SECTIONS = (
    *SECTIONS,
    "kind",
    "past",
    "longest",
    "temperature",
    "retries",
    "group_size",
    "learner",
    "co_player",
    "past_selves",
)
"""Other keys of each kind."""


def is_version_1(data: Mapping[str, object]) -> bool:
    """Whether a config is of version 1."""
    return data.get("version", 1) == 1 and "learners" not in data


def translated(data: Mapping[str, object]) -> dict[str, object]:
    """A config of version 1 in the words of version 2. What it does not understand it leaves as it is, for the check to refuse."""
    common = {key: data[key] for key in RUN if key in data}
    adapter = _renamed(data.get("adapter", {}))
    is_text = data.get("kind") == "rounds"
    body = _text_game(data) if is_text else _matrix_game(data)
    known = {*RUN, *(TEXT_SECTIONS if is_text else MATRIX_SECTIONS)}
    rest = {key: value for key, value in data.items() if key not in known}
    return {"version": 2, **rest, **common, "adapter": adapter, **body}


def _matrix_game(data: Mapping[str, object]) -> dict[str, object]:
    learners, seats = {}, {}
    for seat in ("row", "column"):
        section = data.get(seat)
        old = dict(section) if isinstance(section, Mapping) else {}
        player = old.pop("player", "learner")
        seats[seat] = [seat if player == "learner" else player]
        if player == "learner":
            learners[seat] = _learner(old)
    return {
        "game": data.get("game"),
        "payoff_format": data.get("layout", "list"),
        "episodes": data.get("episodes", 5),
        "learners": learners,
        "seats": seats,
    }


def _learner(old: Mapping[str, object]) -> dict[str, object]:
    found = _renamed(old)
    found["policy"] = found.pop("learner", "language_model")
    for section in (found.get("exact"), found.get("lola")):
        if isinstance(section, dict) and section.get("horizon") == "endless":
            section["horizon"] = "infinite"
    return found


def _text_game(data: Mapping[str, object]) -> dict[str, object]:
    learner = {
        "memory": data.get("past", "chat"),
        "max_tokens": data.get("longest", 400),
        "temperature": data.get("temperature", 1.0),
        "algorithm": "group",
        "update": "trial",
        "group": _renamed(data.get("learner", {})),
    }
    co_player = str(data.get("co_player", "self"))
    other = "learner" if co_player == "self" else SCRIPTS.get(co_player, co_player)
    return {
        "model": data.get("model", "tiny-talk"),
        "game": data.get("game"),
        "episodes": 1,
        "rounds": data.get("rounds", 10),
        "games": data.get("games", 64),
        "group_size": data.get("group_size", 8),
        "retries": data.get("retries", 0),
        "learners": {"learner": learner},
        "seats": {"alice": ["learner"], "bob": [other]},
        "rotate_seats": True,
        "past_selves": _renamed(data.get("past_selves", {})),
    }


def _renamed(section: object) -> dict[str, object]:
    """A section with today's keys, all the way down."""
    if not isinstance(section, Mapping):
        return {}
    return {
        RENAMED.get(str(key), str(key)): _renamed(value) if isinstance(value, Mapping) else value
        for key, value in section.items()
    }
