"""Demonstrations: who plays what, what is written, and what is refused."""

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import pytest

from coplay.errors import CoplayError, UsageError
from coplay.experiments.demonstrate import Demonstrator, demonstrate, held_out, of_size, play
from coplay.experiments.sft_data import Example, read_data
from coplay.games.catalogue import GAMES, make_game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.games.strategy import GameStrategy
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.scripted import make_script
from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS
from coplay.recipes.sepo.reasons import ipd

PAPER = [
    pytest.param(plan, id=name, marks=[] if name in GAMES else pytest.mark.skip(reason="not in the catalogue yet"))
    for name, plan in DEMONSTRATIONS.items()
]
SMALL = Demonstrations(
    "ipd-8",
    {"tit_for_tat": 0.5, "grim_trigger": 0.25, "random:0.5": 0.25},
    ("random:0.5", "always_defect"),
    episodes=6,
    rounds=4,
    reason=ipd,
)

BYTES = {"train.jsonl": "4b3f2f3ad9f5b0e8", "valid.jsonl": "21553c52335c2a85", "card.json": "88ca3cd33bedeab1"}
"""The first digits of the SHA-256 of the small data set's files, as they were when there were two seats only."""

MEDIATED = Demonstrations(
    "ipd-3:talk=0,shared=true+mediator:targets=everyone,cost=0.1,words=PASS+CALL",
    {"coin": 0.5, "defector": 0.5},
    ("obedient persuadable random:0.5", "persuadable"),
    episodes=6,
    rounds=4,
    seats=("mediator",),
)


def examples(plan: Demonstrations, *, seed: int = 0, memory: Memory = Memory.LAST_ROUND) -> list[Example]:
    return [one.example for one in play(plan, plan.checked(), seed=seed, memory=memory)]


# --- What the paper says ----------------------------------------------------------------------------------------------------------


def test_sizes_are_those_of_table_12() -> None:
    sizes = {name: (plan.episodes, plan.rounds, len(plan.opponents)) for name, plan in DEMONSTRATIONS.items()}
    assert sizes == {
        "ipd-8": (200, 8, 5),
        "auction": (267, 6, 5),
        "negotiation-v1": (400, 4, 5),
        "negotiation-v2": (200, 4, 5),
        "kuhn": (200, 6, 5),
    }
    assert all(sum(plan.strategies.values()) == pytest.approx(1.0) for plan in DEMONSTRATIONS.values())


@pytest.mark.parametrize("plan", PAPER)
def test_every_strategy_and_opponent_plays_and_gives_a_reason_of_the_papers_length(plan: Demonstrations) -> None:
    even = replace(plan, strategies=dict.fromkeys(plan.strategies, 1 / len(plan.strategies)), episodes=16)
    game = even.checked()
    found = play(even, game, seed=1, memory=Memory.LAST_ROUND)
    assert {one.example.strategy for one in found} == set(plan.strategies)
    for one in found:
        reason, _, action = one.example.reply.rpartition("\n")
        assert reason and "{" not in reason and "this is what it does" not in reason, one.example.reply
        assert action.strip() and "\n" not in action
    lengths = [len(one.example.reply) for one in found]
    assert 60 <= median(lengths) <= 100
    assert max(lengths) < 220


# --- Play -------------------------------------------------------------------------------------------------------------------------


def test_more_episodes_begin_with_the_same_ones() -> None:
    few, many = examples(SMALL), examples(replace(SMALL, episodes=9))
    assert many[: len(few)] == few
    assert examples(SMALL, seed=1) != few


def test_a_strategy_is_kept_for_an_episode_and_seats_are_taken_in_turn() -> None:
    found = examples(SMALL)
    assert [(one.episode, one.round) for one in found] == [(e, r) for e in range(1, 13) for r in range(1, 5)]
    by_episode = {number: [one for one in found if one.episode == number] for number in range(1, 13)}
    for number, own in by_episode.items():
        assert len({one.strategy for one in own}) == 1
        seat = "Alice" if (number - 1) // 2 % 2 == 0 else "Bob"
        assert all(one.prompt[-1].text.startswith(f"You are {seat}.") for one in own)
    assert Counter(own[0].strategy for own in by_episode.values()).keys() == SMALL.strategies.keys()


def test_replies_follow_from_strategy_and_history() -> None:
    for one in examples(replace(SMALL, strategies={"tit_for_tat": 1.0})):
        last = one.prompt[-1].text
        theirs = "DEFECT" if "played DEFECT.\n" in last.replace("you played", "") else "COOPERATE"
        assert one.reply.endswith(f"\n{theirs if one.round > 1 else 'COOPERATE'}")
    betrayed = [one for one in examples(replace(SMALL, strategies={"grim_trigger": 1.0})) if one.round == 4]
    assert any(
        "They defected once" in one.reply and "played COOPERATE.\nGive" in one.prompt[-1].text for one in betrayed
    )


class Replaying:
    """Gives the replies that were demonstrated and keeps what a language model with its memory would have read."""

    name = "replaying"

    def __init__(self, game: Any, memory: Memory, replies: list[str]) -> None:
        self.game, self.memory, self.replies = game, memory, replies
        self.read: list[Any] = []

    def act(self, requests: list[Request]) -> list[Reply]:
        (request,) = requests
        self.read.append(tuple(chat_messages(self.game, request, self.memory)))
        text = self.replies.pop(0)
        return [Reply(text, self.game.parse_action(request, text))]


@pytest.mark.parametrize("memory", ["none", "last_round", "episode_counts", "window", "chat"])
@pytest.mark.parametrize("plan", [SMALL, *PAPER[1:], MEDIATED])
def test_prompts_are_what_a_model_reads_that_plays_the_same(plan: Demonstrations, memory: str) -> None:
    kept = Memory(memory)
    opponent = plan.opponents[0]
    plan = replace(plan, opponents=(opponent,), episodes=2)
    game = plan.checked()
    found, seats = examples(plan, memory=kept), plan.seats_in(game)
    for index in range(2):
        own = [one for one in found if one.episode == index + 1]
        seat = seats[index % len(seats)]
        model = Replaying(game, kept, [one.reply for one in own])
        beside = plan.beside(seat, opponent, game)
        seated = {one: Occupant(make_script(who, game, one), who) for one, who in beside.items()}
        seated[seat] = Occupant(model, "model")
        streams = StreamNames(("demonstrations", game.name, opponent))
        play_episode(game, [Table(game, 0, index, index, seated)], rounds=plan.rounds or game.rounds, streams=streams)
        assert model.read == [one.prompt for one in own]


def test_a_mediator_is_demonstrated_beside_several_players() -> None:
    found = examples(replace(MEDIATED, episodes=12))
    assert {one.strategy for one in found} == {"coin", "defector"}
    assert {one.reply for one in found if one.strategy == "coin"} == {"PASS", "CALL"}
    for one in found:
        assert one.prompt[-1].text.startswith("You are the mediator of a game")
        defected = "defect" in one.prompt[-1].text.partition("\nRound 1: ")[2].partition(" Points:")[0]
        if one.strategy == "defector" and one.round == 2:
            assert one.reply == ("CALL" if defected else "PASS")


def test_seats_that_play_are_taken_in_turn_in_games_of_several() -> None:
    plan = Demonstrations("ipd-3:talk=0,shared=true", {"tit_for_tat": 1.0}, ("random:0.5",), episodes=4, rounds=2)
    seats = [one.prompt[-1].text.partition(".")[0] for one in examples(plan) if one.round == 1]
    assert seats == [f"You are Player-{n}" for n in (1, 2, 3, 1)]


def test_players_may_be_simulators_and_of_ones_own() -> None:
    plan = replace(MEDIATED, opponents=("simulator:smollm2-ipd-3@standard",), episodes=1)
    assert len(examples(plan)) == 4


def test_a_reason_that_hides_the_action_is_refused() -> None:
    game = make_game("ipd-8")
    player = make_script("always_defect", game, "alice")
    thinking = Demonstrator(player, game, "always_defect", lambda *_: "<think>")
    table = Table(game, 0, 0, 0, {"alice": Occupant(thinking, "it"), "bob": Occupant(player, "other")})
    with pytest.raises(CoplayError, match=r"'<think>\\nDEFECT' of always_defect does not mean 'defect'"):
        play_episode(game, [table], rounds=1, streams=StreamNames(("test",)))


def test_strategies_of_a_game_of_ones_own_say_their_reasons() -> None:
    class Wordy(type(make_game("negotiation-v1"))):  # type: ignore[misc]
        strategies: ClassVar[dict[str, GameStrategy]] = {
            "wordy": GameStrategy("", lambda request, _: {5: 1.0}, reason=lambda request, action: f"I want {action}."),
            "mute": GameStrategy("", lambda request, _: {6: 1.0}),
        }

    game = Wordy()
    plan = Demonstrations("wordy", {"wordy": 0.5, "mute": 0.5}, ("uniform",), episodes=8, rounds=2)
    found = {one.example.strategy: one.example.reply for one in play(plan, game, seed=0, memory=Memory.LAST_ROUND)}
    assert found == {"wordy": "I want 5.\n5", "mute": "6"}


# --- The data set -----------------------------------------------------------------------------------------------------------------


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        demonstrate([SMALL], tmp_path / name, seed=3)
    for name in ("train.jsonl", "valid.jsonl", "card.json", "manifest.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    demonstrate([SMALL], tmp_path / "three", seed=4)
    assert (tmp_path / "one" / "train.jsonl").read_bytes() != (tmp_path / "three" / "train.jsonl").read_bytes()


def test_the_bytes_of_two_seats_are_those_of_before_there_were_more(tmp_path: Path) -> None:
    demonstrate([SMALL], tmp_path / "data", seed=3)
    found = {name: sha256((tmp_path / "data" / name).read_bytes()).hexdigest()[:16] for name in BYTES}
    assert found == BYTES


def test_no_episode_is_on_both_sides_and_the_card_counts_what_is_there(tmp_path: Path) -> None:
    made = demonstrate([SMALL], tmp_path / "data", seed=3)
    data = read_data(tmp_path / "data")
    assert (data.train, data.valid) == (made.train, made.valid)
    sides = [{one.episode for one in side} for side in (data.train, data.valid)]
    assert sides[0] | sides[1] == set(range(1, 13)) and not sides[0] & sides[1]
    assert len(sides[1]) == 2
    card: Any = json.loads((tmp_path / "data" / "card.json").read_text(encoding="utf-8"))
    assert card["seed"] == 3 and card["memory"] == "chat" and card["split"] == {"by": "episode", "validation": 0.2}
    assert card["examples"] == {"train": 40, "valid": 8}
    strategies = card["games"]["ipd-8"]["strategies"]
    assert sum(sum(one["actions"].values()) for one in strategies.values()) == 48
    assert sum(one["episodes"] for one in strategies.values()) == 12
    assert 0 < card["known_prompts"] <= 1
    line = json.loads((tmp_path / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert list(line) == ["messages", "game", "strategy", "episode", "round"]
    assert [one["role"] for one in line["messages"]] == ["user", "assistant"]


def test_a_conversation_holds_the_replies_before_it() -> None:
    third = examples(SMALL, memory=Memory.CHAT)[2]
    assert [message.role for message in third.messages] == ["user", "assistant"] * 3


def test_something_is_always_held_out() -> None:
    assert len(held_out(2, "ipd-8", seed=0, share=0.2)) == 1
    assert len(held_out(1000, "ipd-8", seed=0, share=0.2)) == 200
    assert of_size(SMALL, 1).episodes == 2
    assert of_size(SMALL, 80).episodes == 10


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"strategies": {"tit_for_tat": 0.6, "grim_trigger": 0.3}}, "weights of the strategies sum to 0.9, not to 1"),
        ({"strategies": {"tit_for_tat": 1.5, "grim_trigger": -0.5}}, "tit_for_tat has the weight 1.5"),
        ({"strategies": {"tit_for_tat": float("nan")}}, "tit_for_tat has the weight nan"),
        ({"strategies": {}}, "sum to 0, not to 1"),
        ({"strategies": {"tit_for_tatt": 1.0}}, "unknown player 'tit_for_tatt'.*Did you mean 'tit_for_tat'"),
        ({"opponents": ("nobody",)}, "unknown player 'nobody'"),
        ({"opponents": ()}, "there is no opponent"),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"episodes": 10**9}, "decisions are more than 200,000"),
        ({"game": "ipd-88"}, "unknown game 'ipd-88'"),
        ({"game": "ipd"}, "models reply to 'ipd' with one token"),
        ({"seats": ("carol",)}, "unknown seat of game 'ipd-8' 'carol'"),
        (
            {"game": "ipd-3+mediator", "opponents": ("random:0.5 always_defect",)},
            "'random:0.5 always_defect' names 2 players; beside player-1 sit player-2, player-3 and mediator",
        ),
        (
            {"game": "ipd-3+mediator", "seats": ("mediator",)},
            "player 'tit_for_tat' is for player-1, player-2 or player-3 of game .*, not for mediator",
        ),
        ({"game": "ipd-3+mediator"}, "player 'random:0.5'"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        demonstrate([replace(SMALL, **changes)], tmp_path / "data", seed=0)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("years of work")
    with pytest.raises(UsageError, match="exists already; choose another --out"):
        demonstrate([SMALL], tmp_path, seed=0)
