"""Classical strategies agree with Axelrod's, the reference implementation, as ``scripts/axelrod_transcripts.py`` wrote it down."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coplay.games.catalogue import matrix_game
from coplay.games.matrix import ROW, SEATS
from coplay.games.memory import Memory, Observation
from coplay.games.records import Occupant, Phase, Reply, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import PLAYERS, make_script

AXELROD: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data/axelrod_transcripts.json").read_text("utf-8")
)
IPD = matrix_game("ipd")
ACTIONS = dict(zip("CD", IPD.actions[ROW], strict=True))
LABELS = {action: label for label, action in ACTIONS.items()}


@dataclass(frozen=True)
class FixedMoves:
    """Plays fixed moves, whatever the co-player does."""

    moves: str
    name: str = "sequence"
    memory: Memory = Memory.TRANSCRIPT

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        labels = [self.moves[len(request.observation.transcript or ())] for request in requests]
        return [Reply(label, ACTIONS[label]) for label in labels]


def player(name: str, seat: str) -> Player:
    """A strategy, or the player of one of the sequences, by its name in the file."""
    sequences = AXELROD["sequences"]
    return FixedMoves(sequences[name]) if name in sequences else make_script(name, IPD, seat)


def moves_against(name: str, opponent: str, seat: str, rounds: int) -> str:
    """The strategy's moves in one episode, from either seat."""
    names = {seat: name, IPD.other(seat): opponent}
    seated = {one: Occupant(player(names[one], one), names[one]) for one in SEATS}
    (episode,) = play_episode(IPD, [Table(IPD, 0, 0, 0, seated)], rounds=rounds, streams=StreamNames(("axelrod",)))
    return "".join(LABELS[str(one.actions("action")[seat])] for one in episode.rounds)


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("name", AXELROD["transcripts"])
def test_moves_are_axelrods(name: str, seat: str) -> None:
    theirs = AXELROD["transcripts"][name]
    assert set(theirs) == set(AXELROD["transcripts"]) | set(AXELROD["sequences"])
    assert theirs == {opponent: moves_against(name, opponent, seat, len(moves)) for opponent, moves in theirs.items()}


def request(seat: str, observation: Observation) -> Request:
    """A seat is asked for an action, and shown this."""
    return Request(0, 0, seat, Phase("action", SEATS), Round(0), (), (), observation, None, ("axelrod",), 0.5)


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("game", AXELROD["four_vectors"])
def test_probabilities_are_axelrods(game: str, seat: str) -> None:
    ipd = IPD.with_payoffs(AXELROD["games"][game])
    for name, theirs in AXELROD["four_vectors"][game].items():
        pasts = [(), *((joint,) for joint in ipd.own_states(seat))]
        replies = make_script(name, ipd, seat).act([request(seat, Observation(transcript=past)) for past in pasts])
        ours = [reply.probs[0] for reply in replies if reply.probs]
        assert ours == pytest.approx(theirs, abs=1e-12), name


def test_no_strategy_is_left_out() -> None:
    compared = {name.partition(":")[0] for name in [*AXELROD["transcripts"], *AXELROD["four_vectors"]["ipd"]]}
    assert compared == set(PLAYERS) - {"always", "uniform", "defect_once"}
