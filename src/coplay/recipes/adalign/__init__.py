"""The experiments of Learning Robust Social Strategies with Large Language Models as recipes."""

from coplay.recipes.adalign.variants import VARIANTS, SelfPlayVariant

__all__ = ["VARIANTS", "SelfPlayVariant"]
