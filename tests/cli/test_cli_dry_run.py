"""What `--dry-run` says beyond settings and prompts: memory, and hours from measured trials."""

import json
from pathlib import Path

from shell import TRAIN, Shell

SMALL = ["trials=3", "games=2", "rounds=2", "episodes=1", "eval_games=2", "threads=1"]

SHAPES = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 1000,
}


def test_measure_goes_with_dry_run_and_writes_nothing(coplay: Shell, here: Path) -> None:
    assert coplay(*TRAIN, *SMALL, "--learner", "tabular", "--measure") == 2
    assert "--measure goes with --dry-run" in coplay.err
    assert coplay(*TRAIN, *SMALL, "--learner", "tabular", "--dry-run", "--measure") == 0, coplay.err
    assert "--- time, measured on" in coplay.out and "the run of 3 trials: " in coplay.out
    assert "--- memory" not in coplay.out, "tables are small"
    assert not list(here.iterdir())


def test_memory_is_said_of_language_models(coplay: Shell) -> None:
    assert coplay(*TRAIN, *SMALL, "--dry-run") == 0, coplay.err
    assert "--- memory on " in coplay.out and "It fits." in coplay.out


def test_a_directory_with_a_config_alone_is_enough(coplay: Shell, here: Path) -> None:
    (here / "model").mkdir()
    (here / "model" / "config.json").write_text(json.dumps(SHAPES), encoding="utf-8")
    assert coplay(*TRAIN, *SMALL, "--model", "model", "--dry-run") == 0, coplay.err
    assert "model has no tokenizer: prompts are not shown" in coplay.out and "It fits." in coplay.out
    assert coplay(*TRAIN, *SMALL, "--model", "model") != 0, "training takes more"


def test_a_config_that_cannot_be_true_is_refused_in_a_line(coplay: Shell, here: Path) -> None:
    (here / "model").mkdir()
    for wrong in ({"num_hidden_layers": 10**8}, {"model_type": "no-such-kind"}, {"hidden_size": -1}):
        (here / "model" / "config.json").write_text(json.dumps({**SHAPES, **wrong}), encoding="utf-8")
        assert coplay(*TRAIN, *SMALL, "--model", "model", "--dry-run") == 2
        assert coplay.err.startswith("coplay: model: ") and coplay.err.count("\n") == 1, coplay.err
