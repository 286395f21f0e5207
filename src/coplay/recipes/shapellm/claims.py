"""What ShapeLLM says, claim by claim."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.recipes.shapellm.claims_appendix import APPENDIX
from coplay.recipes.shapellm.claims_dynamics import DYNAMICS
from coplay.recipes.shapellm.claims_illegal import ILLEGAL
from coplay.recipes.shapellm.claims_main import MAIN

CLAIMS: tuple[Claim, ...] = (*MAIN, *APPENDIX, *DYNAMICS, *ILLEGAL)
"""All claims: tables in their order, then what the text says of training, then illegal replies."""
