"""Everything at ``scale=paper`` runs: each recipe's own settings for two trials of small games, on a random Gemma 2."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from run_files import read_json, read_lines
from small_models import write_checkpoint

from coplay.recipes import make_config
from coplay.recipes.shapellm import VARIANTS
from coplay.runs.train import train
from coplay.terminal.progress import Progress

torch.set_num_threads(1)

SMALL: dict[str, Any] = {
    "seeds": (0,),
    "trials": 2,
    "rounds": 3,
    "episodes": 2,
    "games": 2,
    "eval_games": 2,
    "threads": 1,
    "workers": 1,
}

NAMES = [
    pytest.param(name, marks=() if name in ("ipd", "ipd-second-model-baseline") else pytest.mark.slow)
    for name in VARIANTS
]


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_checkpoint(tmp_path_factory.mktemp("paper") / "gemma2", "gemma2"))


@pytest.mark.parametrize("name", NAMES)
def test_two_trials_of_every_recipe(name: str, gemma: str, tmp_path: Path) -> None:
    paper = make_config(f"shapellm/{name}", scale="paper")
    assert paper.four_bit
    run = train(
        paper.model_copy(update={**SMALL, "model": gemma, "four_bit": False}),
        tmp_path / "run",
        progress=Progress(quiet=True),
    )
    assert [line["step"] for line in read_lines(run.path / "metrics.jsonl")] == [1, 2]
    config = read_json(run.path / "config.json")
    assert config["learners"]["row"]["ppo"] == paper.learners["row"].ppo.model_dump(mode="json")
    assert (run.path / "eval.json").exists()
    assert (run.path / "adapters" / "row-seed0" / "adapter_model.safetensors").exists()


def test_two_trials_in_four_bits(gemma: str, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    config = make_config("shapellm/ipd", scale="paper").model_copy(update={**SMALL, "model": gemma})
    run = train(config, tmp_path / "run", progress=Progress(quiet=True))
    assert len(read_lines(run.path / "metrics.jsonl")) == 2
