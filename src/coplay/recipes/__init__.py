"""Recipes: a published experiment is a function that returns a complete config."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from coplay.errors import unknown
from coplay.recipes import adalign, shapellm
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.runs.config import Config

__all__ = ["RECIPES", "LearnerKind", "Recipe", "Scale", "make_config"]


@dataclass(frozen=True)
class Recipe:
    """A named experiment."""

    name: str
    """How it is called, ``PAPER/EXPERIMENT``."""
    description: str
    """One sentence."""
    make: Callable[[Scale, LearnerKind], Config]
    """Returns the config for a scale and a kind of learner."""
    own_model: bool = False
    """Whether it is about a certain model, which another one asked for does not replace."""


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        *(
            Recipe(f"shapellm/{variant.name}", variant.description, variant.config)
            for variant in shapellm.ALL_VARIANTS.values()
        ),
        *(
            Recipe(f"adalign/{variant.name}", variant.description, variant.config, own_model=variant.models is not None)
            for variant in adalign.VARIANTS.values()
        ),
    )
}
"""All recipes by name."""


def make_config(name: str, *, scale: Scale = "tiny", learner: LearnerKind = "language_model") -> Config:
    """The config of the recipe of that name; raises UsageError for an unknown name (with the nearest one), scale or kind of learner."""
    for what, given, known in (("scale", scale, get_args(Scale)), ("learner", learner, get_args(LearnerKind))):
        if given not in known:
            raise unknown(what, given, known)
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, listed="recipes")
    return RECIPES[name].make(scale, learner)
