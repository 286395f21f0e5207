"""Tiny models of the kinds that adapters are made for, and adapters that PEFT makes for them, of all forms that its settings have."""

from __future__ import annotations

import copy
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import peft
import torch
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma3Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    Qwen2Config,
    SiglipVisionConfig,
)

SIZE = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2}
KINDS = ("llama", "qwen2", "gpt2", "gpt_neox", "gemma3")

LINEAR = {
    "llama": ("q_proj", "v_proj", "o_proj", "down_proj"),
    "qwen2": ("k_proj", "v_proj", "gate_proj"),
    "gpt2": ("c_attn", "c_proj", "c_fc"),
    "gpt_neox": ("query_key_value", "dense", "dense_4h_to_h"),
    "gemma3": ("q_proj", "v_proj", "up_proj", "fc1"),
}
"""The last names of some linear layers; Gemma 3's vision tower has layers of the first two names as well, and of the last."""

PARENT = {"llama": "self_attn", "qwen2": "self_attn", "gpt2": "attn", "gpt_neox": "attention", "gemma3": "self_attn"}
LISTS = {"llama": "layers", "qwen2": "layers", "gpt2": "h", "gpt_neox": "layers", "gemma3": "layers"}


@cache
def base(kind: str) -> Any:
    """A model with random weights; copy it before anything is put into it."""
    torch.manual_seed(KINDS.index(kind))
    config: Any = {
        "llama": lambda: LlamaConfig(**SIZE),
        "qwen2": lambda: Qwen2Config(**SIZE, num_key_value_heads=1),
        "gpt2": lambda: GPT2Config(vocab_size=64, n_embd=16, n_layer=3, n_head=2, n_positions=64),
        "gpt_neox": lambda: GPTNeoXConfig(**SIZE),
        "gemma3": lambda: Gemma3Config(
            text_config=Gemma3TextConfig(**SIZE, num_key_value_heads=1, head_dim=8).to_dict(),
            vision_config=SiglipVisionConfig(
                hidden_size=16,
                intermediate_size=24,
                num_hidden_layers=2,
                num_attention_heads=2,
                image_size=28,
                patch_size=14,
            ).to_dict(),
            mm_tokens_per_image=4,
            image_token_index=63,
        ),
    }[kind]()
    config.bos_token_id = config.eos_token_id = config.pad_token_id = 0
    return AutoModelForCausalLM.from_config(config).eval()


def fresh(kind: str) -> Any:
    """A copy of the model."""
    return copy.deepcopy(base(kind))


def logits_of(model: Any) -> Tensor:
    """Of two rows."""
    ids_RL = torch.randint(1, 60, (2, 7), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found: Tensor = model(input_ids=ids_RL, use_cache=False).logits
    return found


@st.composite
def settings(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Settings of a LoRA adapter for a kind of model."""
    kinds, lists = LINEAR[kind], LISTS[kind]
    names = draw(st.lists(st.sampled_from(kinds), min_size=1, unique=True))
    paths = [name for name, _ in base(kind).named_modules() if name.rpartition(".")[2] in kinds]
    either = "|".join(names)
    listed = st.one_of(
        st.just(names),
        st.just([*names, "nowhere_proj"]),
        st.just([f"{PARENT[kind]}.{name}" for name in names]),
        st.lists(st.sampled_from(paths), min_size=1, max_size=6, unique=True),
        st.just([*names, draw(st.sampled_from(paths))]),
    )
    expressions = st.sampled_from(
        [
            rf".*\.({either})",
            rf"(?!.*vision).*\.(?:{either})$",
            rf".*\.{lists}\.(0|2)\..*({either})",
            rf".*{lists}\.\d+\.{PARENT[kind]}\.\w+({names[0][-3:]})",
            "all-linear",
            "All-Linear",
        ]
    )
    found: dict[str, Any] = {
        "r": draw(st.integers(1, 5)),
        "lora_alpha": draw(st.sampled_from([1, 2, 7, 0.5, 3.25, -2])),
        "use_rslora": draw(st.booleans()),
        "fan_in_fan_out": draw(st.booleans()),
        "lora_dropout": draw(st.sampled_from([0.0, 0.3])),
        "init_lora_weights": draw(st.sampled_from([True, False, "gaussian"])),
        "target_modules": draw(st.one_of(listed, expressions)),
    }
    if draw(st.booleans()):
        found["exclude_modules"] = draw(
            st.sampled_from(
                [[names[0]], [paths[0]], [f"1.{PARENT[kind]}.{names[0]}"], rf".*\.{lists}\.1\..*", r".*vision.*", []]
            )
        )
    if isinstance(found["target_modules"], list) and draw(st.booleans()):
        found["layers_to_transform"] = draw(st.sampled_from([0, 1, 2, [0], [1, 2], [0, 2], [2, 9], 7, []]))
        found["layers_pattern"] = draw(st.sampled_from([None, lists, [lists], ["nowhere", lists], "nowhere"]))
    keys = st.sampled_from(
        [
            *names,
            paths[-1],
            rf".*\.{lists}\.0\..*",
            rf"{lists}\.[12]\..*{names[0]}",
            f"{PARENT[kind]}.{names[0]}",
            names[0][1:],
            "x",
        ]
    )
    if draw(st.booleans()):
        found["rank_pattern"] = draw(st.dictionaries(keys, st.integers(1, 6), max_size=3))
    if draw(st.booleans()):
        found["alpha_pattern"] = draw(st.dictionaries(keys, st.sampled_from([1, 4, 2.5]), max_size=3))
    return found


def write_config(directory: Path, found: dict[str, Any]) -> None:
    """The settings as they are, not as PEFT has resolved them."""
    directory.mkdir(exist_ok=True)
    (directory / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "task_type": "CAUSAL_LM", **found}))


def made_by_peft(kind: str, found: dict[str, Any], directory: Path) -> Any:
    """A model with PEFT's adapter of these settings, random weights in all of it, which is saved; None if PEFT refuses the settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = peft.get_peft_model(fresh(kind), peft.LoraConfig(task_type="CAUSAL_LM", **found)).eval()
        except (ValueError, TypeError):
            return None
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_" in name:
                    parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
        model.save_pretrained(str(directory))
    write_config(directory, found)
    return model


def loaded_by_peft(kind: str, directory: Path) -> Any:
    """A model with the adapter that a directory holds; no tensor may be missing."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = peft.PeftModel.from_pretrained(fresh(kind), str(directory)).eval()
    assert not [str(one.message) for one in said if "missing adapter keys" in str(one.message)]
    return model
