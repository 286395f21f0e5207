"""PettingZoo's own conformance tests on environments made of games, and what those tests do not look at."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

from conformance_games import AT_ONCE, IN_TEXT, IN_TURN
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test

from coplay.adapters.pettingzoo import CoplayAECEnv, CoplayParallelEnv
from coplay.adapters.policies import policy_player
from coplay.errors import CoplayError, UsageError
from coplay.games import make_game

NAMES = (
    "We recommend agents to be named|Agents have different observation space sizes|Observations are different shapes"
)
"""Agents are called as the seats are; where seats know different things, they have different features."""

SPACES = (
    "Observation space for each agent probably|Action space for each agent probably|Observation is not a NumPy array"
)
"""PettingZoo's own games with masks, known to the tests by name, are excused from these."""

ZEROS = "Observation numpy array is all zeros|action masks? .*all zeros|Action mask numpy array is all zeros"
"""Of an agent whose episode is over."""


@pytest.fixture(autouse=True)
def _no_other_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for known in (NAMES, SPACES, ZEROS):
            for one in known.split("|"):
                warnings.filterwarnings("ignore", message=f".*{one}", category=UserWarning)
        yield


@pytest.mark.parametrize("game", [*AT_ONCE, *IN_TURN])
def test_api_of_agents_in_turn(game: str) -> None:
    api_test(CoplayAECEnv(game, rounds=3, render_mode="ansi"), num_cycles=30)
    seed_test(lambda: CoplayAECEnv(game, rounds=3), num_cycles=30)


@pytest.mark.parametrize("game", AT_ONCE)
def test_api_of_agents_at_once(game: str) -> None:
    parallel_api_test(CoplayParallelEnv(game, rounds=3), num_cycles=30)
    parallel_seed_test(lambda: CoplayParallelEnv(game, rounds=3), num_cycles=30)


@pytest.mark.parametrize("game", ["ipd", "trust-and-split"])
def test_api_in_text(game: str) -> None:
    seed_test(lambda: CoplayAECEnv(game, rounds=2, mode="text"), num_cycles=4)
    if game == "ipd":
        parallel_api_test(CoplayParallelEnv(game, rounds=2, mode="text"), num_cycles=4)
        parallel_seed_test(lambda: CoplayParallelEnv(game, rounds=2, mode="text"), num_cycles=4)


def test_why_the_test_for_agents_in_turn_is_not_for_text() -> None:
    with pytest.raises(AttributeError, match="'str' object has no attribute 'dtype'"):
        api_test(CoplayAECEnv("ipd", rounds=2, mode="text", render_mode="ansi"), num_cycles=4)


def test_rendering() -> None:
    env = CoplayParallelEnv("ipd", rounds=2, render_mode="ansi")
    env.reset(seed=0)
    env.step({"row": 0, "column": 1})
    assert env.render() == "round 1: row action: cooperate; column action: defect | row 0, column 4"
    assert CoplayParallelEnv("ipd").render() is None
    render_test(lambda render_mode=None: CoplayAECEnv("ipd", rounds=2, render_mode=render_mode))


# ---------------------------------------------------------------------- what is hidden


@pytest.mark.parametrize("mode", ["discrete", "text"])
def test_an_action_is_hidden_until_the_phase_is_over(mode: str) -> None:
    seen = []
    for action in (0, 1):
        env = CoplayAECEnv("ipd", rounds=2, mode=mode)
        env.reset(seed=1)
        env.step(action if mode == "discrete" else "CD"[action])
        assert env.agent_selection == "column"
        told = {key: value for key, value in env.last()[4].items() if key != "action_mask"}
        seen.append((str(env.observe("column")), env.rewards, env.terminations, told))
        env.step(0 if mode == "discrete" else "C")
        seen.append(str(env.observe("column")))
    assert seen[0] == seen[2]
    assert seen[1] != seen[3], "afterwards it is known"


def test_a_private_deal_is_shown_to_its_own_seat_alone() -> None:
    shown: dict[str, dict[object, set[str]]] = {"alice": {}, "bob": {}}
    env = CoplayAECEnv("auction")
    for seed in range(40):
        env.reset(seed=seed)
        deal = env.play.playing.now.deal
        for seat in shown:
            own = deal[seat]
            shown[seat].setdefault(own, set()).add(str(env.observe(seat)))
        assert env.play.waiting["alice"].now.deal == {"alice": deal["alice"]}
    assert all(len(texts) == 1 for of_seat in shown.values() for texts in of_seat.values())
    assert all(len(of_seat) == 2 for of_seat in shown.values())


# ---------------------------------------------------------------------- illegal replies


def test_an_illegal_index_costs_what_the_game_says() -> None:
    env = CoplayParallelEnv("negotiation-v2", rounds=2)
    observations, _ = env.reset(seed=3)
    assert 0 < observations["alice"]["action_mask"].sum() < env.action_space("alice").n
    _, rewards, _, _, infos = env.step({"alice": env.action_space("alice").n - 1, "bob": 0})
    one = env.play.episode.rounds[0]
    assert one.acts[0].action is None and one.payoffs == env.play.game.payoffs(one) == rewards
    assert not infos["alice"]["void"]


def test_a_round_that_is_void_pays_nothing_and_says_so() -> None:
    env = CoplayParallelEnv("ipd", rounds=2, mode="text")
    env.reset(seed=3)
    _, rewards, _, _, infos = env.step({"row": "I say cooperate!", "column": "C"})
    assert rewards == {"row": -1.0, "column": 0.0}
    assert [infos[seat]["void"] for seat in ("row", "column")] == [False, True]


@pytest.mark.parametrize("action", [2, -1, "cooperate", None, 0.5])
def test_what_is_no_action_at_all_is_refused(action: Any) -> None:
    env = CoplayAECEnv("ipd")
    env.reset(seed=0)
    with pytest.raises(CoplayError, match="an action of row is a whole number from 0 to 1"):
        env.step(action)
    env.step(np.int64(1))
    assert env.agent_selection == "column"


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(UsageError, match="mode='text'"):
        CoplayAECEnv(IN_TEXT[0])
    with pytest.raises(UsageError, match="use CoplayAECEnv"):
        CoplayParallelEnv("kuhn")
    with pytest.raises(UsageError, match="mode must be 'discrete' or 'text'"):
        CoplayAECEnv("ipd", mode="texts")
    with pytest.raises(UsageError, match="rounds must be at least 1"):
        CoplayAECEnv("ipd", rounds=0)
    env = CoplayParallelEnv("ipd")
    with pytest.raises(CoplayError, match=r"call reset\(\)"):
        env.play.act("row", 0)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="none of column"):
        env.step({"row": 0})


def test_features_have_names() -> None:
    env = CoplayAECEnv("ipd")
    assert env.feature_names("row")[1:3] == ("1 ago", "1 ago row cooperate")
    assert env.observation_space("row")["observation"].shape == (len(env.feature_names("row")),)


def test_a_policy_that_fails_or_chooses_nothing_is_named() -> None:
    from coplay.api import match

    with pytest.raises(
        CoplayError, match=r"player 'broken' \(row, round 1\) returned what is no action: an action of row"
    ):
        match(make_game("ipd"), policy_player(lambda o, i: 7, "ipd", name="broken"), "tit_for_tat", episodes=1)
    with pytest.raises(CoplayError, match=r"player 'broken' \(row, round 1\) failed: "):
        match(make_game("ipd"), policy_player(lambda o, i: o["x"], "ipd", name="broken"), "tit_for_tat", episodes=1)
