"""The comparison of two checkouts: it must not say ``same`` of what is not."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import golden_words
from golden_cases import CASES, chosen
from golden_compare import Tally, compare
from golden_words import command_for

import coplay
from coplay.games import make_game

STORED = (Path(__file__).parent / "play" / "version_1" / "games.jsonl").read_text(encoding="utf-8").splitlines()
"""Games in their old form, with who played what."""

LINE = {"step": 1, "reward/row": 0.1, "state/CC": None}
TENSOR = {"a": np.array([[0.0, 1.0], [2.0, 3.0]], dtype=np.float32)}


def compared(
    folder: Path, lines: list[dict[str, object]], tensors: dict[str, np.ndarray], *, new: bool = False
) -> Tally:
    """A case that left LINE and TENSOR before, and this after."""
    sides = (folder / "before", folder / "after")
    for side, metrics, adapter in zip(sides, ([LINE], lines), (TENSOR, tensors), strict=True):
        (side / "run" / "adapters" / "row-seed0").mkdir(parents=True)
        (side / "run" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metrics))
        save_file(adapter, side / "run" / "adapters" / "row-seed0" / "adapter_model.safetensors")
    return compare(*sides, new={sides[0]: False, sides[1]: new})


def test_the_same_is_the_same(tmp_path: Path) -> None:
    tally = compared(tmp_path, [LINE], TENSOR)
    assert tally.same and tally.numbers == 2 + 4


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{**LINE, "reward/row": 0.1 + 2**-56}], "line 1, reward/row: 0.1 before, 0.10000000000000002 after"),
        ([{**LINE, "state/CC": 0.0}], "line 1, state/CC: null before, 0.0 after"),
        ([{**LINE, "step": 1.0}], "line 1, step: 1 before, 1.0 after"),
        ([{"step": 1, "state/CC": None}], 'line 1, reward/row: 0.1 before, "(nothing)" after'),
        ([{**LINE, "more": 1}], 'line 1, more: "(nothing)" before, 1 after'),
        ([LINE, LINE], ": 1 lines before, 2 lines after"),
    ],
)
def test_every_change_of_a_record_is_found(tmp_path: Path, lines: list[dict[str, object]], told: str) -> None:
    tally = compared(tmp_path, lines, TENSOR)
    assert str(tally.first).endswith(told)


@pytest.mark.parametrize(
    ("tensors", "different", "largest"),
    [
        ({"a": np.array([[0.0, 1.0], [2.0, 5.0]], dtype=np.float32)}, 1, 2.0),
        ({"a": np.array([[-0.0, 1.0], [2.0, 3.0]], dtype=np.float32)}, 1, 0.0),
        ({"a": TENSOR["a"].astype(np.float64)}, 0, 0.0),
        ({"a": TENSOR["a"].reshape(4)}, 0, 0.0),
        ({"b": TENSOR["a"]}, 0, 0.0),
        ({**TENSOR, "b": TENSOR["a"]}, 0, 0.0),
    ],
)
def test_every_change_of_a_tensor_is_found(
    tmp_path: Path, tensors: dict[str, np.ndarray], different: int, largest: float
) -> None:
    tally = compared(tmp_path, [LINE], tensors)
    assert not tally.same and (tally.different, tally.largest) == (different, largest)


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    compared(tmp_path, [LINE], TENSOR)
    (tmp_path / "after" / "run" / "metrics.jsonl").unlink()
    assert not compare(tmp_path / "before", tmp_path / "after", new=dict.fromkeys(tmp_path.iterdir(), False)).same


def test_new_words_are_told_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_words, "RENAMED_KEYS", {"row": "seats.row", "row.memory": "seats.row.shown"})
    monkeypatch.setattr(golden_words, "RENAMED_METRICS", {"reward/row": "payoff/row"})
    words = ["train", "row.memory=none", "row.ppo.lam=0.8", "rows=1"]
    assert command_for(words, new=False) == words
    assert command_for(words, new=True) == ["train", "seats.row.shown=none", "seats.row.ppo.lam=0.8", "rows=1"]
    renamed = {"step": 1, "payoff/row": 0.1, "state/CC": None}
    assert compared(tmp_path, [renamed], TENSOR, new=True).same


@pytest.mark.parametrize("old", [json.loads(line) for line in STORED], ids=lambda old: f"{old['of']}-{old['game']}")
def test_games_in_todays_form_are_compared_in_their_old_one(old: dict[str, Any]) -> None:
    game = make_game(old["game"]).lasting(old["rounds"])
    played = coplay.match(game, *old["players"], rounds=old["rounds"], episodes=1, seed=3)
    record = json.loads(json.dumps({"version": 2, **played.records()[0]}))
    expected = {key: value for key, value in old["record"].items() if key not in ("rounds", "fallback")}
    assert golden_words.record_of("episodes.jsonl", record, new=True) == golden_words.episode(expected)


def test_cases_come_after_what_they_need() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert all(need in names[:i] for i, case in enumerate(CASES) for need in case.needs)
    assert [case.name for case in chosen(["frozen"])] == ["ipd-ab-grpo", "frozen"]
