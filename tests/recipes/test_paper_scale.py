"""Everything at ``scale=paper`` runs: each recipe's own settings for two trials of small games, on a random Gemma 2."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from run_files import read_json, read_lines
from small_models import FAMILIES, write_checkpoint

from coplay.recipes import make_config
from coplay.recipes.shapellm import VARIANTS
from coplay.runs.directory import RunDirectory
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


def assert_trained(run: RunDirectory) -> None:
    """Both trials were learnt from: every half of an adapter that starts at zero is elsewhere, in both learners, and every ratio started at 1."""
    lines = read_lines(run.path / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2]
    for learner in ("row", "column"):
        assert [line[f"clipped_first/{learner}"] for line in lines] == [0.0, 0.0]
        adapter = load_file(run.path / "adapters" / f"{learner}-seed0" / "adapter_model.safetensors")
        grown = {name: float(weight.abs().max()) for name, weight in adapter.items() if name.endswith("lora_B.weight")}
        assert grown and min(grown.values()) > 0.0, grown


@pytest.mark.parametrize("name", NAMES)
def test_two_trials_of_every_recipe(name: str, gemma: str, tmp_path: Path) -> None:
    paper = make_config(f"shapellm/{name}", scale="paper")
    assert paper.four_bit
    run = train(
        paper.model_copy(update={**SMALL, "model": gemma, "four_bit": False}),
        tmp_path / "run",
        progress=Progress(quiet=True),
    )
    assert_trained(run)
    config = read_json(run.path / "config.json")
    assert config["learners"]["row"]["ppo"] == paper.learners["row"].ppo.model_dump(mode="json")
    assert (run.path / "eval.json").exists()


@pytest.mark.parametrize("family", [*FAMILIES])
def test_two_trials_in_four_bits(family: str, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    model = str(write_checkpoint(tmp_path / family, family))
    config = make_config("shapellm/ipd", scale="paper").model_copy(update={**SMALL, "model": model})
    assert config.four_bit
    assert_trained(train(config, tmp_path / "run", progress=Progress(quiet=True)))


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_two_trials_in_four_bits_on_a_gpu(name: str, gemma: str, tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    config = make_config(f"shapellm/{name}", scale="paper").model_copy(update={**SMALL, "model": gemma})
    assert config.four_bit
    assert_trained(train(config, tmp_path / "run", progress=Progress(quiet=True)))
