"""The games a reader can step through: which are shown, and how they are packed.

Early, middle and late games are enough to see what training changed. Prompts repeat most of their lines, so lines are stored
once and prompts are lists of line numbers; the exact text is those lines joined.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from coplay.report.data import Arm, state_index, states_of
from coplay.report.values import Record, at, is_number, items, section, whole

MAX_BYTES = 8_000_000
"""Size at which seeds are left out of the replay."""

STAGES = ("early", "middle", "late")
"""What the chosen trials are called."""


class PackedGame(TypedDict):
    """One recorded game."""

    step: int
    """The trial."""
    seed: int
    """The seed."""
    game: int
    """Which of the parallel games."""
    episode: int
    """The episode within the trial."""
    states: list[str]
    """The joint action of each round."""
    seats: list[list[dict[str, object]]]
    """Each seat's turns, round by round: what it read, replied, did and got."""


class PackedArm(TypedDict):
    """The games of one arm."""

    label: str
    """What a reader is shown."""
    stages: dict[str, str]
    """What each trial is called: early, middle or late."""
    seats: list[dict[str, str]]
    """Name and role of each seat."""
    games: list[PackedGame]
    """The games, by trial, seed and episode."""


class Replay(TypedDict):
    """What the replay's script reads."""

    version: int
    """Version of this form."""
    states: list[tuple[str, int | None]]
    """The joint actions with the indices of their colours."""
    arms: list[PackedArm]
    """The arms, in the order of the page."""
    lines: list[str]
    """Every distinct line of the prompts."""


@dataclass(frozen=True)
class Strip:
    """A game as a row of cells, with a link into the replay."""

    stage: str
    """Early, middle or late; empty if there is but one."""
    game: PackedGame
    """The game."""
    link: str
    """The address of its first round, in the form that the replay's script reads and writes."""


def pick_steps(steps: Sequence[int]) -> list[int]:
    """The first, the middle and the last of the recorded steps (fewer if fewer are recorded)."""
    known = sorted(set(steps))
    if len(known) < 3:
        return known
    half = (known[0] + known[-1]) / 2
    return [known[0], min(known[1:-1], key=lambda step: abs(step - half)), known[-1]]


def pick_games(episodes: Sequence[Record]) -> list[Record]:
    """Early, middle and late games; of parallel games of one seed, the first recorded one."""
    steps = pick_steps([whole(episode, "step", 0) for episode in episodes if is_number(episode.get("step"))])
    chosen: dict[tuple[int, int, int], Record] = {}
    for episode in sorted(episodes, key=lambda episode: whole(episode, "game", 0)):
        if episode.get("step") in steps:
            place = (whole(episode, "step", 0), whole(episode, "seed", 0), whole(episode, "episode", 1))
            chosen.setdefault(place, episode)
    return [chosen[place] for place in sorted(chosen)]


def replay_data(arms: Sequence[Arm]) -> Replay:
    """The picked games of every arm, packed. Seeds are left out, the last first, while the result is larger than ``MAX_BYTES``."""
    picked = [pick_games(arm.run.episodes) for arm in arms]
    while True:
        data = _pack(arms, picked)
        seeds = {game["seed"] for arm in data["arms"] for game in arm["games"]}
        if len(seeds) < 2 or len(json.dumps(data)) <= MAX_BYTES:
            return data
        picked = [[game for game in games if whole(game, "seed", 0) != max(seeds)] for games in picked]


def strips(data: Replay) -> list[tuple[str, list[Strip]]]:
    """Each arm's label, with the early, middle and late game of its first seed."""
    rows = []
    for a, arm in enumerate(data["arms"]):
        first: dict[int, PackedGame] = {}
        for game in arm["games"]:
            first.setdefault(game["step"], game)
        cells = [
            Strip(arm["stages"][str(step)], game, f"#replay/{a}/{step}/{game['seed']}/{game['episode']}/1")
            for step, game in first.items()
        ]
        rows.append((arm["label"], cells))
    return rows


def embed(data: Replay) -> str:
    """JSON that is inert inside a ``<script>`` element: nothing in it can end the element or a line of script."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pack(arms: Sequence[Arm], picked: Sequence[Sequence[Record]]) -> Replay:
    states, lines = states_of(arms), dict[str, int]()
    packed: list[PackedArm] = []
    for arm, games in zip(arms, picked, strict=True):
        steps = list(dict.fromkeys(whole(game, "step", 0) for game in games))
        names = {1: ("",), 2: (STAGES[0], STAGES[2])}.get(len(steps), STAGES)
        packed.append(
            {
                "label": arm.label,
                "stages": {str(step): name for step, name in zip(steps, names, strict=False)},
                "seats": [{"name": seat, "role": arm.run.role(seat)} for seat in arm.run.seats],
                "games": [pack_game(game, arm.run.seats, lines) for game in games],
            }
        )
    indices = [(name, state_index(name, states)) for name in states]
    return {"version": 1, "states": indices, "arms": packed, "lines": list(lines)}


def pack_game(game: Record, seats: Sequence[str], lines: dict[str, int]) -> PackedGame:
    """A stored game in a form that can be relied on, whatever the record holds.

    Args:
        game: a game as ``episodes.jsonl`` and ``games.jsonl`` keep it.
        seats: the seats, in order.
        lines: every line of a prompt that was met so far, by its number; more are added.
    """
    rounds = items(game.get("rounds"))
    return {
        "step": whole(game, "step", 0),
        "seed": whole(game, "seed", 0),
        "game": whole(game, "game", 0),
        "episode": whole(game, "episode", 1),
        "states": [str(state) for state in items(game.get("states"))],
        "seats": [[_pack_turn(one, seat, lines) for one in rounds] for seat in seats],
    }


def _pack_turn(one: object, seat: str, lines: dict[str, int]) -> dict[str, object]:
    """A seat's part of a round: its last reply, with those before it."""
    acts = [act for act in items(at(one, "acts")) if isinstance(act, Mapping)]
    *earlier, last = [act for act in acts if act.get("seat") == seat] or [{}]
    payoff, probs = at(one, "payoffs", seat), section(last, "probs")
    return _pack_reply(last, lines) | {
        "payoff": payoff if is_number(payoff) else None,
        "dealt": at(one, "dealt", seat) or None,
        "before": [_pack_reply(act, lines) | {"phase": at(act, "phase") or ""} for act in earlier],
        "probs": {action: round(p, 4) for action, p in probs.items() if is_number(p)} or None,
        **_private(last, acts, seat),
    }


def _private(last: object, acts: Sequence[Record], seat: str) -> dict[str, object]:
    """What a seat told some of the others alone, with what each read, and what it was told so; nothing where all is told to all."""
    readers = [(act.get("seat"), section(act, "readers")) for act in acts]
    told = [str(texts[seat]) for _, texts in readers if seat in texts]
    found: dict[str, object] = {"told": "\n".join(told)} if told else {}
    if isinstance(at(last, "readers"), Mapping):
        found["to"] = [[str(reader), str(text)] for reader, text in section(last, "readers").items()]
    return found


def _pack_reply(reply: object, lines: dict[str, int]) -> dict[str, object]:
    """What was read, by the numbers of its lines, replied and done."""
    prompt, text, action = (at(reply, key) for key in ("prompt", "reply", "action"))
    action = None if action is None else at(reply, "shown") or action
    return {
        "read": [lines.setdefault(line, len(lines)) for line in str(prompt).split("\n")] if prompt else None,
        "reply": "" if text is None else str(text),
        "action": None if action is None else str(action),
        **({"fallback": True} if at(reply, "fallback") is True else {}),
    }
