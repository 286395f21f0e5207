"""Learning to mediate as recipes: dilemmas of three players, a market of firms, firms that learn, language models as mediators."""

from coplay.recipes.mediation import dilemmas, firms, language, market
from coplay.recipes.mediation.firms import FirmsVariant
from coplay.recipes.mediation.language import LanguageVariant
from coplay.recipes.mediation.variants import MediationVariant

VARIANTS: dict[str, MediationVariant | FirmsVariant | LanguageVariant] = {
    **dilemmas.VARIANTS,
    **market.VARIANTS,
    **firms.VARIANTS,
    **language.VARIANTS,
}
"""By name."""

__all__ = ["VARIANTS"]
