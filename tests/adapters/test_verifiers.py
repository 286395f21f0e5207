"""Rollouts of verifiers equal native episodes move for move; the model is a server on this machine that replies by a script."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from coplay.errors import UsageError


def test_without_the_package_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("coplay.adapters.verifiers")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "verifiers.v1", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[verifiers\]'"):
        import coplay.adapters.verifiers  # noqa: F401


vf: Any = pytest.importorskip("verifiers.v1", reason="needs the extra verifiers")

from misbehaving_server import Server  # noqa: E402

import coplay_verifiers  # noqa: E402
from coplay import match  # noqa: E402
from coplay.adapters.policies import policy_player  # noqa: E402
from coplay.adapters.verifiers import SeatEnv, SeatEnvConfig, environment, load_environment  # noqa: E402
from coplay.games import make_game  # noqa: E402
from coplay.games.records import Action, Episode, Request  # noqa: E402

GAMES: list[tuple[str, str, Any]] = [
    ("ipd", "row", "tit_for_tat"),
    ("ipd", "column", "uniform"),
    ("kuhn", "player-2", "always_bet"),
    ("trust-and-split", "bob", "test_verifiers:talkative"),
    ("ipd-3", "player-2", {"player-1": "tit_for_tat", "player-3": "always_defect"}),
    ("ipd-3:talk=0+mediator", "player-1", "uniform"),
]
SAID = [
    "C",
    "D",
    "<bet>",
    "<pass>",
    "<<message_start>>I want 4.<<message_end>>",
    "<<proposal_start>>3<<proposal_end>>",
    "[1 defect] [3 cooperate]",
    "?",
    "",
]


def says(messages: list[dict[str, str]]) -> str:
    """A reply that depends on all that was said, and that not every game can parse."""
    assert [one["role"] for one in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    return SAID[sum(map(ord, "".join(one["content"] for one in messages))) % len(SAID)]


def talkative(request: Request) -> Action:
    """A player of one's own, for a game with messages."""
    return "Mine beats yours." if request.phase.name == "message" else {"coins": int(request.draw * 10)}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    found.replying = lambda request: says(request["messages"])
    yield found
    found.http.shutdown()


def rollouts(env: SeatEnv, server: Server) -> list[Any]:
    """All tasks of an environment, at the same time."""
    client = vf.EvalClientConfig(base_url=server.settings.base_url, api_key_var="COPLAY_TEST_KEY")

    async def played() -> list[Any]:
        context = vf.ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            return await asyncio.gather(*(env.run_slot(env.slots(task)[0], context) for task in env.taskset))

    return asyncio.run(played())


def rounds_of(episode: Episode, game: str) -> list[dict[str, Any]]:
    show = make_game(game).show
    return [
        {
            "acts": [{"seat": act.seat, "phase": act.phase, "action": show(act.action)} for act in one.acts],
            "payoffs": dict(one.payoffs or {}),
        }
        for one in episode.rounds
    ]


@pytest.mark.parametrize(("game", "seat", "against"), GAMES)
def test_a_rollout_is_the_native_game_move_for_move(game: str, seat: str, against: Any, server: Server) -> None:
    env = environment(game, seat, against=against, rounds=3, games=4, seed=7)
    found = rollouts(env, server)
    player = policy_player(lambda _, info: says(info["messages"]), game, mode="text", memory="chat", rounds=3)
    others = {other: against for other in env.game.seats if other != seat} if isinstance(against, str) else against
    seated = [player if one == seat else others[one] for one in env.game.seats]
    native = match(game, *seated, rounds=3, episodes=4, seed=7).episodes
    for rollout, episode in zip(found, native, strict=True):
        assert rollout.ok and not rollout.errors
        (trace,) = rollout.traces
        assert trace.info["rounds"] == rounds_of(episode, game)
        assert trace.reward == pytest.approx(episode.total(seat)) and trace.metrics["finished"] == 1.0
        replied = [node.message.content or "" for node in trace.nodes if node.sampled]
        assert replied == [turn.reply.text for turn in episode.turns[seat]]


def test_verifiers_finds_it_by_its_name(server: Server) -> None:
    config = vf.resolve_env_config(
        {"taskset": {"id": "coplay-verifiers", "game": "kuhn", "against": "always_pass", "games": 2}}
    )
    env = vf.load_environment(config)
    assert type(env) is SeatEnv and type(config) is SeatEnvConfig and env.seat == "player-1"
    assert [task.data.number for task in env.taskset] == [0, 1]
    assert len({task.key for task in env.taskset}) == 2
    assert [rollout.ok for rollout in rollouts(env, server)] == [True, True]
    assert coplay_verifiers.load_environment(game="kuhn", against="always_pass").seat == "player-1"
    assert load_environment(config).rounds == env.rounds


def test_a_conversation_that_is_cut_off_pays_what_was_played(server: Server) -> None:
    server.replying = lambda request: "C"
    wanted = environment("ipd", against="tit_for_tat", rounds=5, games=1).config
    (rollout,) = rollouts(SeatEnv(SeatEnvConfig(taskset=wanted.taskset, player={"max_turns": 2})), server)
    (trace,) = rollout.traces
    assert trace.reward == 6.0 and trace.metrics["finished"] == 0.0 and trace.metrics["rounds"] == 2.0


def test_a_model_that_fails_fails_its_rollout_alone(server: Server) -> None:
    server.replying = lambda request: "C"
    server.faults = lambda tries: "400"
    (rollout,) = rollouts(environment("ipd", games=1, rounds=2), server)
    assert not rollout.ok and rollout.traces[0].errors


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"game": "idp"}, "unknown game 'idp'. Did you mean 'ipd'?"),
        ({"game": "ipd", "seat": "alice"}, "unknown seat 'alice'"),
        ({"game": "ipd", "against": "tit_for_tit"}, "Did you mean 'tit_for_tat'?"),
        ({"game": "ipd-3", "against": ["uniform"]}, "needs a player for each other seat"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_asked(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as told:
        environment(**settings)
    assert says in str(told.value)
