"""Bases of 4 bits: what is trained on them is what would be trained on their weights in floating point, on whatever device this is."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import ALPHA, FAMILIES, RANK, game_prompts, shake, small_tokenizer, write_checkpoint
from torch import nn
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

from coplay.errors import UsageError
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.model_check import check_model
from coplay.models.scoring import Prompt, Scorer
from coplay.recipes import make_config
from coplay.runs.train import train
from coplay.terminal.progress import Progress

sys.path.insert(0, str(Path(__file__).parents[1]))

bnb = pytest.importorskip("bitsandbytes")
pytest.importorskip("accelerate")

torch.set_num_threads(1)

ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def floating(model: nn.Module) -> None:
    """The same model with every quantised layer in floating point."""
    for name, layer in list(model.named_modules()):
        state = getattr(getattr(layer, "weight", None), "quant_state", None)
        if state is None:
            continue
        weight: Any = layer.weight
        plain = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
        plain.weight = nn.Parameter(bnb.functional.dequantize_4bit(weight.data, state).float(), requires_grad=False)
        if layer.bias is not None:
            plain.bias = nn.Parameter(layer.bias.detach().float(), requires_grad=False)
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, plain)


def gradients(
    path: Path, prompts: list[Prompt] | None, change: Callable[[nn.Module], None], *, four_bit: bool = True
) -> tuple[Any, list[Prompt]]:
    """The logits and the gradients of all adapters, after a pass without gradients."""
    loaded = load_model(str(path), four_bit=four_bit, device="cpu")
    change(loaded.model)
    bank = AdapterBank(loaded.model, [SlotName("row", 0)], rank=RANK, alpha=ALPHA, targets=ALL)
    shake(bank)
    scorer = Scorer(loaded.model, bank)
    prompts = prompts or game_prompts(loaded, path.name)
    slots = [0] * len(prompts)
    scorer.score(slots, prompts)
    logits = scorer.score(slots, prompts, grad=True).logits_RV
    (-torch.log_softmax(logits, -1)[:, 9]).sum().backward()
    return [logits.detach(), *(parameter.grad for parameter in bank.parameters())], prompts


@pytest.mark.parametrize("sizes", [{}, {"hidden_size": 64, "head_dim": 16, "intermediate_size": 192}], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_weights_in_floating_point(
    family: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    path = write_checkpoint(tmp_path / family, family, **sizes)
    mine, prompts = gradients(path, None, lambda model: None)
    true, _ = gradients(path, prompts, floating)
    assert len(mine) == 1 + 2 * 2 * len(ALL)
    for found, expected in zip(mine, true, strict=True):
        assert found is not None and expected.abs().max() > 0
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))


def detached(self: Any, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = FORWARD(self, x.detach())
    return result


def wrong(self: Any, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = FORWARD(self, x) * 1.2
    return result


FORWARD = bnb.nn.Linear4bit.forward


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_files_of_4_bits_are_trained_on_as_what_is_quantised_while_it_is_loaded(tmp_path: Path, kind: str) -> None:
    """Without being asked for; they say that they are computed in 16 bits."""
    path = write_checkpoint(tmp_path / "llama", "llama")
    options: Any = {"load_in_4bit": True, "bnb_4bit_quant_type": kind, "bnb_4bit_compute_dtype": torch.bfloat16}
    packed = AutoModelForCausalLM.from_pretrained(path, quantization_config=BitsAndBytesConfig(**options))
    packed.save_pretrained(tmp_path / "packed" / "llama")
    small_tokenizer("llama").save_pretrained(tmp_path / "packed" / "llama")
    mine, prompts = gradients(tmp_path / "packed" / "llama", None, lambda model: None, four_bit=False)
    true, _ = gradients(tmp_path / "packed" / "llama", prompts, floating, four_bit=False)
    for found, expected in zip(mine, true, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))
    assert check_model(str(tmp_path / "packed" / "llama")).precision == "4 bits"


def test_files_that_only_say_so_are_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "llama", "llama")
    config = json.loads((path / "config.json").read_text())
    said = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}
    (path / "config.json").write_text(json.dumps(config | said))
    with pytest.raises(UsageError, match=r"says that its weights are of 4 bits, but none is"):
        load_model(str(path), device="cpu")


@pytest.mark.parametrize(
    ("forward", "told"), [(detached, "hands no gradient on"), (wrong, "is off by 0.2 of its largest number")]
)
def test_layers_that_cannot_be_trained_on_are_refused_before_anything_is_written(
    forward: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_checkpoint(tmp_path / "gemma2", "gemma2")
    monkeypatch.setattr(bnb.nn.Linear4bit, "forward", forward)
    config = make_config("shapellm/ipd", scale="paper").model_copy(update={"model": str(path), "seeds": (0,)})
    with pytest.raises(UsageError, match=rf"could not be loaded: in 4 bits its layer \S+ {told}") as refused:
        train(config, tmp_path / "run", progress=Progress(quiet=True))
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()
