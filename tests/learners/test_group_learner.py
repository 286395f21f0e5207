"""Group gradients on generated replies: what is rewarded is said more often; parts, seeds and past selves do not mix."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant
from coplay.games.split import ALICE, BOB, SEATS
from coplay.learners.group_learner import GroupLearner
from coplay.learners.settings import GroupGradient
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.text_model import TextModel

torch.set_num_threads(1)

GAME = make_game("ipd-ab")


def make_learner(seeds: Sequence[int], **options: Any) -> GroupLearner:
    """A learner on the embedded model with a slot a seed, then one for past selves."""
    loaded = load_model("tiny", device="cpu")
    names = [*(SlotName("self", seed) for seed in seeds), SlotName("past", 0)]
    bank = AdapterBank(loaded.model, names, rank=2, alpha=32.0)
    player = TextModel("model", loaded, Scorer(loaded.model, bank), game=GAME, memory=Memory.LAST_ROUND, max_tokens=2)
    settings = GroupGradient(**{"learning_rate": 3e-3, **options})
    return GroupLearner("self", player, game=GAME, seeds=seeds, slots=range(len(seeds)), settings=settings)


def games(
    one: GroupLearner, seed: int, number: int, *, count: int = 8, own: Sequence[str] = SEATS, rounds: int = 2
) -> list[Episode]:
    """Self-play, paid by the replies' first token: 1 for an even id, 0 for an odd one. The learner learns from its own seats."""
    slot = one.slots[seed]
    seated = {seat: Occupant(one.player, "model", slot, one.name if seat in own else None) for seat in SEATS}
    tables = [Table(GAME, seed, 0, index, seated) for index in range(count)]
    episodes = play_episode(GAME, tables, rounds=rounds, streams=StreamNames(("train", number)))
    return [paid_by_token(episode) for episode in episodes]


def paid_by_token(episode: Episode) -> Episode:
    rounds = [
        replace(one, payoffs={seat: float(episode.turns[seat][t].reply.tokens[0] % 2 == 0) for seat in SEATS})
        for t, one in enumerate(episode.rounds)
    ]
    return replace(episode, rounds=rounds)


def weights_of(one: GroupLearner, slot: int) -> list[torch.Tensor]:
    return [parameter[slot].detach().clone() for parameter in one.policy.parameters()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_what_is_rewarded_is_said_more_often() -> None:
    one = make_learner([0], learning_rate=1e-2)
    paid = []
    for number in range(8):
        played = games(one, 0, number, count=16)
        paid.append(sum(episode.total(seat) for episode in played for seat in SEATS) / 64)
        one.collect(played)
        metrics = one.update((number,))
    assert sum(paid[-3:]) / 3 > sum(paid[:3]) / 3 + 0.15
    assert float(metrics[0]["tokens"]) >= 64 and "kl" not in metrics[0]


@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
def test_the_size_of_microbatches_makes_no_difference(kl_coef: float) -> None:
    after = []
    for size in (1000, 3):
        # with Adam's usual epsilon, an entry whose gradient is rounding noise takes a whole step in the noise's direction
        one = make_learner([0], microbatch_size=size, kl_coef=kl_coef, entropy_coef=0.01, adam_eps=1e-4)
        one.collect(games(one, 0, 0))
        metrics = one.update((0,))
        after.append((weights_of(one, 0), metrics[0]))
    for a, b in zip(after[0][0], after[1][0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    assert after[0][1] == pytest.approx(after[1][1], rel=1e-3, abs=1e-4)


def test_seeds_together_are_seeds_alone() -> None:
    together = make_learner([4, 5])
    for seed in (4, 5):
        together.collect(games(together, seed, 0))
    together.update((0,))
    for seed in (4, 5):
        alone = make_learner([seed])
        alone.collect(games(alone, seed, 0))
        alone.update((0,))
        pairs = zip(weights_of(together, together.slots[seed]), weights_of(alone, 0), strict=True)
        for a, b in pairs:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_seed_that_skips_an_update_does_not_shift_the_others_schedule() -> None:
    """With a falling learning rate: seed 5 has nothing to learn from at first, as if it were alone."""
    settings = {"lr_decay_updates": 2, "lr_end_factor": 0.1, "learning_rate": 1e-2}
    together, alone = make_learner([4, 5], **settings), make_learner([5], **settings)
    for number in range(2):
        for seed in (4, 5) if number else (4,):
            together.collect(games(together, seed, number))
        together.update((number,))
    alone.update((0,))
    alone.collect(games(alone, 5, 1))
    alone.update((1,))
    for a, b in zip(weights_of(together, 1), weights_of(alone, 0), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_only_the_learners_own_seats_are_learnt_from() -> None:
    """A seat that another player fills moves nothing, but its rewards are in its co-player's credit."""
    one = make_learner([0])
    before = weights_of(one, 0)
    one.collect(games(one, 0, 0, own=()))
    assert one.update((0,)) == {0: {"note": "update skipped: no replies to learn from"}}
    assert same(before, weights_of(one, 0))
    one.collect(games(one, 0, 0, own=[ALICE]))
    alice = one.update((1,))[0]["tokens"]
    one.collect(games(one, 0, 0, own=[BOB, ALICE]))
    assert one.update((2,))[0]["tokens"] > alice


def test_what_was_collected_is_discarded_after_the_update() -> None:
    one = make_learner([0])
    one.collect(games(one, 0, 0))
    one.update((0,))
    after = weights_of(one, 0)
    assert one.update((1,)) == {0: {"note": "update skipped: no replies to learn from"}}
    assert same(after, weights_of(one, 0))


def test_games_without_a_baseline_are_counted() -> None:
    one = make_learner([0])
    played = games(one, 0, 0, count=3)
    one.collect([replace(episode, group=0 if i else 1) for i, episode in enumerate(played)])
    assert one.update((0,))[0]["note"] == "no baseline for 1 of 3 games: alone in their group"


def test_a_past_self_stays_as_it_was() -> None:
    one, past = make_learner([0]), 1
    one.collect(games(one, 0, 0))
    one.update((0,))
    then = weights_of(one, 0)
    one.policy.load_slot_state(past, one.policy.slot_state(0))
    one.collect(games(one, 0, 1))
    one.update((1,))
    assert same(then, weights_of(one, past))
    assert not same(then, weights_of(one, 0))
