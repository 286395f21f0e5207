"""Alignment's data set and training loop: what is drawn, what is aimed at, what moves."""

import math
from collections import Counter

import pytest
import torch

from coplay.errors import CoplayError, UsageError
from coplay.games.catalogue import matrix_game
from coplay.games.memory import Memory, Observation
from coplay.learners.alignment import (
    FORMS,
    Schedule,
    Situation,
    form_of,
    make_dataset,
    measure,
    read_target,
    sample_observation,
    sample_situations,
    train_slot,
)
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import Scorer
from coplay.players.choice import Key
from coplay.players.choice_model import ChoiceModel
from coplay.rng import stream

torch.set_num_threads(1)

IPD = matrix_game("ipd")
STATES = IPD.own_states("row")


def draw(n: int = 4000, **changes: object) -> list[Situation]:
    return sample_situations(IPD, n, **{"seed": 0, "purpose": "train", **changes})  # type: ignore[arg-type]


# --- The data set ----------------------------------------------------------------------------------------------------------------


def test_situations_depend_on_seed_and_purpose_alone() -> None:
    assert draw(50) == draw(50)
    assert draw(50) == draw(80)[:50]
    assert draw(50) != draw(50, seed=1)
    assert draw(50) != draw(50, purpose="measure")


def test_the_forms_have_the_shares_that_uniform_rounds_give() -> None:
    shares = {form: count / 4000 for form, count in Counter(form_of(s.observation) for s in draw()).items()}
    # naive learner: round 1 of 20; shaper: round 1 of 100, and one more that shows the last round alone
    expected = {"start": (1 / 20 + 1 / 100) / 2, "last round": (19 / 20 + 1 / 100) / 2, "counts": 0.98 / 2}
    assert set(shares) == set(FORMS)
    for form, share in expected.items():
        assert shares[form] == pytest.approx(share, abs=0.025)


def test_every_last_joint_action_is_as_likely() -> None:
    seen = Counter(s.observation.last for s in draw() if s.observation.last is not None)
    assert set(seen) == set(STATES)
    assert max(seen.values()) < 1.15 * min(seen.values())


def test_counts_add_up_to_the_rounds_before_the_last_one_and_are_even_on_average() -> None:
    counts = [s.observation.counts for s in draw() if s.observation.counts is not None]
    totals = [sum(count) for count in counts]
    assert min(totals) == 1
    assert max(totals) == 5 * 20 - 2
    shares = [sum(count[i] for count in counts) / sum(totals) for i in range(4)]
    assert shares == pytest.approx([0.25] * 4, abs=0.01)


def test_counts_of_an_episode_stay_within_it() -> None:
    rng = stream(0, "test")
    drawn = [sample_observation(rng, STATES, Memory.EPISODE_COUNTS, episodes=5, rounds=20) for _ in range(500)]
    assert max(sum(o.counts) for o in drawn if o.counts is not None) == 18


def test_a_transcript_is_refused() -> None:
    with pytest.raises(UsageError, match="knows no prompts of memory 'transcript'"):
        sample_observation(stream(0, "test"), STATES, Memory.TRANSCRIPT, episodes=5, rounds=20)


def test_a_symmetric_game_is_seen_from_one_seat_an_asymmetric_one_from_both() -> None:
    assert {s.seat for s in draw(100)} == {"row"}
    asymmetric = sample_situations(matrix_game("c-ipd"), 100, seed=0, purpose="train")
    assert {s.seat for s in asymmetric} == {"row", "column"}


# --- Targets and training ---------------------------------------------------------------------------------------------------------


def tiny(slots: int) -> tuple[Scorer, dict[str, ChoiceModel]]:
    loaded = load_model("tiny", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", i) for i in range(slots)], rank=2, alpha=32.0)
    scorer = Scorer(loaded.model, bank)
    game = matrix_game("c-ipd")
    return scorer, {
        seat: ChoiceModel("tiny", loaded, scorer, game=game, memory=Memory.LAST_ROUND, seats=[seat])
        for seat in game.seats
    }


def test_targets_are_renormalised_label_probabilities_in_order() -> None:
    _, policies = tiny(1)
    situations = sample_situations(matrix_game("c-ipd"), 150, seed=0, purpose="train")
    got = read_target(policies, situations)
    for situation, row in zip(situations[:20], got, strict=False):
        policy = policies[situation.seat]
        logits = policy.score([REFERENCE], [Key(situation.seat, situation.observation)]).logits_RV[0]
        legal = torch.softmax(logits, dim=-1)[list(policy.legal(situation.seat))]
        torch.testing.assert_close(row, legal / legal.sum(), rtol=1e-4, atol=1e-5)
    assert got.shape == (150, 2)


def test_training_moves_its_own_slot_towards_the_target_and_no_other() -> None:
    scorer, policies = tiny(2)
    situations = [Situation("row", Observation()), *(Situation("row", Observation(last=state)) for state in STATES)]
    data = make_dataset(policies, situations * 4, torch.tensor([[0.2, 0.8]] * 20))
    other = [parameter[0].detach().clone() for parameter in scorer.bank.parameters()]
    before = measure(scorer, 1, data)
    losses = train_slot(scorer, 1, data, Schedule(epochs=25, learning_rate=1e-2, minibatch=10), seed=0)
    after = measure(scorer, 1, data)
    assert after["all"].kl < before["all"].kl / 20
    assert losses[-1] < losses[0]
    assert {form: fit.prompts for form, fit in after.items()} == {"all": 20, "start": 4, "last round": 16}
    for parameter, kept in zip(scorer.bank.parameters(), other, strict=True):
        assert torch.equal(parameter[0], kept)


@pytest.mark.parametrize(
    ("spoilt", "told"), [("gradient", "gradient is"), ("loss", "loss is"), ("last step", "adapter is")]
)
def test_what_is_not_finite_ends_the_training_and_says_where(
    spoilt: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, policies = tiny(1)
    data = make_dataset(policies, draw(8), torch.tensor([[0.3, 0.7]] * 8))
    if spoilt == "gradient":
        scorer.bank.parameters()[1].register_hook(lambda grad: grad * math.inf)
    if spoilt == "loss":
        data.target_NA[:] = math.nan
    if spoilt == "last step":
        monkeypatch.setattr(torch.optim.Adam, "step", lambda self: scorer.bank.parameters()[0].data.fill_(math.nan))
    steps = 1 if spoilt == "last step" else 2
    with pytest.raises(CoplayError, match=rf"diverged: the {told} not finite in epoch 1, step 1 of {steps}"):
        train_slot(scorer, 0, data, Schedule(epochs=1, minibatch=8 // steps), seed=0)


def test_a_distance_that_is_not_finite_is_refused() -> None:
    scorer, policies = tiny(1)
    data = make_dataset(policies, draw(4), torch.tensor([[0.3, 0.7]] * 4))
    scorer.bank.parameters()[1].data.fill_(math.nan)
    with pytest.raises(CoplayError, match="distance from the target is not finite"):
        measure(scorer, 0, data)


def test_the_same_seed_gives_the_same_weights_and_another_does_not() -> None:
    results = []
    for seed in (0, 0, 1):
        scorer, policies = tiny(1)
        data = make_dataset(policies, draw(40), torch.tensor([[0.3, 0.7]] * 40))
        train_slot(scorer, 0, data, Schedule(epochs=2, minibatch=8), seed=seed)
        results.append(torch.cat([parameter.detach().flatten() for parameter in scorer.bank.parameters()]))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
