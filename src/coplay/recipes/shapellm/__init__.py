"""ShapeLLM's experiments (Opponent Shaping in LLM Agents, ICLR 2026) as recipes, and controls of our own beside them."""

from coplay.recipes.shapellm.controls import CONTROLS
from coplay.recipes.shapellm.cross import CROSS
from coplay.recipes.shapellm.explanations import EXPLANATIONS
from coplay.recipes.shapellm.qwen_coder import QWEN_CODER
from coplay.recipes.shapellm.smollm2 import SMOLLM2
from coplay.recipes.shapellm.variants import VARIANTS, Variant

__all__ = ["ALL_VARIANTS", "VARIANTS", "Variant"]

ALL_VARIANTS: dict[str, Variant] = {
    **VARIANTS,
    **{variant.name: variant for variant in (*CONTROLS, *CROSS, *EXPLANATIONS, *SMOLLM2, *QWEN_CODER)},
}
"""The paper's experiments, then ours, by name."""
