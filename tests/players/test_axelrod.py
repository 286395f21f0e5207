"""Classical strategies agree with Axelrod's, the reference implementation, as ``scripts/axelrod_transcripts.py`` wrote it down."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coplay.types import Move, View

from coplay.games import make_game
from coplay.games.matrix import COLUMN, ROW, SEATS
from coplay.games.memory import Memory, Observation
from coplay.play.loop import Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import PLAYERS, make_player

AXELROD: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data/axelrod_transcripts.json").read_text("utf-8")
)
IPD = make_game("ipd")
ACTIONS = dict(zip("CD", IPD.actions[ROW], strict=True))
LABELS = {action: label for label, action in ACTIONS.items()}


@dataclass(frozen=True)
class FixedMoves:
    """Plays fixed moves, whatever the co-player does."""

    moves: str
    name: str = "sequence"
    memory: Memory = Memory.TRANSCRIPT

    def act(self, views: Sequence[View]) -> list[Move]:
        labels = [self.moves[len(view.observation.transcript)] for view in views]
        return [Move(ACTIONS[label], label) for label in labels]


def player(name: str, seat: str) -> Player:
    """A strategy, or the player of one of the sequences, by its name in the file."""
    sequences = AXELROD["sequences"]
    return FixedMoves(sequences[name]) if name in sequences else make_player(name, IPD, seat)


def moves_against(name: str, opponent: str, seat: str, rounds: int) -> str:
    """The strategy's moves in one episode, from either seat."""
    names = {seat: name, (COLUMN if seat == ROW else ROW): opponent}
    players = {seat: player(names[seat], seat) for seat in SEATS}
    episode = play_episode([Table(IPD, 0, 0)], players, rounds=rounds, occasion=("axelrod",))[0]
    return "".join(LABELS[turn.move.action] for turn in episode.traces[seat].turns)


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("name", AXELROD["transcripts"])
def test_moves_are_axelrods(name: str, seat: str) -> None:
    theirs = AXELROD["transcripts"][name]
    assert set(theirs) == set(AXELROD["transcripts"]) | set(AXELROD["sequences"])
    assert theirs == {opponent: moves_against(name, opponent, seat, len(moves)) for opponent, moves in theirs.items()}


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("game", AXELROD["four_vectors"])
def test_probabilities_are_axelrods(game: str, seat: str) -> None:
    ipd = IPD.with_payoffs(AXELROD["games"][game])
    for name, theirs in AXELROD["four_vectors"][game].items():
        pasts = [(), *((joint,) for joint in ipd.own_states(seat))]
        views = [View(0, 0, seat, 0, Observation(transcript=past), 0.5) for past in pasts]
        ours = [move.probs[0] for move in make_player(name, ipd, seat).act(views) if move.probs]
        assert ours == pytest.approx(theirs, abs=1e-12), name


def test_no_strategy_is_left_out() -> None:
    compared = {name.partition(":")[0] for name in [*AXELROD["transcripts"], *AXELROD["four_vectors"]["ipd"]]}
    assert compared == set(PLAYERS) - {"always"}
