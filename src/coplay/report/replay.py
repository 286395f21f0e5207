"""The games a reader can step through: which are shown, and how they are packed.

Early, middle and late games are enough to see what training changed. Prompts repeat most of their lines, so lines are stored
once and prompts are lists of line numbers; the exact text is those lines joined.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coplay.report.data import Arm, Record, is_number, state_index, states_of

MAX_BYTES = 8_000_000
"""Size at which seeds are left out of the replay."""

STAGES = ("early", "middle", "late")
"""What the chosen trials are called."""


@dataclass
class Lines:
    """Every distinct line of the prompts, numbered in the order of first use."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def numbers(self, text: str) -> list[int]:
        """The numbers of the lines of ``text``."""
        found = []
        for line in text.split("\n"):
            if line not in self._numbers:
                self._numbers[line] = len(self.texts)
                self.texts.append(line)
            found.append(self._numbers[line])
        return found


def pick_steps(steps: Sequence[int]) -> list[int]:
    """The first, the middle and the last of the recorded steps (fewer if fewer are recorded)."""
    known = sorted(set(steps))
    if len(known) < 3:
        return known
    half = (known[0] + known[-1]) / 2
    return [known[0], min(known[1:-1], key=lambda step: abs(step - half)), known[-1]]


def pick_games(episodes: Sequence[Record]) -> list[Record]:
    """Early, middle and late games; of parallel games of one seed, the first recorded one."""
    steps = set(pick_steps([int(e["step"]) for e in episodes if is_number(e.get("step"))]))
    chosen: dict[tuple[int, int, int], Record] = {}
    for episode in episodes:
        if episode.get("step") not in steps:
            continue
        place = (int(episode["step"]), int(episode.get("seed", 0)), int(episode.get("episode", 1)))
        if place not in chosen or episode.get("game", 0) < chosen[place].get("game", 0):
            chosen[place] = episode
    return [chosen[place] for place in sorted(chosen)]


def replay_data(arms: Sequence[Arm]) -> dict[str, Any]:
    """What the replay's script reads: states, prompt lines, and the picked games of every arm.

    Seeds are left out, the last first, while the result is larger than ``MAX_BYTES``.
    """
    picked = [pick_games(arm.run.episodes) for arm in arms]
    while True:
        data = _pack(arms, picked)
        seeds = {game.get("seed", 0) for games in picked for game in games}
        if len(seeds) < 2 or len(json.dumps(data)) <= MAX_BYTES:
            return data
        picked = [[game for game in games if game.get("seed", 0) != max(seeds)] for games in picked]


def strips(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row an arm: the early, middle and late game of the first seed, as cells, with a link into the replay."""
    rows = []
    for a, arm in enumerate(data["arms"]):
        first: dict[int, tuple[int, dict[str, Any]]] = {}
        for g, game in enumerate(arm["games"]):
            first.setdefault(game["step"], (g, game))
        cells = [
            {"stage": arm["stages"][str(step)], "game": game, "link": f"#replay/{a}/{g}/0"}
            for step, (g, game) in first.items()
        ]
        rows.append({"label": arm["label"], "strips": cells})
    return rows


def _link(arm: int, game: Mapping[str, Any]) -> str:
    """The address of a game's first round; the replay's script reads and writes the same form."""
    return f"#replay/{arm}/{game['step']}/{game['seed']}/{game['episode']}/1"


def _pack(arms: Sequence[Arm], picked: Sequence[Sequence[Record]]) -> dict[str, Any]:
    lines, states = Lines(), states_of(arms)
    packed = []
    for arm, games in zip(arms, picked, strict=True):
        steps = list(dict.fromkeys(int(game["step"]) for game in games))
        packed.append(
            {
                "label": arm.label,
                "stages": {str(step): _stage(i, len(steps)) for i, step in enumerate(steps)},
                "seats": [{"name": seat, "role": arm.run.role(seat)} for seat in arm.run.seats],
                "games": [_pack_game(game, arm.run.seats, lines) for game in games],
            }
        )
    return {
        "version": 1,
        "states": [[name, state_index(name, states)] for name in states],
        "arms": packed,
        "lines": lines.texts,
    }


def _stage(i: int, n: int) -> str:
    return STAGES[i] if n == 3 else "" if n == 1 else (STAGES[0], STAGES[2])[i]


def _pack_game(game: Record, seats: Sequence[str], lines: Lines) -> dict[str, Any]:
    played = game.get("seats") or {}
    return {
        "step": int(game["step"]),
        "seed": int(game.get("seed", 0)),
        "game": int(game.get("game", 0)),
        "episode": int(game.get("episode", 1)),
        "states": [str(state) for state in game.get("states") or ()],
        "seats": [[_pack_turn(turn, lines) for turn in (played.get(seat) or {}).get("turns") or ()] for seat in seats],
    }


def _pack_turn(turn: Mapping[str, Any], lines: Lines) -> dict[str, Any]:
    prompt, probs = turn.get("prompt"), turn.get("probs")
    return {
        "read": lines.numbers(str(prompt)) if prompt else None,
        "reply": "" if turn.get("reply") is None else str(turn["reply"]),
        "action": None if turn.get("action") is None else str(turn["action"]),
        "payoff": turn.get("payoff") if is_number(turn.get("payoff")) else None,
        "dealt": str(turn["dealt"]) if turn.get("dealt") else None,
        "before": [_pack_earlier(one, lines) for one in turn.get("before") or () if isinstance(one, dict)],
        "probs": {str(a): round(float(p), 4) for a, p in probs.items() if is_number(p)}
        if isinstance(probs, dict)
        else None,
    }


def _pack_earlier(reply: Mapping[str, Any], lines: Lines) -> dict[str, Any]:
    """A reply of an earlier phase of the round, such as a message."""
    prompt = reply.get("prompt")
    return {
        "phase": str(reply.get("phase") or ""),
        "read": lines.numbers(str(prompt)) if prompt else None,
        "reply": "" if reply.get("reply") is None else str(reply["reply"]),
        "action": None if reply.get("action") is None else str(reply["action"]),
    }


def embed(data: Mapping[str, Any]) -> str:
    """JSON that is inert inside a ``<script>`` element: nothing in it can end the element or a line of script."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
