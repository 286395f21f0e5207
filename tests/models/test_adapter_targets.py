"""Where a run's own adapters are: in the text decoder, in lists of layers of any name, at Conv1D layers; and that PEFT finds them there."""

import re
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from adapter_models import KINDS, LINEAR, LISTS, fresh, loaded_by_peft, logits_of
from run_files import read_json
from small_models import export_adapter, shake
from torch import nn
from transformers import AutoModelForCausalLM, MixtralConfig, Qwen3MoeConfig

from coplay.errors import UsageError
from coplay.models.adapter_targets import ModelLayers, settings_places
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.lora_settings import LoraSettings

SLOTS = [SlotName("one", 0)]


def bank_of(model: Any, targets: tuple[str, ...], **others: Any) -> AdapterBank:
    return AdapterBank(model, SLOTS, rank=2, alpha=3.0, targets=targets, **others)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("top_layers", [None, 1, 3])
def test_an_export_is_the_same_for_peft(kind: str, top_layers: int | None, tmp_path: Path) -> None:
    targets = LINEAR[kind][: -1 if kind == "gemma3" else None]
    model = fresh(kind)
    bank = bank_of(model, targets, top_layers=top_layers)
    shake(bank)
    assert bank.first_layer == (2 if top_layers == 1 else 0)
    numbers = "|".join(map(str, range(3 - (top_layers or 3), 3)))
    wanted = rf"(?!.*vision).*\.{LISTS[kind]}\.({numbers})\..*\b({'|'.join(targets)})"
    assert list(bank.places) == [name for name, _ in fresh(kind).named_modules() if re.fullmatch(wanted, name)]
    export_adapter(bank, 0, tmp_path)
    with bank.route([0]):
        expected = logits_of(model)
    assert not torch.allclose(expected, logits_of(model), atol=1e-4)
    torch.testing.assert_close(logits_of(loaded_by_peft(kind, tmp_path)), expected, rtol=1e-5, atol=1e-5)
    assert read_json(tmp_path / "adapter_config.json").get("layers_pattern") == (LISTS[kind] if top_layers else None)
    bank.import_peft(0, tmp_path)


@pytest.mark.parametrize("top_layers", [None, 1])
def test_a_vision_tower_is_left_alone(top_layers: int | None, tmp_path: Path) -> None:
    model = fresh("gemma3")
    bank = bank_of(model, ("q_proj", "v_proj"), top_layers=top_layers)
    assert all(name.startswith("model.language_model.layers.") for name in bank.places) and bank.places
    with pytest.raises(
        UsageError,
        match=r"no linear layer called fc1. It has: down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj\.$",
    ):
        bank_of(fresh("gemma3"), ("fc1",))


@pytest.mark.parametrize(
    ("kind", "has"),
    [("gpt2", "c_attn, c_fc, c_proj"), ("gpt_neox", "dense, dense_4h_to_h, dense_h_to_4h, query_key_value")],
)
def test_the_layers_that_can_be_adapted_are_listed(kind: str, has: str) -> None:
    with pytest.raises(UsageError, match=rf"no linear layer called q_proj, v_proj. It has: {has}\.$"):
        bank_of(fresh(kind), ("q_proj", "v_proj"))


@pytest.mark.parametrize("config", [MixtralConfig, Qwen3MoeConfig])
def test_experts_that_are_no_linear_layers_are_not_offered(config: Any) -> None:
    size = {
        "vocab_size": 64,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    model = AutoModelForCausalLM.from_config(config(**size, num_key_value_heads=1, moe_intermediate_size=8))
    with pytest.raises(
        UsageError, match=r"no linear layer called down_proj. It has: k_proj, o_proj, q_proj, v_proj\.$"
    ):
        bank_of(model, ("down_proj",))


class Nested(nn.Module):
    """Lists of layers in lists of layers, as experts are kept in some models."""

    def __init__(self) -> None:
        super().__init__()
        experts = [nn.ModuleList(nn.ModuleDict({"up": nn.Linear(4, 4)}) for _ in range(3)) for _ in range(3)]
        self.model = nn.ModuleDict({"layers": nn.ModuleList(nn.ModuleDict({"experts": each}) for each in experts)})


@pytest.mark.parametrize("pattern", [None, "layers", ["experts"]])
@pytest.mark.parametrize("layers", [1, [0, 2]])
@pytest.mark.parametrize("rank_pattern", [{}, {"p": 5}, {r"1\.up": 5, "up": 7}])
def test_numbers_in_names_are_read_as_peft_reads_them(pattern: Any, layers: Any, rank_pattern: dict[str, int]) -> None:
    chosen = {"target_modules": ["up"], "layers_to_transform": layers, "layers_pattern": pattern}
    config = peft.LoraConfig(r=2, rank_pattern=rank_pattern, **chosen)
    theirs = peft.inject_adapter_in_model(config, Nested()).named_modules()
    wanted = {name: module.r["default"] for name, module in theirs if isinstance(module, peft.tuners.lora.LoraLayer)}
    ours = {key: tuple(value) if isinstance(value, list) else value for key, value in chosen.items()}
    settings = LoraSettings(2, 4, rank_pattern=rank_pattern, **ours)
    found = settings_places(ModelLayers(Nested()), settings, where="adapter")
    assert {name: place.rank for name, place in found.items()} == wanted


def test_ends_of_names_and_more_layers_than_there_are() -> None:
    assert set(bank_of(fresh("gpt2"), ("mlp.c_proj",)).places) == {f"transformer.h.{i}.mlp.c_proj" for i in range(3)}
    with pytest.raises(UsageError, match=r"adapter.top_layers: the model has 3 layers with these targets, not 4"):
        bank_of(fresh("gpt2"), ("c_attn",), top_layers=4)
