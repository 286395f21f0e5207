"""``coplay fit-simulator``: from recorded games to players that decide as those who played them, each fitted to its own decisions.

Nothing is invented: the file says which games it is from, how well it predicts games that were held out, and which messages nobody ever read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coplay.errors import UsageError
from coplay.evaluation.response_fit import RIDGE, Fit, Floats, fit, mean_effect
from coplay.experiments.simulator_quality import HELD_OUT, Data, quality
from coplay.files.writing import json_text, write_file
from coplay.games.base import Game
from coplay.games.decisions import TOLD, Decisions
from coplay.games.memory import START
from coplay.games.records import Episode, Phase, Request, Round
from coplay.players.model_player import FALLBACK
from coplay.players.personas import split_persona
from coplay.runs.recording import Recording
from coplay.statistics import Z95
from coplay.terminal.tables import align
from coplay.text.rendering import join

VERSION = 1
"""Of a simulator's file."""

LEAST_GAMES, FEW_GAMES = 4, 30
"""Fewer games than the first cannot be fitted to and held out; fewer than the second are said to be few."""


@dataclass(frozen=True)
class _Source:
    """Recorded games of one directory."""

    recording: Recording
    game: Game
    decisions: Decisions
    episodes: list[Episode]


def fit_simulator(directories: Sequence[Path], *, seed: int = 0) -> dict[str, Any]:
    """Fit a player for each name in recorded games.

    Args:
        directories: what ``coplay eval --record`` wrote; games with the same decisions, with or without a mediator.
        seed: decides which games are held out for the measures of quality. The coefficients are those of all games.

    Returns:
        The content of the simulator's file.

    Raises:
        UsageError: if there are too few games, or the game does not say what is predicted from what.
    """
    sources = [_source(path) for path in directories]
    digests = [one.recording.digest() for one in sources]
    if len(set(digests)) < len(digests):
        twice = next(i for i, digest in enumerate(digests) if digest in digests[:i])
        raise UsageError(f"{directories[twice]} holds the same games as another one that is named; name each once")
    first = sources[0].decisions
    for one in sources[1:]:
        if (one.decisions.phase, one.decisions.kind, one.decisions.baseline) != (
            first.phase,
            first.kind,
            first.baseline,
        ):
            raise UsageError(
                f"{one.recording.path} has games of {one.game.name!r}, whose decisions are not those of {sources[0].game.name!r}; fit them"
                " by themselves"
            )
    features = list(dict.fromkeys(name for one in sources for name in one.decisions.features))
    messages = list(dict.fromkeys(name for one in sources for name in one.decisions.messages))
    total = sum(len(one.episodes) for one in sources)
    if total < LEAST_GAMES:
        raise UsageError(
            f"there are {total} recorded games; a fit and its measure on held-out games need {LEAST_GAMES}"
        )
    data = _decisions_by_player(sources, features)
    if not data:
        raise UsageError("no decision in these games could be parsed, so there is nothing to fit")
    players = {name: _player(own, features, messages, first, seed) for name, own in data.items()}
    return {
        "version": VERSION,
        "kind": first.kind,
        "phase": first.phase,
        "meaning": first.meaning,
        "features": features,
        "messages": messages,
        "ridge": RIDGE,
        "held_out": HELD_OUT,
        "seed": seed,
        "games": total,
        "models": list(dict.fromkeys(map(model_of, players))),
        "sources": [
            {
                "directory": one.recording.path.name,
                "sha256": digest,
                "games": len(one.episodes),
                "game": one.recording.asked["game"],
                "players": one.recording.asked["players"],
                "seed": one.recording.asked["seed"],
            }
            for one, digest in zip(sources, digests, strict=True)
        ],
        "players": players,
    }


def write_simulator(found: Mapping[str, object], out: Path) -> None:
    """Write a simulator's file, which must be new; raises UsageError."""
    if out.exists():
        raise UsageError(f"{out} exists already; choose another --out")
    write_file(out.parent, out.name, json_text(found))


def model_of(player: str) -> str:
    """The model behind a player's name: without its persona and what it does where its reply names no action."""
    return split_persona(player)[0].removeprefix(FALLBACK)


def _source(path: Path) -> _Source:
    recording = Recording.open(path)
    game = recording.game.lasting(int(recording.asked["rounds"]))
    decisions = game.decisions()
    if decisions is None:
        raise UsageError(
            f"{path}: game {game.name!r} does not say which decisions are predicted from what (Game.decisions), so nothing can be fitted"
        )
    return _Source(recording, game, decisions, recording.episodes(game))


def _decisions_by_player(sources: Sequence[_Source], features: Sequence[str]) -> dict[str, Data]:
    """The decisions that could be parsed, of each player in the order in which they come up."""
    rows: dict[str, tuple[list[tuple[float, ...]], list[float], list[int]]] = {}
    number = 0
    for source in sources:
        places = [
            source.decisions.features.index(name) if name in source.decisions.features else None for name in features
        ]
        for episode in source.episodes:
            number += 1
            for seat in source.game.playing_seats:
                x, y, games = rows.setdefault(episode.seated[seat].name, ([], [], []))
                for own, did in _of_seat(source, episode, seat):
                    x.append(tuple(0.0 if place is None else own[place] for place in places))
                    y.append(did)
                    games.append(number)
    return {
        name: Data(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64), games)
        for name, (x, y, games) in rows.items()
        if y
    }


def _of_seat(source: _Source, episode: Episode, seat: str) -> list[tuple[tuple[float, ...], float]]:
    """Features and decisions of a seat in a game, from what it saw."""
    game, decisions = source.game, source.decisions
    seen = [game.observe(one, seat) for one in episode.rounds]
    found = []
    for number, one in enumerate(seen):
        act = next((act for act in one.acts if act.seat == seat and act.phase == decisions.phase), None)
        if act is None or act.action is None:
            continue
        before = tuple(other for other in one.acts if other.phase != decisions.phase)
        view = decisions.view(Round(one.number, one.deal, before), seen[max(0, number - 1) : number], seat)
        did = _expected(source, episode, seat, one.number) or decisions.decided(act.action, seat)
        found += [(view[name], did[name]) for name in view]
    return found


def _expected(source: _Source, episode: Episode, seat: str, number: int) -> dict[str, float] | None:
    """The probability of each decision, where the player told those of its actions: they say more than the action that chance drew."""
    game, decisions = source.game, source.decisions
    turns = (turn for turn in episode.turns[seat] if (turn.round, turn.phase) == (number, decisions.phase))
    probs = next((turn.reply.probs for turn in turns), None)
    if probs is None or decisions.kind != "yes_or_no":
        return None
    phase = Phase(decisions.phase, game.playing_seats)
    asked = Request(0, 0, seat, phase, Round(number), (), (), START, None, (), 0.0)
    found: dict[str, float] = {}
    for action, p in zip(game.choices(asked) or (), probs, strict=True):
        for name, did in decisions.decided(action, seat).items():
            found[name] = found.get(name, 0.0) + p * did
    return found


def _player(
    data: Data, features: Sequence[str], messages: Sequence[str], decisions: Decisions, seed: int
) -> dict[str, Any]:
    """A player's fit; features that never vary but for the intercept have no coefficient."""
    used = [i for i, _ in enumerate(features) if i == 0 or len(set(data.x[:, i].tolist())) > 1]
    names = [features[i] for i in used]
    own = Data(data.x[:, used], data.y, data.games)
    found = fit(own.x, own.y, own.games, decisions.kind)
    read = {name: int(data.x[:, features.index(TOLD.format(name))].sum()) for name in messages}
    return {
        "games": len(set(data.games)),
        "decisions": len(data.y),
        "mean": float(data.y.mean()),
        "coefficients": dict(zip(names, found.weights.tolist(), strict=True)),
        "ci95": dict(zip(names, (Z95 * found.errors()).tolist(), strict=True)),
        "spread": found.spread,
        "read": read,
        "effects": {name: _effect(found, own.x, names, name, decisions) for name in messages if read[name]},
        "quality": quality(own, names, decisions, seed),
        "notes": _notes(data, read, decisions),
    }


def _effect(found: Fit, x: Floats, names: Sequence[str], message: str, decisions: Decisions) -> dict[str, float] | None:
    """What reading a message changes on average over all decisions; None where it was read before all of them."""
    told, crossed = TOLD.format(message), f"{TOLD.format(message)} x {decisions.own}"
    if told not in names:
        return None
    without, with_it = x.copy(), x.copy()
    for name in names:  # one message at most is read in a round
        if name.startswith("read:"):
            without[:, names.index(name)] = with_it[:, names.index(name)] = 0.0
    with_it[:, names.index(told)] = 1.0
    if crossed in names:
        with_it[:, names.index(crossed)] = x[:, names.index(decisions.own)]
    change, half = mean_effect(found, without, with_it)
    return {"change": change, "ci95": half}


def _notes(data: Data, read: Mapping[str, int], decisions: Decisions) -> list[str]:
    """What a reader must know."""
    games = len(set(data.games))
    notes = [f"few games: {games}"] if games < FEW_GAMES else []
    if len(set(data.y.tolist())) == 1:
        notes.append(f"no variation: every decision is {data.y[0]:g}; the coefficients are the ridge's")
    notes += [
        f"message {name!r} was never read, so its effect is not known" for name, times in read.items() if not times
    ]
    return notes


def table(found: Mapping[str, Any]) -> str:
    """What was fitted, as text for a person."""
    rows = []
    for name, one in found["players"].items():
        losses = (one["quality"] or {}).get("log_loss", {})
        effects = [f"{message} {e['change']:+.3f} ± {e['ci95']:.3f}" for message, e in one["effects"].items() if e]
        shown = [f"{losses[key]:.3f}" if key in losses else "-" for key in ("model", "last_action", "constant")]
        rows.append(
            [name, str(one["games"]), str(one["decisions"]), f"{one['mean']:.3f}", *shown, "; ".join(effects) or "-"]
        )
    header = ["player", "games", "decisions", "mean", "log loss", "last action", "constant", "change by a message"]
    notes = [f"{name}: {note}" for name, one in found["players"].items() for note in one["notes"]]
    said = f"simulator fitted to {found['games']} games of {join(found['models'])}; log losses on held-out games (seed {found['seed']})"
    return "\n".join([said, "", *align([header, *rows]), *([""] if notes else []), *notes])
