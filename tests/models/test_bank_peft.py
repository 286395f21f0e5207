"""The bank against PEFT: adapters that are exported and imported, and those that are refused."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import (
    ALPHA,
    RANK,
    Bench,
    export_adapter,
    same_state,
    slot_states,
)
from transformers import AutoModelForCausalLM

from coplay.errors import UsageError
from coplay.models.scoring import Prompt

PROMPTS: list[Prompt] = [
    tuple(random.Random(i).randrange(5, 300) for _ in range(length)) for i, length in enumerate([9, 14, 14, 20])
]


def logits_of(model: Any, prompts: list[Prompt]) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([model(input_ids=torch.tensor([p]), use_cache=False).logits[0, -1] for p in prompts])


def test_a_slots_logits_are_those_of_peft_on_the_exported_adapter(bench: Bench, tmp_path: Path) -> None:
    base = AutoModelForCausalLM.from_pretrained(bench.path)
    for slot in range(3):
        directory = tmp_path / f"slot-{slot}"
        export_adapter(bench.bank, slot, directory, base_model=str(bench.path))
        assert sorted(path.name for path in directory.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
        theirs = peft.PeftModel.from_pretrained(base, str(directory)).eval()
        expected = logits_of(theirs, PROMPTS)
        base = theirs.unload()
        assert not torch.allclose(expected, logits_of(base, PROMPTS), atol=1e-2)  # the adapter does something
        got = bench.scorer.score([slot] * len(PROMPTS), PROMPTS).logits_RV
        torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4)


def test_an_adapter_made_by_peft_can_be_imported(bench: Bench, tmp_path: Path) -> None:
    base = AutoModelForCausalLM.from_pretrained(bench.path)
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    theirs = peft.get_peft_model(base, config).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.02)
    theirs.save_pretrained(str(tmp_path / "adapter"))
    bench.bank.import_peft(1, tmp_path / "adapter")
    got = bench.scorer.score([1] * len(PROMPTS), PROMPTS).logits_RV
    torch.testing.assert_close(got, logits_of(theirs, PROMPTS), rtol=2e-4, atol=2e-4)


def test_export_and_import_are_a_round_trip_that_leaves_other_slots_alone(llama: Bench, tmp_path: Path) -> None:
    bank = llama.bank
    before, versions = slot_states(bank), list(bank.versions)
    export_adapter(bank, 0, tmp_path / "adapter", base_model="x")
    bank.import_peft(2, tmp_path / "adapter")
    assert not same_state(before[2], before[0])
    for after, expected in zip(slot_states(bank), (before[0], before[1], before[0]), strict=True):
        assert same_state(after, expected)
    assert bank.versions == [versions[0], versions[1], versions[2] + 1]


def edited(directory: Path, **changes: Any) -> Path:
    path = directory / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return directory


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"r": 4}, r"has rank 4 and scale 8 at 4 layers \(q_proj, v_proj\), this bank needs rank 2 and scale 16"),
        ({"lora_alpha": 16}, "has rank 2 and scale 8 at .*, this bank needs rank 2 and scale 16 at"),
        ({"peft_type": "IA3"}, "peft_type='IA3'"),
        ({"bias": "all"}, "bias='all'"),
        ({"use_rslora": True}, "scale 22.6274 at .*of other rank or scale model.layers.0"),
        ({"use_dora": True}, "use_dora=True"),
        ({"alpha_pattern": {"q_proj": 4}}, "scale 16/2 at .*of other rank or scale model.layers.0.self_attn.q_proj"),
        ({"target_modules": ["q_proj"]}, "the adapter leaves out model.layers.0.self_attn.v_proj"),
        (
            {"target_modules": ["q_proj", "v_proj", "o_proj"]},
            "no adapters of this bank are at model.layers.0.self_attn.o_proj",
        ),
    ],
)
def test_another_kind_of_adapter_is_refused(
    llama: Bench, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    export_adapter(llama.bank, 0, tmp_path / "adapter", base_model="x")
    before = slot_states(llama.bank)
    with pytest.raises(UsageError, match=message):
        llama.bank.import_peft(1, edited(tmp_path / "adapter", **changes))
    assert all(map(same_state, slot_states(llama.bank), before))


def test_an_adapter_of_other_layers_or_shapes_or_none_is_refused(llama: Bench, tmp_path: Path) -> None:
    directory = tmp_path / "adapter"
    export_adapter(llama.bank, 0, directory, base_model="x")
    file = directory / "adapter_model.safetensors"
    tensors = load_file(str(file))
    name = sorted(tensors)[0]

    before = slot_states(llama.bank)

    def refused(match: str) -> None:
        with pytest.raises(UsageError, match=match) as caught:
            llama.bank.import_peft(0, directory)
        assert "\n" not in str(caught.value) and str(file) in str(caught.value)

    def with_tensors(changed: Mapping[str, torch.Tensor], match: str) -> None:
        save_file(dict(changed), str(file))
        refused(match)

    with_tensors({key: value for key, value in tensors.items() if key != name}, f"tensors missing: 1, e.g. {name}")
    with_tensors({**tensors, "more": torch.ones(2)}, "tensors that this bank does not have: 1, e.g. more")
    with_tensors({**tensors, name: tensors[name][:, :-1].contiguous()}, f"of another shape: 1, e.g. {name} has shape")
    for odd in (float("nan"), float("inf")):
        with_tensors({**tensors, name: tensors[name].clone().fill_(odd)}, f"with NaN, .*: 1, e.g. {name}")
    with_tensors({**tensors, name: tensors[name].to(torch.int32)}, f"no floating-point numbers: 1, e.g. {name}")
    file.write_bytes(b"not safetensors")
    refused("cannot be read")
    file.unlink()
    refused("there is no file")
    file.mkdir()
    refused("is not a regular file")
    with pytest.raises(UsageError, match="holds no PEFT adapter"):
        llama.bank.import_peft(0, tmp_path / "nowhere")
    assert all(map(same_state, slot_states(llama.bank), before))


@pytest.mark.parametrize(
    "text", ["5", "[]", "null", "", "{", '{"r": NaN}', "[" * 100_000, '{"r": true, "peft_type": "LORA"}']
)
def test_a_damaged_adapter_config_is_one_line(llama: Bench, tmp_path: Path, text: str) -> None:
    export_adapter(llama.bank, 0, tmp_path, base_model="x")
    (tmp_path / "adapter_config.json").write_text(text)
    with pytest.raises(UsageError, match=r"adapter_config\.json") as caught:
        llama.bank.import_peft(0, tmp_path)
    assert "\n" not in str(caught.value)
