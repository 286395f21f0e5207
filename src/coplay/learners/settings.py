"""Hyper-parameters of all learners: checked, frozen, with a sentence for each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from coplay.games.safety import Gains, Weights


def _listed(value: object) -> object:
    """``1,2,3`` as a person writes it on a command line."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


StrTuple = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Several words; also as one text with commas."""

FloatTuple = Annotated[tuple[float, ...], BeforeValidator(_listed)]
"""Several numbers, likewise."""

IntTuple = Annotated[tuple[int, ...], BeforeValidator(_listed)]
"""Several whole numbers, likewise."""


class StrictModel(BaseModel):
    """A section of a config: it cannot be changed, and has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class PPO(StrictModel):
    """PPO's hyper-parameters. Defaults are TRL 0.11.4's, which ShapeLLM inherits."""

    learning_rate: float = Field(1.41e-5, gt=0)
    """Adam's learning rate for the policy."""
    lr_warmup_updates: int = Field(0, ge=0)
    """Updates over which the policy's learning rate rises linearly from 0 to its value."""
    lr_decay_updates: int = Field(0, ge=0)
    """Updates after the warm-up over which the policy's learning rate falls linearly to ``lr_end_factor`` times its value."""
    lr_end_factor: float = Field(1.0, gt=0, le=1)
    """Final learning rate of the policy, as a factor of ``learning_rate``."""
    head_learning_rate: float | None = Field(None, gt=0)
    """Adam's learning rate for the value head; None for the policy's."""
    adam_eps: float = Field(1e-8, gt=0)
    """Adam's epsilon for the policy: parameters whose gradients are smaller than this hardly move."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's decay for the policy: in a step its weights shrink by this times the learning rate, also where rewards no longer differ and the
    gradient has vanished: an adapter returns to its base model, a table to its initial policy."""
    max_grad_norm: float | None = Field(None, gt=0)
    """Largest norm of the policy's gradient in an optimiser step, seed by seed; larger ones are scaled down. None for no limit."""
    value_gradient: Literal["trunk", "head"] = "trunk"
    """How far the value loss reaches: into the adapters as well (``trunk``), or the value head alone (``head``)."""
    value_coef: float = Field(0.1, ge=0)
    """Weight of the value loss in the total loss, c_VF."""
    value_clip: float | None = Field(0.2, gt=0)
    """Symmetric clip of the value: it is clamped to [old - value_clip, old + value_clip]. None for no clip."""
    critic: bool = True
    """Whether a value head is learnt. Without one all values are 0: the advantage is the return, discounted by gamma x lam."""
    whiten: bool = True
    """Whether the advantages of an update are scaled to mean 0 and variance 1."""
    clip: float = Field(0.2, gt=0)
    """Symmetric clip of the probability ratio: it is clamped to [1 - clip, 1 + clip]."""
    gamma: float = Field(1.0, ge=0, le=1)
    """Discount of rewards from one round to the next."""
    lam: float = Field(0.95, ge=0, le=1)
    """Lambda of generalised advantage estimation."""
    gae_chain: Literal["trial", "episode"] = "trial"
    """Whether advantages chain across the episodes of an update (``trial``), or are cut at their ends (``episode``)."""
    kl_coef: float = Field(0.2, ge=0)
    """Starting coefficient of the KL penalty to the reference policy; at 0 the KL is not computed."""
    kl_adaptive: bool = True
    """Whether the KL coefficient adapts to reach ``kl_target``."""
    kl_target: float = Field(6.0, gt=0)
    """KL to the reference policy that the adaptive coefficient aims at, in nats a reply."""
    kl_horizon: float = Field(10_000.0, gt=0)
    """Samples over which the adaptive coefficient corrects a full error."""
    minibatch: int = Field(128, ge=1)
    """Transitions in an optimiser step."""
    microbatch_size: int | None = Field(None, ge=1)
    """Different replies of an optimiser step that go through the policy at a time; gradients add up, so this only trades memory for speed. None for
    all at once."""
    epochs: int = Field(4, ge=1)
    """Passes over the batch of an update."""
    score_scaling: bool = False
    """Whether rewards are divided by their running standard deviation."""
    score_normalisation: bool = False
    """With ``score_scaling``: whether the running mean of rewards is subtracted as well."""
    entropy_initial: float = Field(0.0, ge=0)
    """Starting weight of the entropy bonus over legal replies."""
    entropy_final: float = Field(0.0, ge=0)
    """Final weight of the entropy bonus."""
    entropy_updates: int = Field(0, ge=0)
    """Updates over which the weight of the entropy bonus goes from ``entropy_initial`` to ``entropy_final``."""
    entropy_delay_updates: int = Field(0, ge=0)
    """Updates before the weight of the entropy bonus begins to change."""
    ratio_threshold: float = Field(10.0, gt=1)
    """An optimiser step whose mean probability ratio exceeds this is skipped."""


Method = Literal["grpo", "sum_of_rewards", "advantage_alignment"]
"""Whose advantage an action is credited with: one's own; everybody's; one's own plus the co-players' advantage weighted by one's own past
advantage."""

AlignmentVariant = Literal["paper", "one_gamma", "including_now", "undiscounted_mean"]
"""Published forms of the alignment term; see :func:`coplay.learners.group_credit.aligned_advantages`."""


class SafetyTerms(StrictModel):
    """What is subtracted from a learner's payoff: J = u - exploit * e - collusion * c - externality * x (SEPO, equation 1)."""

    exploit: float = Field(0.0, ge=0)
    """lambda_e: weight of what co-players of the exploit pool gain, averaged over them."""
    collusion: float = Field(0.0, ge=0)
    """lambda_c: weight of the rate of collusion with co-players of the collusive pool."""
    externality: float = Field(0.0, ge=0)
    """lambda_x: weight of the share of welfare that is lost with co-players of the train pool."""
    measure: Gains = "over_agent"
    """What a co-player gains: more than the learner (``over_agent``, SEPO section 4), or more than the game's fair payoff (``over_fair``, section 3.1)."""
    floor: bool = True
    """Whether a co-player of the exploit pool that gains nothing on average counts as 0, and its games teach nothing."""
    credit: Literal["rollout", "shared", "auxiliary"] = "rollout"
    """Which games a penalty is credited to: those that earned it (``rollout``); or all rounds of the train pool's games, which cancels, as one
    number (``shared``, SEPO algorithm 1) or as one a rollout from separate games (``auxiliary``, section 3.3)."""

    @property
    def active(self) -> bool:
        """Whether any term has weight."""
        return max(self.exploit, self.collusion, self.externality) > 0

    @property
    def weights(self) -> Weights:
        """The weights of the objective by name."""
        return {"exploit": self.exploit, "collusion": self.collusion, "externality": self.externality}


class GroupGradient(StrictModel):
    """Hyper-parameters of policy gradients without a critic; the defaults are Table 1's where its games agree."""

    method: Method = "grpo"
    """From advantages to credits: ``grpo``, ``sum_of_rewards`` or ``advantage_alignment``."""
    learning_rate: float = Field(3e-6, gt=0)
    """Adam's learning rate."""
    lr_decay_updates: int = Field(0, ge=0)
    """Updates over which the learning rate falls linearly to ``lr_end_factor`` times its value."""
    lr_end_factor: float = Field(1.0, gt=0, le=1)
    """Final learning rate, as a factor of ``learning_rate``."""
    adam_eps: float = Field(1e-8, gt=0)
    """Adam's epsilon: parameters whose gradients are smaller than this hardly move."""
    max_grad_norm: float | None = Field(1.0, gt=0)
    """Largest norm of the gradient of an optimiser step, seed by seed; larger ones are scaled down. None for no limit."""
    discount: float = Field(0.9, ge=0, le=1)
    """Discount of rewards in returns, from one round to the next."""
    reward_scale: float = Field(1.0, gt=0)
    """Rewards are divided by this."""
    parse_error_penalty: float = Field(0.0, ge=0)
    """Taken off a seat's reward of a round for each of its replies that could not be parsed, in reward units."""
    beta: float = Field(0.5, ge=0)
    """Weight of the alignment term."""
    alignment_discount: float = Field(0.9, ge=0, le=1)
    """Discount gamma of past advantages in the alignment term."""
    variant: AlignmentVariant = "paper"
    """Form of the alignment term: ``paper``, ``one_gamma``, ``including_now`` or ``undiscounted_mean``."""
    safety: SafetyTerms = SafetyTerms()
    """Penalties on exploitability, collusion and externality, estimated against the config's pools."""
    normalise: Literal["none", "round", "episode"] = "none"
    """Whether advantages are divided by a standard deviation: of their group in each round (``round``, SEPO equation 4), or of whole episodes'
    rewards, of which every round then gets the same advantage (``episode``, SEPO appendix D)."""
    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the mean entropy of the distributions that tokens are sampled from."""
    kl_coef: float = Field(0.0, ge=0)
    """Weight of the KL to the reference policy."""
    kl_estimator: Literal["k3", "one_sided"] = "k3"
    """How a token's KL is estimated: without bias and never negative (``k3``), or as max(0, log pi - log pi_ref) (``one_sided``, SEPO equation 6)."""
    clip: float | None = Field(None, gt=0)
    """Clip of a reply's probability ratio to the policy that it was sampled from (PPO); None for truncated importance weights instead."""
    epochs: int = Field(1, ge=1)
    """Optimiser steps on the games of an update. With more than one, set ``clip``."""
    epochs_kl: float | None = Field(None, gt=0)
    """The KL, in nats a reply, to the policy that played above which an update's further steps are left out; None for no limit."""
    importance_cap: float = Field(2.0, gt=0)
    """Largest importance weight of a token."""
    microbatch_size: int = Field(64, ge=1)
    """Replies that go through the model at a time; gradients add up, so this only trades memory for speed."""


class QLearning(StrictModel):
    """Tabular Q-learning's hyper-parameters (Watkins & Dayan, 1992)."""

    learning_rate: float = Field(0.1, gt=0, le=1)
    """How far a value moves towards its target in an update."""
    discount: float = Field(0.95, ge=0, le=1)
    """Weight of the next round's value in the target."""
    epsilon_initial: float = Field(0.1, ge=0, le=1)
    """Starting probability of a uniformly random action."""
    epsilon_final: float = Field(0.1, ge=0, le=1)
    """Final probability of a uniformly random action."""
    epsilon_updates: int = Field(0, ge=0)
    """``linear``: updates over which epsilon goes from ``epsilon_initial`` to ``epsilon_final``."""
    epsilon_schedule: Literal["linear", "exponential"] = "linear"
    """How epsilon goes from ``epsilon_initial`` to ``epsilon_final``: in a straight line, or falling by the same share in every update
    (``exponential``)."""
    epsilon_rate: float = Field(0.0, ge=0)
    """``exponential``: beta; after t updates what is left of the way is exp(-beta t)."""
    initial_values: Literal["constant", "against_uniform"] = "constant"
    """Values at the start: ``initial_value`` everywhere, or each action's discounted payoff if the co-players choose uniformly for ever
    (``against_uniform``; Calvano et al., 2020); that takes ``infinite_horizon``."""
    initial_value: float = 0.0
    """``constant``: every value at the start; above the highest attainable return it makes the learner try everything."""
    rows: int = Field(512, ge=1, le=10**6)
    """Games that are not in normal form: rows of the table."""
    own_rows: bool = False
    """Whether each information set takes a row of its own when it first comes up, which fails if there are more than ``rows``; otherwise a hash
    assigns the rows, and two information sets share one now and then."""
    convergence: int = Field(0, ge=0)
    """Updates without a change of any best action after which a table counts as converged in the metrics; 0 for not looking."""
    infinite_horizon: bool = False
    """Whether an episode's last round counts as if the game continued, instead of being worth its payoff alone."""

    @model_validator(mode="after")
    def _finite(self) -> QLearning:
        if self.infinite_horizon and self.discount == 1:
            raise ValueError("the values of an infinite game need a discount below 1")
        if self.initial_values == "against_uniform" and not self.infinite_horizon:
            raise ValueError("initial_values=against_uniform are those of an infinite game; set infinite_horizon=true")
        if self.epsilon_schedule == "exponential" and not self.epsilon_rate:
            raise ValueError("epsilon_schedule=exponential needs epsilon_rate, e.g. 0.00002")
        return self


class DQN(StrictModel):
    """Hyper-parameters of Q-learning with a network and replay (Mnih et al., 2015); with the default discount a contextual bandit."""

    learning_rate: float = Field(3e-4, gt=0)
    """Adam's learning rate."""
    adam_eps: float = Field(1e-8, gt=0)
    """Adam's epsilon: parameters whose gradients are smaller than this hardly move."""
    max_grad_norm: float | None = Field(0.5, gt=0)
    """Largest norm of the gradient of an optimiser step, seed by seed; larger ones are scaled down. None for no limit."""
    discount: float = Field(0.0, ge=0, le=1)
    """Weight of the next reply's value in the target. With 0 the target is the payoff alone, and Q(s, a) is its mean."""
    buffer: int = Field(10_000, ge=1, le=10**6)
    """Replies kept for replay, the latest ones."""
    minibatch: int = Field(64, ge=1)
    """Replies drawn from the buffer for an optimiser step, with replacement."""
    steps: int = Field(8, ge=1)
    """Optimiser steps of an update."""
    least: int = Field(64, ge=1)
    """Replies that the buffer must hold before the first optimiser step."""
    epsilon_initial: float = Field(1.0, ge=0, le=1)
    """Starting probability of a uniformly random choice."""
    epsilon_final: float = Field(0.05, ge=0, le=1)
    """Final probability of a uniformly random choice."""
    epsilon_updates: int = Field(50, ge=0)
    """Updates over which epsilon goes from ``epsilon_initial`` to ``epsilon_final``."""
    target_every: int = Field(100, ge=1)
    """Optimiser steps between two copies of the network to the one that targets are computed with; without meaning if ``discount`` is 0."""

    @model_validator(mode="after")
    def _fills(self) -> DQN:
        if self.least > self.buffer:
            raise ValueError(f"the buffer never holds least={self.least} replies; set buffer to {self.least} or more")
        return self


class Reinforce(StrictModel):
    """REINFORCE's hyper-parameters (Williams, 1992)."""

    learning_rate: float = Field(0.05, gt=0)
    """Step along the estimated gradient, plain ascent."""
    discount: float = Field(1.0, ge=0, le=1)
    """Weight of a round relative to the one before it."""
    baseline: Literal["leave_one_out", "none"] = "leave_one_out"
    """What is subtracted from a return: the mean return of the seed's other games from the same round on, or nothing."""
    return_chain: Literal["trial", "episode"] = "trial"
    """Whether returns run on across the episodes of an update (``trial``), or end with their episode (``episode``)."""


class ExactGradient(StrictModel):
    """A naive learner's exact policy gradient."""

    learning_rate: float = Field(0.5, gt=0)
    """Step along the gradient, plain ascent."""
    discount: float = Field(0.96, ge=0, le=1)
    """Weight of a round relative to the one before it."""
    horizon: Literal["infinite", "episode"] = "infinite"
    """Whether the game whose value is climbed never ends (``infinite``), or ends with the episode's rounds (``episode``)."""

    @model_validator(mode="after")
    def _finite(self) -> ExactGradient:
        if self.horizon == "infinite" and self.discount == 1:
            raise ValueError("the value of an infinite game needs a discount below 1, or horizon=episode")
        return self


class Lola(ExactGradient):
    """LOLA with exact gradients (Foerster et al., 2018): the naive learner's, looking one step of its co-player ahead."""

    co_player_rate: float = Field(0.5, ge=0)
    """Learning rate that the co-player is assumed to have, on the logits of its memory-one policy."""


Algorithm = Literal["ppo", "group", "dqn", "q_learning", "reinforce", "exact", "lola"]
"""How a learner learns."""
