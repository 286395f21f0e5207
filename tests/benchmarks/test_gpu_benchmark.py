"""The GPU benchmark's script, at small shapes on the CPU."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gpu_trial


@pytest.mark.slow
def test_the_reduced_benchmark_measures_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gpu.json"
    words = ["--reduced", "--trials", "1", "--arms", "shaper", "--peak", "1e12", "--json", str(out)]
    assert gpu_trial.main(words) == 0
    arm = json.loads(out.read_text())["arms"]["shaper"]
    assert arm["seconds"] > 0 and arm["flops"] > 0 and arm["peak_memory_bytes"] > 0
    assert arm["share_of_peak"] == pytest.approx(arm["flops"] / arm["seconds"] / 1e12)
    assert arm["illegal"] < 0.05  # a model of illegal replies never sees a second prompt
    assert "a check, not a measurement" in capsys.readouterr().out


def test_the_shapes_are_gemma_2s() -> None:
    """google/gemma-2-2b has 2,614,341,888 parameters: embeddings, and 26 layers of attention, feed-forward and four norms."""
    s = gpu_trial.GEMMA_2_2B
    width, heads, kv, size = s["hidden_size"], s["num_attention_heads"], s["num_key_value_heads"], s["head_dim"]
    layer = 2 * width * heads * size + 2 * width * kv * size + 3 * width * s["intermediate_size"] + 4 * width
    assert s["vocab_size"] * width + s["num_hidden_layers"] * layer + width == 2_614_341_888
