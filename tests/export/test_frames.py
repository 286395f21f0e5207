"""Data frames: typed, also when empty, and nothing of the files is lost in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from logged import Unsure, recorded, trained

import coplay
from coplay.evaluation.rows import METRIC_COLUMNS, SEAT_COLUMNS, metric_rows
from coplay.export.tables import table_frame
from coplay.games.records import ActRecord, EpisodeRecord
from coplay.play.rows import GAME_COLUMNS, game_rows
from coplay.terminal.tables import Column, frame

pandas = pytest.importorskip("pandas", reason="needs the extra frames")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> coplay.Run:
    return coplay.load_run(trained(tmp_path_factory.mktemp("frames") / "run"))


def typed(found: Any, columns: Mapping[str, Column]) -> bool:
    return {name: str(dtype) for name, dtype in found.dtypes.items()} == {n: c.dtype for n, c in columns.items()}


def plain(value: Any) -> Any:
    return None if pandas.isna(value) else value


def test_metrics_are_the_lines_of_the_file(run: coplay.Run) -> None:
    found = run.metrics
    assert typed(found, METRIC_COLUMNS)
    rebuilt: dict[tuple[int, int], dict[str, object]] = {}
    for row in found.itertuples():
        line = rebuilt.setdefault((row.trial, row.seed), {"version": 1, "step": row.trial, "seed": row.seed})
        line[f"{row.metric}/{row.of}" if row.of else row.metric] = plain(
            row.value if pandas.isna(row.text) else row.text
        )
    assert list(rebuilt.values()) == run.metric_records
    assert len(run.to_frame()) == len(run.metric_records) and "reward/row" in run.to_frame()


def test_text_and_what_is_missing_among_metrics() -> None:
    lines = [{"step": 1, "seed": 2, "reward/row": None, "note/row": "why", "interventions": 2, "diverged": "where"}]
    rows = [tuple(map(plain, row)) for row in frame(metric_rows(lines), METRIC_COLUMNS).itertuples(index=False)]
    assert rows == [
        (2, 1, "reward", "row", None, None),
        (2, 1, "note", "row", None, "why"),
        (2, 1, "interventions", "", 2.0, None),
        (2, 1, "diverged", "", None, "where"),
    ]


def test_games_are_those_of_the_file(run: coplay.Run) -> None:
    found, games = run.episodes, run.episode_records
    assert typed(found, GAME_COLUMNS)
    assert len(found) == sum(len(game["rounds"]) * len(game["players"]) for game in games)
    keys = ["seed", "trial", "game", "episode", "round", "seat"]
    assert not found.duplicated(keys).any()
    cells = found.set_index(keys)
    for game in games:
        for number, one in enumerate(game["rounds"], 1):
            for act in one["acts"]:
                seat = act["seat"]
                row = cells.loc[(game["seed"], game["step"], game["game"], game["episode"], number, seat)]
                assert plain(row["prompt"]) == act["prompt"] and plain(row["reply"]) == act["reply"]
                assert plain(row["action"]) == act["action"] and plain(row["payoff"]) == one["payoffs"][seat]
                assert row["state"] == game["states"][number - 1] and row["player"] == game["players"][seat]
                assert row["probability"] == act["probs"][act["action"]]  # type: ignore[call-overload]
                assert bool(row["void"]) is one.get("void", False)


def test_the_evaluation_by_seed_and_seat(run: coplay.Run) -> None:
    found = run.evaluated
    assert typed(found, SEAT_COLUMNS) and len(found) == 4
    assert run.evaluation is not None
    for row in found.itertuples():
        assert row.per_round == run.evaluation["seeds"][str(row.seed)]["seats"][row.seat]["per_round"]


def test_frames_of_nothing_have_their_columns_and_types() -> None:
    for columns in (METRIC_COLUMNS, GAME_COLUMNS, SEAT_COLUMNS):
        found = frame([], columns)
        assert len(found) == 0 and typed(found, columns)


def test_an_illegal_reply_has_no_action(tmp_path: Path) -> None:
    found = table_frame(recorded(tmp_path / "games", "ipd", Unsure(), "tit_for_tat", rounds=2, episodes=1))
    row = found[found["seat"] == "row"]
    assert list(row["legal"]) == [True, False]
    assert plain(row["action"].iloc[1]) is None and row["reply"].iloc[1] == "<b>hm</b>"
    assert list(found["round"]) == [1, 1, 2, 2] and list(found["void"]) == [False, False, True, True]


def test_earlier_actions_and_seats_that_are_not_asked() -> None:
    hands = coplay.match("kuhn", "uniform", "uniform", episodes=20).to_frame()
    assert typed(hands, GAME_COLUMNS) and hands["before"].notna().any() and not hands["legal"].eq(False).any()
    assert hands["dealt"].notna().all() and hands["message"].isna().all()


def test_a_match_and_its_recording_have_the_same_frame(tmp_path: Path) -> None:
    path = recorded(tmp_path / "games", "ipd", "tit_for_tat", "random:0.4")
    played = coplay.match("ipd", "tit_for_tat", "random:0.4", rounds=3, episodes=3, seed=0).to_frame()
    pandas.testing.assert_frame_equal(table_frame(path), played)


def test_earlier_actions_that_could_not_be_parsed_are_illegal() -> None:
    heard: ActRecord = {"seat": "row", "phase": "message", "reply": "Hello!", "action": "Hello!"}
    said: ActRecord = {"seat": "row", "phase": "message", "turn": 1, "reply": "?", "action": None}
    last: ActRecord = {"seat": "row", "phase": "action", "reply": "C", "action": "cooperate"}
    record: EpisodeRecord = {
        **{"step": 1, "seed": 0, "game": 0, "episode": 1, "states": ["I"], "players": {"row": "p"}},
        "rounds": [{"acts": [heard, said, last], "payoffs": {"row": None}}],
    }
    (row,) = game_rows([record])
    assert row["legal"] is False and row["message"] == "Hello!" and row["payoff"] is None


def test_cross_play_and_audits_have_typed_frames() -> None:
    from coplay.auditing.record import MEASURE_COLUMNS
    from coplay.evaluation.cross_play import PAIR_COLUMNS

    pairs = coplay.cross_play("ipd", ["tit_for_tat", "always_defect"], rounds=3, episodes=2).to_frame()
    assert typed(pairs, PAIR_COLUMNS) and len(pairs) == 4
    audit = coplay.audit("ipd", "tit_for_tat", against=["best_response"], rounds=2)
    measures = audit.to_frame()
    assert typed(measures, MEASURE_COLUMNS) and measures["value"].iloc[0] == audit.audit.measures[0].value


def test_without_pandas_the_install_line_is_told(run: coplay.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(coplay.UsageError, match=r"pip install 'coplay\[frames\]'"):
        _ = run.metrics
    assert run.metric_records
