"""PEFT's ``adapter_config.json`` for low-rank adapters, read by what is known to be right.

A setting that is not known to leave the weights' meaning as it is, at the value that it has, is refused by its name.

Which of a model's layers the settings mean is found in :mod:`coplay.models.adapter_targets`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coplay.errors import UsageError
from coplay.files.reading import as_object, read_json
from coplay.files.store import check_listed_adapter
from coplay.models.known import AdapterForm
from coplay.models.lora_settings import LoraSettings

MOST_RANK = 2**16
"""No layer has as many inputs or outputs; whether the weights fit into memory is found where they are made."""

MOST_LAYER = 2**31
"""Of the numbers of layers."""

MOST_NAMES = 100_000
"""Entries of a list, or of a pattern's."""

_LARGEST_SCALE = 3e38
"""What single precision holds."""

_UNCHANGED_BASE = (True, False, "gaussian", "orthogonal", "eva")
"""The initialisations that leave the base model's weights as they are, so that the adapter alone says what it adds."""


def read_adapter_config(directory: Path) -> dict[str, object]:
    """A PEFT adapter's ``adapter_config.json``; raises UsageError if it cannot be read."""
    path = directory / "adapter_config.json"
    try:
        return as_object(read_json(path), path)
    except FileNotFoundError:
        raise UsageError(f"{directory} holds no PEFT adapter: there is no file {path}") from None


def read_settings(directory: Path) -> LoraSettings:
    """What an adapter's config says about its layers. Its weights are not read.

    Raises:
        UsageError: if it says anything that is not known to be a low-rank update of linear layers and nothing else, naming the file and the key;
            or the adapter is one of a run and its files are not those of the run's manifest.
    """
    check_listed_adapter(directory)
    config, file = read_adapter_config(directory), directory / "adapter_config.json"
    if config.get("peft_type") != "LORA":
        raise UsageError(f"{file}: adapter has peft_type={_shown(config.get('peft_type'))}; coplay reads LORA")
    missing = sorted(key for key in ("r", "lora_alpha", "target_modules") if config.get(key) is None)
    if missing:
        raise UsageError(f"{file}: adapter has no {', '.join(missing)}, which PEFT writes for every LoRA adapter")
    for key, value in config.items():
        known = KNOWN.get(key, _absent)
        if not known(value):
            name = key if key.isidentifier() else _shown(key)
            raise UsageError(f"{file}: adapter has {name}={_shown(value)}, {_reason(key, value)}")
    settings = _settings(config)
    for problem in _contradictions(settings):
        raise UsageError(f"{file}: {problem}")
    return settings


def written_config(settings: LoraSettings, base_model: object) -> dict[str, object]:
    """What coplay writes into an adapter's config.

    Args:
        settings: the adapter's.
        base_model: what it is for, as the user named it.
    """
    kind = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base_model}
    return {**kind, **settings.record(), "inference_mode": True}


def is_from_elsewhere(directory: Path) -> bool:
    """Whether an adapter's config is any other than coplay would write: that of PEFT, and of tools that write some of its settings."""
    config = read_adapter_config(directory)
    return config != written_config(read_settings(directory), config.get("base_model_name_or_path"))


def adapter_form(directory: Path) -> AdapterForm:
    """The shape of the bank that a PEFT adapter fits into.

    Raises:
        UsageError: if its config is not that of a low-rank adapter, as :func:`read_settings` says.
    """
    settings = read_settings(directory)
    targets = settings.target_modules
    return {
        "rank": settings.r,
        "alpha": settings.lora_alpha,
        "targets": (targets,) if isinstance(targets, str) else targets,
        "top_layers": None,
        "lora": settings,
    }


def _settings(config: Mapping[str, Any]) -> LoraSettings:
    """Of a config whose values are known to be right."""

    def texts(key: str) -> Any:
        value = config.get(key)
        return tuple(value) if isinstance(value, list) else value

    everywhere = config.get("layers_to_transform") == []  # then a pattern says nothing
    return LoraSettings(
        r=config["r"],
        lora_alpha=config["lora_alpha"],
        target_modules=texts("target_modules"),
        exclude_modules=texts("exclude_modules") or (),
        layers_to_transform=None if everywhere else texts("layers_to_transform"),
        layers_pattern=None if everywhere else texts("layers_pattern") or None,
        rank_pattern=config.get("rank_pattern") or {},
        alpha_pattern=config.get("alpha_pattern") or {},
        use_rslora=bool(config.get("use_rslora")),
    )


def _contradictions(settings: LoraSettings) -> list[str]:
    """What PEFT refuses as well, and scales that no number holds."""
    found = []
    if isinstance(settings.target_modules, str) and settings.layers_to_transform is not None:
        found.append("layers_to_transform goes with a list of target_modules; write the layers into the expression")
    if settings.layers_pattern and settings.layers_to_transform is None:
        found.append("layers_pattern goes with layers_to_transform")
    ranks, alphas = (
        [settings.r, *settings.rank_pattern.values()],
        [settings.lora_alpha, *settings.alpha_pattern.values()],
    )
    if 0 in alphas:
        found.append("an alpha of 0 adds nothing to the model")
    if max(abs(settings.scale(min(ranks), alpha)) for alpha in alphas) > _LARGEST_SCALE:
        found.append(f"lora_alpha={max(alphas, key=abs):g} is more than single precision holds")
    return found


def _shown(value: object) -> str:
    """A value in an error, of bounded length."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _reason(key: str, value: object) -> str:
    """Why a value is not read."""
    if key == "init_lora_weights" and isinstance(value, str):
        return (
            "which is not known to leave the base model's weights as they are. PEFT writes an ordinary adapter if save_pretrained is given"
            " path_initial_model_for_weight_conversion"
        )
    return (
        "which is no value of it that coplay can read"
        if key in KNOWN
        else "which is not known to leave a low-rank update as it is"
    )


# ------------------------------------------------------------------ what is known to be right, by key


def _anything(value: object) -> bool:
    return True


def _absent(value: object) -> bool:
    """Nothing that would do something: also the rule for keys that are not known."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


def _flag(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _rank(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_RANK


def _number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond what a float holds
        return False


def _share(value: object) -> bool:
    return value is None or (_number(value) and 0 <= value <= 1)  # type: ignore[operator]


def _names(value: object) -> bool:
    """A regular expression, or a list of names."""
    if isinstance(value, list):
        return 0 < len(value) <= MOST_NAMES and all(isinstance(one, str) and one for one in value)
    return isinstance(value, str) and bool(value)


def _names_or_none(value: object) -> bool:
    return _absent(value) or _names(value)


def _layer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_LAYER


def _layers(value: object) -> bool:
    return (
        value is None
        or _layer(value)
        or (isinstance(value, list) and len(value) <= MOST_NAMES and all(map(_layer, value)))
    )


def _pattern(of: Callable[[object], bool]) -> Callable[[object], bool]:
    def known(value: object) -> bool:
        return value is None or (isinstance(value, dict) and len(value) <= MOST_NAMES and all(map(of, value.values())))

    return known


KNOWN: Mapping[str, Callable[[object], bool]] = {
    "peft_type": _anything,
    "r": _rank,
    "lora_alpha": _number,
    "target_modules": _names,
    "exclude_modules": _names_or_none,
    "layers_to_transform": _layers,
    "layers_pattern": _names_or_none,
    "rank_pattern": _pattern(_rank),
    "alpha_pattern": _pattern(_number),
    "use_rslora": _flag,
    "task_type": lambda value: value in (None, "CAUSAL_LM"),  # others train a layer of their own as well
    "bias": lambda value: value in (None, "none"),
    "init_lora_weights": lambda value: (
        any(value is one or (value == one and isinstance(one, str)) for one in _UNCHANGED_BASE) or value is None
    ),
    "lora_dropout": _share,  # of training
    "inference_mode": _flag,
    "fan_in_fan_out": _flag,  # how the base stores its weights, which its class says
    "eva_config": lambda value: value is None or isinstance(value, dict),  # how an initialisation that is over was made
    "qalora_group_size": lambda value: value is None or _rank(value),  # without use_qalora it says nothing
    "megatron_core": _text,  # without megatron_config it says nothing
    "base_model_name_or_path": _text,
    "revision": _text,
    "peft_version": _text,
    "auto_mapping": lambda value: value is None or isinstance(value, dict),  # which class to load the base with
}
"""The settings at which an adapter is a low-rank update of linear layers and nothing else, each with the values that are known to be right."""
