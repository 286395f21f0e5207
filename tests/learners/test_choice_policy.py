"""Players that choose one of a few replies: the right probabilities, from the draw alone, each distribution computed once."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_policies import IPD, STATES, WordPolicy, request_of

from coplay.games.memory import START, Memory, Observation
from coplay.games.records import Reply, Turn
from coplay.players.choice import Decision, Key
from coplay.players.tabular import InitialPolicy, TabularPolicy

draws = st.floats(0, 1, exclude_max=True)
observations = st.sampled_from([Observation(last=state) for state in STATES])


def policy_with_values(seed: int = 0, *, scale: float = 1.0, slots: int = 1) -> WordPolicy:
    """The value of state i under slot p is p + i."""

    def values(slots: Sequence[int], hidden_RH: torch.Tensor) -> list[float | None]:
        values_R = torch.tensor(list(slots), dtype=torch.float32) + hidden_RH @ torch.arange(hidden_RH.shape[1]).float()
        found: list[float | None] = values_R.tolist()
        return found

    policy = WordPolicy(seed=seed, scale=scale, slots=slots)
    policy.values = values
    return policy


def key_of(observation: Observation, slot: int = 0) -> tuple[int, Key]:
    return slot, Key("row", observation)


def decide(policy: WordPolicy, observation: Observation, slot: int = 0) -> Decision:
    return policy.decide([key_of(observation, slot)])[0]


def sample(policy: WordPolicy, observation: Observation, draw: float) -> tuple[Reply, int]:
    """The reply, and the one word it is made of."""
    reply = policy.sample("row", decide(policy, observation), draw)
    (word,) = reply.tokens
    return reply, word


def true_probs(policy: WordPolicy, observation: Observation) -> list[float]:
    logits = policy.base[STATES.index(observation.last)].double()
    return torch.softmax(logits, -1).tolist()


@given(st.integers(0, 50), observations)
def test_replies_come_as_often_as_their_probabilities_say(seed: int, observation: Observation) -> None:
    policy = policy_with_values(seed)
    n = 1000
    words = Counter(sample(policy, observation, (i + 0.5) / n)[1] for i in range(n))  # an even grid of draws
    for word, p in enumerate(true_probs(policy, observation)):
        assert words[word] / n == pytest.approx(p, abs=2 / n)


@given(st.integers(0, 50), observations, draws)
def test_legal_replies_come_first_and_in_order(seed: int, observation: Observation, draw: float) -> None:
    policy = policy_with_values(seed)
    probs = true_probs(policy, observation)
    first, second = (probs[word] for word in WordPolicy.legal_words)
    if min(abs(draw - first), abs(draw - first - second)) < 1e-5:
        return  # too near an edge for single precision
    reply, word = sample(policy, observation, draw)
    if draw < first:
        assert (reply.action, word, reply.text) == ("cooperate", 3, "y")
    elif draw < first + second:
        assert (reply.action, word, reply.text) == ("defect", 1, "w")
    else:
        assert reply.action is None
        assert word in (0, 2, 4)
        # among the rest, by inverse transform in the order of the vocabulary
        edges = np.cumsum([0.0 if word in WordPolicy.legal_words else p for word, p in enumerate(probs)])
        expected = int(np.searchsorted(edges, draw - first - second, side="right"))
        if np.abs(edges - (draw - first - second)).min() > 1e-5:
            assert word == expected


@given(st.integers(0, 50), observations, draws)
def test_a_reply_says_what_it_was_sampled_from(seed: int, observation: Observation, draw: float) -> None:
    policy = policy_with_values(seed)
    reply, word = sample(policy, observation, draw)
    probs = true_probs(policy, observation)
    assert reply.logprobs == pytest.approx((math.log(probs[word]),), abs=1e-5)
    assert reply.probs == pytest.approx([probs[word] for word in WordPolicy.legal_words], abs=1e-6)
    assert reply.value == pytest.approx(STATES.index(observation.last))


@given(observations, draws)
def test_the_same_draw_gives_the_same_reply(observation: Observation, draw: float) -> None:
    assert sample(policy_with_values(), observation, draw) == sample(policy_with_values(), observation, draw)


@given(st.lists(st.tuples(st.integers(0, 1), observations), min_size=1, max_size=12))
def test_a_batch_is_its_rows(asked: list[tuple[int, Observation]]) -> None:
    keys = [key_of(observation, slot) for slot, observation in asked]
    together = policy_with_values(slots=2).decide(keys)
    for key, decision in zip(keys, together, strict=True):
        alone = policy_with_values(slots=2).decide([key])[0]
        assert decision.legal_probs == pytest.approx(alone.legal_probs, abs=1e-7)
        assert decision.value == pytest.approx(alone.value)
        assert decision.logprobs_V == pytest.approx(alone.logprobs_V, abs=1e-6)


def test_acting_takes_slot_observation_and_draw_from_the_request() -> None:
    policy = policy_with_values(slots=2)
    with torch.no_grad():
        policy.theta[1, 0, 3] += 9.0
    later = Observation(last=STATES[1])
    asked = [(START, 0.2, 0), (later, 0.9, 1), (START, 0.9, 1)]
    replies = policy.act([request_of("row", seen, draw=draw, slot=slot) for seen, draw, slot in asked])
    for (seen, draw, slot), reply in zip(asked, replies, strict=True):
        assert reply == policy.sample("row", decide(policy, seen, slot), draw)
    assert replies[2].action == "cooperate" and replies[2].value == 1.0


def test_a_request_without_a_slot_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="under a slot"):
        policy_with_values().act([replace(request_of("row"), slot=None)])


def test_each_pair_is_scored_once_until_the_policy_changes() -> None:
    policy = policy_with_values(slots=2)
    later = Observation(last=STATES[1])
    policy.decide([key_of(START), key_of(START), key_of(START, 1)])
    policy.decide([key_of(START), key_of(later, 1)])
    assert policy.scored == [2, 1]
    before = decide(policy, START)
    with torch.no_grad():
        policy.theta[0, 0, 3] += 2.0
    assert decide(policy, START) is before
    policy.bump_version([0])
    assert decide(policy, START).legal_probs[0] > before.legal_probs[0]
    assert policy.scored == [2, 1, 1]
    policy.clear_cache()
    decide(policy, START)
    assert policy.scored == [2, 1, 1, 1]


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.players.choice._CACHED_BYTES", 2 * 5 * 4)  # two distributions
    policy = policy_with_values()
    whole = [decide(policy_with_values(), Observation(last=state)).legal_probs for state in STATES]
    for _ in range(2):
        for state, expected in zip(STATES, whole, strict=True):
            assert decide(policy, Observation(last=state)).legal_probs == expected
    assert len(policy._decisions) <= 2


def test_replies_are_scored_again_as_they_were_sampled() -> None:
    policy = policy_with_values(slots=2)
    with torch.no_grad():
        policy.theta.normal_(generator=torch.Generator().manual_seed(1))
    asked = [(i % 2, Observation(last=STATES[i % 5])) for i in range(7)]
    replies = policy.act([request_of("row", seen, draw=i / 7, slot=slot) for i, (slot, seen) in enumerate(asked)])
    turns = [Turn("row", 0, "action", 0, seen, reply) for (_, seen), reply in zip(asked, replies, strict=True)]
    slots = [slot for slot, _ in asked]
    scores, tokens = policy.score_replies(slots, turns), policy.score_tokens(slots, turns)
    assert scores.logprobs_R.shape == scores.entropies_R.shape == (7,) and scores.hidden_RH.shape == (7, policy.width)
    assert tokens.rows_N.tolist() == list(range(7))
    assert scores.logprobs_R.tolist() == pytest.approx([reply.logprobs[0] for reply in replies], abs=1e-6)
    assert torch.equal(tokens.logprobs_N, scores.logprobs_R) and torch.equal(tokens.entropies_N, scores.entropies_R)
    for reply, entropy in zip(replies, scores.entropies_R.tolist(), strict=True):
        assert reply.probs is not None
        legal = [p / sum(reply.probs) for p in reply.probs]  # over the legal replies alone, renormalised
        assert entropy == pytest.approx(-sum(p * math.log(p) for p in legal), abs=1e-5)


NEARLY_ONE = math.nextafter(1.0, 0.0)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 200.0])
@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 1e-8, NEARLY_ONE])
def test_the_ends_of_the_unit_interval_are_safe(scale: float, draw: float) -> None:
    for seed in range(20):
        policy = policy_with_values(seed, scale=scale)
        for state in STATES:
            reply, word = sample(policy, Observation(last=state), draw)
            assert math.isfinite(reply.logprobs[0])
            assert (reply.action is None) == (word not in WordPolicy.legal_words)


def test_a_draw_on_the_very_edge_never_gives_a_legal_word_for_an_illegal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordPolicy, "legal_words", (0, 1))  # the words at which the search among the rest begins
    for seed in range(20):
        policy = policy_with_values(seed)
        edge = float(np.cumsum(decide(policy, START).legal_probs)[-1])
        reply, word = sample(policy, START, edge)
        assert (reply.action, word) == (None, 2)


@given(st.floats(0.001, 0.999), draws)
def test_without_illegal_replies_every_draw_is_legal(p: float, draw: float) -> None:
    policy = TabularPolicy("table", IPD, "row", Memory.LAST_ROUND, slots=1, initial=InitialPolicy(p))

    def action(at: float) -> object:
        return policy.act([request_of("row", draw=at)])[0].action

    assert action(NEARLY_ONE) == "defect"
    if abs(draw - p) > 1e-5:
        assert action(draw) == ("cooperate" if draw < p else "defect")
