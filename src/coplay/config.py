"""The complete description of a run. A recipe returns one; everything a run does follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from coplay.games.memory import Memory
from coplay.text.chat import ChatFormat
from coplay.text.prompts import Layout


def _listed(value: object) -> object:
    """``1,2,3`` as a person writes it on a command line."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Several words; also as one text with commas."""

Numbers = Annotated[tuple[float, ...], BeforeValidator(_listed)]
"""Several numbers, likewise."""

Wholes = Annotated[tuple[int, ...], BeforeValidator(_listed)]
"""Several whole numbers, likewise."""


class Frozen(BaseModel):
    """Cannot be changed, and has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class PPO(Frozen):
    """PPO's hyper-parameters. Defaults are TRL 0.11.4's, which ShapeLLM inherits."""

    learning_rate: float = Field(1.41e-5, gt=0)
    """Adam's rate for the policy."""
    warmup_updates: int = Field(0, ge=0)
    """Updates over which the policy's rate rises in a straight line from 0 to its value."""
    decay_updates: int = Field(0, ge=0)
    """Updates after those over which it falls in a straight line to ``final_rate`` times its value."""
    final_rate: float = Field(1.0, gt=0, le=1)
    """What is left of the policy's rate in the end, as a share of it."""
    head_learning_rate: float | None = Field(None, gt=0)
    """Adam's rate for the value head; None for the policy's."""
    adam_eps: float = Field(1e-8, gt=0)
    """Adam's epsilon for the policy: parameters whose gradients are smaller than this hardly move."""
    max_grad_norm: float | None = Field(None, gt=0)
    """Longest gradient of the policy in an optimiser step, seed by seed; longer ones are scaled down. None for no limit."""
    value_gradient: Literal["trunk", "head"] = "trunk"
    """How far the value loss reaches: into the adapters as well, or the value head alone."""
    value_coef: float = Field(0.1, ge=0)
    """Weight of the value loss, c_VF."""
    value_clip: float = Field(0.2, gt=0)
    """Clipping range of the value."""
    clip: float = Field(0.2, gt=0)
    """Clipping range of the probability ratio."""
    gamma: float = Field(1.0, ge=0, le=1)
    """Discount."""
    lam: float = Field(0.95, ge=0, le=1)
    """GAE's lambda."""
    gae_chain: Literal["trial", "episode"] = "trial"
    """Whether advantages chain across the episodes of an update, or are cut at their ends."""
    kl_coef: float = Field(0.2, ge=0)
    """Starting coefficient of the KL penalty to the reference policy."""
    kl_adaptive: bool = True
    """Whether the coefficient adapts."""
    kl_target: float = Field(6.0, gt=0)
    """KL the coefficient aims at."""
    kl_horizon: float = Field(10_000.0, gt=0)
    """Samples over which it corrects."""
    minibatch: int = Field(128, ge=1)
    """Transitions in an optimiser step."""
    epochs: int = Field(4, ge=1)
    """Passes over the batch of an update."""
    score_scaling: bool = False
    """Divide rewards by their running standard deviation."""
    score_normalisation: bool = False
    """Subtract their running mean as well."""
    entropy_initial: float = Field(0.0, ge=0)
    """Starting weight of the entropy bonus over legal replies."""
    entropy_final: float = Field(0.0, ge=0)
    """Its final weight."""
    entropy_updates: int = Field(0, ge=0)
    """Updates over which it goes from one to the other."""
    ratio_threshold: float = Field(10.0, gt=1)
    """An optimiser step whose mean probability ratio exceeds this is skipped."""


class QLearning(Frozen):
    """Tabular Q-learning's hyper-parameters (Watkins & Dayan, 1992)."""

    learning_rate: float = Field(0.1, gt=0, le=1)
    """How far a value moves towards its target."""
    discount: float = Field(0.95, ge=0, le=1)
    """Weight of the next round's value."""
    epsilon_initial: float = Field(0.1, ge=0, le=1)
    """Starting share of moves made at random."""
    epsilon_final: float = Field(0.1, ge=0, le=1)
    """Its final share."""
    epsilon_updates: int = Field(0, ge=0)
    """Updates over which it goes from one to the other."""
    initial_value: float = 0.0
    """Every value at the start; above the highest attainable return it makes the learner try everything."""
    endless: bool = False
    """Whether an episode's last round counts as if the game went on, instead of being worth its payoff alone."""

    @model_validator(mode="after")
    def _finite(self) -> QLearning:
        if self.endless and self.discount == 1:
            raise ValueError("the values of an endless game need a discount below 1")
        return self


class Reinforce(Frozen):
    """REINFORCE's hyper-parameters (Williams, 1992)."""

    learning_rate: float = Field(0.05, gt=0)
    """Step along the estimated gradient, plain ascent."""
    discount: float = Field(1.0, ge=0, le=1)
    """Weight of a round relative to the one before it."""
    baseline: Literal["leave_one_out", "none"] = "leave_one_out"
    """What is taken off a return: the mean return of the seed's other games from the same round on, or nothing."""
    return_chain: Literal["trial", "episode"] = "trial"
    """Whether returns run on across the episodes of an update, or end with theirs."""


class ExactGradient(Frozen):
    """A naive learner's exact policy gradient."""

    learning_rate: float = Field(0.5, gt=0)
    """Step along the gradient, plain ascent."""
    discount: float = Field(0.96, ge=0, le=1)
    """Weight of a round relative to the one before it."""
    horizon: Literal["endless", "episode"] = "endless"
    """Whether the game whose value is climbed never ends, or ends with the episode's rounds."""

    @model_validator(mode="after")
    def _finite(self) -> ExactGradient:
        if self.horizon == "endless" and self.discount == 1:
            raise ValueError("the value of an endless game needs a discount below 1, or horizon=episode")
        return self


class Lola(ExactGradient):
    """LOLA with exact gradients (Foerster et al., 2018): the naive learner's, looking one step of its co-player ahead."""

    co_player_rate: float = Field(0.5, ge=0)
    """Rate at which the co-player is expected to climb its own value, on the logits of its memory-one policy."""


Algorithm = Literal["ppo", "q_learning", "reinforce", "exact", "lola"]
"""How a learner learns."""


class Seat(Frozen):
    """Who sits in a seat."""

    role: str
    """What it is called in reports, e.g. ``shaper``."""
    player: str = "learner"
    """``learner``, or a scripted player such as ``tit_for_tat``."""
    learner: Literal["language_model", "tabular"] = "language_model"
    """What kind of learner."""
    memory: Memory = Memory.LAST_ROUND
    """What it is shown of the past."""
    algorithm: Algorithm = "ppo"
    """How it learns; all but ``ppo`` are for tabular learners."""
    update: Literal["round", "episode", "trial", "never"] = "episode"
    """When it takes its optimiser steps."""
    reset: Literal["never", "trial"] = "never"
    """When it is put back to where the run began, with all that it has learnt: never, or at the start of every trial."""
    labels: Words | None = None
    """Its action labels; None for the game's."""
    sharing: float = Field(0.8, ge=0, le=1)
    """Tabular learners: how much the memory states share."""
    initial: Numbers | None = None
    """Tabular learners: P(first action) at the start and after each joint action; None for uniform."""
    reciprocity: float = Field(1.0, ge=0, le=1)
    """Tabular learners: how much of ``initial``'s answer to the co-player's last action is kept: 1 for all of it, 0 for none."""
    ppo: PPO = PPO()
    """Settings of ``algorithm=ppo``."""
    q: QLearning = QLearning()
    """Settings of ``algorithm=q_learning``."""
    reinforce: Reinforce = Reinforce()
    """Settings of ``algorithm=reinforce``."""
    exact: ExactGradient = ExactGradient()
    """Settings of ``algorithm=exact``."""
    lola: Lola = Lola()
    """Settings of ``algorithm=lola``."""

    @field_validator("initial")
    @classmethod
    def _probabilities(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value is not None and not all(0.0 < p < 1.0 for p in value):
            raise ValueError("every probability must lie strictly between 0 and 1")
        return value

    @model_validator(mode="after")
    def _algorithm_fits(self) -> Seat:
        if self.player == "learner":
            for problem in _misfits(self):
                raise ValueError(problem)
        elif self.reset != "never":
            raise ValueError(f"player={self.player} does not learn, so there is nothing to reset; set reset=never")
        return self


MEMORIES_OF: dict[str, tuple[Memory, ...]] = {
    "q_learning": (Memory.NONE, Memory.LAST_ROUND),
    "exact": (Memory.LAST_ROUND,),
    "lola": (Memory.LAST_ROUND,),
}
"""The memories that algorithms for small tables can have; other algorithms can have any."""


def _misfits(seat: Seat) -> Iterator[str]:
    """What an algorithm cannot be combined with, and what to do about it."""
    algorithm = seat.algorithm
    if algorithm != "ppo" and seat.learner != "tabular":
        yield (
            f"algorithm={algorithm} is for learner=tabular; a learner={seat.learner} learns with algorithm=ppo."
            " Set learner=tabular, or algorithm=ppo"
        )
    memories = MEMORIES_OF.get(algorithm, tuple(Memory))
    if seat.memory not in memories:
        yield f"algorithm={algorithm} needs memory={' or '.join(memories)}, not {seat.memory}"
    if seat.update == "round" and algorithm != "q_learning":
        yield f"update=round is for algorithm=q_learning; with algorithm={algorithm} choose episode, trial or never"
    if algorithm == "q_learning" and seat.initial is not None:
        yield "algorithm=q_learning starts from q.initial_value and has no initial policy; set initial=null"
    if seat.reciprocity != 1 and seat.initial is None:
        yield "reciprocity scales the answers of an initial policy; set initial, or leave reciprocity=1"
    if seat.reset == "trial" and seat.update in ("trial", "never"):
        yield (
            f"reset=trial is for learners that learn within a trial; with update={seat.update} nothing they learn would ever be"
            " played. Set update=episode, or reset=never"
        )


class Adapter(Frozen):
    """LoRA."""

    rank: int = Field(2, ge=1)
    """r."""
    alpha: float = Field(32.0, gt=0)
    """The update is scaled by alpha / r."""
    targets: Words = ("q_proj", "v_proj")
    """Which linear layers are adapted."""
    start: str | None = None
    """Directory of a PEFT adapter that every learner starts from; None for LoRA's own start, which changes nothing."""
    reference: Literal["start", "base"] = "start"
    """What the KL penalty pulls towards if there is a ``start``: that adapter, or the model without any."""


class RunConfig(Frozen):
    """What runs of every kind have."""

    version: Literal[1] = 1
    """Version of this format."""
    recipe: str
    """The recipe this came from."""
    model: str = "tiny"
    """A model that comes with coplay, such as ``tiny``; a directory; or a Hub id."""
    four_bit: bool = False
    """Quantise the base model to 4 bits."""
    chat: ChatFormat | None = None
    """Chat format; None to tell it from the tokenizer."""
    seeds: Wholes = Field((0, 1, 2, 3, 4), min_length=1)
    """Seeds, trained together."""
    trials: int = Field(ge=0)
    """Number of trials: what is played between two updates of the slowest learner."""
    adapter: Adapter = Adapter()
    """The learners' adapters."""
    eval_games: int = Field(100, ge=1)
    """Games each trained pair plays after training."""
    checkpoint_every: int = Field(10, ge=1)
    """Trials between checkpoints."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; None for all cores. Results are reproducible for one number of threads and workers."""
    workers: int | None = Field(None, ge=1)
    """Processes among which seeds and threads are shared out; None for one a thread where that is faster: small models on a CPU."""

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(value)) != len(value) or any(seed < 0 for seed in value):
            raise ValueError("seeds must be different whole numbers of at least 0")
        return value


class Config(RunConfig):
    """A run of a matrix game: trials of episodes, prompts and one-token replies."""

    game: str | dict[str, Any]
    """A game's name, a TOML file, or the game itself as a mapping."""
    layout: Layout = Layout.LIST
    """How prompts lay out the payoffs."""
    episodes: int = Field(5, ge=1)
    """E, episodes in a trial."""
    rounds: int = Field(20, ge=1)
    """T, rounds in an episode."""
    games: int = Field(5, ge=1)
    """N, parallel games of each seed."""
    row: Seat
    """Row's seat."""
    column: Seat
    """Column's seat."""

    @property
    def seats(self) -> dict[str, Seat]:
        """Both seats by name."""
        return {"row": self.row, "column": self.column}

    @model_validator(mode="after")
    def _enough_transitions(self) -> Config:
        for name, seat in self.seats.items():
            if seat.update == "episode" and self.games * self.rounds < 2:
                raise ValueError(f"games x rounds must be at least 2 for {name} to learn from an episode")
        return self
