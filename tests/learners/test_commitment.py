"""Steering a learner: its steps are those of naive learning, a learner that stands still is taken what a best response takes, and extortion is found."""

import pytest
import torch
from torch import Tensor

from coplay.games import make_game
from coplay.games.exact import finite_value
from coplay.games.matrix import MatrixGame
from coplay.learners.commitment import LEAST, Rule, best_commitment, course, learning_logits
from coplay.learners.lola import naive_learning

POLICIES = {  # P(cooperate) at the start and after CC, CD, DC, DD, own action first
    "tit_for_tat": (1.0, 1.0, 0.0, 1.0, 0.0),
    "always_cooperate": (1.0, 1.0, 1.0, 1.0, 1.0),
    "random": (0.5, 0.5, 0.5, 0.5, 0.5),
}


def ipd() -> MatrixGame:
    game = make_game("ipd")
    assert isinstance(game, MatrixGame)
    return game


def logits(name: str) -> Tensor:
    return learning_logits(torch.tensor([[p, 1 - p] for p in POLICIES[name]], dtype=torch.float64))


def test_steps_are_those_of_two_naive_learners() -> None:
    game, rule = ipd(), Rule(learning_rate=2.0, episodes=7)
    torch.manual_seed(0)
    starts = {seat: torch.randn(3, 5, 2, dtype=torch.float64) for seat in game.seats}
    done = course(game, "row", fixed_BFA=starts["row"], start_BFA=starts["column"], rounds=6, rule=rule, naive=True)
    same = naive_learning(game, starts, discount=1.0, learning_rate=2.0 / 6, steps=7, rounds=6)
    torch.testing.assert_close(done.end_BFA, same["column"].softmax(-1))


def test_payoffs_are_means_over_episodes() -> None:
    game, start = ipd(), logits("random").unsqueeze(0)
    fixed = logits("tit_for_tat").unsqueeze(0)
    one = course(game, "column", fixed_BFA=fixed, start_BFA=start, rounds=5, rule=Rule(episodes=1))
    now = finite_value(game, {"column": fixed.softmax(-1), "row": start.softmax(-1)}, rounds=5)
    torch.testing.assert_close(one.shaper_B, now["column"] / 5)
    torch.testing.assert_close(one.learner_B, now["row"] / 5)


@pytest.mark.parametrize(("name", "ceiling"), [("tit_for_tat", 3.05), ("always_cooperate", 4.0), ("random", 2.5)])
def test_a_learner_that_stands_still_is_taken_what_a_best_response_takes(name: str, ceiling: float) -> None:
    rule = Rule(learning_rate=1e-12, episodes=1)
    start = logits(name).unsqueeze(0)
    found = best_commitment(ipd(), "row", start_PFA=start, rounds=20, rule=rule, seeds=[0])
    taken = course(ipd(), "row", fixed_BFA=found, start_BFA=start, rounds=20, rule=rule).shaper_B.item()
    assert (1 - 4 * LEAST) * ceiling <= taken <= ceiling * (1 + LEAST)


def test_extortion_is_found() -> None:
    """A learner without a policy of its own is led to cooperate with one that defects; beside a naive one it ends in defection."""
    game, start = ipd(), logits("random").unsqueeze(0)
    found = best_commitment(game, "row", start_PFA=start, rounds=20, rule=Rule(), seeds=[3])
    shaped = course(game, "row", fixed_BFA=found, start_BFA=start, rounds=20, rule=Rule())
    naive = course(game, "row", fixed_BFA=torch.zeros_like(start), start_BFA=start, rounds=20, rule=Rule(), naive=True)
    assert shaped.shaper_B.item() > 3.2 and shaped.learner_B.item() < 1.6
    assert naive.shaper_B.item() == pytest.approx(naive.learner_B.item()) and naive.shaper_B.item() < 1.3


def test_learners_are_apart_and_seats_alike() -> None:
    """Each of a batch is what it is alone, in either seat of a symmetric game."""
    game, rule = ipd(), Rule(episodes=5)
    starts = torch.stack([logits("random"), logits("tit_for_tat")])
    both = best_commitment(game, "row", start_PFA=starts, rounds=4, rule=rule, seeds=[0, 1])
    for i, seat in enumerate(game.seats):
        alone = best_commitment(game, seat, start_PFA=starts[i : i + 1], rounds=4, rule=rule, seeds=[i])
        torch.testing.assert_close(alone[0], both[i])
