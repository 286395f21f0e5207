"""The complete description of a run of a game in rounds: who learns how, from how many games, against whom."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from coplay.config import Config, Frozen, RunConfig
from coplay.errors import UsageError
from coplay.text.rounds import Past, worded

Method = Literal["grpo", "sum_of_rewards", "advantage_alignment"]
"""Whose good an action is credited for: one's own; everybody's; one's own, and the co-player's as far as one has had good of it."""

AlignmentVariant = Literal["paper", "one_gamma", "including_now", "undiscounted_mean"]
"""Forms of the alignment term that have been published; see :func:`coplay.group_credit.aligned_advantages`."""

SELF = "self"
"""The co-player of a learner that plays with itself."""


ENDPOINT = ".toml"
"""How the name of an endpoint ends: it is the file that has its settings."""


def run_and_seed(spec: str) -> tuple[str, int | None]:
    """A frozen run's directory and the seed that is named; None if none is: ``runs/a:3`` and ``runs/a``."""
    directory, colon, seed = spec.rpartition(":")
    return (directory, int(seed)) if colon and seed.isdecimal() else (spec, None)


class GroupGradient(Frozen):
    """Hyper-parameters of policy gradients without a critic; the defaults are Table 1's where its games agree."""

    method: Method = "grpo"
    """From advantages to credits: ``grpo``, ``sum_of_rewards`` or ``advantage_alignment``."""
    learning_rate: float = Field(3e-6, gt=0)
    """Adam's rate."""
    decay_updates: int = Field(0, ge=0)
    """Updates over which the rate falls in a straight line to ``final_rate`` times its value."""
    final_rate: float = Field(1.0, gt=0, le=1)
    """What is left of the rate in the end, as a share of it."""
    adam_eps: float = Field(1e-8, gt=0)
    """Adam's epsilon: parameters whose gradients are smaller than this hardly move."""
    max_grad_norm: float | None = Field(1.0, gt=0)
    """Longest gradient of an optimiser step, seed by seed; longer ones are scaled down. None for no limit."""
    discount: float = Field(0.9, ge=0, le=1)
    """Of returns."""
    reward_constant: float = Field(1.0, gt=0)
    """Rewards are divided by it."""
    price: float = Field(0.0, ge=0)
    """What a reply that could not be read costs its seat in that round, in reward units."""
    beta: float = Field(0.5, ge=0)
    """Weight of the alignment term."""
    alignment_discount: float = Field(0.9, ge=0, le=1)
    """Its gamma."""
    variant: AlignmentVariant = "paper"
    """Its form: ``paper``, ``one_gamma``, ``including_now`` or ``undiscounted_mean``."""
    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the mean entropy of the tokens' distributions."""
    kl_coef: float = Field(0.0, ge=0)
    """Weight of the KL to the reference policy."""
    importance_cap: float = Field(2.0, gt=0)
    """Largest importance weight."""
    rows: int = Field(64, ge=1)
    """Replies that go through the model at a time; gradients add up, so this is a matter of memory alone."""


class PastSelves(Frozen):
    """The buffer of earlier versions that a learner meets in self-play (section 3)."""

    share: float = Field(0.0, ge=0, le=1)
    """rho: the probability that a game is played with a past self; 0 for no buffer."""
    every: int = Field(10, ge=1)
    """Trials between two snapshots."""
    kept: int = Field(8, ge=1)
    """Snapshots kept at a time, each a slot of the bank: an even sample of all that were ever taken, so that memory does not grow."""


class RoundConfig(RunConfig):
    """A run of a game in rounds: in every trial games are played in groups, then one optimiser step is taken."""

    kind: Literal["rounds"] = "rounds"
    """Tells this config from that of a matrix game."""
    model: str = "tiny-talk"
    """A model that comes with coplay, such as ``tiny-talk``; a directory; or a Hub id."""
    game: str
    """``ipd-ab``, ``split-no-comm`` or ``trust-and-split``."""
    past: Past = Past.CHAT
    """How much of the past a prompt shows: ``chat``, the whole conversation, or ``last_round``."""
    longest: int = Field(400, ge=1)
    """Tokens a reply may have."""
    temperature: float = Field(1.0, gt=0)
    """Logits are divided by it."""
    retries: int = Field(0, ge=0)
    """How often a reply that cannot be read is asked for again. What is thrown away is neither priced nor learnt from, which shifts what the
    learner learns; the metrics count it as ``retried``."""
    rounds: int = Field(10, ge=1)
    """T, rounds of a game."""
    games: int = Field(64, ge=1)
    """B, games of each seed in a trial."""
    group_size: int = Field(8, ge=1)
    """Games that are dealt the same and are each other's baseline; the last group may be smaller."""
    learner: GroupGradient = GroupGradient()
    """How it learns."""
    co_player: str = SELF
    """``self``; a scripted player; ``RUN:SEED``, what a run has learnt, frozen (``RUN`` for the same seed as the learner's); or an
    endpoint's ``FILE.toml``. Against another than itself the learner is alice in one group and bob in the next."""
    past_selves: PastSelves = PastSelves()
    """The buffer of past selves, in self-play."""

    @field_validator("model")
    @classmethod
    def _talks(cls, value: str) -> str:
        """The embedded model, as it is called in games with text."""
        return {"tiny": "tiny-talk", "tiny-second": "tiny-talk-second"}.get(value, value)

    @field_validator("game")
    @classmethod
    def _known(cls, value: str) -> str:
        return worded(value).game.name

    @model_validator(mode="after")
    def _buffer_fits(self) -> RoundConfig:
        if self.co_player != SELF and self.past_selves.share > 0:
            raise ValueError(
                f"past selves are met in self-play; with co_player={self.co_player} set past_selves.share=0"
            )
        return self


AnyConfig = Config | RoundConfig
"""A run of whatever kind."""


def of_matrix_game(config: AnyConfig, *, what: str) -> Config:
    """The config as a matrix game's.

    Args:
        config: of whatever kind.
        what: that needs a matrix game, for the error.

    Raises:
        UsageError: if it is of a game in rounds.
    """
    if isinstance(config, RoundConfig):
        raise UsageError(f"{what} is for matrix games; {config.recipe} plays {config.game}, a game in rounds")
    return config
