"""Each learner owns its state, seed by seed: what is saved is all of it, and one seed's is not another's."""

import pytest
import torch
from combinations import EVERY, Combination, same_state, state_of
from small_policies import request_of

torch.set_num_threads(1)

SEEDS = [5, 2]


@pytest.fixture(params=EVERY)
def combination(request: pytest.FixtureRequest) -> Combination:
    """Every learner on every policy in turn."""
    return EVERY[request.param]


def test_a_state_round_trips_into_a_fresh_learner_which_continues_exactly(combination: Combination) -> None:
    first, fresh = combination.make(SEEDS), combination.make(SEEDS)
    began = {seed: state_of(first, seed) for seed in SEEDS}
    combination.learn(first, SEEDS, 0, 1)
    for seed in SEEDS:
        state = state_of(first, seed)
        assert not same_state(state, began[seed])  # something was learnt
        fresh.load_state_dict(seed, state)
        assert same_state(state_of(fresh, seed), state)
    for learner in (first, fresh):
        learner.clear_cache()
        combination.learn(learner, SEEDS, 2, 3)
    for seed in SEEDS:
        assert same_state(state_of(first, seed), state_of(fresh, seed))


def test_loading_one_seeds_state_leaves_the_others_alone(combination: Combination) -> None:
    learner, other = combination.make(SEEDS), combination.make(SEEDS)
    combination.learn(learner, SEEDS, 0)
    combination.learn(other, SEEDS, 8, 9)
    mine, theirs = state_of(learner, SEEDS[0]), state_of(other, SEEDS[1])
    assert not same_state(state_of(learner, SEEDS[1]), theirs)
    learner.load_state_dict(SEEDS[1], theirs)
    assert same_state(state_of(learner, SEEDS[0]), mine)
    assert same_state(state_of(learner, SEEDS[1]), theirs)


def test_a_seeds_state_fits_wherever_the_seed_stands(combination: Combination) -> None:
    """Workers share out seeds, and resume with them alone: the state of the second of two is that of an only one."""
    both, alone = combination.make(SEEDS), combination.make(SEEDS[1:])
    combination.learn(both, SEEDS, 0)
    state = state_of(both, SEEDS[1])
    alone.load_state_dict(SEEDS[1], state)
    assert same_state(state_of(alone, SEEDS[1]), state)


def test_a_state_is_a_copy(combination: Combination) -> None:
    learner = combination.make(SEEDS)
    combination.learn(learner, SEEDS, 0)
    saved = {seed: learner.state_dict(seed) for seed in SEEDS}
    before = {seed: {key: value.clone() for key, value in state.items()} for seed, state in saved.items()}
    combination.learn(learner, SEEDS, 1)
    for seed in SEEDS:
        assert same_state(saved[seed], before[seed])
        assert not same_state(saved[seed], state_of(learner, seed))


def test_states_hold_a_seeds_part_and_no_more(combination: Combination) -> None:
    """As many numbers with two seeds as with one."""
    many, one = combination.make(SEEDS), combination.make(SEEDS[:1])
    expected = {key: value.shape for key, value in one.state_dict(SEEDS[0]).items()}
    for seed in SEEDS:
        assert {key: value.shape for key, value in many.state_dict(seed).items()} == expected


@pytest.mark.parametrize("name", [name for name in EVERY if "text" not in name])
def test_a_loaded_state_is_what_is_played_at_once(name: str) -> None:
    """Distributions computed before the load are not played after it."""
    combination = EVERY[name]
    learner, other = combination.make(SEEDS), combination.make(SEEDS)
    combination.learn(other, SEEDS, 0, 1)
    asked = [request_of("row", slot=slot) for slot in (0, 1)]
    before, theirs = learner.player.act(asked), other.player.act(asked)
    learner.load_state_dict(SEEDS[0], state_of(other, SEEDS[0]))
    after = learner.player.act(asked)
    assert after[0].probs == theirs[0].probs != before[0].probs
    assert after[1].probs == before[1].probs
