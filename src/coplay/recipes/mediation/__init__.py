"""Learning to mediate as recipes: dilemmas of three players, a market of firms, firms that learn."""

from coplay.recipes.mediation import dilemmas, firms, market
from coplay.recipes.mediation.firms import FirmsVariant
from coplay.recipes.mediation.variants import MediationVariant

VARIANTS: dict[str, MediationVariant | FirmsVariant] = {**dilemmas.VARIANTS, **market.VARIANTS, **firms.VARIANTS}
"""By name."""

__all__ = ["VARIANTS"]
