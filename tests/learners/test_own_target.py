"""The model's own policy as a target: which prompts, and what is mixed into it."""

import math

import pytest
import torch

from coplay.games.catalogue import matrix_game
from coplay.games.matrix import first_observations
from coplay.games.memory import START, Memory, Observation
from coplay.learners.alignment import Situation
from coplay.learners.losses import sparse_target_kl
from coplay.learners.own_target import own_situations, with_reciprocity
from coplay.players.strategies import tit_for_tat

IPD = matrix_game("ipd")


@pytest.mark.parametrize(("purpose", "n", "repeats"), [("measure", 30, 1), ("train", 30, 2), ("train", 60, 4)])
def test_prompts_without_counts_are_all_there_and_a_third_of_those_to_train_on(
    purpose: str, n: int, repeats: int
) -> None:
    for game, seats in ((IPD, ["row"]), (matrix_game("c-ipd"), ["row", "column"])):
        drawn = own_situations(game, n, seed=0, purpose=purpose)
        bare = [one for one in drawn if one.observation.counts is None]
        once = [Situation(seat, seen) for seat in seats for seen in first_observations(game, seat, Memory.LAST_ROUND)]
        assert bare == drawn[: len(bare)] == once * max(1, repeats // len(seats)) and len(drawn) == n
        assert {one.seat for one in drawn[len(bare) :]} == set(seats)


def test_purposes_differ_in_the_counts_alone() -> None:
    train, measure = (own_situations(IPD, 40, seed=0, purpose=purpose) for purpose in ("train", "measure"))
    assert set(train[:15]) == set(measure[:5])
    assert not set(train[15:]) & set(measure[5:])


def test_counts_are_of_one_sided_histories_too() -> None:
    drawn = own_situations(IPD, 750, seed=0, purpose="train")
    counts = [one.observation.counts for one in drawn if one.observation.counts is not None]
    long = [count for count in counts if sum(count) >= 20]
    shares = [max(count) / sum(count) for count in long]
    assert sum(share > 0.8 for share in shares) > 0.02 * len(long)  # none in a hundred where all states are as likely
    assert max(map(sum, counts)) <= 98
    for i in range(4):
        assert sum(count[i] for count in counts) / sum(map(sum, counts)) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("counts", [None, (3, 0, 0, 9)])
def test_all_reciprocity_is_tit_for_tat_and_none_the_policy_itself(counts: tuple[int, ...] | None) -> None:
    cooperate = IPD.actions["row"][0]
    seen = [START, *(Observation(last=state, counts=counts) for state in IPD.own_states("row"))]
    situations = [Situation("row", one) for one in seen]
    own = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5]])
    pasts = [[] if one.last is None else [(one.last[0] == cooperate, one.last[1] == cooperate)] for one in seen]
    copied = [tit_for_tat(past) for past in pasts]
    for share in (0.0, 0.25, 1.0):
        got = with_reciprocity(own, situations, IPD, share=share)
        expected = [(1 - share) * float(p) + share * q for p, q in zip(own[:, 0], copied, strict=True)]
        assert got[:, 0].tolist() == pytest.approx(expected, abs=1e-6)
        assert got.sum(dim=1).tolist() == pytest.approx([1.0] * 5)


def test_the_weighted_loss_is_its_two_parts() -> None:
    logits = torch.tensor([[1.0, -0.5, 0.3, 2.0]], dtype=torch.float64)
    replies, target = torch.tensor([[0, 2]]), torch.tensor([[0.7, 0.3]], dtype=torch.float64)
    p = logits.softmax(-1)[0]
    legal = float(p[0] + p[2])
    among = sum(t * math.log(t / (float(p[i]) / legal)) for t, i in ((0.7, 0), (0.3, 2)))
    for weight in (0.0, 1.0, 3.0):
        got = float(sparse_target_kl(logits, replies, target, among_weight=weight))
        assert got == pytest.approx(-math.log(legal) + weight * among, abs=1e-12)


def test_reciprocity_in_counts_leaves_the_other_prompts_alone() -> None:
    last = IPD.own_states("row")[1]
    situations = [Situation("row", Observation(last=last, counts=counts)) for counts in (None, (1, 2, 0, 3))]
    own = torch.tensor([[0.8, 0.2], [0.7, 0.3]])
    got = with_reciprocity(own, situations, IPD, share=1.0, counts_only=True)
    assert got.tolist() == [pytest.approx([0.8, 0.2]), [0.0, 1.0]]
