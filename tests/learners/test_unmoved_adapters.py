"""Fine-tuning of an adapter that does not move, towards another policy or to written replies, is refused."""

from collections.abc import Callable

import pytest
import torch

from coplay.errors import Unmoved
from coplay.learners.alignment import Dataset, Schedule
from coplay.learners.alignment import train_slot as align
from coplay.learners.imitation import Lessons, Replies, imitate
from coplay.models.bank import AdapterBank, RoutedLinear, SlotName
from coplay.models.generation import Generator
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer

torch.set_num_threads(1)

PROMPTS = [(5, 6, 7, 8), (5, 6, 7, 9), (5, 9)]


def aligned(scorer: Scorer) -> None:
    data = Dataset(["start"] * 3, PROMPTS, torch.tensor([[3, 4]] * 3), torch.tensor([[0.3, 0.7]] * 3))
    align(scorer, 0, data, Schedule(epochs=2, minibatch=2), seed=0)


def imitated(scorer: Scorer) -> None:
    data = Replies(list(PROMPTS), [(3, 4), (4,), (7, 3)], [0, 0, 0], [("", "")] * 3)
    lessons = Lessons(2, 1e-3, 0.0, 2, 1, 0.0, 1.0)
    imitate(Generator(scorer, stop=[]), 0, data, lessons, seed=0)


def scorer() -> Scorer:
    loaded = load_model("tiny", device="cpu")
    return Scorer(loaded.model, AdapterBank(loaded.model, [SlotName("row", 0)], rank=2, alpha=32.0))


OF = RoutedLinear._of


@pytest.mark.parametrize(("teach", "name"), [(aligned, "alignment"), (imitated, "fine-tuning")])
def test_adapters_that_do_not_move(teach: Callable[[Scorer], None], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = scorer()
    before = moves.bank.slot_state(0)
    teach(moves)
    assert any(not torch.equal(before[key], after) for key, after in moves.bank.slot_state(0).items())

    for parameter in (frozen := scorer()).bank.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(Unmoved, match=rf"^the {name} cannot move: what its loss is made of does not depend"):
        teach(frozen)

    (partly := scorer()).bank.parameters()[-1].requires_grad_(False)
    with pytest.raises(
        Unmoved, match=rf"^the {name} cannot move: no gradient reaches 1 of the \d+ tensors of its adapter"
    ):
        teach(partly)

    with torch.no_grad():
        for parameter in (zero := scorer()).bank.parameters():
            parameter.zero_()
    with pytest.raises(Unmoved, match=rf"^the {name} cannot move: the gradient of its adapter is zero"):
        teach(zero)

    with monkeypatch.context() as patch:
        patch.setattr(RoutedLinear, "_of", lambda self, route: tuple(one.detach() for one in OF(self, route)))
        with pytest.raises(Unmoved, match=rf"^the {name} cannot move"):
            teach(scorer())

    for kind in (torch.optim.Adam, torch.optim.AdamW):
        monkeypatch.setattr(kind, "step", lambda self: None)
    with pytest.raises(Unmoved, match=rf"^the {name} has not moved: an optimiser step at learning rate"):
        teach(scorer())
