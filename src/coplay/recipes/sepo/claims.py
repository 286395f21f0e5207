"""SEPO's findings as claims."""

from coplay.evaluation.claims import Claim

CLAIMS: tuple[Claim, ...] = ()
