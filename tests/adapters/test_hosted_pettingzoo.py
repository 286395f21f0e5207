"""Environments of PettingZoo as games: an episode through the loop equals the environment stepped by hand; what cannot be played is refused."""

import sys
from typing import Any

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

import numpy as np
import pettingzoo

from coplay import check_game, make_game, match
from coplay.adapters.hosted import Known
from coplay.adapters.pettingzoo.facts import facts_of
from coplay.adapters.pettingzoo.game import ZooGame
from coplay.adapters.pettingzoo.words import documentation, observation_text
from coplay.errors import CoplayError, UsageError
from coplay.games.records import Act, Action, Episode, Request, Round

HERE = "zoo_environments"
OWN = [f"{HERE}:{name}" for name in ("Race", "Nim", "Nim(sticks=9)", "ipd", "auction", "kuhn", "mediated")]
CLASSIC = ["rps_v2", "rps_v2(num_actions=5,max_cycles=3)", "classic/tictactoe-v3", "connect_four_v3"]
FROM_RLCARD = ["leduc_holdem_v4", "texas_holdem_v4"]


def environments() -> list[Any]:
    return [
        *OWN,
        *(pytest.param(name, marks=pytest.mark.skipif(not has("pygame"), reason="needs pygame")) for name in CLASSIC),
        *(
            pytest.param(name, marks=pytest.mark.skipif(not has("rlcard"), reason="needs rlcard"))
            for name in FROM_RLCARD
        ),
    ]


def has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.syspath_prepend(request.path.parent)


def game_of(name: str) -> ZooGame:
    found = make_game(f"pettingzoo:{name}")
    assert isinstance(found, ZooGame)
    return found


def moves_of(episode: Episode) -> list[dict[str, str]]:
    """What was done, phase by phase, by the words for it."""
    found: dict[tuple[str, int], dict[str, str]] = {}
    (one,) = episode.rounds
    for act in one.acts:
        found.setdefault((act.phase, act.turn), {})[act.seat] = str(act.action)
    return list(found.values())


def numbers_of(env: Any, agent: str, observation: Any, info: Any) -> dict[str, int]:
    """The legal actions of an agent, stated here once more."""
    space = env.action_space(agent)
    mask = observation.get("action_mask") if isinstance(observation, dict) else info.get("action_mask")
    names = info.get("actions") or getattr(env.unwrapped, "get_action_meanings", lambda: None)()
    return {
        str(names[i]) if names and i < len(names) else str(space.start + i): int(space.start + i)
        for i in range(space.n)
        if mask is None or mask[i]
    }


def by_hand(env: Any, seed: int, moves: list[dict[str, str]]) -> tuple[dict[str, float], list[dict[str, set[str]]]]:
    """What the environment pays for these moves, and what was legal at each, as PettingZoo's documentation says to step it."""
    paid, legal, left = dict.fromkeys(map(str, env.possible_agents), 0.0), [], list(moves)
    if isinstance(env, pettingzoo.ParallelEnv):
        observations, infos = env.reset(seed=seed)
        while env.agents:
            known = {agent: numbers_of(env, agent, observations[agent], infos.get(agent, {})) for agent in env.agents}
            legal.append({agent: set(words) for agent, words in known.items()})
            chosen = left.pop(0)
            observations, rewards, *_, infos = env.step({agent: known[agent][chosen[agent]] for agent in env.agents})
            for agent, reward in rewards.items():
                paid[agent] += reward
    else:
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            paid[agent] += reward
            if terminated or truncated:
                env.step(None)
                continue
            known = {agent: numbers_of(env, agent, observation, info)}
            legal.append({agent: set(known[agent])})
            env.step(known[agent][left.pop(0)[agent]])
    assert not left
    return paid, legal


@pytest.mark.parametrize("name", environments())
def test_an_episode_is_the_environments_move_for_move(name: str) -> None:
    game = game_of(name)
    asked: list[dict[str, set[str]]] = []

    def mixed(request: Request) -> Action:
        legal = request.now.deal.known[-1].legal
        return str(legal[int(request.draw * len(legal))])

    for episode in match(game, *[mixed] * len(game.seats), episodes=5, seed=3).episodes:
        moves = moves_of(episode)
        paid, asked = by_hand(facts_of(game.environment).start(0).env, episode.rounds[0].deal.number, moves)  # type: ignore[attr-defined]
        assert {seat: episode.total(seat) for seat in game.seats} == paid
        for number, (chosen, legal) in enumerate(zip(moves, asked, strict=True)):
            assert {seat: word in legal[seat] for seat, word in chosen.items()} == dict.fromkeys(legal, True), number


@pytest.mark.parametrize("name", environments())
def test_the_conformance_kit_finds_nothing_in_it(name: str) -> None:
    assert [problem for problem in check_game(game_of(name)) if not problem.startswith("warning")] == []


@pytest.mark.parametrize(("name", "own"), [("ipd", "ipd"), ("kuhn", "kuhn"), ("auction", "auction")])
def test_our_own_games_come_back_as_they_went(name: str, own: str) -> None:
    """A game of ours, taken to PettingZoo and hosted: the same deals and moves are paid the same as without the way round."""
    game, native = game_of(f"{HERE}:{name}"), make_game(own)
    for episode in match(game, *["uniform"] * 2, episodes=5, seed=1).episodes:
        moves = [word for phase in moves_of(episode) for word in phase.items()]

        def again(request: Request, moves: list[tuple[str, str]] = moves) -> Action:
            at = next(i for i, (seat, _) in enumerate(moves) if seat == request.seat)
            word = moves.pop(at)[1]
            return next(one for one in native.choices(request) or () if native.show(one) == word)

        rounds = {"ipd": 4, "kuhn": 2, "auction": 3}[name]
        played = match(own, again, again, rounds=rounds, episodes=1, seed=episode.rounds[0].deal.number).episodes[0]
        assert not moves
        assert [played.total(seat) for seat in played.seated] == [episode.total(seat) for seat in game.seats]


def test_a_seat_reads_its_own_observations_alone() -> None:
    game = game_of(f"{HERE}:Nim")
    (episode,) = match(game, "uniform", "uniform", episodes=1, seed=2).episodes
    one = episode.rounds[0]
    first, second = (game.observe(one, seat) for seat in game.seats)
    env = facts_of(game.environment).start(one.deal.number).env  # type: ignore[attr-defined]
    assert first.deal.known[0] == Known(f"5 {int(env.lucky['first'])}", ("one", "two"))
    lucky = {int(env.lucky["second"])}
    assert {int(known.text.split()[1]) for known in second.deal.known} == lucky
    assert all(act.seat == "first" for act in first.acts) and set(first.payoffs or ()) == {"first"}


def test_the_same_seed_is_the_same_game_whatever_is_played_beside_it() -> None:
    """Episodes are led forward in turns, and begun anew where a state is asked for that was left."""
    game, fresh = game_of(f"{HERE}:Race"), game_of(f"{HERE}:Race")
    one = match(game, *["uniform"] * 3, episodes=40, seed=5).episodes
    other = [match(fresh, *["uniform"] * 3, episodes=7, seed=5).episodes[i] for i in (6, 2)]
    assert [one[6].rounds, one[2].rounds] == [episode.rounds for episode in other]
    deal, acts = one[0].rounds[0].deal, one[0].rounds[0].acts
    early = fresh.point(deal, acts[:3]).state
    left, right = (fresh.moved(early, {0: "1", 1: "1", 2: "1"}, deal) for _ in range(2))
    assert left is not right and left.moment == right.moment
    assert fresh.moved(early, {0: "3", 1: "1", 2: "1"}, deal).moment != left.moment


def test_an_illegal_reply_costs_more_than_any_game_seen() -> None:
    game = game_of(f"{HERE}:Nim")
    assert game.null_payoff == -2.0
    deal = game.deal((0.25,), ())
    one = Round(0, deal, (Act("move of first", 0, "first", "two"), Act("move of second", 0, "second", None)))
    assert game.next_phase(one) is None and game.payoffs(one) == {"first": None, "second": -2.0}
    assert make_game({"name": f"pettingzoo:{HERE}:Nim", "null_payoff": -9.0}).null_payoff == -9.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "rps_v7",
            "PettingZoo has no environment 'rps_v7', and there is no module of that name. Did you mean 'rps_v2'?",
        ),
        (f"{HERE}:Race(broken=)", "parameters are written as"),
        (f"{HERE}:Race(sticks=3)", "unexpected keyword argument 'sticks'"),
        (f"{HERE}:Nope", "has no 'Nope'"),
        (f"{HERE}:three", "is of type int; an environment of PettingZoo is an AECEnv or a ParallelEnv"),
        (f"{HERE}:np", "is of type module"),
        (f"{HERE}:Race(broken='continuous')", "only Discrete ones have words"),
        (f"{HERE}:in_text", "only Discrete ones have words"),
        (f"{HERE}:Race(broken='raises')", "failed in step: RuntimeError: the track is wet"),
        (f"{HERE}:Race(broken='chance')", "is not the same when it is played again"),
        (f"{HERE}:Race(broken='picture')", "an observation has 1,600 numbers, as a picture has"),
        (f"{HERE}:Race(broken='endless')", "has more than 1,000 moves"),
        (f"{HERE}:Race(broken='pays too much')", "it pays 4"),
        (f"{HERE}:Nim(broken='mask')", "an agent is asked whose action mask allows nothing"),
    ],
)
def test_what_cannot_be_hosted_is_refused_before_anything_is_played(name: str, says: str) -> None:
    with pytest.raises(UsageError) as told:
        make_game(f"pettingzoo:{name}")
    assert says in str(told.value) and "\n" not in str(told.value)


def test_without_pettingzoo_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("coplay.adapters.pettingzoo")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[pettingzoo\]'"):
        make_game("pettingzoo:rps_v2")


def test_what_an_environment_says_of_itself_reaches_those_who_play() -> None:
    words = game_of(f"{HERE}:Nim").rules("first")
    assert "You are first. You play nim with second." in words and "who takes the last loses" in words
    assert "lucky number" in words and "Version" not in words
    assert documentation(facts_of(f"{HERE}:ipd").start(0).env) == make_game("ipd").description  # type: ignore[attr-defined]


def test_observations_are_written_out() -> None:
    assert observation_text(np.int64(3)) == "3" and observation_text("a b") == "a b" and observation_text(None) == ""
    assert observation_text(np.array([True, False])) == "1 0"
    assert observation_text(np.array([[0.1, 2], [np.inf, -1]], np.float32)) == "0.1 2\ninf -1"
    assert observation_text(np.arange(8).reshape(2, 2, 2)) == "[:, :, 0]\n0 2\n4 6\n[:, :, 1]\n1 3\n5 7"
    assert observation_text({"action_mask": [1], "board": np.eye(2), "to move": 1}) == "board:\n1 0\n0 1\nto move: 1"
    with pytest.raises(CoplayError, match="of type object"):
        observation_text(object())
