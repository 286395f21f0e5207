"""What the finished model does: it plays every game with itself, and the demonstrators' own games stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coplay.players.round_language_model import RoundLanguageModel
from coplay.rounds.metrics import Line, round_metrics
from coplay.rounds.play import RoundPlayer, play_rounds, tables_of
from coplay.text.rounds import WORDED, Past, Worded

from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer
from coplay.rng import stream
from talk.demonstrations import Demonstrator

GAMES, ROUNDS = 100, 10
"""Of each check."""

Check = Mapping[str, tuple[Line, Line]]
"""By game: the demonstrators' numbers, the model's."""


def check(directory: Path, *, reciprocity: float, seed: int = 1) -> Check:
    """Let the model in a directory play with itself."""
    loaded = load_model(str(directory), device="cpu")
    scorer = Scorer(loaded.model, AdapterBank(loaded.model, [SlotName("unused", 0)], rank=1, alpha=1.0))
    found = {}
    for game, words in WORDED.items():
        shown = Demonstrator("demonstrator", words, reciprocity, False, stream(seed, "check", game), [])
        player = RoundLanguageModel(
            "model", loaded, scorer, words, slot=lambda _: REFERENCE, past=Past.LAST_ROUND, longest=24
        )
        found[game] = (_played(words, shown, seed), _played(words, player, seed))
    return found


def _played(words: Worded, player: RoundPlayer, seed: int) -> Line:
    seats = dict.fromkeys(words.game.seats, player)
    games = play_rounds(words, tables_of(seed, range(GAMES), seats), rounds=ROUNDS, occasion=("check",))
    return round_metrics(words, games)


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
