"""Which layers of a model adapters are at: those that a run's config names, and those that the settings of a PEFT adapter mean.

The rules for settings are PEFT's own, so the same layers are found as PEFT finds, also without it. A file of weights has exactly the tensors of the
layers that PEFT found, so reading it shows whether that is so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from torch import Tensor, nn

from coplay.errors import UsageError
from coplay.models.lora_settings import LoraSettings
from coplay.models.patterns import Pattern, matches

ALL_LINEAR = "all-linear"
"""PEFT's word for all linear layers but the output layer."""

LISTED = 3
"""Names of layers in an error."""

_ANY_LIST = re.compile(r".*?\.[^.]*\.(?P<number>\d+)\.")
"""The number of a layer, where no name of the list of layers is given: the first number in a name."""


@dataclass(frozen=True)
class Place:
    """The adapter at one layer."""

    rank: int
    """Its rank."""
    scale: float
    """What its update is multiplied by."""


@dataclass(frozen=True)
class Linear:
    """A linear layer's size."""

    in_features: int
    """Inputs."""
    out_features: int
    """Outputs."""


class ModelLayers:
    """A model's layers by name, looked at before a bank wraps any of them."""

    def __init__(self, model: nn.Module) -> None:
        modules = {name: module for name, module in model.named_modules() if name}
        self.kinds = {name: type(module).__name__ for name, module in modules.items()}
        """The class of every module."""
        self.linear = {name: size for name, module in modules.items() if (size := _linear(module)) is not None}
        """The sizes of linear layers: of any class that has the attributes of one, and GPT-2's ``Conv1D``."""
        name_of = {module: name for name, module in modules.items()}
        self.head = name_of.get(getattr(model, "get_output_embeddings", lambda: None)() or model)
        """The name of the output layer; None without one."""
        decoder = _text_decoder(model)
        self.text = "" if decoder is None else f"{name_of[decoder]}."
        """What the names of the layers that read text begin with: empty but for models that have other towers beside them."""
        self._lists = {name for name, module in modules.items() if isinstance(module, nn.ModuleList)}

    def main_list(self, names: Sequence[str]) -> tuple[str, dict[str, int]]:
        """The list of layers that most of these layers are in, by name, and the number of each of them that is in it; the outermost if lists are nested."""
        numbers: dict[str, dict[str, int]] = {}
        for name in names:
            parts = name.split(".")
            outer = next((i for i in range(1, len(parts)) if ".".join(parts[:i]) in self._lists), None)
            if outer is not None:
                numbers.setdefault(".".join(parts[:outer]), {})[name] = int(parts[outer])
        return max(numbers.items(), key=lambda item: len(item[1]), default=("", {}))

    def first_layer(self, names: Sequence[str]) -> int:
        """The lowest layer that any of these is in; 0 if one is outside the list of layers."""
        _, number_of = self.main_list(names)
        return min(number_of.values()) if number_of and len(number_of) == len(names) else 0


def _linear(module: nn.Module) -> Linear | None:
    if type(module).__name__ == "Conv1D" and isinstance(getattr(module, "nf", None), int):  # as GPT-2's, [in, out]
        inputs, outputs = cast(Tensor, module.weight).shape
        return Linear(inputs, outputs)
    sizes = (getattr(module, "in_features", None), getattr(module, "out_features", None))
    return Linear(*sizes) if all(isinstance(size, int) for size in sizes) else None  # type: ignore[arg-type]


def _text_decoder(model: nn.Module) -> nn.Module | None:
    """The part that reads text, of a model that has others as well."""
    config = getattr(model, "config", None)
    if config is None or config.get_text_config() is config:
        return None
    decoder = model.get_decoder()  # type: ignore[operator]
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    inside = decoder is not model and any(module is embedding for module in decoder.modules())
    return cast(nn.Module, decoder) if inside else None


# ------------------------------------------------------------------ what a run's config names


def named_places(
    layers: ModelLayers, *, rank: int, alpha: float, targets: Sequence[str], top_layers: int | None
) -> tuple[LoraSettings, dict[str, Place]]:
    """Adapters of one rank and scale at the text decoder's layers of these names, and the settings by which PEFT finds the same.

    Args:
        layers: the model's.
        rank: of all.
        alpha: the update is scaled by alpha / rank.
        targets: last parts of the layers' names.
        top_layers: how many of the last layers are adapted; None for all.

    Raises:
        UsageError: if a target names no linear layer, or there are not so many layers.
    """
    offered = [name for name in layers.linear if name.startswith(layers.text) and name != layers.head]
    wanted = frozenset(targets)
    found = [name for name in offered if _ends_in(name, wanted)]
    missing = wanted - {end for name in found for end in _ends(name)}
    if layers.head is not None and layers.head.rpartition(".")[2] in missing:
        raise UsageError(
            f"adapter.targets: {layers.head} is the output layer, which coplay does not adapt; leave it out"
        )
    if missing:
        raise UsageError(
            f"adapter.targets: the model has no linear layer called {', '.join(sorted(missing))}."
            f" It has: {', '.join(sorted({name.rpartition('.')[2] for name in offered}))}."
        )
    settings = LoraSettings(rank, alpha, tuple(targets))
    if top_layers is not None:
        found, settings = _of_top_layers(layers, found, settings, top_layers)
    if found:
        beside = [name for name in _selected(layers, settings, "adapter.targets") if name not in set(found)]
        settings = replace(settings, exclude_modules=tuple(beside))
    return settings, dict.fromkeys(found, Place(rank, settings.scale(rank, alpha)))


def _of_top_layers(
    layers: ModelLayers, names: Sequence[str], settings: LoraSettings, count: int
) -> tuple[list[str], LoraSettings]:
    """Those of the names that are in the last layers, and the settings that say so."""
    listed_in, number_of = layers.main_list(names)
    total = max(number_of.values(), default=-1) + 1
    if count > total:
        raise UsageError(f"adapter.top_layers: the model has {total} layers with these targets, not {count}")
    top = tuple(range(total - count, total))
    changed = replace(settings, layers_to_transform=top, layers_pattern=listed_in.rpartition(".")[2])
    return [name for name in names if number_of.get(name, -1) in top], changed


# ------------------------------------------------------------------ what an adapter's settings mean


def settings_places(layers: ModelLayers, settings: LoraSettings, *, where: str) -> dict[str, Place]:
    """The layers that settings mean, in the model's order, as PEFT finds them.

    Args:
        layers: the model's.
        settings: the adapter's.
        where: the file that they are from, for errors.

    Raises:
        UsageError: if they mean no layer, or one that is not linear, or the output layer.
    """
    names = _selected(layers, settings, where)
    if not names:
        raise UsageError(f"{where}: no layer of the model is meant by target_modules={_shown(settings.target_modules)}")
    others = [name for name in names if name not in layers.linear]
    if others:
        raise UsageError(
            f"{where}: target_modules mean {others[0]}, which is no linear layer but {layers.kinds[others[0]]}; coplay adapts linear layers"
        )
    if layers.head in names:
        raise UsageError(f"{where}: target_modules mean the output layer {layers.head}, which coplay does not adapt")
    ranks = _by_pattern(settings.rank_pattern, names, f"{where}: rank_pattern")
    alphas = _by_pattern(settings.alpha_pattern, names, f"{where}: alpha_pattern")
    found = {}
    for name in names:
        rank = int(ranks.get(name, settings.r))
        found[name] = Place(rank, settings.scale(rank, alphas.get(name, settings.lora_alpha)))
    return found


def _selected(layers: ModelLayers, settings: LoraSettings, where: str) -> list[str]:
    """The modules of any kind that the settings mean, in the model's order."""
    names = list(layers.kinds)
    targets, excluded = settings.target_modules, settings.exclude_modules
    if isinstance(excluded, str):
        [out] = matches([Pattern("fullmatch", excluded)], names, where=f"{where}: exclude_modules")
        names = [name for name, without in zip(names, out, strict=True) if not without]
    elif excluded:
        unwanted = frozenset(excluded)
        names = [name for name in names if not _ends_in(name, unwanted)]
    if isinstance(targets, str) and targets.lower() == ALL_LINEAR:
        targets = tuple(name for name in layers.linear if name != layers.head)
    if isinstance(targets, str):
        [chosen] = matches([Pattern("fullmatch", targets)], names, where=f"{where}: target_modules")
        return [name for name, meant in zip(names, chosen, strict=True) if meant]
    wanted = frozenset(targets)
    return [name for name in names if name in wanted or (_ends_in(name, wanted) and _in_layers(name, settings))]


def _ends_in(name: str, ends: frozenset[str]) -> bool:
    """Whether a name is one of these, or ends in one behind a dot."""
    return any(end in ends for end in _ends(name))


def _ends(name: str) -> Iterator[str]:
    """``a.b.c``, ``b.c``, ``c``."""
    yield name
    while "." in name:
        name = name.partition(".")[2]
        yield name


def _in_layers(name: str, settings: LoraSettings) -> bool:
    """Whether a layer is in one of the numbered layers that are adapted."""
    layers, lists = settings.layers_to_transform, settings.layers_pattern
    if layers is None:
        return True
    if not lists:
        found = _ANY_LIST.match(name)
    else:
        each = (lists,) if isinstance(lists, str) else lists
        tried = (re.match(rf"(?:^|.*?\.){one}\.(?P<number>\d+)\.", name) for one in each)
        found = next((one for one in tried if one is not None), None)
    number = -1 if found is None else int(found["number"])
    return number == layers if isinstance(layers, int) else number in layers


def _by_pattern(values: Mapping[str, float], names: Sequence[str], where: str) -> dict[str, float]:
    """The value of the first expression that the end of each name matches; without those that none matches."""
    patterns = [Pattern("match", rf"(.*\.)?({key})$") for key in values]
    found: dict[str, float] = {}
    for value, meant in zip(values.values(), matches(patterns, names, where=where), strict=True):
        for name, is_meant in zip(names, meant, strict=True):
            if is_meant:
                found.setdefault(name, value)
    return found


def _shown(targets: Sequence[str] | str) -> str:
    text = repr(targets if isinstance(targets, str) else list(targets))
    return text if len(text) <= 120 else f"{text[:120]}..."


def mismatch(adapter: Mapping[str, Place], bank: Mapping[str, Place]) -> str:
    """Why an adapter does not fit into a bank, in words; empty if it does."""
    if adapter == bank:
        return ""
    reasons = {
        "no adapters of this bank are at": [name for name in adapter if name not in bank],
        "the adapter leaves out": [name for name in bank if name not in adapter],
        "of other rank or scale": [name for name in adapter if name in bank and adapter[name] != bank[name]],
    }
    first = next(f"{what} {', '.join(names[:LISTED])}" for what, names in reasons.items() if names)
    return f"the adapter has {_described(adapter)}, this bank needs {_described(bank)} ({first})"


def _described(places: Mapping[str, Place]) -> str:
    """Adapters in a few words: ``rank 8 and scale 2 at 4 layers (q_proj, v_proj)``."""
    ranks, scales = (
        sorted({f"{value:g}" for value in values})
        for values in zip(*((p.rank, p.scale) for p in places.values()), strict=True)
    )
    kinds = sorted({name.rpartition(".")[2] for name in places})
    return f"rank {'/'.join(ranks[:LISTED])} and scale {'/'.join(scales[:LISTED])} at {len(places)} layers ({', '.join(kinds[:8])})"
