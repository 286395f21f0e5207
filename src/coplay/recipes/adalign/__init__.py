"""The experiments of Learning Robust Social Strategies with Large Language Models as recipes."""

from coplay.recipes.adalign.smollm2 import SMOLLM2
from coplay.recipes.adalign.variants import VARIANTS, SelfPlayVariant

ALL_VARIANTS = {**VARIANTS, **SMOLLM2}
"""The paper's training runs, then ours, on a real model; by name."""

__all__ = ["ALL_VARIANTS", "SelfPlayVariant"]
