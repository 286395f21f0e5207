"""Learners with exact gradients: whom they take their co-player for, and the step they take."""

from __future__ import annotations

import math

import pytest
import torch
from small_policies import IPD, WordPolicy, play
from torch import Tensor

from coplay.learners.exact import ExactLearner
from coplay.learners.lola import lola_gradient
from coplay.learners.memory_one import PolicyCounts, read_policy
from coplay.learners.ppo import PPOLearner
from coplay.runs.directory.config import PPO, ExactGradient, Lola
from coplay.games.exact import finite_value, naive_gradient
from coplay.games.matrix import COLUMN, ROW
from coplay.games.memory import Memory
from coplay.players.base import Player
from coplay.players.scripted import make_player
from coplay.players.tabular import InitialPolicy, TabularPolicy

START = (0.55, 0.7, 0.4, 0.6, 0.3)


def logits_of(probs: tuple[float, ...]) -> Tensor:
    return torch.tensor([[math.log(p / (1 - p)), 0.0] for p in probs], dtype=torch.float64)


def make_exact(
    co_player: Player, settings: ExactGradient, *, seeds: int = 1, sharing: float = 0.0, rounds: int = 6
) -> ExactLearner:
    initial = InitialPolicy(START[0], START[1:])
    policy = TabularPolicy(IPD, ROW, Memory.LAST_ROUND, slots=seeds, sharing=sharing, initial=initial)
    return ExactLearner("e", policy, seeds=range(seeds), rounds=rounds, exact=settings, co_player=lambda: co_player)


# --- The co-player's policy -------------------------------------------------------------------------------------------------------------


def test_memory_one_scripts_are_read() -> None:
    cooperates = read_policy(make_player("tit_for_tat", IPD, COLUMN), IPD, COLUMN, seeds=[0, 1])
    assert cooperates is not None
    assert cooperates[..., 0].tolist() == [[1, 1, 0, 1, 0]] * 2
    always = read_policy(make_player("random:0.3", IPD, ROW), IPD, ROW, seeds=[0])
    assert always is not None
    assert always[0, :, 0].tolist() == pytest.approx([0.3] * 5)


def test_a_longer_memory_cannot_be_read() -> None:
    assert read_policy(make_player("grim_trigger", IPD, ROW), IPD, ROW, seeds=[0]) is None


def test_illegal_replies_are_left_out_of_a_policy() -> None:
    """The five words of a small language model, of which two are legal."""
    policy = WordPolicy(seed=3)
    learner = PPOLearner(
        "words", ROW, policy, IPD.actions[ROW], seeds=[0], slots=[0], memory=Memory.LAST_ROUND, ppo=PPO()
    )
    read = read_policy(learner, IPD, ROW, seeds=[0])
    assert read is not None
    legal = policy.base[:, list(policy.legal)].double().softmax(-1)
    torch.testing.assert_close(read[0], legal, rtol=1e-5, atol=1e-6)


def test_counting_finds_a_memory_one_policy() -> None:
    probs = (0.9, 0.8, 0.2, 0.7, 0.4)
    policy = TabularPolicy(IPD, COLUMN, Memory.LAST_ROUND, slots=1, initial=InitialPolicy(probs[0], probs[1:]))
    column = PPOLearner(
        "c", COLUMN, policy, IPD.actions[COLUMN], seeds=[0], slots=[0], memory=Memory.LAST_ROUND, ppo=PPO()
    )
    counts = PolicyCounts(IPD, COLUMN, seeds=[0])
    counts.add(play(make_player("random", IPD, ROW), column, games=200, rounds=20))
    assert counts.policy()[0, :, 0].tolist() == pytest.approx(list(probs), abs=0.06)
    assert float(counts.counts.sum()) == 200 * 20
    counts.clear()
    assert (counts.policy() == 0.5).all()


def test_counts_by_hand() -> None:
    """Column defects after row's first defection for ever: start, CC twice, then CD (own first) and DD."""
    counts = PolicyCounts(IPD, COLUMN, seeds=[0])
    rows = make_player("alternator", IPD, ROW)
    counts.add(play(rows, make_player("grim_trigger", IPD, COLUMN), games=1, rounds=4))  # CC, DC, CD, DD
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
    co_player = make_player("generous_tit_for_tat:0.3", IPD, COLUMN)
    learner = make_exact(co_player, settings, seeds=2)
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
    co_player = make_player("always_cooperate", IPD, COLUMN)
    learner = make_exact(co_player, ExactGradient(), sharing=1.0)
    learner.collect(play(learner, co_player, games=1, rounds=6))
    learner.update((0,))
    theta = learner.policy.theta.detach()[0]
    assert (theta[:5] == 0).all()
    assert theta[5, 1] > 0.1  # defect, everywhere


def test_against_a_longer_memory_it_learns_from_what_it_saw() -> None:
    """Grim trigger makes cooperation pay; so does the memory-one policy it looks like."""
    co_player = make_player("grim_trigger", IPD, COLUMN)
    learner = make_exact(co_player, ExactGradient(learning_rate=0.1))
    for i in range(150):
        learner.collect(play(learner, co_player, games=10, rounds=20, occasion=(i,)))
        metrics = learner.update((i,))
    assert float(metrics[0]["value"]) > 2.5


def test_lola_teaches_a_naive_learner_to_cooperate() -> None:
    """Exact LOLA against an exact naive learner (Foerster et al., 2018, section 6): it gets more than its co-player."""
    players: dict[str, Player] = {}
    for seat, settings in (
        (ROW, Lola(co_player_rate=0.5, learning_rate=0.5)),
        (COLUMN, ExactGradient(learning_rate=0.5)),
    ):
        policy = TabularPolicy(IPD, seat, Memory.LAST_ROUND, slots=1, sharing=0.0)
        across = COLUMN if seat == ROW else ROW
        players[seat] = ExactLearner(
            seat, policy, seeds=[0], rounds=6, exact=settings, co_player=lambda across=across: players[across]
        )
    values: dict[str, float] = {}
    for i in range(200):
        for learner in players.values():
            assert isinstance(learner, ExactLearner)
            learner.collect([])
        for seat, learner in players.items():
            assert isinstance(learner, ExactLearner)
            values[seat] = float(learner.update((i,))[0]["value"])
    assert values[ROW] > values[COLUMN] + 0.2
    assert values[ROW] > 2.0


def test_a_gradient_that_is_not_finite_is_not_followed() -> None:
    co_player = make_player("tit_for_tat", IPD, COLUMN)
    learner = make_exact(co_player, ExactGradient(), seeds=2)
    learner.policy.theta.data[1] = math.nan
    lengths = learner.climb(torch.stack([torch.ones(6, 2), torch.full((6, 2), math.inf)]), 0.5)
    assert lengths[0] == pytest.approx(math.sqrt(12))
    assert lengths[1] is None
