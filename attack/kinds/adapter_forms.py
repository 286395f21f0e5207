"""``adapter-forms``: adapters that PEFT makes, of every type that it has and with settings of every form: each is read, or refused in a line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

SETTINGS: dict[str, tuple[Any, ...]] = {
    "r": (1, 2, 5),
    "lora_alpha": (1, 8.5, -2),
    "target_modules": (
        ["q_proj", "v_proj"],
        ["self_attn.o_proj", "down_proj", "nowhere"],
        r".*\.layers\.1\..*(q|k|up)_proj",
        "all-linear",
        ["embed_tokens", "q_proj"],
        ["lm_head", "q_proj"],
    ),
    "exclude_modules": (None, ["v_proj"], r".*\.0\..*"),
    "rank_pattern": ({}, {"q_proj": 3, r".*\.1\..*": 1}),
    "alpha_pattern": ({}, {"v_proj": 3.5}),
    "use_rslora": (False, True),
    "use_dora": (False, False, True),
    "bias": ("none", "none", "all", "lora_only"),
    "init_lora_weights": (True, False, "gaussian", "orthogonal", "pissa", "olora"),
    "modules_to_save": (None, None, ["lm_head"]),
    "trainable_token_indices": (None, None, [1, 2]),
}
"""Settings of a LoRA adapter, of which some come together."""


@kind("adapter-forms", "adapters that PEFT makes of every type and form, for a model to be checked with", most=40)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Types by name, and between them LoRA adapters with settings drawn at random."""
    import peft

    types = sorted(one.value for one in peft.PeftType)
    while True:
        rng.shuffle(types)
        for name in types:
            yield Try(f"an adapter of the type {name}", lambda place, name=name: _checked(place, _of_type(name)))  # type: ignore[misc]
            chosen = {key: rng.choice(values) for key, values in SETTINGS.items() if rng.random() < 0.6}
            chosen.setdefault("target_modules", ["q_proj", "v_proj"])
            yield Try(f"LoRA with {chosen}", lambda place, chosen=chosen: _lora(place, chosen))  # type: ignore[misc]


def _of_type(name: str) -> dict[str, object]:
    """The config of another type as its class writes it, where it needs no more than layers; else the name of it with LoRA's settings."""
    import peft

    try:
        config = peft.mapping.PEFT_TYPE_TO_CONFIG_MAPPING[peft.PeftType(name)](target_modules=["q_proj"])
        found: dict[str, object] = json.loads(json.dumps(config.to_dict(), default=sorted))
    except Exception:  # each type asks for settings of its own, in errors of its own
        found = {"peft_type": name, "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}
    return found


def _checked(place: Place, config: dict[str, object]) -> list[Fall]:
    """A directory with a config and no weights: only LoRA's may be meant by it."""
    directory = _directory(place)
    (directory / "adapter_config.json").write_text(json.dumps(config))
    right = (0, 2) if config.get("peft_type") == "LORA" else (2,)
    return judged(place.coplay(*_check(directory)), names=["adapter"], statuses=right)


def _lora(place: Place, chosen: dict[str, Any]) -> list[Fall]:
    """An adapter of PEFT's with these settings and weights that move the model; one that PEFT itself refuses has no weights."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    from coplay.models.known import known_path

    directory = _directory(place)
    try:
        model = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(known_path("tiny")), peft.LoraConfig(**chosen))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.05)
        model.save_pretrained(str(directory))
    except Exception:  # what PEFT says of settings that contradict each other may be any error
        (directory / "adapter_config.json").write_text(
            json.dumps({"peft_type": "LORA", "r": 8, "lora_alpha": 8, **chosen})
        )
    return judged(place.coplay(*_check(directory)), names=["adapter"], statuses=(0, 1, 2))


def _directory(place: Place) -> Path:
    directory = place.work / "adapter"
    directory.mkdir()
    return directory


def _check(directory: Path) -> tuple[str, ...]:
    return ("models", "check", "tiny", "--adapter", directory.name, "--json")
