"""One seat as an environment of Gymnasium: its own checker, a learner of twenty lines, and what is refused."""

import re
import subprocess
import sys
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra gymnasium")

import gymnasium
from gymnasium.utils.env_checker import check_env

from coplay.adapters.gymnasium import ID, SeatEnv
from coplay.errors import CoplayError, UsageError

GAMES = {
    "ipd": "tit_for_tat",
    "icg": "uniform",
    "public-goods": ["uniform", "always:keep"],
    "kuhn": "nash:0.2",
    "auction": "uniform",
    "negotiation-v2": "uniform",
}


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("game", GAMES)
def test_gymnasiums_checker(game: str, seat: int) -> None:
    seats = SeatEnv(game, GAMES[game]).play.game.seats
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(SeatEnv(game, GAMES[game], seat=seats[seat], rounds=3), skip_render_check=True)
        if game == "ipd":
            check_env(SeatEnv(game, GAMES[game], mode="text", rounds=3), skip_render_check=True)


def learnt(env: Any, *, episodes: int, discount: float) -> dict[bytes, list[float]]:
    """A tabular Q-learner that explores at random; what it looks up is what was done in the last round."""
    rng = np.random.default_rng(0)
    values: dict[bytes, list[float]] = defaultdict(lambda: [0.0] * env.action_space.n)
    last_round = slice(1, -1)  # without the number of the round and the mean payoff

    def key(features: Any) -> bytes:
        return bytes(features[last_round].tobytes())

    for episode in range(episodes):
        observation, _ = env.reset(seed=0 if episode == 0 else None)
        over = False
        while not over:
            state, action = key(observation), int(rng.integers(env.action_space.n))
            observation, reward, over, _, _ = env.step(action)
            if not over:  # the value of going on for ever: an episode's end is not learnt from
                values[state][action] = reward + discount * max(values[key(observation)])
    return values


def test_a_q_learner_finds_the_value_of_cooperation() -> None:
    env = gymnasium.make(ID, game="ipd", players="tit_for_tat")
    values = learnt(env, episodes=60, discount=0.9)
    features, _ = env.reset(seed=1)
    features, *_ = env.step(0)  # both cooperated
    after_cooperation = values[features[1:-1].tobytes()]
    forever = 3 / (1 - 0.9)
    assert after_cooperation == pytest.approx([forever, 4 + 0.9 * (0 + 0.9 * forever)], abs=1e-3)
    assert all(int(np.argmax(of_state)) == 0 for of_state in values.values()), "cooperation is best after everything"


def test_it_is_found_by_its_id_in_a_new_process() -> None:
    code = f"import gymnasium; print(gymnasium.make('coplay.adapters.gymnasium:{ID}', game='kuhn', players='uniform').reset(seed=0)[1]['actions'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("['pass', 'bet']", "['fold', 'call']")


def test_masks_say_what_is_legal_now() -> None:
    env = SeatEnv("negotiation-v2", "uniform")
    _, info = env.reset(seed=0)
    assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
    assert env.action_masks().sum() == len(info["actions"]) < env.action_space.n


def test_a_mediator_sees_what_it_may() -> None:
    env = SeatEnv("ipd-3:talk=0+mediator", "uniform", seat="mediator", rounds=2)
    _, info = env.reset(seed=0)
    assert info["phase"] != "action" and len(info["actions"]) == env.action_space.n


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"game": "ipdd"}, "unknown game 'ipdd'"),
        ({"players": "tit_for_tatt"}, "unknown player 'tit_for_tatt'"),
        ({"seat": "rows"}, "unknown seat 'rows'"),
        ({"game": "public-goods", "players": ["uniform"]}, "needs a player for each other seat, player-2 and player-3"),
        ({"players": {"row": "uniform"}}, "needs a player for each other seat, column"),
        ({"game": "trust-and-split", "players": "uniform"}, "use mode='text'"),
        ({"window": 0}, "window must be at least 1"),
        ({"mode": "text", "memory": "all"}, "memory must be one of"),
    ],
)
def test_what_cannot_be_played_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        SeatEnv(**settings)


def test_no_step_before_reset_or_after_the_end() -> None:
    env = SeatEnv(rounds=1)
    with pytest.raises(CoplayError, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    assert env.step(0)[2]
    with pytest.raises(CoplayError, match=r"row is not asked now; asked are none: call reset\(\)"):
        env.step(0)


@pytest.mark.parametrize(("module", "package"), [("gymnasium", "gymnasium"), ("pettingzoo", "pettingzoo")])
def test_without_the_package_there_is_an_install_line(module: str, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import coplay.adapters.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'coplay[{package}]'" in done.stderr
