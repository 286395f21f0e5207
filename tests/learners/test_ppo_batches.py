"""What a PPO learner does with the games it is given: void rounds, several seeds, degenerate batches, what it keeps and what it discards."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from ppo_cases import BUSY, SHARING, all_weights, episodes_of, make_learner, tabular_policy, theta_of
from small_policies import (
    ACTION,
    IPD,
    RandomPlayer,
    WordPolicy,
    episode_of,
    play,
    request_of,
    with_payoffs,
    without_rounds,
)
from torch import Tensor

from coplay.games.memory import START, Memory
from coplay.games.records import Episode, Turn
from coplay.players.choice import Key
from coplay.players.tabular import TabularPolicy


def voided(episodes: Sequence[Episode], rounds: set[int]) -> list[Episode]:
    """The same episodes with these rounds voided by the co-player."""
    return with_payoffs(episodes, None, rounds=sorted(rounds))


@pytest.mark.parametrize("rounds", [{2}, {0}, {5}, {0, 1, 4, 5}])
@pytest.mark.parametrize("chain", ["trial", "episode"])
def test_void_rounds_are_dropped_and_their_neighbours_become_consecutive(rounds: set[int], chain: str) -> None:
    ppo = BUSY.model_copy(update={"gae_chain": chain})
    learners = [make_learner(tabular_policy(), ppo) for _ in range(3)]
    episodes = play(learners[0], RandomPlayer(), games=2, rounds=6, episodes=2)
    variants = (voided(episodes, rounds), without_rounds(episodes, rounds), episodes)
    for learner, seen in zip(learners, variants, strict=True):
        learner.collect(seen)
        learner.update((0,))
    assert torch.equal(theta_of(learners[0]), theta_of(learners[1]))
    assert not torch.equal(theta_of(learners[0]), theta_of(learners[2]))


def test_a_round_of_several_replies_is_paid_at_the_last() -> None:
    """A message before the action is a reply of its own, and has no payoff of its own."""
    learner = make_learner(tabular_policy(), BUSY)
    (episode,) = play(learner, RandomPlayer(), games=1, rounds=2)
    turns = [one for turn in episode.turns["row"] for one in (turn._replace(phase="message"), turn)]
    episode = replace(episode, turns={**episode.turns, "row": turns})
    learner.collect([episode])
    (transitions,) = learner._collected[0].values()
    paid = episode.payoffs("row")
    assert [one.score for one in transitions] == [0.0, paid[0], 0.0, paid[1]]
    assert [one.ends_episode for one in transitions] == [False, False, False, True]


# --- Several seeds ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [Memory.LAST_ROUND, Memory.TRIAL_COUNTS])
def test_seeds_together_equal_seeds_alone(memory: Memory) -> None:
    def run(seeds: list[int]) -> dict[int, Tensor]:
        policy = TabularPolicy("naive", IPD, "row", memory, slots=len(seeds), sharing=SHARING)
        learner = make_learner(policy, BUSY, seeds=seeds)
        for trial in range(3):
            them = RandomPlayer(0.7, 0.1)
            learner.collect(play(learner, them, games=2, rounds=5, episodes=2, seeds=seeds, rng_path=("t", trial)))
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
    many = play(learner, RandomPlayer(), games=4, rounds=7, seeds=[0])
    few = play(learner, RandomPlayer(), games=1, rounds=5, seeds=[1])
    learner.collect([*many, *few])
    learner.update((0,))
    alone.collect(few)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-4, atol=1e-6)


# --- Degenerate batches ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1])
def test_too_few_transitions_skip_the_update_and_say_so(kept: int) -> None:
    learner = make_learner(tabular_policy(), BUSY)
    before = all_weights(learner)
    learner.collect(voided(episodes_of(learner)[:1], set(range(kept, 4))))
    metrics = learner.update((0,))
    assert metrics[0] == {"note": f"update skipped: {kept} transitions are too few to estimate advantages"}
    assert all(torch.equal(a, b) for a, b in zip(before, all_weights(learner), strict=True))
    assert learner.state[0].updates == 1


def test_a_seed_with_too_few_does_not_hold_up_the_others() -> None:
    learner, alone = (make_learner(tabular_policy(len(s)), BUSY, seeds=s) for s in ([0, 1], [1]))
    before = all_weights(learner)
    learner.collect(voided(episodes_of(learner, seeds=[0]), {0, 1, 2, 3}))
    rich = episodes_of(learner, seeds=[1])
    learner.collect(rich)
    metrics = learner.update((0,))
    assert "note" in metrics[0] and "note" not in metrics[1]
    assert torch.equal(theta_of(learner, 0), before[0][0])
    alone.collect(rich)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-5, atol=1e-6)


def test_constant_scores_are_not_blown_up() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.collect(with_payoffs(episodes_of(learner), 3.0))
    metrics = learner.update((0,))[0]
    assert metrics["note"] == "scores not scaled: they have not varied so far"
    assert all(math.isfinite(v) for k, v in metrics.items() if k != "note")  # type: ignore[arg-type]
    assert all(bool(x.isfinite().all()) for x in all_weights(learner))


def test_constant_scores_and_a_perfect_baseline_give_no_policy_gradient() -> None:
    quiet = {"entropy_initial": 0.0, "entropy_final": 0.0, "gamma": 0.0, "kl_coef": 0.0, "score_scaling": False}
    learner = make_learner(tabular_policy(sharing=0.0), BUSY.model_copy(update=quiet))
    with torch.no_grad():
        learner.heads.weights.zero_()
        learner.heads.weights[0, -1] = 3.0
    before = theta_of(learner)
    learner.collect(with_payoffs(episodes_of(learner), 3.0))
    learner.update((0,))
    torch.testing.assert_close(theta_of(learner), before)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_ends_the_seed_and_says_so(bad: float) -> None:
    ppo = BUSY.model_copy(update={"score_scaling": False})
    learner, alone = (make_learner(tabular_policy(len(s)), ppo, seeds=s) for s in ([0, 1], [1]))
    before = all_weights(learner)
    learner.collect(with_payoffs(episodes_of(learner, seeds=[0]), bad))
    fine = episodes_of(learner, seeds=[1])
    learner.collect(fine)
    metrics = learner.update((0,))
    assert metrics[0]["diverged"] == "the loss is not finite"
    assert "policy_loss" not in metrics[0]
    assert "diverged" not in metrics[1] and "note" not in metrics[1]
    assert torch.equal(theta_of(learner, 0), before[0][0])
    assert torch.equal(learner.heads.weights.detach()[0], before[1][0])
    alone.collect(fine)
    alone.update((0,))
    torch.testing.assert_close(theta_of(learner, 1), theta_of(alone, 0), rtol=1e-5, atol=1e-6)


# --- What is kept, and what is not --------------------------------------------------------------------------------------------------


def test_what_was_collected_is_discarded_after_the_update() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.collect(episodes_of(learner))
    learner.update((0,))
    before = all_weights(learner)
    assert "skipped: 0 transitions" in str(learner.update((1,))[0]["note"])
    assert all(torch.equal(a, b) for a, b in zip(before, all_weights(learner), strict=True))


def test_play_after_an_update_uses_the_new_policy() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    before = learner.player.act([request_of("row")])[0].probs
    learner.collect(episodes_of(learner))
    learner.update((0,))
    assert isinstance(learner.policy, TabularPolicy)
    expected = torch.softmax(learner.policy.score([0], [Key("row", START)]).logits_RV, -1)[0].tolist()
    assert learner.player.act([request_of("row")])[0].probs == pytest.approx(expected)
    assert before != pytest.approx(expected)


def test_a_reply_carries_the_value_of_the_newest_head() -> None:
    """An update changes the heads as well, so values computed ahead are dropped with the distributions."""
    learner = make_learner(tabular_policy(), BUSY.model_copy(update={"value_gradient": "head"}))
    learner.player.act([request_of("row")])
    learner.collect(episodes_of(learner))
    learner.update((0,))
    (turn,) = [Turn("row", 0, ACTION.name, 0, START, learner.player.act([request_of("row")])[0])]
    hidden_RH = learner.policy.score_replies([0], [turn]).hidden_RH
    assert turn.reply.value == pytest.approx(float(learner.heads([0], hidden_RH).detach()[0]))


def test_a_cleared_cache_is_computed_anew() -> None:
    policy = WordPolicy()
    learner = make_learner(policy, BUSY)
    request = request_of("row")
    learner.player.act([request, request])
    learner.player.act([request])
    assert policy.scored == [1]
    learner.clear_cache()
    learner.player.act([request])
    assert policy.scored == [1, 1]


def test_a_learner_resumes_exactly_from_its_saved_states() -> None:
    first, second = (make_learner(tabular_policy(2), BUSY, seeds=[0, 1]) for _ in range(2))
    first.collect(episodes_of(first, seeds=[0, 1]))
    first.update((0,))
    for seed in (0, 1):
        second.load_state_dict(seed, first.state_dict(seed))
    later = episodes_of(first, rounds=6, seeds=[0, 1])
    for learner in (first, second):
        learner.collect(later)
        learner.update((1,))
    assert all(torch.equal(a, b) for a, b in zip(all_weights(first), all_weights(second), strict=True))
    for seed in (0, 1):
        theirs = second.state_dict(seed)
        for key, value in first.state_dict(seed).items():
            assert torch.equal(value, theirs[key])


def test_only_the_learners_own_seats_are_learnt_from() -> None:
    learner = make_learner(tabular_policy(), BUSY)
    learner.collect([*play(RandomPlayer(), RandomPlayer(), games=2, rounds=3), episode_of([("cooperate", "defect")])])
    assert "skipped: 0 transitions" in str(learner.update((0,))[0]["note"])
