"""Where low-rank adapters are, with which rank and scale, in the words of PEFT's config."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoraSettings:
    """Which layers a low-rank adapter is at, with which rank and scale: PEFT's settings of the same names."""

    r: int
    """The rank where ``rank_pattern`` names no other."""
    lora_alpha: float
    """The update is scaled by alpha / r, where ``alpha_pattern`` names no other."""
    target_modules: tuple[str, ...] | str
    """Ends of layers' names at a dot, or whole names; or a regular expression that a whole name matches, or ``all-linear``."""
    exclude_modules: tuple[str, ...] | str = ()
    """Layers that are left out, written in the same two ways."""
    layers_to_transform: tuple[int, ...] | int | None = None
    """The numbers of the layers that are adapted; None for all."""
    layers_pattern: tuple[str, ...] | str | None = None
    """What the model calls its list of layers; None for any list."""
    rank_pattern: Mapping[str, int] = field(default_factory=dict)
    """Other ranks, by regular expressions that the end of a name matches from a dot on; the first that does counts."""
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    """Other alphas, in the same way."""
    use_rslora: bool = False
    """Whether the update is scaled by alpha / sqrt(r) instead."""

    @property
    def is_plain(self) -> bool:
        """Whether all layers have the rank r and are scaled by alpha / r."""
        return not (self.rank_pattern or self.alpha_pattern or self.use_rslora)

    def scale(self, rank: int, alpha: float) -> float:
        """The factor of the update of a layer with this rank and alpha."""
        return alpha / (math.sqrt(rank) if self.use_rslora else rank)

    def record(self) -> dict[str, object]:
        """As in PEFT's config; settings at their defaults are left out."""
        listed = {"r": self.r, "lora_alpha": self.lora_alpha, "lora_dropout": 0.0, "bias": "none"}
        others: dict[str, object] = {
            "exclude_modules": self.exclude_modules,
            "layers_to_transform": self.layers_to_transform,
            "layers_pattern": self.layers_pattern,
            "rank_pattern": dict(self.rank_pattern),
            "alpha_pattern": dict(self.alpha_pattern),
            "use_rslora": self.use_rslora,
        }
        given = {key: value for key, value in others.items() if value is not None and value not in ((), "", {}, False)}
        if self.layers_to_transform == 0:  # which equals False
            given["layers_to_transform"] = 0
        found = {**listed, "target_modules": self.target_modules, **given}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}
