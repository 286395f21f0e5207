"""A seed with a number that is not finite is ended and recorded; the others' numbers are those of a run without it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from diverging import BAD_TRIAL, parameter, spoil
from small_runs import small
from small_text_runs import small_text, tables_config
from torch import Tensor

from coplay.evaluation.summary import diverged_seeds
from coplay.games import make_game
from coplay.learners.base import DIVERGED
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build
from coplay.runs.state import TrainingState

TRIALS = 3
"""Of the runs of this file."""

Injection = Callable[[Any, int, float], None]
"""Spoils what a learner has at a slot, with NaN or infinity."""


def value_head(learner: Any, slot: int, bad: float) -> None:
    spoil(learner.heads.weights, learner._position_of_slot[slot], bad)


def first_moment(learner: Any, slot: int, bad: float) -> None:
    adam = learner.policy_adam if hasattr(learner, "policy_adam") else learner.adam
    spoil(adam.first_PD, slot, bad)


def second_moment(learner: Any, slot: int, bad: float) -> None:
    adam = learner.policy_adam if hasattr(learner, "policy_adam") else learner.adam
    spoil(adam.second_PD, slot, bad)


def gradient(learner: Any, slot: int, bad: float) -> None:
    def spoilt(grad: Tensor) -> Tensor:
        grad = grad.clone()
        spoil(grad, slot, bad)
        return grad

    learner.policy.parameters()[0].register_hook(spoilt)


def loss(learner: Any, slot: int, bad: float) -> None:
    whole = learner._losses

    def spoilt(batch: Any, rows: Tensor) -> Any:
        found = whole(batch, rows)
        own_R = batch.seeds_R[rows] == learner._position_of_slot[slot]
        found.figures_RK[own_R, 0] = bad
        return found._replace(loss_R=found.loss_R + torch.where(own_R, bad, 0.0))

    learner._losses = spoilt


def logits(learner: Any, slot: int, bad: float) -> None:
    whole = learner.policy.score

    def spoilt(slots: Sequence[int], keys: Any, *, grad: bool = False) -> Any:
        scores = whole(slots, keys, grad=grad)
        own_R1 = torch.tensor([one == slot for one in slots])[:, None]
        return replace(scores, logits_RV=torch.where(own_R1, torch.full_like(scores.logits_RV, bad), scores.logits_RV))

    learner.policy.score = spoilt


def one_logit(learner: Any, slot: int, bad: float) -> None:
    whole = learner.policy.score

    def spoilt(slots: Sequence[int], keys: Any, *, grad: bool = False) -> Any:
        scores = whole(slots, keys, grad=grad)
        own_R = torch.tensor([one == slot for one in slots])
        last_RV = torch.arange(scores.logits_RV.shape[1])[None] == scores.logits_RV.shape[1] - 1
        return replace(scores, logits_RV=scores.logits_RV.masked_fill(own_R[:, None] & last_RV, bad))

    learner.policy.score = spoilt


def reward(learner: Any, slot: int, bad: float) -> None:
    whole = learner.collect
    (seed,) = [seed for seed, own in learner.slots.items() if own == slot]

    def paid(episode: Any) -> Any:
        rounds = [replace(one, payoffs=dict.fromkeys(one.payoffs, bad)) for one in episode.rounds]
        return replace(episode, rounds=rounds) if episode.seed == seed else episode

    learner.collect = lambda episodes: whole([paid(one) for one in episodes])


def reference(learner: Any, slot: int, bad: float) -> None:
    whole, bads = learner.policy.reference_logprobs, [bad]

    def spoilt(turns: Sequence[Any]) -> list[float]:
        found = whole(turns)
        return [bads.pop(), *found[1:]] if bads else list(found)  # the first turn is the first seed's

    learner.policy.reference_logprobs = spoilt


def q_value(learner: Any, slot: int, bad: float) -> None:
    learner.table.values[slot] = bad


SPOILT_PPO = [
    parameter, value_head, first_moment, second_moment, gradient, loss, logits, one_logit, reward, reference,
]  # fmt: skip


def run(
    config: Config, inject: Injection | None, bad: float = math.nan, learner: str = "row"
) -> tuple[list[dict[int, Any]], TrainingState]:
    """The metrics of each trial, and the state afterwards; seed 0 is spoilt when the bad trial begins."""
    state = build(config)
    lines = []
    for trial in range(TRIALS):
        if trial == BAD_TRIAL and inject is not None:
            inject(state.learners[learner], state.learners[learner].slots[0], bad)
        lines.append(state.run_trial(trial).lines)
    return lines, state


@cache
def without(kind: str, *overrides: str) -> tuple[list[dict[int, Any]], TrainingState]:
    """The same run with seed 1 alone."""
    return run(small(kind, *overrides, "seeds=[1]"), None)


def check_event(lines: Sequence[dict[int, Any]], state: TrainingState) -> None:
    """Seed 0 has a reason in the bad trial, nothing later, and nothing that is not finite."""
    assert DIVERGED not in lines[0][0]
    assert list(lines[BAD_TRIAL][0]) == [DIVERGED]
    assert [set(line) for line in lines] == [{0, 1}, {0, 1}, {1}]
    assert state.alive == [1]
    assert state.divergences.by_seed[0] == {"step": BAD_TRIAL + 1, "reason": lines[BAD_TRIAL][0][DIVERGED]}
    assert list(state.state_dict(0)) == [DIVERGED]
    json.dumps(lines, allow_nan=False)
    for one in state.learners.values():
        for seed in (0, 1):
            assert all(bool(tensor.isfinite().all()) for tensor in one.state_dict(seed).values())


def same(mine: TrainingState, theirs: TrainingState) -> None:
    ours, others = mine.state_dict(1), theirs.state_dict(1)
    assert ours.keys() == others.keys()
    assert all(torch.equal(value, others[key]) for key, value in ours.items())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("inject", SPOILT_PPO)
def test_a_tables_seed_diverges_alone(inject: Injection, bad: float) -> None:
    changes = ("row.ppo.score_scaling=false", f"trials={TRIALS}")
    lines, state = run(small("tabular", *changes, "seeds=[0,1]"), inject, bad)
    check_event(lines, state)
    alone, beside = without("tabular", *changes)
    assert [line[1] for line in lines] == [line[1] for line in alone]
    same(state, beside)


@pytest.mark.parametrize("algorithm", ["q_learning", "reinforce", "exact", "lola"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_seed_of_every_table_learner_diverges_alone(algorithm: str, bad: float) -> None:
    changes = ("column.policy=tabular", "column.initial=null", f"column.algorithm={algorithm}")
    inject = q_value if algorithm == "q_learning" else parameter
    lines, state = run(small("tabular", *changes, "seeds=[0,1]"), inject, bad, "column")
    check_event(lines, state)
    alone, beside = without("tabular", *changes)
    assert [line[1] for line in lines] == [line[1] for line in alone]
    same(state, beside)


@pytest.mark.parametrize("inject", [parameter, first_moment, gradient])
@pytest.mark.parametrize("game", ["ipd", "public-goods"])
def test_a_seed_of_a_group_learner_of_tables_diverges_alone(game: str, inject: Injection) -> None:
    learners = {"learner": {"algorithm": "group", "memory": "none", "group": {"kl_coef": 0.1}}}
    seats = {seat: ["learner"] for seat in make_game(game).seats}
    lines, state = run(tables_config(game, learners, seats, seeds=[0, 1]), inject, learner="learner")
    check_event(lines, state)
    alone, beside = run(tables_config(game, learners, seats, seeds=[1]), None)
    assert [line[1] for line in lines] == [line[1] for line in alone]
    same(state, beside)


@pytest.mark.parametrize("inject", [parameter, value_head, second_moment, gradient, logits, one_logit, reference])
def test_a_language_models_seed_diverges_alone(inject: Injection) -> None:
    changes = ("games=1", "episodes=1", f"trials={TRIALS}")
    lines, state = run(small("language_model", *changes, "seeds=[0,1]"), inject)
    check_event(lines, state)
    alone, beside = without("language_model", *changes)
    near(lines, alone)
    close(state, beside)


def near(lines: Sequence[dict[int, Any]], alone: Sequence[dict[int, Any]]) -> None:
    """Seed 1's metrics are the same but for rounding."""
    for mine, theirs in zip(lines, alone, strict=True):
        numbers, others = ({k: math.inf if v is None else v for k, v in one[1].items()} for one in (mine, theirs))
        assert numbers == pytest.approx(others, rel=1e-4, abs=1e-5)


def close(mine: TrainingState, theirs: TrainingState) -> None:
    """What seed 1 has learnt is the same but for rounding: other rows of a batch round otherwise."""
    ours, others = mine.state_dict(1), theirs.state_dict(1)
    assert ours.keys() == others.keys()
    for key, value in ours.items():
        torch.testing.assert_close(value, others[key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("inject", [parameter, gradient])
def test_a_seed_of_generated_text_diverges_alone(inject: Injection) -> None:
    changes = ("past_selves.snapshot_interval=1", "past_selves.pool_size=2", "games=2", "group_size=2", "rounds=2")
    lines, state = run(small_text("ipd-ab", *changes, "seeds=[0,1]"), inject, learner="learner")
    check_event(lines, state)
    alone, beside = run(small_text("ipd-ab", *changes, "seeds=[1]"), None)
    near(lines, alone)
    close(state, beside)


def test_a_seed_that_diverges_in_the_evaluation_counts_as_diverged() -> None:
    state = build(small("tabular", "seeds=[0,1]"))
    logits(state.learners["row"], 0, math.nan)
    evaluation = state.evaluate(rounds=4, episodes=2)
    assert diverged_seeds(evaluation)[0]["reason"] == "row: a reply's log-probability is not finite, in the evaluation"
    assert list(evaluation["seeds"]) == ["1"]
    assert state.alive == [1]


# ---------------------------------------------------------------------- a batch of seeds, and one seed alone

ADAPTERS_DIFFER_BY = 1e-6
"""At most, after three trials of language models: rows of a larger batch are rounded otherwise. Tables do not differ at all."""


@pytest.mark.parametrize("kind", ["tabular", "language_model"])
def test_what_a_seed_learns_in_a_batch_is_what_it_learns_alone(kind: str) -> None:
    sizes = ["rounds=4", "episodes=2", "games=2", "threads=1", f"trials={TRIALS}"]
    config = with_overrides(make_config("shapellm/ipd", learner=kind), sizes)  # type: ignore[arg-type]
    _, together = run(with_overrides(config, ["seeds=[0,1,2]"]), None)
    _, alone = run(with_overrides(config, ["seeds=[1]"]), None)
    ours, others = together.state_dict(1), alone.state_dict(1)
    learnt = [key for key in ours if "/policy." in key]
    differ = max(float((ours[key] - others[key]).abs().max()) for key in learnt)
    assert differ <= (0.0 if kind == "tabular" else ADAPTERS_DIFFER_BY)
