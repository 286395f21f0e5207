"""Learners with exact gradients: whom they take their co-player for, and the step they take."""

from __future__ import annotations

import math

import pytest
import torch
from small_policies import IPD, RandomPlayer, WordPolicy, occupant_of, play
from torch import Tensor

from coplay.games.exact import finite_value, naive_gradient
from coplay.games.matrix import COLUMN, ROW
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant
from coplay.learners.exact import ExactLearner
from coplay.learners.lola import lola_gradient
from coplay.learners.memory_one import PolicyCounts, read_policy
from coplay.learners.ppo import PPOLearner
from coplay.learners.settings import PPO, ExactGradient, Lola
from coplay.players.scripted import make_script
from coplay.players.tabular import InitialPolicy, TabularPolicy

START = (0.55, 0.7, 0.4, 0.6, 0.3)


def logits_of(probs: tuple[float, ...]) -> Tensor:
    return torch.tensor([[math.log(p / (1 - p)), 0.0] for p in probs], dtype=torch.float64)


def make_exact(settings: ExactGradient, *, seeds: int = 1, sharing: float = 0.0, rounds: int = 6) -> ExactLearner:
    initial = InitialPolicy(START[0], START[1:])
    policy = TabularPolicy("exact", IPD, ROW, Memory.LAST_ROUND, slots=seeds, sharing=sharing, initial=initial)
    return ExactLearner(ROW, policy, seeds=range(seeds), rounds=rounds, exact=settings)


def read_script(name: str, seat: str, *, seeds: int = 1) -> Tensor | None:
    script = make_script(name, IPD, seat)
    return read_policy([Occupant(script, name)] * seeds, IPD, seat, seeds=range(seeds))


# --- The co-player's policy -------------------------------------------------------------------------------------------------------------


def test_memory_one_scripts_are_read() -> None:
    cooperates = read_script("tit_for_tat", COLUMN, seeds=2)
    assert cooperates is not None
    assert cooperates[..., 0].tolist() == [[1, 1, 0, 1, 0]] * 2
    always = read_script("random:0.3", ROW)
    assert always is not None
    assert always[0, :, 0].tolist() == pytest.approx([0.3] * 5)


def test_a_longer_memory_cannot_be_read() -> None:
    assert read_script("grim_trigger", ROW) is None


def test_a_player_that_does_not_say_its_probabilities_cannot_be_read() -> None:
    assert read_policy([Occupant(RandomPlayer(), "random player")], IPD, ROW, seeds=[0]) is None


def test_each_seed_is_read_under_its_own_slot() -> None:
    policy = TabularPolicy("table", IPD, COLUMN, Memory.LAST_ROUND, slots=3)
    with torch.no_grad():
        policy.theta[2, :, 0] += 1.0
    read = read_policy([Occupant(policy, "table", slot) for slot in (2, 0)], IPD, COLUMN, seeds=[7, 8])
    assert read is not None and read.shape == (2, 5, 2)
    assert (read[0, :, 0] > 0.6).all() and (read[1] == 0.5).all()


def test_illegal_replies_are_left_out_of_a_policy() -> None:
    """The five words of a small language model, of which two are legal."""
    policy = WordPolicy(seed=3)
    learner = PPOLearner("words", policy, seeds=[0], slots=[0], ppo=PPO())
    read = read_policy([occupant_of(learner, 0)], IPD, ROW, seeds=[0])
    assert read is not None
    legal = policy.base[:, list(policy.legal_words)].double().softmax(-1)
    torch.testing.assert_close(read[0], legal, rtol=1e-5, atol=1e-6)


def test_counting_finds_a_memory_one_policy() -> None:
    probs = (0.9, 0.8, 0.2, 0.7, 0.4)
    initial = InitialPolicy(probs[0], probs[1:])
    policy = TabularPolicy("table", IPD, COLUMN, Memory.LAST_ROUND, slots=1, initial=initial)
    column = PPOLearner(COLUMN, policy, seeds=[0], slots=[0], ppo=PPO())
    counts = PolicyCounts(IPD, COLUMN, seeds=[0])
    counts.add(play(make_script("random", IPD, ROW), column, games=200, rounds=20))
    assert counts.policy()[0, :, 0].tolist() == pytest.approx(list(probs), abs=0.06)
    assert float(counts.counts.sum()) == 200 * 20
    counts.clear()
    assert (counts.policy() == 0.5).all()


def test_counts_by_hand() -> None:
    """Column defects after row's first defection for ever: start, CC twice, then CD (own first) and DD."""
    counts = PolicyCounts(IPD, COLUMN, seeds=[0])
    rows = make_script("alternator", IPD, ROW)
    counts.add(play(rows, make_script("grim_trigger", IPD, COLUMN), games=1, rounds=4))  # CC, DC, CD, DD
    cooperated, defected = counts.counts[0].T.tolist()
    assert cooperated == [1, 1, 0, 0, 0]
    assert defected == [0, 0, 1, 1, 0]  # after CD and after DC, column's own action first


# --- The step ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [
        (ExactGradient(learning_rate=0.3, discount=0.9), None),
        (ExactGradient(learning_rate=0.3, discount=1.0, horizon="episode"), 6),
        (Lola(learning_rate=0.3, discount=0.9, co_player_rate=0.5), None),
    ],
)
def test_a_step_follows_the_exact_gradient(settings: ExactGradient, rounds: int | None) -> None:
    co_player = make_script("generous_tit_for_tat:0.3", IPD, COLUMN)
    learner = make_exact(settings, seeds=2)
    learner.collect(play(learner, co_player, games=1, rounds=6, seeds=[0, 1]))
    metrics = learner.update((0,))
    theirs = torch.tensor([[1, 0], [1, 0], [0.3, 0.7], [1, 0], [0.3, 0.7]], dtype=torch.float64).clamp(min=1e-12)
    logits = {ROW: logits_of(START), COLUMN: theirs.log()}
    if isinstance(settings, Lola):
        expected = lola_gradient(IPD, logits, ROW, rounds=rounds, discount=0.9, co_player_rate=0.5)
    else:
        expected = naive_gradient(IPD, logits, ROW, rounds=rounds, discount=settings.discount)
    for position in (0, 1):
        moved = learner.policy.theta.detach()[position, :5].double()
        torch.testing.assert_close(moved, 0.3 * expected, rtol=1e-4, atol=1e-5)
        assert metrics[position]["gradient"] == pytest.approx(float(expected.norm()), rel=1e-4)
    if rounds is not None:
        value = finite_value(IPD, {seat: own.softmax(-1) for seat, own in logits.items()}, rounds=rounds)[ROW]
        assert metrics[0]["value"] == pytest.approx(float(value) / rounds, rel=1e-5)


def test_states_that_share_parameters_move_together() -> None:
    co_player = make_script("always_cooperate", IPD, COLUMN)
    learner = make_exact(ExactGradient(), sharing=1.0)
    learner.collect(play(learner, co_player, games=1, rounds=6))
    learner.update((0,))
    theta = learner.policy.theta.detach()[0]
    assert (theta[:5] == 0).all()
    assert theta[5, 1] > 0.1  # defect, everywhere


@pytest.mark.slow
def test_against_a_longer_memory_it_learns_from_what_it_saw() -> None:
    """Grim trigger makes cooperation pay; so does the memory-one policy it looks like."""
    co_player = make_script("grim_trigger", IPD, COLUMN)
    learner = make_exact(ExactGradient(learning_rate=0.1))
    for i in range(150):
        learner.collect(play(learner, co_player, games=10, rounds=20, rng_path=(i,)))
        metrics = learner.update((i,))
    assert float(metrics[0]["value"]) > 2.5


def test_lola_teaches_a_naive_learner_to_cooperate() -> None:
    """Exact LOLA against an exact naive learner (Foerster et al., 2018, section 6): it gets more than its co-player."""
    settings = {ROW: Lola(co_player_rate=0.5, learning_rate=0.5), COLUMN: ExactGradient(learning_rate=0.5)}
    learners: dict[str, ExactLearner] = {}
    for seat, exact in settings.items():
        policy = TabularPolicy(seat, IPD, seat, Memory.LAST_ROUND, slots=1, sharing=0.0)
        learners[seat] = ExactLearner(seat, policy, seeds=[0], rounds=6, exact=exact)
    # a game in which nothing was played says who sits where, and that is all they need
    episode = Episode(0, 0, 0, {seat: occupant_of(learner, 0) for seat, learner in learners.items()})
    values: dict[str, float] = {}
    for i in range(200):
        for learner in learners.values():
            learner.collect([episode])
        for seat, learner in learners.items():
            values[seat] = float(learner.update((i,))[0]["value"])
    assert values[ROW] > values[COLUMN] + 0.2
    assert values[ROW] > 2.0


def test_a_gradient_that_is_not_finite_is_not_followed() -> None:
    learner = make_exact(ExactGradient(), seeds=2)
    learner.policy.theta.data[1] = math.nan
    climbed = learner.climb(torch.stack([torch.ones(6, 2), torch.full((6, 2), math.inf)]), 0.5)
    assert climbed[0] == {"gradient": pytest.approx(math.sqrt(12))}
    assert climbed[1] == {"diverged": "the gradient is not finite"}
