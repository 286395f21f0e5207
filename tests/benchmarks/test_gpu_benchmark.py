"""The GPU benchmark's script, at small shapes on the CPU."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gpu_trial
from pass_counts import counting, flops
from transformers import AutoConfig, AutoModelForCausalLM

from coplay.models.bank import AdapterBank, SlotName
from coplay.models.scoring import Scorer


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


def test_products_of_gemma_by_hand() -> None:
    """A token forwards costs two operations a weight of the layers, one that is learnt from four; behind the last layer's attention only ends do."""
    qkv, rest = 2304 * 16 * 256, 2304 * 8 * 256 + 3 * 2304 * 9216
    shapes = gpu_trial.GEMMA_2_2B
    assert flops(Counter({("layers", False): 1}), shapes) == 2 * (26 * qkv + 25 * rest)
    assert flops(Counter({("layers", True): 1}), shapes) == 4 * (26 * qkv + 25 * rest)
    assert flops(Counter({("last layer", False): 1}), shapes) == 2 * rest
    assert flops(Counter({("head", True): 1}), shapes) == 4 * 2304 * 256_000


def test_smollm2_has_no_width_of_heads_of_its_own() -> None:
    width, layers = 576, 30
    qkv, rest = width * (9 + 2 * 3) * 64, width * width + 3 * width * 1536
    assert flops(Counter({("layers", False): 1}), gpu_trial.SMOLLM2_135M) == 2 * (layers * qkv + (layers - 1) * rest)


def test_what_is_counted_is_what_was_asked_for() -> None:
    """Two slots with two prompts each: of 20 tokens, of which 16 are shared, once without and once with gradients."""
    config = AutoConfig.for_model("gemma2", **gpu_trial.REDUCED)
    model = AutoModelForCausalLM.from_config(config).eval()
    scorer = Scorer(model, AdapterBank(model, [SlotName("row", seed) for seed in range(2)], rank=2, alpha=4.0))
    scorer.shares_passes = True
    shared = tuple(range(10, 26))
    prompts = [(*shared, 30 + i, 31, 32, 33) for i in range(2)] * 2
    with counting(scorer) as counts:
        scorer.score([0, 0, 1, 1], prompts)
        scorer.score([0, 0, 1, 1], prompts)  # the beginning is known
        scorer.score([0, 0, 1, 1], prompts, grad=True)
    rows = 4 * 4
    assert counts == {
        ("layers", False): 2 * 16 + 2 * rows,
        ("layers", True): 2 * 16 + rows,
        ("last layer", False): 8,
        ("last layer", True): 4,
        ("head", False): 8,
        ("head", True): 4,
    }
    assert "logits" not in vars(scorer) and "last_hidden" not in vars(scorer.decoder)  # all is as it was
