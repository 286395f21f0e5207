"""Players whose numbers are not finite reply all the same, and say so; their neighbours in the batch are not touched."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from small_runs import small

from coplay.games.memory import START, Memory
from coplay.games.records import Reply, Turn
from coplay.learners.q_learning import epsilon_greedy
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.generation import Generator
from coplay.models.loading import load_model
from coplay.models.optimiser import SlotAdam
from coplay.models.scoring import Scorer
from coplay.players.information_table import InformationTable
from coplay.runs.factory import build


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_generated_replies_of_a_spoilt_slot_end_at_once_and_the_others_stay(bad: float) -> None:
    loaded = load_model("tiny-talk")
    bank = AdapterBank(loaded.model, [SlotName("a", 0), SlotName("a", 1)], rank=2, alpha=4.0)
    generator = Generator(Scorer(loaded.model, bank), stop=())
    prompts: Sequence[tuple[int, ...]] = [(5, 6, 7), (5, 6, 7), (8, 9)]
    draws_RL = torch.rand(3, 6, generator=torch.Generator().manual_seed(0))
    before = generator.generate([0, 1, -1], prompts, draws_RL)
    with torch.no_grad():
        bank.parameters()[1][0] = bad
        bank.bump_version([0])
    after = generator.generate([0, 1, -1], prompts, draws_RL)
    assert len(after[0].tokens) == 1 and not math.isfinite(after[0].logprobs[0])
    assert after[1].tokens == before[1].tokens
    # products of two rows and of three may round differently, by processor
    assert after[1].logprobs == pytest.approx(before[1].logprobs, abs=1e-5)


def test_a_mixed_batch_with_the_reference_is_not_spoilt_by_the_first_slot() -> None:
    table = build(small("tabular", "seeds=[0,1]")).learners["row"].player
    with torch.no_grad():
        table.theta[0] = math.nan  # type: ignore[attr-defined]
    from coplay.players.choice import Key

    scores = table.score([-1, 1, 0], [Key("row", START)] * 3)  # type: ignore[attr-defined]
    assert scores.logits_RV.isfinite().all(dim=1).tolist() == [True, True, False]


def test_the_reference_of_an_information_table_is_uniform_whatever_the_last_seed_has_learnt() -> None:
    class Game:
        seats = ("a",)

        def most_choices(self, seat: str) -> int:
            return 3

    table = InformationTable("a", Game(), Memory.NONE, slots=2)  # type: ignore[arg-type]
    with torch.no_grad():
        table.theta[1] = torch.randn(table.theta[1].shape)
    turn = Turn("a", 0, "p", 0, START, Reply("x", "x", tokens=(1,), logprobs=(0.0,), probs=(0.5, 0.5), information="i"))
    (under_reference,) = table.score_replies([table.reference], [turn]).logprobs_R.tolist()
    assert under_reference == pytest.approx(math.log(0.5)) == table.reference_logprobs([turn])[0]


def test_epsilon_greedy_of_a_value_that_is_not_a_number_is_not_a_number() -> None:
    import numpy as np

    assert all(map(math.isnan, epsilon_greedy(np.array([1.0, math.nan]), epsilon=0.1)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_slot_whose_gradient_is_not_finite_does_not_step_and_the_others_do(bad: float) -> None:
    def stepped(spoilt: bool) -> tuple[SlotAdam, list[int]]:
        parameter = torch.nn.Parameter(torch.ones(3, 4))
        adam = SlotAdam([parameter], [0.1, 0.1, 0.1])
        parameter.grad = torch.arange(12.0).view(3, 4) + 1.0
        if spoilt:
            parameter.grad[1, 2] = bad
        return adam, adam.step([0, 1])

    (adam, refused), (fine, none) = stepped(True), stepped(False)
    assert (refused, none) == ([1], [])
    for one in ("steps_P", "first_PD", "second_PD"):
        assert torch.equal(getattr(adam, one)[0], getattr(fine, one)[0])
        assert not getattr(adam, one)[1].any()
    assert torch.equal(adam.parameters[0][0], fine.parameters[0][0])
    assert torch.equal(adam.parameters[0][1:], torch.ones(2, 4))


def test_gradients_whose_sum_overflows_are_finite() -> None:
    parameter = torch.nn.Parameter(torch.ones(2, 4))
    adam = SlotAdam([parameter], [0.1, 0.1])
    parameter.grad = torch.full((2, 4), 3e38)
    assert adam.step([0, 1]) == []
