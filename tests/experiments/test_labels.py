"""Action labels: the divergence against brute force, the embedded model against Table 14."""

from __future__ import annotations

import math
import string

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.experiments.labels import (
    LabelPolicy,
    label_divergence,
    label_pairs,
    measure,
    nearest,
    prompt_names,
    published_policy,
)
from coplay.games import GAMES, make_game
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.models.loading import load_model
from coplay.recipes.shapellm.table_14 import TABLE_14

torch.set_num_threads(1)

TWO_GAMES_IN_ONE = {
    "name": "lead",
    "actions": [["up", "down"], ["left", "right"]],
    "payoffs": [[[2, 1], [0, 0]], [[0, 0], [1, 2]]],
}


@pytest.fixture(scope="module")
def tiny():
    return load_model("tiny", device="cpu")


# --- The divergence ----------------------------------------------------------------------------------------------------

inside = st.floats(0.01, 0.99)
replies = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=6)


def brute_force(distributions: list[list[float]], target: float) -> float:
    """The mean of sum_w T(w) ln(T(w) / p(w)) over a whole vocabulary, whose first two tokens are the labels."""
    total = 0.0
    for p in distributions:
        wanted = [target, 1 - target] + [0.0] * (len(p) - 2)
        total += sum(t * math.log(t / q) for t, q in zip(wanted, p, strict=True) if t > 0)
    return total / len(distributions)


@given(st.lists(replies, min_size=1, max_size=5), inside)
def test_divergence_is_the_sum_over_the_vocabulary(weights, target):
    distributions = [[w / sum(row) for w in row] for row in weights]
    logprobs = [(math.log(p[0]), math.log(p[1])) for p in distributions]
    assert label_divergence(logprobs, target=target) == pytest.approx(brute_force(distributions, target), abs=1e-12)


@given(inside, st.floats(0.0, 0.9))
def test_illegal_replies_count(target, illegal):
    legal = 1 - illegal
    logprobs = [(math.log(legal * target), math.log(legal * (1 - target)))] * 5
    assert label_divergence(logprobs, target=target) == pytest.approx(-math.log(legal), abs=1e-12)


def test_divergence_of_a_reply_that_never_comes_is_finite():
    assert label_divergence([(-200.0, -1e-9)], target=0.5) == pytest.approx(100 - math.log(2))


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_targets_outside_the_unit_interval_are_refused(target):
    with pytest.raises(UsageError, match="greater than 0 and less than 1"):
        label_divergence([(-1.0, -1.0)], target=target)


def test_nearest_first_and_ties_by_label():
    even, high = ((math.log(0.5),) * 2,) * 5, ((math.log(0.8), math.log(0.2)),) * 5
    policies = [LabelPolicy(("X", "Y"), even), LabelPolicy(("A", "B"), high), LabelPolicy(("B", "A"), even)]
    assert [p.labels for p in nearest(policies, target=0.5)] == [("B", "A"), ("X", "Y"), ("A", "B")]
    assert next(p.labels for p in nearest(policies, target=0.75)) == ("A", "B")


def test_a_policys_probabilities():
    policy = LabelPolicy(("H", "K"), ((math.log(0.6), math.log(0.3)),) * 5)
    assert policy.first == pytest.approx([0.6] * 5)
    assert policy.second == pytest.approx([0.3] * 5)
    assert policy.illegal == pytest.approx([0.1] * 5)
    assert policy.divergence(0.6) == label_divergence(policy.logprobs, target=0.6)


# --- Pairs, prompts, published rows ------------------------------------------------------------------------------------


def test_all_ordered_pairs_of_capitals():
    pairs = label_pairs(make_game("ipd"))
    assert len(pairs) == len(set(pairs)) == 650
    assert len({frozenset(pair) for pair in pairs}) == 325
    assert all(a != b and {a, b} <= set(string.ascii_uppercase) for a, b in pairs)


def test_every_published_pair_is_among_them():
    pairs = set(label_pairs(make_game("icg")))
    assert all(pair in pairs for rows in TABLE_14.values() for pair in rows)


@pytest.mark.parametrize(("seat", "taken"), [(ROW, "LR"), (COLUMN, "UD")])
def test_letters_of_the_co_players_other_actions_are_left_out(seat, taken):
    pairs = label_pairs(game_from_dict(TWO_GAMES_IN_ONE), seat)
    assert len(pairs) == 24 * 23
    assert not {letter for pair in pairs for letter in pair} & set(taken)


def test_games_of_other_sizes_are_refused(tiny):
    three = game_from_dict(
        {"name": "rps", "actions": ["rock", "paper", "scissors"], "payoffs": [[[0, 0]] * 3 for _ in range(3)]}
    )
    for attempt in (lambda: label_pairs(three), lambda: measure(tiny, three, pairs=[("A", "B")])):
        with pytest.raises(UsageError, match="'rps' row has 3: rock, paper, scissors"):
            attempt()


def test_prompts_are_named_in_the_order_of_table_14():
    assert prompt_names(make_game("icg"))[:3] == ["start", "swerve/swerve", "swerve/go straight"]


def test_published_rows_are_those_of_the_same_game_and_payoff_format():
    ipd = make_game("ipd")
    assert published_policy(ipd, ("H", "K")) == TABLE_14["ipd"]["H", "K"]
    assert published_policy(ipd, ("K", "H")) is None
    assert published_policy(ipd, ("H", "K"), PayoffFormat.TABLE) is None
    assert published_policy(ipd.with_payoffs([3, 0, 5, 1]), ("H", "K")) is None
    assert published_policy(make_game("ish"), ("H", "K")) is None


# --- The embedded model ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("name", TABLE_14)
def test_table_14(tiny, name, seat):
    rows = TABLE_14[name]
    measured = measure(tiny, GAMES[name], seat=seat, pairs=list(rows))
    assert measured.skipped == ()
    assert [policy.labels for policy in measured.policies] == list(rows)
    for policy in measured.policies:
        assert policy.first == pytest.approx(rows[policy.labels], abs=0.05)
        assert max(policy.illegal) < 0.01


def test_the_order_of_the_labels_matters(tiny):
    there, back = measure(tiny, make_game("ipd"), pairs=[("H", "K"), ("K", "H")]).policies
    assert there.first != pytest.approx(back.second, abs=0.05)


def test_batches_do_not_show(tiny, monkeypatch):
    game, told = make_game("imp"), []
    pairs = [("A", "B"), ("S", "Y"), ("Y", "S"), ("N", "M"), ("Q", "Z")]
    whole = measure(tiny, game, pairs=pairs)
    monkeypatch.setattr("coplay.experiments.labels._PAIRS_A_CALL", 2)
    parts = measure(tiny, game, pairs=pairs, on_progress=lambda done, of: told.append((done, of)))
    for a, b in zip(whole.policies, parts.policies, strict=True):
        assert a.labels == b.labels
        assert a.first == pytest.approx(b.first, abs=1e-5)
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_labels_of_several_tokens_and_equal_ones_are_skipped(tiny):
    pairs = [("Cooperate", "D"), ("H", "K"), ("A", "A")]
    measured = measure(tiny, make_game("ipd"), pairs=pairs)
    assert measured.skipped == (("Cooperate", "D"), ("A", "A"))
    assert [policy.labels for policy in measured.policies] == [("H", "K")]
    assert measure(tiny, make_game("ipd"), pairs=pairs[:1]).policies == ()


def test_the_payoff_format_reaches_the_model(tiny):
    (policy,) = measure(tiny, make_game("ipd"), pairs=[("C", "D")], payoff_format=PayoffFormat.REVERSED).policies
    assert min(policy.first) > 0.9
