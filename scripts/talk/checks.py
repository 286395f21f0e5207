"""What the finished model does: it plays every game with itself, and the demonstrators' own games stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coplay.evaluation.metrics import Line, play_metrics
from coplay.games import Game, make_game
from coplay.games.memory import Memory
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, play_episode
from coplay.players.base import Player
from coplay.players.text_model import TextModel
from coplay.rng import stream
from talk.demonstrations import LEARNER, Demonstrator, tables_of
from talk.training import GAMES_A_STEP

GAMES, ROUNDS = 100, 10
"""Of each check."""

Check = Mapping[str, tuple[Line, Line]]
"""By game: the demonstrators' numbers, the model's."""


def check(directory: Path, *, reciprocity: float, seed: int = 1) -> Check:
    """Let the model in a directory play with itself."""
    loaded = load_model(str(directory), device="cpu")
    scorer = Scorer(loaded.model, AdapterBank(loaded.model, [SlotName("unused", 0)], rank=1, alpha=1.0))
    found = {}
    for name in GAMES_A_STEP:
        game = make_game(name)
        shown = Demonstrator("demonstrator", game, reciprocity, False, stream(seed, "check", name), [])
        player = TextModel("model", loaded, scorer, game=game, memory=Memory.LAST_ROUND, max_tokens=24)
        found[name] = (_played(game, shown, seed), _played(game, player, seed))
    return found


def _played(game: Game, player: Player, seed: int) -> Line:
    tables = tables_of(game, player, seed=seed, games=GAMES)
    games = play_episode(game, tables, rounds=ROUNDS, streams=StreamNames(("check",)))
    return play_metrics(game, games, [LEARNER], retries=True)


def as_table(found: Check) -> str:
    """A markdown table."""
    rows = ["| game | what | demonstrations | model |", "|---|---|---|---|"]
    for game, (shown, own) in found.items():
        for key, value in own.items():
            if value is not None or shown[key] is not None:
                rows.append(f"| {game} | {key} | {_number(shown[key])} | {_number(value)} |")
    return "\n".join(rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
