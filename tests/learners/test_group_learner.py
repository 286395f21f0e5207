"""Learning from games in rounds: what is rewarded is said more often; parts, seeds and past selves do not mix."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from coplay.games.rounds import ALICE, BOB, SEATS
from coplay.players.round_language_model import RoundLanguageModel
from coplay.rounds.config import GroupGradient
from coplay.rounds.play import play_rounds, tables_of
from coplay.rounds.types import Round, RoundEpisode
from coplay.text.rounds import Past, worded

from coplay.learners.group_learner import GroupLearner
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer

torch.set_num_threads(1)

WORDS = worded("ipd-ab")


def learner(seeds: Sequence[int], **options: Any) -> GroupLearner:
    """A learner on the embedded model with a slot a seed, then one for past selves."""
    loaded = load_model("tiny", device="cpu")
    names = [*(SlotName("self", seed) for seed in seeds), SlotName("past", 0)]
    bank = AdapterBank(loaded.model, names, rank=2, alpha=32.0)
    slots = {seed: i for i, seed in enumerate(seeds)}
    player = RoundLanguageModel(
        "model", loaded, Scorer(loaded.model, bank), WORDS,
        slot=lambda situation: slots[situation.seed], past=Past.LAST_ROUND, longest=2,
    )  # fmt: skip
    settings = GroupGradient(**{"learning_rate": 3e-3, **options})
    return GroupLearner(player, seeds=seeds, slots=list(slots.values()), reference=REFERENCE, settings=settings)


def games(one: GroupLearner, seed: int, occasion: int, *, count: int = 8) -> list[RoundEpisode]:
    """Self-play, paid by the replies' first token: 1 for an even id, 0 for an odd one."""
    players = dict.fromkeys(SEATS, one.player)
    episodes = play_rounds(WORDS, tables_of(seed, [0] * count, players), rounds=2, occasion=("train", occasion))
    for episode in episodes:
        episode.rounds = [
            Round(r.deal, r.replies, {s: float(r.replies["action"][s].tokens[0] % 2 == 0) for s in SEATS})
            for r in episode.rounds
        ]
    return episodes


def trained_weights(one: GroupLearner, seed: int) -> list[torch.Tensor]:
    return [parameter[one.slots[seed]].detach().clone() for parameter in one.bank.parameters()]


def test_what_is_rewarded_is_said_more_often() -> None:
    one = learner([0], learning_rate=1e-2)
    paid = []
    for occasion in range(8):
        played = games(one, 0, occasion, count=16)
        paid.append(sum(episode.total(seat) for episode in played for seat in SEATS) / 64)
        one.collect(played, [SEATS] * 16)
        metrics = one.update()
    assert sum(paid[-3:]) / 3 > sum(paid[:3]) / 3 + 0.15
    assert metrics[0]["tokens"] >= 64 and "kl" not in metrics[0]


@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
def test_parts_make_no_difference(kl_coef: float) -> None:
    after = []
    for rows in (1000, 3):
        # with Adam's usual epsilon, an entry whose gradient is rounding noise takes a whole step in the noise's direction
        one = learner([0], rows=rows, kl_coef=kl_coef, entropy_coef=0.01, adam_eps=1e-4)
        one.collect(games(one, 0, 0), [SEATS] * 8)
        metrics = one.update()
        after.append((trained_weights(one, 0), metrics[0]))
    for a, b in zip(after[0][0], after[1][0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    assert after[0][1] == pytest.approx(after[1][1], rel=1e-3, abs=1e-4)


def test_seeds_together_are_seeds_alone() -> None:
    together = learner([4, 5])
    for seed in (4, 5):
        together.collect(games(together, seed, 0), [SEATS] * 8)
    together.update()
    for seed in (4, 5):
        alone = learner([seed])
        alone.collect(games(alone, seed, 0), [SEATS] * 8)
        alone.update()
        for a, b in zip(trained_weights(together, seed), trained_weights(alone, seed), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_only_what_the_learner_said_itself_is_learnt_from() -> None:
    """A seat that another filled moves nothing, but its rewards are in its co-player's credit."""
    one = learner([0])
    before = trained_weights(one, 0)
    one.collect(games(one, 0, 0), [()] * 8)
    assert one.update() == {0: {"note": "update skipped: nothing was said"}}
    for a, b in zip(before, trained_weights(one, 0), strict=True):
        assert torch.equal(a, b)
    one.collect(games(one, 0, 0), [(ALICE,)] * 8)
    alice = one.update()[0]["tokens"]
    one.collect(games(one, 0, 0), [(BOB, ALICE)] * 8)
    assert one.update()[0]["tokens"] > alice


def test_a_past_self_stays_as_it_was() -> None:
    one = learner([0])
    past = len(one.bank.slots) - 1
    one.collect(games(one, 0, 0), [SEATS] * 8)
    one.update()
    then = trained_weights(one, 0)
    one.remember(0, past)
    one.collect(games(one, 0, 1), [SEATS] * 8)
    one.update()
    now = [parameter[past] for parameter in one.bank.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(then, now, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(then, trained_weights(one, 0), strict=True))
