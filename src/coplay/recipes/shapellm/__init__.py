"""ShapeLLM's experiments (Opponent Shaping in LLM Agents, ICLR 2026) as recipes."""

from coplay.recipes.shapellm.variants import VARIANTS, LearnerKind, Scale, Variant

__all__ = ["VARIANTS", "LearnerKind", "Scale", "Variant"]
