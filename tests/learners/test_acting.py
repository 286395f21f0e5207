"""Acting: the right probabilities, from the draw alone, each distribution computed once."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_policies import STATES, WordPolicy

from coplay.learners.acting import Actor, Decision
from coplay.games import make_game
from coplay.games.memory import Memory, Observation
from coplay.players.tabular import InitialPolicy, TabularPolicy
from coplay.types import Move

ACTIONS = ("cooperate", "defect")
draws = st.floats(0, 1, exclude_max=True)
observations = st.sampled_from([Observation(last=state) for state in STATES])


def actor(seed: int = 0, *, scale: float = 1.0, slots: int = 1) -> Actor:
    def values(positions: Sequence[int], hidden_RH: torch.Tensor) -> torch.Tensor:
        return torch.tensor(list(positions), dtype=torch.float32) + hidden_RH @ torch.arange(hidden_RH.shape[1]).float()

    return Actor(WordPolicy(seed=seed, scale=scale, slots=slots), ACTIONS, values)


def decide(actor: Actor, observation: Observation, position: int = 0) -> Decision:
    return actor.decide([(position, observation)], {0: 0, 1: 1})[0]


def true_probs(policy: WordPolicy, observation: Observation) -> list[float]:
    logits = policy.base[STATES.index(observation.last)].double()
    return torch.softmax(logits, -1).tolist()


@given(st.integers(0, 50), observations)
def test_replies_come_as_often_as_their_probabilities_say(seed: int, observation: Observation) -> None:
    a = actor(seed)
    decision = decide(a, observation)
    n = 1000
    replies = Counter(a.sample(decision, (i + 0.5) / n).token for i in range(n))  # an even grid of draws
    for word, p in enumerate(true_probs(a.policy, observation)):
        assert replies[word] / n == pytest.approx(p, abs=2 / n)


@given(st.integers(0, 50), observations, draws)
def test_legal_replies_come_first_and_in_order(seed: int, observation: Observation, draw: float) -> None:
    a = actor(seed)
    probs = true_probs(a.policy, observation)
    first, second = (probs[word] for word in WordPolicy.legal)
    if min(abs(draw - first), abs(draw - first - second)) < 1e-5:
        return  # too near an edge for single precision
    move = a.sample(decide(a, observation), draw)
    if draw < first:
        assert (move.action, move.token, move.reply) == ("cooperate", 3, "y")
    elif draw < first + second:
        assert (move.action, move.token, move.reply) == ("defect", 1, "w")
    else:
        assert move.action is None
        assert move.token in (0, 2, 4)
        # among the rest, by inverse transform in the order of the vocabulary
        edges = np.cumsum([0.0 if word in WordPolicy.legal else p for word, p in enumerate(probs)])
        expected = int(np.searchsorted(edges, draw - first - second, side="right"))
        if np.abs(edges - (draw - first - second)).min() > 1e-5:
            assert move.token == expected


@given(st.integers(0, 50), observations, draws)
def test_a_move_says_what_it_was_sampled_from(seed: int, observation: Observation, draw: float) -> None:
    a = actor(seed)
    move = a.sample(decide(a, observation), draw)
    probs = true_probs(a.policy, observation)
    assert move.token is not None and move.logprob is not None and move.probs is not None
    assert move.logprob == pytest.approx(math.log(probs[move.token]), abs=1e-5)
    assert list(move.probs) == pytest.approx([probs[word] for word in WordPolicy.legal], abs=1e-6)
    assert move.value == pytest.approx(STATES.index(observation.last))


@given(observations, draws)
def test_the_same_draw_gives_the_same_move(observation: Observation, draw: float) -> None:
    a, b = actor(), actor()
    assert a.sample(decide(a, observation), draw) == b.sample(decide(b, observation), draw)


@given(st.lists(st.tuples(st.integers(0, 1), observations), min_size=1, max_size=12))
def test_a_batch_is_its_rows(keys: list[tuple[int, Observation]]) -> None:
    together = actor(slots=2).decide(keys, {0: 0, 1: 1})
    for key, decision in zip(keys, together, strict=True):
        alone = actor(slots=2).decide([key], {0: 0, 1: 1})[0]
        assert decision.legal_probs == pytest.approx(alone.legal_probs, abs=1e-7)
        assert decision.value == pytest.approx(alone.value)
        assert decision.logprobs_V == pytest.approx(alone.logprobs_V, abs=1e-6)


def test_each_pair_is_scored_once_until_the_policy_changes() -> None:
    a = actor(slots=2)
    policy = a.policy
    assert isinstance(policy, WordPolicy)
    start, later = Observation(), Observation(last=STATES[1])
    a.decide([(0, start), (0, start), (1, start)], {0: 0, 1: 1})
    a.decide([(0, start), (1, later)], {0: 0, 1: 1})
    assert policy.scored == [2, 1]
    before = decide(a, start)
    with torch.no_grad():
        policy.theta[0, 0, 3] += 2.0
    assert decide(a, start) is before
    a.forget()
    assert decide(a, start).legal_probs[0] > before.legal_probs[0]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.learners.acting._REMEMBERED_BYTES", 2 * 5 * 4)  # two distributions
    a = actor()
    whole = [decide(actor(), Observation(last=state)).legal_probs for state in STATES]
    for _ in range(2):
        for state, expected in zip(STATES, whole, strict=True):
            assert decide(a, Observation(last=state)).legal_probs == expected
    assert len(a._decisions) <= 2


NEARLY_ONE = math.nextafter(1.0, 0.0)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 200.0])
@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 1e-8, NEARLY_ONE])
def test_the_ends_of_the_unit_interval_are_safe(scale: float, draw: float) -> None:
    for seed in range(20):
        a = actor(seed, scale=scale)
        for state in STATES:
            move = a.sample(decide(a, Observation(last=state)), draw)
            assert move.logprob is not None and math.isfinite(move.logprob)
            assert (move.action is None) == (move.token not in WordPolicy.legal)


def test_a_draw_on_the_very_edge_never_gives_a_legal_word_for_an_illegal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordPolicy, "legal", (0, 1))  # the words at which the search among the rest begins
    for seed in range(20):
        a = actor(seed)
        decision = decide(a, Observation())
        move = a.sample(decision, float(np.cumsum(decision.legal_probs)[-1]))
        assert (move.action, move.token) == (None, 2)


@given(st.floats(0.001, 0.999), draws)
def test_without_illegal_replies_every_draw_is_legal(p: float, draw: float) -> None:
    policy = TabularPolicy(make_game("ipd"), "row", Memory.LAST_ROUND, slots=1, initial=InitialPolicy(p))
    a = Actor(policy, ACTIONS, lambda _, hidden_RH: hidden_RH.sum(-1))

    def move(at: float) -> Move:
        return a.sample(a.decide([(0, Observation())], {0: 0})[0], at)

    assert move(NEARLY_ONE).action == "defect"
    if abs(draw - p) > 1e-5:
        assert move(draw).action == ("cooperate" if draw < p else "defect")
