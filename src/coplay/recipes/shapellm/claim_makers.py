"""What ShapeLLM's claims have in common: their tables, goals and forms."""

from __future__ import annotations

from dataclasses import replace

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import margin, per_round
from coplay.evaluation.rules import Rule, at_least, at_most
from coplay.recipes.shapellm.measures import extortion_bound
from coplay.recipes.shapellm.tables import EXPERIMENTS

TABLE_1, TABLE_2, TABLE_3 = (f"ShapeLLM, Table {number}" for number in (1, 2, 3))
TABLE_10, TABLE_11, TABLE_15, TABLE_16 = (f"ShapeLLM, Table {number}" for number in (10, 11, 15, 16))
TABLE_17 = "ShapeLLM, Table 17"

EXTORTION = extortion_bound(temptation=4.0, reward=3.0, punishment=1.0, sucker=0.0)
"""11/3: what extortion can get in the dilemma at most."""


def from_equilibrium(reward: float) -> float:
    """How far a reward is from those of chicken's pure equilibria."""
    return min(abs(reward - 1.0), abs(reward - 3.0))


def favours_row(reward: float) -> float:
    """1 if a reward of row is nearer to that of the equilibrium of chicken in which row goes straight, else 0."""
    return float(reward > 2.0)


def near_hare(reward: float) -> float:
    """1 if a reward in the stag hunt is that of both hunting hare, else 0."""
    return float(abs(reward - 1.0) <= 0.2)


_PRINTED = {f"{experiment.id}/{experiment.game}": experiment.table for experiment in EXPERIMENTS}
"""The tables' numbers by ``shapellm/TABLE/GAME``."""


def two_seats(experiment: str, paper: str, arm: str, text: str, row: Rule, column: Rule) -> list[Claim]:
    """A sentence about an arm, checked on both seats against the table's own numbers."""
    published = {one.seat: one for one in _PRINTED[f"shapellm/{experiment}"] if one.arm == arm}
    claims = []
    for seat, rule in (("row", row), ("column", column)):
        printed = published.get(seat)  # the paper's text does not give every number of Table 11
        who, value = (printed.role.lower(), printed.value) if printed else (seat, None)
        sentence = f"{text}: {who}'s reward per step."
        claims.append(Claim(f"{experiment}/{arm}-{seat}", paper, sentence, value, per_round(arm, seat), rule))
    return claims


def zero_sum(experiment: str, paper: str, arm: str, text: str, rule: Rule) -> Claim:
    """A sentence about an arm in matching pennies: one claim, as column's reward is row's with the other sign."""
    claim, _ = two_seats(experiment, paper, arm, text, rule, rule)
    margins = margin(arm, "row") if rule.every_seed else None
    return replace(
        claim, margins=margins, text=claim.text.removesuffix(".") + ", which is its co-player's with the other sign."
    )


GOALS = {"ipd": (3.5, 0.6), "imp": (0.9, -0.9), "icg": (2.9, 1.1)}
"""The shaper's least and its opponent's largest reward, by game."""


def shaping(number: int, game: str, arm: str, text: str, goals: tuple[float, float]) -> list[Claim]:
    """That shaping succeeds in an arm: one claim in a zero-sum game, else one a seat."""
    of, paper = f"table{number}/{game}", f"ShapeLLM, Table {number}"
    if game == "imp":
        return [zero_sum(of, paper, arm, text, at_least(goals[0]))]
    return two_seats(of, paper, arm, text, at_least(goals[0]), at_most(goals[1]))
