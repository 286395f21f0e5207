"""Safe Equilibrium Policy Optimization as recipes: training runs, pools, and the warm start by demonstrations."""

from coplay.recipes.sepo.variants import VARIANTS

__all__ = ["VARIANTS"]
