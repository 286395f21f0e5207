"""Q-learning: single steps by hand, values against the Bellman equation, actions against the distribution they come from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from small_policies import IPD, RandomPlayer, episode_of, play, request_of

from coplay.conformance.players import check_player
from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import SEATS
from coplay.games.memory import START, Memory, Observation
from coplay.games.records import Episode
from coplay.learners.q_learner import QLearner
from coplay.learners.q_learning import QTable, epsilon_greedy
from coplay.learners.settings import QLearning
from coplay.players.scripted import make_script
from coplay.rng import draws

CC, CD, DC, DD = IPD.own_states("row")


def make_learner(
    *, seeds: Sequence[int] = (0,), seat: str = "row", memory: Memory = Memory.LAST_ROUND, **settings: object
) -> QLearner:
    q = QLearning.model_validate(settings)
    table = QTable("q", IPD, seat, memory, slots=len(seeds), initial=q.initial_value)
    return QLearner("q", table, seeds=seeds, q=q)


def rows_episode(*joints: tuple[str, str], finished: bool = True) -> Episode:
    """A game in which the learner sat in row."""
    return episode_of(joints, learner="q", own=["row"], finished=finished)


def as_row(episodes: Sequence[Episode]) -> list[Episode]:
    """The same games as if the learner had sat in row."""
    return [replace(one, seated={**one.seated, "row": replace(one.seated["row"], learner="q")}) for one in episodes]


def test_updates_by_hand() -> None:
    learner = make_learner(learning_rate=0.5, discount=0.5, initial_value=1.0)
    learner.collect([rows_episode(CD, DD)])
    metrics = learner.update((0,))[0]
    values = learner.table.values[0]
    # start, cooperate: 1 + 1/2 (0 + 1/2 max(1, 1) - 1);  after CD, defect: 1 + 1/2 (1 - 1)
    assert values[0].tolist() == [0.75, 1.0]
    assert values[learner.table.line(CD)].tolist() == [1.0, 1.0]
    assert metrics == {"epsilon": 0.1, "td_error": pytest.approx(0.25)}
    assert (np.delete(values, 0, axis=0) == 1.0).all()


def test_the_last_round_of_an_infinite_game_continues() -> None:
    ends, infinite, cut = (
        make_learner(learning_rate=1.0, discount=0.5, initial_value=2.0, infinite_horizon=infinite)
        for infinite in (False, True, False)
    )
    for learner, finished in ((ends, True), (infinite, True), (cut, False)):
        learner.collect([rows_episode(DD, finished=finished)])
        learner.update((0,))
    assert [float(learner.table.values[0, 0, 1]) for learner in (ends, infinite, cut)] == [1.0, 2.0, 2.0]


def test_round_by_round_is_the_same_rule() -> None:
    """One game: what is learnt after every round of an episode is what is learnt from all its rounds at its end."""
    whole, rounds = make_learner(), make_learner()
    (played,) = as_row(play(RandomPlayer(), RandomPlayer(), games=1, rounds=12))
    whole.collect([played])
    whole.update((0,))
    for t in range(12):
        so_far = replace(
            played,
            rounds=played.rounds[: t + 1],
            outcomes=played.outcomes[: t + 1],
            turns={seat: own[: t + 1] for seat, own in played.turns.items()},
        )
        rounds.collect([so_far.latest_round(finished=t == 11)])
        rounds.update((0, t))
    assert (whole.table.values != 0).any()
    assert np.array_equal(whole.table.values, rounds.table.values)


def test_void_rounds_are_not_learnt_from() -> None:
    learner = make_learner()
    learner.collect(as_row(play(RandomPlayer(), RandomPlayer(illegal=1.0), games=2, rounds=3)))
    assert "td_error" not in learner.update((0,))[0]
    assert (learner.table.values == 0).all()


@pytest.mark.parametrize(("co_player", "best"), [("tit_for_tat", "cooperate"), ("always_cooperate", "defect")])
def test_values_solve_the_bellman_equation(co_player: str, best: str) -> None:
    """Against a memory-one co-player in the infinite game, with all actions at random: Q*, found by iteration."""
    gamma = 0.9
    learner = make_learner(
        learning_rate=0.2, discount=gamma, epsilon_initial=1.0, epsilon_final=1.0, infinite_horizon=True
    )
    script = make_script(co_player, IPD, "column")
    for i in range(60):
        learner.collect(play(learner, script, games=10, rounds=20, rng_path=(i,)))
        learner.update((i,))
    their_reply = {
        joint: script.act([request_of("column", Observation(last=(joint[1], joint[0])), draw=0.0)])[0].action
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
        learnt = learner.table.values[0, learner.table.line(joint), IPD.actions["row"].index(a)]
        assert learnt == pytest.approx(exact[joint, a], abs=0.05)
    greedy = epsilon_greedy(learner.table.values[0, learner.table.line(CC)], epsilon=0.0)
    assert greedy == tuple(float(a == best) for a in IPD.actions["row"])


def test_actions_are_epsilon_greedy() -> None:
    learner = make_learner(epsilon_initial=0.2, epsilon_final=0.2)
    learner.table.values[0, 0] = [1.0, 3.0]
    replies = learner.player.act([request_of("row", START, draw=float(draw)) for draw in draws(0, "test", n=4000)])
    assert replies[0].probs == pytest.approx((0.1, 0.9))
    assert np.mean([reply.action == "cooperate" for reply in replies]) == pytest.approx(0.1, abs=0.02)
    for reply in replies[:50]:
        assert reply.probs is not None
        assert np.exp(reply.logprobs[0]) == pytest.approx(reply.probs[reply.tokens[0]])
    assert epsilon_greedy(learner.table.values[0, 1], epsilon=0.2) == (0.5, 0.5)  # a tie


def test_epsilon_goes_in_a_straight_line() -> None:
    learner = make_learner(epsilon_initial=1.0, epsilon_final=0.0, epsilon_updates=4)
    seen = [learner.update((i,))[0]["epsilon"] for i in range(6)]
    assert seen == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]


def test_seeds_have_tables_of_their_own() -> None:
    learner = make_learner(seeds=[3, 5])
    learner.collect(play(learner, RandomPlayer(), games=2, rounds=4, seeds=[5]))
    learner.update((0,))
    assert (learner.table.values[0] == 0).all()
    assert (learner.table.values[1] != 0).any()


def test_a_checkpoint_brings_everything_back() -> None:
    first, second = make_learner(epsilon_updates=9), make_learner(epsilon_updates=9)
    first.collect(play(first, RandomPlayer(), games=2, rounds=4))
    first.update((0,))
    second.load_state_dict(0, first.state_dict(0))
    assert second.updates == {0: 1}
    assert second.epsilon(0) == first.epsilon(0)
    assert np.array_equal(first.table.values, second.table.values)
    assert (second.table.values != 0).any()
    first.collect(play(first, RandomPlayer(), games=2, rounds=4, rng_path=("later",)))
    first.update((1,))
    assert not np.array_equal(first.table.values, second.table.values)  # what was saved is a copy


@pytest.mark.parametrize("memory", [Memory.NONE, Memory.LAST_ROUND])
@pytest.mark.parametrize("game", [IPD, matrix_game("imp")])
@pytest.mark.parametrize("seat", SEATS)
def test_conformance(game: MatrixGame, seat: str, memory: Memory) -> None:
    """The kit asks under two slots."""
    assert check_player(QTable("q", game, seat, memory, slots=2), game, seat) == []
