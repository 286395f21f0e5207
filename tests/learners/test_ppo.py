"""What a PPO update computes: against a slow learner written from the papers, and against the exact gradient."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ppo_cases import BUSY, SHARING, START, episodes_of, make_learner, tabular_policy, theta_of
from slow_ppo import Linear, SlowPPO, Step, penalised, row_loss
from small_policies import IPD, STATES, RandomPlayer, WordPolicy, play, with_payoffs
from torch import Tensor

from coplay.games.exact import naive_gradient
from coplay.games.memory import START as NOTHING_YET
from coplay.games.memory import Memory, Observation
from coplay.learners.losses import kl_penalised_rewards, ppo_loss
from coplay.learners.ppo import PPOLearner
from coplay.learners.settings import PPO
from coplay.players.choice import Key
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy
from coplay.rng import stream


def tabular_linear(observation: Observation) -> tuple[list[float], list[float]]:
    state = STATES.index(observation.last)
    own = [math.sqrt(1 - SHARING) * (i == state) for i in range(5)]
    p = START[state]
    return [*own, math.sqrt(SHARING)], [math.log(p / (1 - p)), 0.0]


def word_linear(observation: Observation) -> tuple[list[float], list[float]]:
    state = STATES.index(observation.last)
    return [float(i == state) for i in range(5)], WordPolicy().base[state].tolist()


def make_slow(learner: PPOLearner, linear: Linear, legal: Sequence[int]) -> SlowPPO:
    """A slow learner in the same state."""

    def order(rng_path: tuple[int | str, ...], epoch: int, n: int) -> list[int]:
        rows: list[int] = stream(0, "minibatch", "row", *rng_path, epoch).permutation(n).tolist()
        return rows

    theta = learner.policy.parameters()[0].detach()[0]
    return SlowPPO(learner.ppo, linear, legal, theta, learner.heads.weights.detach()[0], order)


# --- Against the slow learner -------------------------------------------------------------------------------------------------

VARIANTS = {
    "busy": BUSY,
    "paper": PPO(learning_rate=0.02, value_coef=0.2, minibatch=10, epochs=1, score_scaling=True),
    "defaults": PPO(learning_rate=0.02),
    "episodes": BUSY.model_copy(update={"gae_chain": "episode", "lam": 1.0, "gamma": 1.0}),
    "normalised": BUSY.model_copy(update={"score_normalisation": True, "kl_adaptive": False}),
    "one-step": BUSY.model_copy(update={"lam": 0.0, "value_gradient": "head", "entropy_updates": 0}),
    "wide clip": BUSY.model_copy(update={"clip": 0.9, "value_clip": 5.0, "epochs": 4}),
    "tight clip": BUSY.model_copy(update={"clip": 1e-4, "value_clip": 1e-3}),
    "threshold": BUSY.model_copy(update={"ratio_threshold": 1.02, "learning_rate": 0.3, "epochs": 3}),
    "gentle": BUSY.model_copy(update={"adam_eps": 0.03, "max_grad_norm": 0.1}),
    "decaying": BUSY.model_copy(update={"weight_decay": 2.0}),
    "late entropy": BUSY.model_copy(update={"entropy_delay_updates": 1, "entropy_updates": 2}),
    "entropy at once": BUSY.model_copy(update={"entropy_delay_updates": 2, "entropy_updates": 0}),
    "scheduled": BUSY.model_copy(update={"lr_warmup_updates": 2, "lr_decay_updates": 2, "lr_end_factor": 0.25}),
}


@pytest.mark.parametrize("kind", ["tabular", "words"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_three_updates_equal_the_slow_learners(variant: str, kind: str) -> None:
    """Some of the co-player's replies are illegal, so that rounds are void; with words, some of the learner's are as well."""
    tabular = kind == "tabular"
    policy: Policy = tabular_policy() if tabular else WordPolicy()
    learner = make_learner(policy, VARIANTS[variant])
    slow = make_slow(learner, *((tabular_linear, (0, 1)) if tabular else (word_linear, WordPolicy.legal_words)))
    for trial in range(3):
        episodes = play(learner, RandomPlayer(0.6, illegal=0.15), games=3, rounds=6, episodes=2, rng_path=("t", trial))
        illegal = [turn for episode in episodes for turn in episode.turns["row"] if turn.reply.action is None]
        assert any(payoff is None for episode in episodes for payoff in episode.payoffs("row"))
        assert bool(illegal) == (not tabular)
        learner.collect(episodes)
        metrics = learner.update((trial,))[0]
        slow.learn(episodes, "row", (trial,))
        assert metrics["kl"] == pytest.approx(slow.metrics["kl"], abs=1e-5)
        assert metrics["kl_coef"] == pytest.approx(slow.metrics["kl_coef"], rel=1e-5)
        assert learner.state[0].kl_coef == pytest.approx(slow.kl_coef, rel=1e-5)
        torch.testing.assert_close(theta_of(learner), slow.theta.detach().float(), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(learner.heads.weights.detach()[0], slow.head.detach().float(), rtol=1e-3, atol=1e-4)
    assert theta_of(learner).abs().max() > 0.01
    assert ("note" in metrics) == (variant == "threshold")


def test_old_logprobs_and_values_are_those_of_the_reply() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    slow = make_slow(learner, tabular_linear, (0, 1))
    (episode,) = play(learner, RandomPlayer(), games=1, rounds=8)
    for turn in episode.turns["row"]:
        (token,), (logprob,) = turn.reply.tokens, turn.reply.logprobs
        expected = torch.log_softmax(slow.logits(turn.observation), -1)[token].detach()
        assert logprob == pytest.approx(float(expected), abs=1e-6)
        assert turn.reply.value == pytest.approx(float(slow.value(turn.observation).detach()), abs=1e-6)


ROWS = 9


@given(
    seed=st.integers(0, 10_000),
    clip=st.sampled_from([1e-4, 0.1, 0.9]),
    value_clip=st.sampled_from([1e-3, 0.2, 5.0]),
    value_coef=st.sampled_from([0.0, 0.3]),
    entropy_coef=st.sampled_from([0.0, 0.2]),
)
def test_the_loss_and_its_gradients_are_the_slow_learners(
    seed: int, clip: float, value_clip: float, value_coef: float, entropy_coef: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    columns = torch.randn(7, ROWS, generator=generator, dtype=torch.float64)
    logprobs, old_logprobs, advantages, values, old_values, returns, entropies = columns
    logprobs, values, entropies = (column.clone().requires_grad_(True) for column in (logprobs, values, entropies))
    terms = ppo_loss(
        logprobs, old_logprobs, advantages, values, old_values, returns, entropies,
        clip=clip, value_clip=value_clip, value_coef=value_coef, entropy_coef=entropy_coef,
    )  # fmt: skip
    assert terms.loss_R.shape == terms.policy_R.shape == terms.value_R.shape == (ROWS,)
    ppo = PPO(clip=clip, value_clip=value_clip, value_coef=value_coef)
    slow = torch.stack(
        [
            row_loss(
                Step(NOTHING_YET, 0, 0.0, 0, *map(float, (old_logprobs[r], old_values[r], advantages[r], returns[r]))),
                logprobs[r], values[r], entropies[r], ppo, entropy_coef,
            )
            for r in range(ROWS)
        ]
    )  # fmt: skip
    torch.testing.assert_close(terms.loss_R, slow)
    torch.testing.assert_close(terms.loss_R, terms.policy_R + value_coef * terms.value_R - entropy_coef * entropies)
    mine, theirs = (
        torch.autograd.grad(loss.sum(), (logprobs, values, entropies), retain_graph=True)
        for loss in (terms.loss_R, slow)
    )
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b)


@given(rows=st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=8), kl_coef=st.floats(0, 2))
def test_rewards_are_penalised_as_by_the_slow_learner(rows: list[tuple[float, float]], kl_coef: float) -> None:
    scores_N, kl_N = torch.tensor(rows, dtype=torch.float64).unbind(1)
    got = kl_penalised_rewards(scores_N, kl_N, kl_coef=kl_coef)
    assert got.shape == (len(rows),)
    assert got.tolist() == pytest.approx([penalised(score, kl, kl_coef) for score, kl in rows])


def test_the_value_loss_reaches_the_trunk_only_if_told_to() -> None:
    """With words the hidden state is fixed, so a policy whose hidden state is its parameter is needed."""

    class Trunk(WordPolicy):
        def score(self, slots, keys, *, grad=False):  # type: ignore[no-untyped-def]
            scores = super().score(slots, keys, grad=grad)
            with torch.set_grad_enabled(grad):
                return replace(scores, hidden_RH=scores.logits_RV.clone())

    def policy_after(**changes: object) -> Tensor:
        ppo = BUSY.model_copy(update={"minibatch": 100, "epochs": 1, **changes})
        learner = make_learner(Trunk(), ppo)
        learner.collect(episodes_of(learner))
        learner.update((0,))
        return theta_of(learner)

    assert torch.equal(
        policy_after(value_gradient="head", value_coef=0.1), policy_after(value_gradient="head", value_coef=9.0)
    )
    assert not torch.equal(policy_after(value_coef=0.1), policy_after(value_coef=9.0))


# --- Against the exact gradient ------------------------------------------------------------------------------------------------------

ROUNDS = 4


@dataclass
class Exact:
    """A learner with independent states against a fixed memory-one co-player, and the gradient of its value."""

    learner: PPOLearner
    column: PPOLearner
    gradient: Tensor
    """[state, action]."""


@pytest.fixture(scope="module")
def exact() -> Exact:
    ppo = PPO(learning_rate=0.05, kl_coef=0.0, gamma=1.0, lam=1.0, epochs=1, minibatch=10**9, value_coef=0.0)
    column_start = (0.9, 0.95, 0.1, 0.9, 0.1)  # reciprocal, so that there is much to gain
    learner = make_learner(tabular_policy(sharing=0.0), ppo)
    column_policy = TabularPolicy(
        "other", IPD, "column", Memory.LAST_ROUND, slots=1, initial=InitialPolicy(column_start[0], column_start[1:])
    )
    column = make_learner(column_policy, ppo, name="column")
    logits = {
        seat: torch.tensor([[math.log(p / (1 - p)), 0.0] for p in start], dtype=torch.float64)
        for seat, start in (("row", START), ("column", column_start))
    }
    return Exact(learner, column, naive_gradient(IPD, logits, "row", rounds=ROUNDS))


@pytest.mark.slow
def test_the_score_function_estimate_from_played_games_is_unbiased(exact: Exact) -> None:
    """E[sum_t (G_t - b_t) * grad log pi(a_t | s_t)], G_t the return from t on; b_t depends on t alone, so it adds no bias."""
    episodes = play(exact.learner, exact.column, games=6000, rounds=ROUNDS)
    estimates = np.zeros((len(episodes), 5, 2))
    for i, episode in enumerate(episodes):
        to_go = 0.0
        played = list(zip(episode.turns["row"], episode.payoffs("row"), strict=True))
        for left, (turn, payoff) in enumerate(reversed(played), 1):
            assert payoff is not None and turn.reply.probs is not None
            to_go += payoff
            state = STATES.index(turn.observation.last)
            score = -np.array(turn.reply.probs)
            score[turn.reply.tokens[0]] += 1.0
            estimates[i, state] += (to_go - 2.2 * left) * score
    error = estimates.mean(0) - exact.gradient.numpy()
    standard_error = estimates.std(0, ddof=1) / math.sqrt(len(episodes))
    assert np.abs(exact.gradient.numpy()).max() > 10 * standard_error.max()  # the test can tell right from wrong
    assert (np.abs(error) < 4.0 * standard_error).all()


def test_a_ppo_update_on_a_large_batch_goes_the_way_of_the_exact_gradient(exact: Exact) -> None:
    learner = make_learner(tabular_policy(sharing=0.0), exact.learner.ppo)
    learner.collect(play(learner, exact.column, games=3000, rounds=ROUNDS, rng_path=("large",)))
    learner.update((0,))
    theta = learner.policy.parameters()[0]
    assert theta.grad is not None
    way = -theta.grad[0, :5].double()  # one optimiser step: the gradient is still there
    cosine = torch.nn.functional.cosine_similarity(way.flatten(), exact.gradient.flatten(), dim=0)
    assert cosine > 0.98
    # Adam's first step moves every parameter by the learning rate in the direction of its sign.
    strong = exact.gradient.abs() > 0.1 * exact.gradient.abs().max()
    assert strong.sum() >= 6
    torch.testing.assert_close(
        theta.detach()[0, :5][strong], (0.05 * exact.gradient.sign())[strong].float(), rtol=1e-3, atol=1e-5
    )


def test_entropy_falls_or_rises_as_its_coefficient_says() -> None:
    """With the entropy bonus alone (constant payoffs, perfect baseline) the legal replies approach one another."""

    def imbalance(coef: float) -> float:
        ppo = PPO(learning_rate=0.05, kl_coef=0.0, entropy_initial=coef, entropy_final=coef, epochs=1, gamma=0.0)
        learner = make_learner(WordPolicy(), ppo)
        with torch.no_grad():
            learner.heads.weights.zero_()
        for update in range(20):
            learner.collect(with_payoffs(episodes_of(learner), 0.0))
            learner.update((update,))
        assert isinstance(learner.policy, WordPolicy)
        probs = torch.softmax(learner.policy.score([0], [Key("row", NOTHING_YET)]).logits_RV, -1)[0]
        return float((probs[3] - probs[1]).abs())

    assert imbalance(0.1) < 0.5 * imbalance(0.0)
