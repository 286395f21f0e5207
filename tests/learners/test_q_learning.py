"""Q-learning: single steps by hand, values against the Bellman equation, moves against the distribution they come from."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from small_policies import IPD, Fickle, play

from coplay.learners.q_learning import QLearner
from coplay.runs.directory.config import QLearning
from coplay.games import MatrixGame, make_game
from coplay.games.matrix import SEATS
from coplay.games.memory import Memory, Observation
from coplay.players.check import check_player
from coplay.players.scripted import make_player
from coplay.players.seated import OneSeed
from coplay.rng import draws
from coplay.types import Episode, Move, Trace, Turn, View

CC, CD, DC, DD = IPD.own_states("row")


def make_learner(
    *, seeds: Sequence[int] = (0,), seat: str = "row", memory: Memory = Memory.LAST_ROUND, **q: object
) -> QLearner:
    return QLearner("q", IPD, seat, seeds=seeds, memory=memory, q=QLearning.model_validate(q))


def episode(*joints: tuple[str, str], finished: bool = True) -> Episode:
    """A game in which row saw the last round."""
    turns, last = [], None
    for joint in joints:
        payoff = IPD.payoff("row", own=joint[0], other=joint[1])
        turns.append(Turn(Observation(last=last), Move(joint[0], "?"), payoff))
        last = joint
    return Episode(0, 0, {"row": Trace("row", turns)}, list(joints), finished)


def test_updates_by_hand() -> None:
    learner = make_learner(learning_rate=0.5, discount=0.5, initial_value=1.0)
    learner.collect([episode(CD, DD)])
    metrics = learner.update((0,))[0]
    values = learner.policy.values[0]
    # start, cooperate: 1 + 1/2 (0 + 1/2 max(1, 1) - 1);  after CD, defect: 1 + 1/2 (1 - 1)
    assert values[0].tolist() == [0.75, 1.0]
    assert values[learner.policy.line(CD)].tolist() == [1.0, 1.0]
    assert metrics == {"epsilon": 0.1, "td_error": pytest.approx(0.25)}
    assert (np.delete(values, 0, axis=0) == 1.0).all()


def test_the_last_round_of_an_endless_game_leads_on() -> None:
    ends, goes_on, cut = (
        make_learner(learning_rate=1.0, discount=0.5, initial_value=2.0, endless=e) for e in (False, True, False)
    )
    for learner, finished in ((ends, True), (goes_on, True), (cut, False)):
        learner.collect([episode(DD, finished=finished)])
        learner.update((0,))
    assert [float(learner.policy.values[0, 0, 1]) for learner in (ends, goes_on, cut)] == [1.0, 2.0, 2.0]


def test_round_by_round_is_the_same_rule() -> None:
    """One game: what is learnt after every round of an episode is what is learnt from all its rounds at its end."""
    whole, rounds = make_learner(), make_learner()
    played = play(Fickle(), Fickle(), games=1, rounds=12)[0]
    whole.collect([played])
    whole.update((0,))
    for t in range(12):
        part = Episode(
            0, 0, {s: Trace(s, trace.turns[: t + 1]) for s, trace in played.traces.items()}, played.states[: t + 1]
        )
        rounds.collect([part.latest_round(finished=t == 11)])
        rounds.update((0, t))
    assert np.array_equal(whole.policy.values, rounds.policy.values)


def test_voided_rounds_are_not_learnt_from() -> None:
    learner = make_learner()
    learner.collect(play(Fickle(), Fickle(illegal=1.0), games=2, rounds=3))
    assert "td_error" not in learner.update((0,))[0]
    assert (learner.policy.values == 0).all()


@pytest.mark.parametrize(("co_player", "best"), [("tit_for_tat", "cooperate"), ("always_cooperate", "defect")])
def test_values_solve_the_bellman_equation(co_player: str, best: str) -> None:
    """Against a memory-one co-player in the endless game, with all moves at random: Q*, found by iteration."""
    gamma = 0.9
    learner = make_learner(learning_rate=0.2, discount=gamma, epsilon_initial=1.0, epsilon_final=1.0, endless=True)
    script = make_player(co_player, IPD, "column")
    for i in range(60):
        learner.collect(play(learner, script, games=10, rounds=20, occasion=(i,)))
        learner.update((i,))
    their_reply = {
        joint: script.act([View(0, 0, "column", 1, Observation(last=(joint[1], joint[0])), 0.0)])[0].action
        for joint in IPD.states
    }
    exact = dict.fromkeys([(joint, a) for joint in IPD.states for a in IPD.actions["row"]], 0.0)
    for _ in range(400):
        exact = {
            (joint, a): IPD.payoff("row", own=a, other=their_reply[joint])
            + gamma * max(exact[(a, their_reply[joint]), b] for b in IPD.actions["row"])
            for joint, a in exact
        }
    visited = [(joint, a) for joint, a in exact if co_player == "tit_for_tat" or joint[1] == "cooperate"]
    for joint, a in visited:
        learnt = learner.policy.values[0, learner.policy.line(joint), IPD.actions["row"].index(a)]
        assert learnt == pytest.approx(exact[joint, a], abs=0.05)
    greedy = learner.policy.probabilities(0, learner.policy.line(CC), epsilon=0.0)
    assert greedy == tuple(float(a == best) for a in IPD.actions["row"])


def test_moves_are_epsilon_greedy() -> None:
    learner = make_learner(epsilon_initial=0.2, epsilon_final=0.2)
    learner.policy.values[0, 0] = [1.0, 3.0]
    views = [View(0, 0, "row", 0, Observation(), float(draw)) for draw in draws(0, "test", n=4000)]
    moves = learner.act(views)
    assert moves[0].probs == pytest.approx((0.1, 0.9))
    assert np.mean([move.action == "cooperate" for move in moves]) == pytest.approx(0.1, abs=0.02)
    assert learner.policy.probabilities(0, 1, epsilon=0.2) == (0.5, 0.5)  # a tie


def test_epsilon_goes_in_a_straight_line() -> None:
    learner = make_learner(epsilon_initial=1.0, epsilon_final=0.0, epsilon_updates=4)
    seen = [learner.update((i,))[0]["epsilon"] for i in range(6)]
    assert seen == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]


def test_seeds_have_tables_of_their_own() -> None:
    learner = make_learner(seeds=[3, 5])
    learner.collect(play(learner, Fickle(), games=2, rounds=4, seeds=[5]))
    learner.update((0,))
    assert (learner.policy.values[0] == 0).all()
    assert (learner.policy.values[1] != 0).any()


def test_a_checkpoint_brings_everything_back() -> None:
    first, second = make_learner(epsilon_updates=9), make_learner(epsilon_updates=9)
    first.collect(play(first, Fickle(), games=2, rounds=4))
    first.update((0,))
    second.load_tensors(first.tensors())
    second.policy.parameters()[0].data.copy_(first.policy.parameters()[0])
    assert second.updates == 1
    assert np.array_equal(first.policy.values, second.policy.values)
    assert not torch.equal(torch.from_numpy(second.policy.values), torch.zeros(1, 5, 2))


@pytest.mark.parametrize("memory", [Memory.NONE, Memory.LAST_ROUND])
@pytest.mark.parametrize("game", [IPD, make_game("imp")])
@pytest.mark.parametrize("seat", SEATS)
def test_conformance(game: MatrixGame, seat: str, memory: Memory) -> None:
    learner = QLearner("q", game, seat, seeds=[7], memory=memory, q=QLearning())
    assert check_player(OneSeed(learner, 7, seat), game, seat) == []
