"""A game played through an environment equals the native one move for move: deals, requests, replies, payoffs."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

from conformance_games import AT_ONCE, IN_TEXT, IN_TURN, careless, lawful, stammering
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.adapters.gymnasium import SeatEnv
from coplay.adapters.pettingzoo import CoplayAECEnv, CoplayParallelEnv
from coplay.adapters.policies import policy_player
from coplay.api import match
from coplay.games import make_game
from coplay.games.records import Episode, Reply

Policy = Callable[[Any, dict[str, Any]], Any]

ROUNDS, EPISODES = 3, 2


def played_in_turn(env: CoplayAECEnv, policies: dict[str, Policy], seed: int) -> list[Episode]:
    """Games with these policies; rewards must add up to the payoffs."""
    found = []
    for number in range(EPISODES):
        env.reset(seed=seed if number == 0 else None)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            observation, reward, over, _, info = env.last()
            paid[agent] += reward
            env.step(None if over else policies[agent](observation, info))
        found.append(env.play.episode)
        assert paid == pytest.approx({seat: found[-1].total(seat) for seat in paid})
    return found


def played_at_once(env: CoplayParallelEnv, policies: dict[str, Policy], seed: int) -> list[Episode]:
    """The same with all agents at once."""
    found = []
    for number in range(EPISODES):
        observations, infos = env.reset(seed=seed if number == 0 else None)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        while env.agents:
            actions = {agent: policies[agent](observations[agent], infos[agent]) for agent in env.agents}
            observations, rewards, _, _, infos = env.step(actions)
            paid = {seat: paid[seat] + rewards[seat] for seat in paid}
        found.append(env.play.episode)
        assert paid == pytest.approx({seat: found[-1].total(seat) for seat in paid})
    return found


def same(ours: list[Episode], theirs: list[Episode], *, observations: bool = True) -> None:
    """Equal but for who sat where, and for what replies tell besides text and action."""
    for one, other in zip(ours, theirs, strict=True):
        assert (one.seed, one.group, one.game) == (other.seed, other.group, other.game)
        assert one.rounds == other.rounds and one.outcomes == other.outcomes
        for seat, turns in one.turns.items():
            for turn, twin in zip(turns, other.turns[seat], strict=True):
                assert turn.reply == Reply(twin.reply.text, twin.reply.action)
                assert turn[:4] == twin[:4]
                assert not observations or turn.observation == twin.observation


@pytest.mark.parametrize("policy", [careless, lawful])
@pytest.mark.parametrize("game", [*AT_ONCE, *IN_TURN])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), window=st.integers(1, 3))
def test_policies_play_the_same_game_in_both(game: str, policy: Policy, seed: int, window: int) -> None:
    player = policy_player(policy, game, window=window, rounds=ROUNDS)
    seats = make_game(game).seats
    native = match(game, *[player] * len(seats), rounds=ROUNDS, episodes=EPISODES, seed=seed).episodes
    policies = dict.fromkeys(seats, policy)
    same(played_in_turn(CoplayAECEnv(game, window=window, rounds=ROUNDS), policies, seed), native)
    if game in AT_ONCE:
        same(played_at_once(CoplayParallelEnv(game, window=window, rounds=ROUNDS), policies, seed), native)


@pytest.mark.parametrize("game", ["ipd", "kuhn", *IN_TEXT])
@pytest.mark.parametrize("memory", ["last_round", "chat"])
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_policies_in_text_play_the_same_game_in_both(game: str, memory: str, seed: int) -> None:
    player = policy_player(stammering, game, mode="text", memory=memory, rounds=ROUNDS)
    seats = make_game(game).seats
    native = match(game, *[player] * len(seats), rounds=ROUNDS, episodes=EPISODES, seed=seed).episodes
    env = CoplayAECEnv(game, mode="text", memory=memory, rounds=ROUNDS)
    same(played_in_turn(env, dict.fromkeys(seats, stammering), seed), native)


SCRIPTED = {
    "ipd": ["tit_for_tat", "random:0.6"],
    "icg": ["win_stay_lose_shift", "uniform"],
    "public-goods": ["uniform", "always:keep", "uniform"],
    "kuhn": ["nash:0.2", "uniform"],
    "auction": ["uniform", "uniform"],
    "negotiation-v2": ["uniform", "uniform"],
}
"""Players by name that move as the environments' agents do here."""


@pytest.mark.parametrize("game", SCRIPTED)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_moves_of_scripted_players_lead_to_the_same_game(game: str, seed: int) -> None:
    native = match(game, *SCRIPTED[game], rounds=ROUNDS, episodes=EPISODES, seed=seed).episodes
    moves = {
        seat: iter([turn.reply.text for episode in native for turn in episode.turns[seat]])
        for seat in make_game(game).seats
    }
    env = CoplayAECEnv(game, mode="text", rounds=ROUNDS)
    policies: dict[str, Policy] = {seat: lambda o, i, own=own: next(own) for seat, own in moves.items()}
    same(played_in_turn(env, policies, seed), native, observations=False)


@pytest.mark.parametrize("game", SCRIPTED)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), last=st.booleans())
def test_a_seat_among_scripted_players_is_the_same_game(game: str, seed: int, last: bool) -> None:
    seats, names = make_game(game).seats, list(SCRIPTED[game])
    own = len(seats) - 1 if last else 0
    player = policy_player(lawful, game, rounds=ROUNDS)
    players: list[Any] = [*names[:own], player, *names[own + 1 :]]
    native = match(game, *players, rounds=ROUNDS, episodes=EPISODES, seed=seed).episodes
    env = SeatEnv(game, [*names[:own], *names[own + 1 :]], seat=seats[own], rounds=ROUNDS)
    found = []
    for number in range(EPISODES):
        observation, info = env.reset(seed=seed if number == 0 else None)
        over, paid = False, 0.0
        while not over:
            action = lawful({"observation": observation, "action_mask": info["action_mask"]}, info)
            observation, reward, over, _, info = env.step(action)
            paid += reward
        found.append(env.play.episode)
        assert paid == pytest.approx(native[number].total(seats[own]))
    for one, other in zip(found, native, strict=True):
        assert one.rounds == other.rounds and one.turns == other.turns
