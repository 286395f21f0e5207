"""The learner against a slow one written from the papers, against the exact gradient, and against whatever may go wrong."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from slow_ppo import Linear, SlowPPO
from small_policies import IPD, STATES, Fickle, WordPolicy, play
from torch import Tensor

from coplay.learners.ppo import PPOLearner
from coplay.runs.directory.config import PPO
from coplay.games.exact import naive_gradient
from coplay.games.memory import Memory, Observation
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy
from coplay.rng import stream
from coplay.types import Episode, Move, Turn, View

START = (0.6, 0.9, 0.3, 0.7, 0.4)
SHARING = 0.5

BUSY = PPO(
    learning_rate=0.05,
    head_learning_rate=0.02,
    value_coef=0.3,
    minibatch=7,
    epochs=2,
    clip=0.1,
    gamma=0.97,
    score_scaling=True,
    kl_coef=0.5,
    kl_target=0.05,
    kl_horizon=200.0,
    entropy_initial=0.3,
    entropy_final=0.1,
    entropy_updates=3,
)
"""Everything turned on, at rates that move things."""


def tabular_policy(slots: int = 1, *, sharing: float = SHARING) -> TabularPolicy:
    initial = InitialPolicy(START[0], START[1:])
    return TabularPolicy(IPD, "row", Memory.LAST_ROUND, slots=slots, sharing=sharing, initial=initial)


def tabular_linear(observation: Observation) -> tuple[list[float], list[float]]:
    state = STATES.index(observation.last)
    own = [math.sqrt(1 - SHARING) * (i == state) for i in range(5)]
    p = START[state]
    return [*own, math.sqrt(SHARING)], [math.log(p / (1 - p)), 0.0]


def word_linear(observation: Observation) -> tuple[list[float], list[float]]:
    state = STATES.index(observation.last)
    return [float(i == state) for i in range(5)], WordPolicy().base[state].tolist()


def make_learner(
    policy: Policy, ppo: PPO, *, seeds: Sequence[int] = (0,), memory: Memory = Memory.LAST_ROUND
) -> PPOLearner:
    return PPOLearner(
        "naive", "row", policy, IPD.actions["row"], seeds=seeds, slots=range(len(seeds)), memory=memory, ppo=ppo
    )


def make_slow(learner: PPOLearner, linear: Linear, legal: Sequence[int]) -> SlowPPO:
    """A slow learner in the same state."""

    def order(occasion: tuple[int | str, ...], epoch: int, n: int) -> list[int]:
        rows: list[int] = stream(0, "minibatch", "row", *occasion, epoch).permutation(n).tolist()
        return rows

    theta = learner.policy.parameters()[0].detach()[0]
    return SlowPPO(learner.ppo, linear, legal, theta, learner.heads.weights.detach()[0], order)


def theta_of(learner: PPOLearner, position: int = 0) -> Tensor:
    return learner.policy.parameters()[0].detach()[position].clone()


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
    "scheduled": BUSY.model_copy(update={"warmup_updates": 2, "decay_updates": 2, "final_rate": 0.25}),
}


@pytest.mark.parametrize("kind", ["tabular", "words"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_three_updates_equal_the_slow_learners(variant: str, kind: str) -> None:
    """Some of the co-player's replies are illegal, so that rounds are dropped; with words, some of the learner's are as well."""
    policy: Policy = tabular_policy() if kind == "tabular" else WordPolicy()
    learner = make_learner(policy, VARIANTS[variant])
    slow = make_slow(learner, tabular_linear if kind == "tabular" else word_linear, policy.legal)
    for trial in range(3):
        episodes = play(learner, Fickle(0.6, illegal=0.15), games=3, rounds=6, episodes=2, occasion=("t", trial))
        voided = [turn for e in episodes for turn in e.traces["row"].turns if turn.payoff is None]
        illegal = [turn for e in episodes for turn in e.traces["row"].turns if turn.move.action is None]
        assert voided
        assert bool(illegal) == (kind == "words")
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


def test_old_logprobs_and_values_are_those_of_the_move() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    slow = make_slow(learner, tabular_linear, (0, 1))
    (episode,) = play(learner, Fickle(), games=1, rounds=8)
    for turn in episode.traces["row"].turns:
        assert turn.move.token is not None
        expected = torch.log_softmax(slow.logits(turn.observation), -1)[turn.move.token].detach()
        assert turn.move.logprob == pytest.approx(float(expected), abs=1e-6)
        assert turn.move.value == pytest.approx(float(slow.value(turn.observation).detach()), abs=1e-6)


def without(episodes: Sequence[Episode], dropped: set[int]) -> list[Episode]:
    """The same episodes as if these rounds had never been played."""
    kept = []
    for episode in episodes:
        traces = {
            seat: replace(trace, turns=[turn for t, turn in enumerate(trace.turns) if t not in dropped])
            for seat, trace in episode.traces.items()
        }
        kept.append(replace(episode, traces=traces))
    return kept


def voided(episodes: Sequence[Episode], rounds: set[int]) -> list[Episode]:
    """The same episodes with these rounds voided by the co-player."""

    def void(t: int, turn: Turn) -> Turn:
        return replace(turn, payoff=None) if t in rounds else turn

    changed = []
    for episode in episodes:
        row = episode.traces["row"]
        turns = [void(t, turn) for t, turn in enumerate(row.turns)]
        changed.append(replace(episode, traces={**episode.traces, "row": replace(row, turns=turns)}))
    return changed


@pytest.mark.parametrize("rounds", [{2}, {0}, {5}, {0, 1, 4, 5}])
@pytest.mark.parametrize("chain", ["trial", "episode"])
def test_voided_rounds_are_dropped_and_their_neighbours_become_consecutive(rounds: set[int], chain: str) -> None:
    ppo = BUSY.model_copy(update={"gae_chain": chain})
    learners = [make_learner(tabular_policy(), ppo) for _ in range(3)]
    episodes = play(learners[0], Fickle(), games=2, rounds=6, episodes=2)
    for learner, seen in zip(learners, (voided(episodes, rounds), without(episodes, rounds), episodes), strict=True):
        learner.collect(seen)
        learner.update((0,))
    assert torch.equal(theta_of(learners[0]), theta_of(learners[1]))
    assert not torch.equal(theta_of(learners[0]), theta_of(learners[2]))


# --- Several seeds ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [Memory.LAST_ROUND, Memory.TRIAL_COUNTS])
def test_seeds_together_equal_seeds_alone(memory: Memory) -> None:
    def run(seeds: list[int]) -> dict[int, Tensor]:
        policy = TabularPolicy(IPD, "row", memory, slots=len(seeds), sharing=SHARING)
        learner = make_learner(policy, BUSY, seeds=seeds, memory=memory)
        for trial in range(3):
            learner.collect(
                play(learner, Fickle(0.7, 0.1), games=2, rounds=5, episodes=2, seeds=seeds, occasion=("t", trial))
            )
            learner.update((trial,))
        return {
            seed: torch.cat([theta_of(learner, i).flatten(), learner.heads.weights.detach()[i]])
            for i, seed in enumerate(seeds)
        }

    together = run([5, 0, 3])
    for seed, parameters in together.items():
        torch.testing.assert_close(parameters, run([seed])[seed], rtol=1e-4, atol=1e-5)


def test_seeds_may_bring_different_numbers_of_transitions() -> None:
    """Seed 1 has a single minibatch where seed 0 has four."""
    learner, alone = (make_learner(tabular_policy(len(s)), BUSY, seeds=s) for s in ([0, 1], [1]))
    many = play(learner, Fickle(), games=4, rounds=7, seeds=[0])
    few = play(learner, Fickle(), games=1, rounds=5, seeds=[1])
    learner.collect([*many, *few])
    learner.update((0,))
    alone.collect(few)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-4, atol=1e-6)


# --- Degenerate batches ---------------------------------------------------------------------------------------------------------------


def frozen(learner: PPOLearner) -> list[Tensor]:
    return [learner.policy.parameters()[0].detach().clone(), learner.heads.weights.detach().clone()]


def episodes_of(learner: PPOLearner, *, rounds: int = 4, seeds: Sequence[int] = (0,)) -> list[Episode]:
    return play(learner, Fickle(), games=2, rounds=rounds, seeds=seeds)


@pytest.mark.parametrize("kept", [0, 1])
def test_too_few_transitions_skip_the_update_and_say_so(kept: int) -> None:
    learner = make_learner(tabular_policy(), BUSY)
    before = frozen(learner)
    episodes = episodes_of(learner)[:1]
    learner.collect(voided(episodes, set(range(kept, 4))))
    metrics = learner.update((0,))
    assert metrics[0] == {"note": f"update skipped: {kept} transitions are too few to estimate advantages"}
    assert all(torch.equal(a, b) for a, b in zip(before, frozen(learner), strict=True))
    assert learner.state[0].updates == 1


def test_a_seed_with_too_few_does_not_hold_up_the_others() -> None:
    learner, alone = (make_learner(tabular_policy(len(s)), BUSY, seeds=s) for s in ([0, 1], [1]))
    before = frozen(learner)
    learner.collect(voided(episodes_of(learner, seeds=[0]), {0, 1, 2, 3}))
    rich = episodes_of(learner, seeds=[1])
    learner.collect(rich)
    metrics = learner.update((0,))
    assert "note" in metrics[0] and "note" not in metrics[1]
    assert torch.equal(theta_of(learner, 0), before[0][0])
    alone.collect(rich)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-5, atol=1e-6)


def with_payoffs(episodes: Sequence[Episode], payoff: float) -> list[Episode]:
    changed = []
    for episode in episodes:
        row = episode.traces["row"]
        turns = [replace(turn, payoff=payoff) for turn in row.turns]
        changed.append(replace(episode, traces={**episode.traces, "row": replace(row, turns=turns)}))
    return changed


def test_constant_scores_are_not_blown_up() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.collect(with_payoffs(episodes_of(learner), 3.0))
    metrics = learner.update((0,))[0]
    assert metrics["note"] == "scores not scaled: they have not varied so far"
    assert all(math.isfinite(v) for k, v in metrics.items() if k != "note")  # type: ignore[arg-type]
    assert all(bool(x.isfinite().all()) for x in frozen(learner))


def test_constant_scores_and_a_perfect_baseline_give_no_policy_gradient() -> None:
    learner = make_learner(
        tabular_policy(sharing=0.0),
        BUSY.model_copy(
            update={"entropy_initial": 0.0, "entropy_final": 0.0, "gamma": 0.0, "kl_coef": 0.0, "score_scaling": False}
        ),
    )
    with torch.no_grad():
        learner.heads.weights.zero_()
        learner.heads.weights[0, -1] = 3.0
    before = theta_of(learner)
    learner.collect(with_payoffs(episodes_of(learner), 3.0))
    learner.update((0,))
    torch.testing.assert_close(theta_of(learner), before)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_skips_the_step_and_says_so(bad: float) -> None:
    ppo = BUSY.model_copy(update={"score_scaling": False})
    learner, alone = (make_learner(tabular_policy(len(s)), ppo, seeds=s) for s in ([0, 1], [1]))
    before = frozen(learner)
    learner.collect(with_payoffs(episodes_of(learner, seeds=[0]), bad))
    fine = episodes_of(learner, seeds=[1])
    learner.collect(fine)
    metrics = learner.update((0,))
    assert metrics[0]["note"] == "optimiser step skipped: the loss is not finite"
    assert "policy_loss" not in metrics[0]
    assert "note" not in metrics[1]
    assert torch.equal(theta_of(learner, 0), before[0][0])
    assert torch.equal(learner.heads.weights.detach()[0], before[1][0])
    alone.collect(fine)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-5, atol=1e-6)


def test_what_was_collected_is_forgotten() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.collect(episodes_of(learner))
    learner.update((0,))
    before = frozen(learner)
    assert "skipped: 0 transitions" in str(learner.update((1,))[0]["note"])
    assert all(torch.equal(a, b) for a, b in zip(before, frozen(learner), strict=True))


def test_play_after_an_update_uses_the_new_policy() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    view = View(seed=0, game=0, seat="row", round=0, observation=Observation(), draw=0.5)
    before = learner.act([view])[0].probs
    learner.collect(episodes_of(learner))
    learner.update((0,))
    expected = torch.softmax(learner.policy.score([0], [Observation()]).logits_RV, -1)[0].tolist()
    assert learner.act([view])[0].probs == pytest.approx(expected)
    assert before != pytest.approx(expected)


def test_forgetting_makes_it_compute_anew() -> None:
    policy = WordPolicy()
    learner = make_learner(policy, BUSY)
    view = View(seed=0, game=0, seat="row", round=0, observation=Observation(), draw=0.5)
    learner.act([view, view])
    learner.act([view])
    assert policy.scored == [1]
    learner.forget()
    learner.act([view])
    assert policy.scored == [1, 1]


def test_a_learner_goes_on_exactly_from_its_saved_tensors() -> None:
    first, second = (make_learner(tabular_policy(2), BUSY, seeds=[0, 1]) for _ in range(2))
    first.collect(episodes_of(first, seeds=[0, 1]))
    first.update((0,))
    second.load_tensors(first.tensors())
    second.policy.parameters()[0].data.copy_(first.policy.parameters()[0].data)
    later = episodes_of(first, rounds=6, seeds=[0, 1])
    for learner in (first, second):
        learner.collect(later)
        learner.update((1,))
    assert all(torch.equal(a, b) for a, b in zip(frozen(first), frozen(second), strict=True))
    for key, value in first.tensors().items():
        assert torch.equal(value, second.tensors()[key])


def test_the_value_loss_reaches_the_trunk_only_if_told_to() -> None:
    """With words the hidden state is fixed, so a policy whose hidden state is its parameter is needed."""

    class Trunk(WordPolicy):
        def score(self, slots, observations, *, grad=False):  # type: ignore[no-untyped-def]
            scores = super().score(slots, observations, grad=grad)
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
        IPD, "column", Memory.LAST_ROUND, slots=1, initial=InitialPolicy(column_start[0], column_start[1:])
    )
    column = PPOLearner(
        "other", "column", column_policy, IPD.actions["column"], seeds=[0], slots=[0], memory=Memory.LAST_ROUND, ppo=ppo
    )
    logits = {
        seat: torch.tensor([[math.log(p / (1 - p)), 0.0] for p in start], dtype=torch.float64)
        for seat, start in (("row", START), ("column", column_start))
    }
    return Exact(learner, column, naive_gradient(IPD, logits, "row", rounds=ROUNDS))


def test_the_score_function_estimate_from_played_games_is_unbiased(exact: Exact) -> None:
    """E[sum_t (G_t - b_t) * grad log pi(a_t | s_t)], G_t the return from t on; b_t depends on t alone, so it adds no bias."""
    episodes = play(exact.learner, exact.column, games=6000, rounds=ROUNDS)
    estimates = np.zeros((len(episodes), 5, 2))
    for i, episode in enumerate(episodes):
        turns = episode.traces["row"].turns
        to_go = 0.0
        for left, turn in enumerate(reversed(turns), 1):
            assert turn.payoff is not None and turn.move.probs is not None
            to_go += turn.payoff
            state = STATES.index(turn.observation.last)
            score = -np.array(turn.move.probs)
            score[turn.move.token] += 1.0
            estimates[i, state] += (to_go - 2.2 * left) * score
    error = estimates.mean(0) - exact.gradient.numpy()
    standard_error = estimates.std(0, ddof=1) / math.sqrt(len(episodes))
    assert np.abs(exact.gradient.numpy()).max() > 10 * standard_error.max()  # the test can tell right from wrong
    assert (np.abs(error) < 4.0 * standard_error).all()


def test_a_ppo_update_on_a_large_batch_goes_the_way_of_the_exact_gradient(exact: Exact) -> None:
    learner = make_learner(tabular_policy(sharing=0.0), exact.learner.ppo)
    learner.collect(play(learner, exact.column, games=3000, rounds=ROUNDS, occasion=("large",)))
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
        probs = torch.softmax(learner.policy.score([0], [Observation()]).logits_RV, -1)[0]
        return float((probs[3] - probs[1]).abs())

    assert imbalance(0.1) < 0.5 * imbalance(0.0)


def test_moves_of_other_learners_are_not_mistaken_for_its_own() -> None:
    """A move without what a learner needs cannot be learnt from."""
    learner = make_learner(tabular_policy(), BUSY)
    (episode,) = play(Fickle(), Fickle(), games=1, rounds=3)
    assert isinstance(episode.traces["row"].turns[0].move, Move)
    with pytest.raises(AssertionError):
        learner.collect([episode])
