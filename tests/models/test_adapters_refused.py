"""Adapters that are no low-rank change of linear layers are refused in a line: by what is known to be right, so also what no list of ours names."""

import dataclasses
import json
import random
import time
import warnings
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from adapter_models import fresh, write_config
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from coplay.errors import UsageError
from coplay.models import patterns
from coplay.models.adapter_config import KNOWN, adapter_form, read_settings
from coplay.models.bank import AdapterBank, SlotName

PLAIN: dict[str, Any] = {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"]}


def refused(directory: Path, match: str, kind: str = "llama") -> None:
    """The adapter is refused in one line that names its file."""
    with pytest.raises(UsageError, match=match) as caught:
        AdapterBank(fresh(kind), [SlotName("one", 0)], **adapter_form(directory))
    said = str(caught.value)
    assert "\n" not in said and len(said) < 600 and "adapter" in said


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(peft.LoraConfig) if one.name not in KNOWN])
@pytest.mark.parametrize("value", [True, 3, "x", ["x"], {"x": 1}], ids=repr)
def test_settings_that_are_not_known_to_be_right_are_refused(tmp_path: Path, field: str, value: object) -> None:
    write_config(tmp_path, {**PLAIN, field: value})
    refused(tmp_path, f"adapter has {field}=.* not known to leave a low-rank update as it is")


@given(
    key=st.text(min_size=1).filter(lambda key: key not in KNOWN),
    value=st.one_of(st.just(True), st.integers(1), st.text(min_size=1)),
)
def test_settings_of_later_versions_are_refused(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    directory = tmp_path_factory.mktemp("later")
    write_config(directory, {**PLAIN, key: value})
    refused(directory, "adapter has .* not known to leave")
    write_config(directory, {**PLAIN, key: None})
    assert read_settings(directory).r == 2


def test_the_defaults_of_peft_are_read(tmp_path: Path) -> None:
    peft.LoraConfig(**PLAIN).save_pretrained(str(tmp_path))
    assert read_settings(tmp_path).target_modules in (("q_proj", "v_proj"), ("v_proj", "q_proj"))
    assert set(json.loads((tmp_path / "adapter_config.json").read_text())) >= set(KNOWN) - {"eva_config"}


@pytest.mark.parametrize(
    "start",
    [True, False, "gaussian", "orthogonal", "eva", "pissa", "pissa_niter_2", "olora", "lora_ga", "mica", "corda"],
)
def test_initialisations_are_read_if_peft_leaves_the_base_as_it_is(tmp_path: Path, start: object) -> None:
    write_config(tmp_path, {**PLAIN, "init_lora_weights": start})
    model = fresh("llama")
    before = {name: value.clone() for name, value in model.named_parameters()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peft.inject_adapter_in_model(peft.LoraConfig(**PLAIN, init_lora_weights=start), model)  # type: ignore[arg-type]
        now = {
            name.replace(".base_layer", ""): value for name, value in model.named_parameters() if "lora_" not in name
        }
        changed = any(not torch.equal(value, before[name]) for name, value in now.items())
    except ValueError:  # what needs data
        changed = True
    if start in ("lora_ga", "mica"):  # with gradients of its own data, and unknown
        changed = True
    if changed:
        refused(tmp_path, "init_lora_weights=.* not known to leave the base model's weights")
    else:
        assert read_settings(tmp_path).r == 2


BAD = {
    "r": [0, -1, True, "2", 2.0, None, 10**30, [2]],
    "lora_alpha": [0, True, "4", None, [], 10**400, 1e308],
    "target_modules": [
        None,
        [],
        "",
        5,
        [5],
        [""],
        ["nowhere"],
        "nowhere",
        ["embed_tokens"],
        ["self_attn"],
        ["q_proj", "lm_head"],
        ".*",
        "(",
        "a{2",
        "x" * 200_000,
    ],
    "exclude_modules": [5, [5], "(", ["q_proj", "v_proj"], ".*"],
    "layers_to_transform": ["x", True, [True], -1, [-1], 1.0, 9],
    "layers_pattern": ["layers", 5, [5]],
    "rank_pattern": [["x"], {"q_proj": 0}, {"q_proj": "2"}, {"q_proj": True}, {"(": 2}, 5],
    "alpha_pattern": [{"q_proj": "2"}, {"q_proj": 0}, {"(": 2}, {"q_proj": 1e308}, 5],
    "use_rslora": [1, "yes"],
    "lora_dropout": ["x", 2, -1],
    "bias": ["all", "lora_only", True],
    "task_type": ["SEQ_CLS", 5],
    "peft_type": [None, 5, "lora", "ADALORA", "", ["LORA"]],
    "init_lora_weights": ["pissa", 1, "Gaussian", []],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in BAD.items() for value in values], ids=lambda one: repr(one)[:30]
)
def test_values_of_the_wrong_kind_are_one_line(tmp_path: Path, key: str, value: object) -> None:
    write_config(tmp_path, {**PLAIN, key: value})
    refused(tmp_path, "adapter")


def test_expressions_that_take_too_long_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 1.0)
    slow = r"(\w+\.?)+(\w+\.?)+!"
    for changes in ({"target_modules": slow}, {"exclude_modules": slow}, {"rank_pattern": {slow: 3}}):
        write_config(tmp_path, {**PLAIN, **changes})
        started = time.monotonic()
        refused(tmp_path, "take more than 1 s to match")
        assert time.monotonic() - started < 30


def of_other_types() -> dict[str, peft.PeftConfig]:
    """A config of each type of PEFT's that can be put into a Llama."""
    found = {}
    for name, kind in peft.mapping.PEFT_TYPE_TO_CONFIG_MAPPING.items():
        if name == peft.PeftType.LORA:
            continue
        for chosen in ({"target_modules": ["q_proj", "v_proj"]}, {"num_virtual_tokens": 3}, {}):
            try:
                found[str(name.value)] = kind(task_type="CAUSAL_LM", **chosen)
                break
            except Exception:  # each type needs other settings; the name alone is enough then
                continue
    return found


@pytest.mark.parametrize("name", sorted(kind.value for kind in peft.PeftType if kind.value != "LORA"))
def test_every_other_type_of_adapter_is_refused(tmp_path: Path, name: str) -> None:
    config = of_other_types().get(name)
    if config is None:
        write_config(tmp_path, {"peft_type": name})
    else:
        config.save_pretrained(str(tmp_path))
    refused(tmp_path, f"adapter has peft_type='{name}'")


def test_the_names_of_tensors(tmp_path: Path) -> None:
    """With and without the adapter's name, as PEFT reads them; not both, and no others."""
    config = peft.LoraConfig(**PLAIN, task_type="CAUSAL_LM")
    peft.get_peft_model(fresh("llama"), config).save_pretrained(str(tmp_path))
    bank = AdapterBank(fresh("llama"), [SlotName("one", 0)], **adapter_form(tmp_path))
    file = tmp_path / "adapter_model.safetensors"
    tensors = load_file(str(file))
    name = random.Random(0).choice(sorted(tensors))
    bank.import_peft(0, tmp_path)
    expected = bank.slot_state(0)
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2):
        save_file(
            {key.replace(".weight", ".default.weight"): value.to(dtype) for key, value in tensors.items()}, str(file)
        )
        bank.import_peft(0, tmp_path)
        for key, value in bank.slot_state(0).items():
            assert value.dtype == torch.float32 and torch.equal(value, expected[key].to(dtype).float())
    huge = {**tensors, name: torch.full_like(tensors[name], 1e300, dtype=torch.float64)}
    whole = {**tensors, name: tensors[name].to(torch.int32)}
    twice = {**tensors, name.replace(".weight", ".default.weight"): tensors[name].clone()}
    without = {key.removeprefix("base_model.model."): value for key, value in tensors.items()}
    named = {key.replace(".weight", ".other.weight"): value for key, value in tensors.items()}
    for changed, match in (
        (twice, "there twice: 1"),
        (without, "missing: 12"),
        (named, "missing: 12"),
        (huge, "infinite or no floating-point numbers: 1"),
        (whole, "infinite or no floating-point numbers: 1"),
        ({}, "missing: 12"),
    ):
        save_file(changed, str(file))
        with pytest.raises(UsageError, match=match):
            bank.import_peft(0, tmp_path)
