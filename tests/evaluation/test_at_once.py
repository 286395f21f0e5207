"""Games of automata, many at once: they are the games of the loop, whose summaries, cross-plays and random numbers they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from fake_players import LinePlayer, occupants, scripts
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.api import cross_play
from coplay.evaluation import match
from coplay.evaluation.at_once import AtOnce, stage_game
from coplay.evaluation.match import MatchResult, loop_match, play_match
from coplay.evaluation.meetings import swapped_payoffs
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame, game_from_dict
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Round
from coplay.players.automaton import edges_of
from coplay.players.sampling import sample
from coplay.players.scripted import PLAYERS, Strategy
from coplay.players.strategies import Past
from coplay.players.tabular import TabularPolicy

IPD = make_game("ipd")
STRATEGIES = sorted({*PLAYERS, "random:0.3", "generous_tit_for_tat:0.7", "random:0", "random:1"} - {"always"})
RPS = game_from_dict(
    {
        "name": "rps",
        "actions": [["rock", "paper", "scissors"], ["stone", "sheet"]],
        "payoffs": [[[0.1, -0.7], [-1.3, 1]], [[1, -1], [0.2, 0.3]], [[-1, 0.6], [1e-9, 1e9]]],
    }
)
seeds = st.integers(0, 2**31)
lengths = st.integers(1, 12)
numbers = st.integers(1, 6)


def both(game: Game, seated: Mapping[str, Occupant], rounds: int, episodes: int, seed: int) -> MatchResult:
    """The games as arrays, which are those of the loop."""
    ours = play_match(game, seated, rounds=rounds, episodes=episodes, seed=seed)
    loop = loop_match(game, seated, rounds=rounds, episodes=episodes, seed=seed)
    assert ours.moves is not None and loop.moves is None
    did = [[game.states[joint] for joint in row] for row in ours.moves.joints_BT.tolist()]  # type: ignore[attr-defined]
    assert did == [[outcome.conduct for outcome in episode.outcomes] for episode in loop.episodes]
    assert {seat: ours.payoffs(seat) for seat in game.seats} == {seat: loop.payoffs(seat) for seat in game.seats}
    theirs = loop.summary()
    assert ours.summary() == theirs and list(ours.summary()["states"]) == list(theirs["states"])
    return ours


def memory_one(name: str, probs: Sequence[float]) -> Strategy:
    """The strategy that cooperates with these probabilities: at the start and after each round of (own, co-player's)."""
    after = dict(zip([(True, True), (True, False), (False, True), (False, False)], probs[1:], strict=True))

    def rule(past: Past) -> float:
        return after[past[-1]] if past else probs[0]

    return Strategy(name, Memory.LAST_ROUND, IPD, rule)


@pytest.mark.parametrize("row", STRATEGIES)
@pytest.mark.parametrize("column", STRATEGIES)
def test_every_pair_of_strategies_plays_as_in_the_loop(row: str, column: str) -> None:
    seed = STRATEGIES.index(row) * len(STRATEGIES) + STRATEGIES.index(column)
    both(IPD, occupants(scripts(IPD, row, column)), rounds=6 + seed % 3, episodes=1 + seed % 4, seed=seed)


@given(
    st.lists(st.sampled_from(STRATEGIES), min_size=2, max_size=2),
    st.lists(st.floats(-1e9, 1e9), min_size=4, max_size=4),
    lengths,
    numbers,
    seeds,
)
@settings(max_examples=40, deadline=None)
def test_whatever_the_payoffs(names: list[str], payoffs: list[float], rounds: int, episodes: int, seed: int) -> None:
    assert isinstance(IPD, MatrixGame)
    game = IPD.with_payoffs(payoffs)
    both(game, occupants(scripts(game, *names)), rounds, episodes, seed)


probabilities = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=5, max_size=5)


@given(probabilities, probabilities, lengths, numbers, seeds)
@settings(max_examples=40, deadline=None)
def test_any_memory_one_strategy(row: list[float], column: list[float], rounds: int, episodes: int, seed: int) -> None:
    players = {seat: memory_one(seat, probs) for seat, probs in zip(IPD.seats, (row, column), strict=True)}
    both(IPD, occupants(players), rounds, episodes, seed)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0, 1, exclude_max=True))
def test_edges_pick_what_sampling_picks(weights: list[float], draw: float) -> None:
    probs = [weight / (sum(weights) or 1.0) for weight in weights]
    if any(probs):
        edges = edges_of(probs)
        for number in (draw, *edges):
            if number < 1.0:
                assert sum(edge <= number for edge in edges) == sample(probs, number)


@pytest.mark.parametrize("name", ["ipd", "icg", "imp", "ish", "c-ipd", "ipd-ab", "ipd-8"])
def test_matrix_games(name: str) -> None:
    game = make_game(name)
    both(game, occupants(scripts(game, "zd_extort_2", "random:0.6")), rounds=9, episodes=5, seed=3)


def test_games_of_other_sizes_and_more_seats() -> None:
    both(RPS, occupants(scripts(RPS, "uniform", "always:sheet")), rounds=9, episodes=7, seed=1)
    goods = make_game("public-goods:n=4")
    names = ("random:0.8", "tit_for_tat", "generous_tit_for_tat", "grim_trigger")
    both(goods, occupants(scripts(goods, *names)), rounds=9, episodes=7, seed=1)


@pytest.mark.parametrize("memory", [Memory.NONE, Memory.LAST_ROUND])
@pytest.mark.parametrize("game", [IPD, RPS], ids=["ipd", "rps"])
def test_tables(game: Game, memory: Memory) -> None:
    torch.manual_seed(0)
    seated = {}
    for seat in game.seats:
        policy = TabularPolicy(seat, game, seat, memory, slots=3)
        policy.theta.data.normal_(std=2.0)
        seated[seat] = Occupant(policy, seat, slot=2)
    both(game, seated, rounds=10, episodes=20, seed=5)


def test_the_games_themselves_are_played_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seated = occupants(scripts(IPD, "random", "tit_for_tat"))
    expected = loop_match(IPD, seated, rounds=5, episodes=3, seed=2)
    monkeypatch.setattr(match, "play_episode", nobody_plays)
    found = play_match(IPD, seated, rounds=5, episodes=3, seed=2)
    assert found.summary() == expected.summary() and len(found.episodes) == 3 and "episodes=3" in repr(found)
    with pytest.raises(AssertionError, match="by the loop"):
        list(found.episodes)
    monkeypatch.undo()
    assert found.episodes == expected.episodes and found.episodes[1:] == expected.episodes[1:] and found == expected


def nobody_plays(*_: Any, **__: Any) -> None:
    raise AssertionError("a game was played by the loop")


def test_a_cross_play_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*STRATEGIES, "always:cooperate"]
    with monkeypatch.context() as patch:
        patch.setattr(match, "play_episode", nobody_plays)
        ours = cross_play("ipd", names, rounds=7, episodes=3, seed=4)
    monkeypatch.setattr(AtOnce, "covers", lambda *_: False)
    theirs = cross_play("ipd", names, rounds=7, episodes=3, seed=4)
    assert ours == theirs and ours.wins == theirs.wins and ours.to_dict() == theirs.to_dict()


def test_a_cross_play_of_three_seats_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    names, game = ["tit_for_tat", "random:0.3", "always_defect"], "public-goods:n=3"
    ours = cross_play(game, names, rounds=5, episodes=4)
    monkeypatch.setattr(AtOnce, "covers", lambda *_: False)
    assert ours == cross_play(game, names, rounds=5, episodes=4)


def test_pairs_of_which_some_are_played_by_the_loop() -> None:
    line = {seat: Occupant(LinePlayer("CDDC"), "line") for seat in IPD.seats}
    kind = occupants(scripts(IPD, "tit_for_tat", "tit_for_tat"))
    assert swapped_payoffs(IPD, line, kind, rounds=4, episodes=2, seed=0) == ([2.0] * 2, [2.0] * 2)


@pytest.mark.parametrize("most", [1, 50])
def test_batches_do_not_matter(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["random", "generous_tit_for_tat", "always_defect"]
    expected = cross_play("ipd", names, rounds=7, episodes=3)
    monkeypatch.setattr("coplay.evaluation.at_once.MOST_CELLS", most)
    assert cross_play("ipd", names, rounds=7, episodes=3) == expected


# ---------------------------------------------------------------------- what is left to the loop


def by_loop(game: Game, seated: Mapping[str, Occupant]) -> bool:
    return play_match(game, seated, rounds=3, episodes=2, seed=0).moves is None


class Odd(MatrixGame):
    """Pays double in odd rounds."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return {seat: (paid or 0.0) * (1 + now.number % 2) for seat, paid in super().payoffs(now).items()}


class Moody(Strategy):
    """Acts otherwise than its class, and does not say as what automaton."""

    def reply(self, request: Any) -> Any:
        return super().reply(replace(request, draw=1.0 - request.draw))


@dataclass(frozen=True)
class Cents(MatrixGame):
    """Pays half in money of another kind of number."""

    def joint_payoffs(self, joint: Any) -> tuple[float, ...]:
        return tuple(np.float64(paid) for paid in super().joint_payoffs(joint))


def test_what_the_loop_plays() -> None:
    scripted = occupants(scripts(IPD, "tit_for_tat", "random"))
    assert isinstance(IPD, MatrixGame) and not by_loop(IPD, scripted)
    assert by_loop(IPD, {**scripted, "row": Occupant(LinePlayer("CCC"), "line")})
    moody = Moody("moody", Memory.NONE, IPD, lambda past: 0.5)
    assert by_loop(IPD, {**scripted, "row": Occupant(moody, "moody")})
    unsummed = Strategy(
        "majority", Memory.TRANSCRIPT, IPD, lambda past: float(sum(b for _, b in past) * 2 >= len(past))
    )
    assert by_loop(IPD, {**scripted, "row": Occupant(unsummed, "majority")})
    counting = TabularPolicy("counts", IPD, "row", Memory.TRIAL_COUNTS, slots=1)
    assert by_loop(IPD, {**scripted, "row": Occupant(counting, "counts", slot=0)})
    fields = (IPD.name, IPD.description, IPD.actions, IPD.labels, IPD.table, IPD.null_payoff)
    assert not by_loop(MatrixGame(*fields), scripted)
    assert by_loop(Odd(*fields), scripted) and by_loop(Cents(*fields), scripted)


@pytest.mark.parametrize("name", ["split-no-comm", "kuhn", "public-goods:n=10", "ipd-3+mediator", "bertrand", "ipd-3"])
def test_games_that_are_more_than_one_choice_a_round_or_too_large(name: str) -> None:
    assert stage_game(make_game(name)) is None
