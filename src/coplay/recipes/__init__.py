"""Recipes: a published experiment is a function that returns a complete config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import get_args

from coplay.errors import UsageError, unknown
from coplay.games import make_game
from coplay.games.catalogue import GAMES, GameSpec, config_game
from coplay.recipes import adalign, mediation, sepo, shapellm, society
from coplay.recipes.any_game import ANY_GAME, DEFAULT_GAME, Maker
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.runs.config import Config
from coplay.runs.initial import fitting

__all__ = ["RECIPES", "LearnerKind", "Recipe", "Scale", "make_config", "recipe_config", "recipe_trials"]


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
    for_game: Maker | None = None
    """Returns the config for any game; None for recipes that are about one game."""


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        *(
            Recipe(f"shapellm/{variant.name}", variant.description, variant.config)
            for variant in shapellm.ALL_VARIANTS.values()
        ),
        *(
            Recipe(f"adalign/{variant.name}", variant.description, variant.config, own_model=variant.models is not None)
            for variant in adalign.ALL_VARIANTS.values()
        ),
        *(Recipe(f"sepo/{variant.name}", variant.description, variant.config) for variant in sepo.VARIANTS.values()),
        *(
            Recipe(f"mediation/{variant.name}", variant.description, variant.config)
            for variant in mediation.VARIANTS.values()
        ),
        *(
            Recipe(f"any/{name}", description, partial(make, DEFAULT_GAME), for_game=make)
            for name, (description, make) in ANY_GAME.items()
        ),
        Recipe(
            "any/society", society.DESCRIPTION, partial(society.society, society.DEFAULT_GAME), for_game=society.society
        ),
    )
}
"""All recipes by name."""


def make_config(
    name: str, *, scale: Scale = "tiny", learner: LearnerKind = "language_model", game: GameSpec | None = None
) -> Config:
    """The config of the recipe of that name.

    Args:
        name: a name of :data:`RECIPES`.
        scale: model and hyper-parameters.
        learner: what the learners are made of.
        game: another game than the recipe's; with other seats only for recipes of any game.

    Raises:
        UsageError: for an unknown name (with the nearest one), scale, kind of learner or game, or a game whose seats do not fit.
    """
    for what, given, known in (("scale", scale, get_args(Scale)), ("learner", learner, get_args(LearnerKind))):
        if given not in known:
            raise unknown(what, given, known)
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, listed="recipes")
    recipe = RECIPES[name]
    if game is None:
        return recipe.make(scale, learner)
    if recipe.for_game is not None:
        return recipe.for_game(game, scale, learner)
    config, rules = recipe.make(scale, learner), make_game(game)
    if tuple(config.seats) != tuple(rules.seats):
        raise UsageError(
            f"{name} seats {', '.join(config.seats)}; game {rules.name!r} has {', '.join(rules.seats)}."
            f" A recipe for any game: any/naive --game {game}"
        )
    return fitting(config.model_copy(update={"game": config_game(game)}))


def recipe_trials(config: Mapping[str, object]) -> int | None:
    """How many trials the recipe of a run's config has at its scale; None for a config of no recipe."""
    found = recipe_config(config)
    return None if found is None else found.trials


def recipe_config(config: Mapping[str, object]) -> Config | None:
    """The config that the recipe of a run's config has at its scale, with its kind of learners; None for a config of no recipe.

    Recipes for any game have it for the run's game, if that is one of the catalogue.
    """
    recipe = RECIPES.get(str(config.get("recipe")))
    if recipe is None:
        return None
    learners, game = config.get("learners"), config.get("game")
    tabular = isinstance(learners, dict) and {one.get("policy") for one in learners.values()} == {"tabular"}
    kind: LearnerKind = "tabular" if tabular else "language_model"
    make = recipe.make
    name = game.get("name") if isinstance(game, Mapping) else game
    if recipe.for_game is not None and isinstance(game, str | Mapping) and name in GAMES:
        make = partial(recipe.for_game, game)
    try:
        known = [make(scale, kind) for scale in ("tiny", "paper")]
    except UsageError:  # a recipe about text, run on tables
        return None
    return next((one for one in known if one.model == config.get("model")), known[0])
