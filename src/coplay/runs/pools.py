"""Pools of co-players for learners with a safety objective, as a config states them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from coplay.learners.settings import StrictModel
from coplay.runs.limits import MOST, MOST_SEEDS

POOLS = "pools"
"""Sits in a seat: the co-players of all pools that are trained against, one for each group of games, in turn."""


BEST_RESPONSES = "best_responses"
"""In the pool ``exploit``: exact best responses to the learner's policies of earlier trials."""


def _members(value: object) -> object:
    """Players with commas; an empty text is nobody."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Members = Annotated[tuple[str, ...], BeforeValidator(_members)]
"""The members of a pool: a list, or one text with commas."""


class Pools(StrictModel):
    """Co-players by what they measure of a learner with a safety objective (SEPO, section 3.2 and Table 14)."""

    train: Members = ()
    """Against these its payoff counts, and the welfare that is lost."""
    exploit: Members = ()
    """What these gain at its expense is its exploitability."""
    collusive: Members = ()
    """These invite collusion."""
    shifted: Members = ()
    """It never meets these in training; its payoff against them says how robust it is."""
    respond_every: int = Field(5, ge=1, le=MOST)
    """Trials between two best responses of the co-player ``best_responses``, which may be in the pool ``exploit``."""
    responses: int = Field(8, ge=1, le=MOST_SEEDS)
    """Best responses kept at a time, the newest ones. Each group of games that meets ``best_responses`` draws one of them."""
    response_samples: int = Field(20, ge=1, le=MOST_SEEDS)
    """Replies sampled at each information set of a learner that tells no probabilities, such as a language model that replies with text: the
    response is then to their shares, and approximate."""
    allow_overlap: bool = False
    """Whether a co-player may be in several pools, as some of the paper's are; then equal actions towards it are credited both ways."""

    @property
    def trained_against(self) -> dict[str, tuple[str, ...]]:
        """The pools that are met in training, by name."""
        return {"train": self.train, "exploit": self.exploit, "collusive": self.collusive}

    @property
    def all(self) -> dict[str, tuple[str, ...]]:
        """All pools by name."""
        return {**self.trained_against, "shifted": self.shifted}

    @property
    def fixed(self) -> dict[str, tuple[str, ...]]:
        """All pools by name, without the co-player that changes in training."""
        return {name: tuple(one for one in members if one != BEST_RESPONSES) for name, members in self.all.items()}

    @model_validator(mode="after")
    def _responses(self) -> Pools:
        for name, members in self.all.items():
            if BEST_RESPONSES in members and name != "exploit":
                raise ValueError(f"pools.{name} has {BEST_RESPONSES!r}, which may be in pools.exploit alone")
        if BEST_RESPONSES in self.exploit and not any(
            one != BEST_RESPONSES for members in self.trained_against.values() for one in members
        ):
            raise ValueError(
                f"{BEST_RESPONSES!r} is not evaluated against; add another co-player to pools.train or pools.exploit"
            )
        return self

    @model_validator(mode="after")
    def _disjoint(self) -> Pools:
        pools = self.all
        for name, members in pools.items():
            twice = next((one for one in members if members.count(one) > 1), None)
            if twice is not None:
                raise ValueError(f"pools.{name} has {twice!r} twice")
        for member in dict.fromkeys(one for members in pools.values() for one in members):
            found = [name for name, members in pools.items() if member in members]
            if len(found) > 1 and not self.allow_overlap:
                raise ValueError(
                    f"{member!r} is in the pools {' and '.join(found)}; a co-player in several pools gets opposite credit for the same actions."
                    " Take it out of one, or set pools.allow_overlap=true"
                )
        return self
