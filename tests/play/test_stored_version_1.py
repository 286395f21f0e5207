"""Games that older versions stored: translated once, as far as they say what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_stored_games import played, stored

from coplay.errors import UsageError
from coplay.evaluation.match import STREAMS
from coplay.games import make_game
from coplay.play.records import recorded_episode
from coplay.play.rows import game_rows
from coplay.play.version_1 import stored_game, stored_games, translated
from coplay.runs.recording import Recording

OLD = [json.loads(line) for line in (Path(__file__).parent / "version_1" / "games.jsonl").read_text().splitlines()]
"""Games that the last commit before version 2 stored, in runs and in recordings, with who played what."""

RESULTS = Path(__file__).parents[2] / "results" / "mediation" / "games"


def without(act: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in act.items() if key not in keys}


@pytest.mark.parametrize("old", OLD, ids=lambda old: f"{old['of']}-{old['game']}")
def test_the_same_game_is_told_as_today(old: dict[str, Any]) -> None:
    """What was not kept is missing: readers but a mediator's, and in runs the phase of a seat's last reply and the order of acts."""
    game = make_game(old["game"]).lasting(old["rounds"])
    now, then = stored(game, played(game, *old["players"], rounds=old["rounds"])), translated(old["record"])
    assert {key: value for key, value in now.items() if key != "rounds"} == {
        key: value for key, value in then.items() if key != "rounds"
    }
    for today, one in zip(now["rounds"], then["rounds"], strict=True):
        assert {**today, "acts": []} == {**one, "acts": []}
        missing = ("readers", "probs") if old["of"] == "recordings" else ("readers", "probs", "phase", "turn", "action")
        acts = [[json.dumps(without(dict(act), *missing), sort_keys=True) for act in x["acts"]] for x in (today, one)]
        if old["of"] == "recordings":
            assert acts[0] == acts[1]
            assert all("readers" in act for act in one["acts"])
        else:
            bare = [[json.loads(act) | {"shown": None} for act in side] for side in acts]
            assert sorted(map(str, bare[0])) == sorted(map(str, bare[1]))
        letters = [[act["readers"] for act in x["acts"] if act["seat"] == "mediator"] for x in (today, one)]
        assert letters[0] == letters[1]
    assert list(game_rows([then])) == list(game_rows([now]))


@pytest.mark.parametrize("old", [old for old in OLD if old["of"] == "recordings"], ids=lambda old: str(old["game"]))
def test_recordings_of_version_1_are_restored(old: dict[str, Any]) -> None:
    game = make_game(old["game"]).lasting(old["rounds"])
    episode = played(game, *old["players"], rounds=old["rounds"])
    assert recorded_episode(game, translated(old["record"]), STREAMS).rounds == episode.rounds


def test_published_games_are_read() -> None:
    for path in sorted(RESULTS.iterdir()):
        recording = Recording.open(path)
        records, episodes = recording.records(), recording.episodes(recording.game)
        assert len(records) == len(episodes) > 0
        for record, episode in zip(records, episodes, strict=True):
            assert record["states"] == [recording.game.state_name(outcome) for outcome in episode.outcomes]


TURN = {"prompt": "p", "reply": "C", "action": "cooperate", "payoff": 3.0, "probs": {"cooperate": 0.9, "defect": 0.1}}
MATRIX: dict[str, Any] = {
    "version": 1,
    "step": 2,
    "seed": 0,
    "game": 0,
    "episode": 1,
    "states": ["CC", "I"],
    "seats": {
        "row": {
            "player": "x",
            "turns": [{**TURN, "retries": 2}, {**TURN, "reply": "?", "action": None, "payoff": -1.0}],
        },
        "column": {"player": "y", "turns": [{**TURN, "prompt": None, "fallback": True}, {**TURN, "payoff": None}]},
    },
}


def test_a_run_of_a_matrix_game() -> None:
    first, second = translated(MATRIX)["rounds"]
    act = {"seat": "row", "phase": "", "reply": "C", "action": "cooperate", "readers": None, "prompt": "p"}
    probs = TURN["probs"]
    assert first["acts"] == [
        {**act, "probs": probs, "retries": 2},
        {**without(act, "prompt"), "seat": "column", "probs": probs, "fallback": True},
    ]
    assert (first.get("void"), second.get("void"), second["payoffs"]) == (None, True, {"row": -1.0, "column": None})


def test_lines_of_today_are_left_alone() -> None:
    line = {"version": 2, "anything": 1}
    assert stored_game(line, "x") is line  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    "damage",
    [
        {"seats": None},
        {"states": ["CC"]},
        {"rounds": [{"acts": []}] * 2},
        {"rounds": [{"acts": [{"seat": "row", "phase": "p", "turn": 0, "action": 1}] * 2}] * 2},
        {"seats": {"row": {"player": "x"}}},
    ],
)
def test_a_damaged_line_is_named(damage: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"games\.jsonl, line 2 is damaged"):
        stored_games([MATRIX, MATRIX | damage], Path("games.jsonl"))
