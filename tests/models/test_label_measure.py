"""Measuring labels reads any architecture as it is."""

import pytest
import torch
from small_models import Bench

from coplay.experiments.labels import measure
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import write_prompt
from coplay.games.memory import Observation
from coplay.models.bank import RoutedLinear
from coplay.models.loading import encode, load_model

PAIRS = [("H", "K"), ("K", "H"), ("C", "D")]


def test_probabilities_are_those_of_one_prompt_alone(checkpoints, family):
    loaded, game = load_model(str(checkpoints[family]), device="cpu"), matrix_game("icg")
    measured = measure(loaded, game, seat="row", pairs=PAIRS)
    assert not any(isinstance(module, RoutedLinear) for module in loaded.model.modules())
    for policy, labels in zip(measured.policies, PAIRS, strict=True):
        tokens = [encode(loaded.tokenizer, label)[0] for label in labels]
        for i, last in enumerate((None, *game.own_states("row"))):
            text = loaded.chat.prompt(write_prompt(game, "row", Observation(last=last), labels=labels))
            with torch.no_grad():
                logits = loaded.model(input_ids=torch.tensor([encode(loaded.tokenizer, text)])).logits[0, -1]
            alone = logits.float().log_softmax(-1)[tokens]
            assert policy.logprobs[i] == pytest.approx(alone.tolist(), abs=1e-3)


def test_adapters_in_use_are_left_out(bench: Bench):
    before = measure(load_model(str(bench.path), device="cpu"), matrix_game("ipd"), pairs=PAIRS)
    after = measure(bench.loaded, matrix_game("ipd"), pairs=PAIRS)
    for a, b in zip(before.policies, after.policies, strict=True):
        assert [x for pair in a.logprobs for x in pair] == pytest.approx(
            [x for pair in b.logprobs for x in pair], abs=1e-3
        )
