"""What policies share: a cache that computes each key once, parameters of tables, scores of one-token replies."""

import pytest
import torch
from torch import nn

from coplay.players.policy import ReplyScores, TableParameters, cached, one_token_scores


def test_each_key_is_computed_once_and_a_full_cache_is_emptied() -> None:
    cache: dict[str, int] = {}
    asked: list[list[str]] = []

    def length(keys: list[str]) -> list[int]:
        asked.append(keys)
        return [len(key) for key in keys]

    assert cached(cache, ["a", "bb", "a"], length, most=2) == [1, 2, 1]
    assert cached(cache, ["bb", "a"], length, most=2) == [2, 1]
    assert asked == [["a", "bb"]]
    assert cached(cache, ["bb", "ccc"], length, most=2) == [2, 3]  # full: what is needed now is computed again
    assert asked[1:] == [["bb", "ccc"]] and set(cache) == {"bb", "ccc"}
    assert cached(cache, [], length, most=2) == [] and len(asked) == 2


def test_a_cache_wants_a_value_for_each_key() -> None:
    with pytest.raises(ValueError, match="zip"):
        cached({}, ["a", "b"], lambda keys: [1], most=9)


def test_tables_are_kept_and_loaded_slot_by_slot() -> None:
    tables = TableParameters()
    tables.theta = nn.Parameter(torch.arange(24.0).view(2, 4, 3))
    state = tables.slot_state(1)
    with torch.no_grad():
        tables.theta.zero_()
    tables.load_slot_state(1, state)
    assert tables.theta[0].abs().sum() == 0 and torch.equal(tables.theta[1], torch.arange(12.0, 24.0).view(4, 3))
    assert tables.parameters() == [tables.theta]


def test_one_token_replies_have_a_row_each() -> None:
    scores = one_token_scores(ReplyScores(torch.tensor([-1.0, -2.0]), torch.tensor([0.5, 0.6]), torch.zeros(2, 3)))
    assert scores.rows_N.tolist() == [0, 1] and scores.logprobs_N.tolist() == [-1.0, -2.0]
