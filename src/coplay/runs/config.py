"""The complete description of a run. A recipe returns one; everything a run does follows from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from coplay.games.choice_prompts import PayoffFormat, Spacing
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import IntTuple, StrictModel, StrTuple
from coplay.models.known import AdapterForm, Precision
from coplay.runs.limits import MOST, MOST_RANK, MOST_SEEDS, MOST_TURNS
from coplay.runs.pools import BEST_RESPONSES, POOLS, Pools
from coplay.text.chat import DAY, ChatFormat, checked_day

VERSION = 2
"""Of the config's form; version 1 is read by translation (:mod:`coplay.runs.version_1`)."""


class Adapter(StrictModel):
    """The LoRA adapters of all language-model learners."""

    rank: int = Field(2, ge=1, le=MOST_RANK)
    """Rank r of the low-rank update."""
    alpha: float = Field(32.0, gt=0)
    """Scale of the update: it is multiplied by alpha / r."""
    targets: StrTuple = Field(("q_proj", "v_proj"), min_length=1)
    """Last parts of the names of the linear layers that are adapted, in the text decoder."""
    top_layers: int | None = Field(None, ge=1, le=MOST_RANK)
    """How many of the model's last layers are adapted; None for all. What the others compute of a prompt is then computed once."""
    init_adapter: str | None = None
    """Directory of a PEFT adapter that every learner without an ``init_adapter`` of its own starts from; None for LoRA's own start, which
    changes nothing. If ``rank``, ``alpha``, ``targets`` and ``top_layers`` are all at their defaults, they are the adapter's."""
    reference: Literal["start", "base"] = "start"
    """What the KL penalty pulls a learner towards that starts from an ``init_adapter``: that adapter (``start``), or the model without any
    (``base``)."""

    @property
    def form(self) -> AdapterForm:
        """What :class:`coplay.models.bank.AdapterBank` needs to know."""
        return {"rank": self.rank, "alpha": self.alpha, "targets": self.targets, "top_layers": self.top_layers}

    @property
    def is_default(self) -> bool:
        """Whether rank, alpha, targets and layers are the defaults: adapters that start from another then have its form."""
        return self.form == Adapter().form


class PastSelves(StrictModel):
    """The buffer of past selves that a learner meets in self-play (Learning Robust Social Strategies, section 3)."""

    probability: float = Field(0.0, ge=0, le=1)
    """Probability rho that a game is played with a past self; 0 for no buffer."""
    snapshot_interval: int = Field(10, ge=1, le=MOST)
    """Trials between two snapshots of the current policies."""
    pool_size: int = Field(8, ge=1, le=MOST_SEEDS)
    """Snapshots kept at a time, each a slot of the bank: a uniform sample of all that were ever taken."""


def _who(value: object) -> object:
    """One player, or several with commas."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Who = Annotated[tuple[str, ...], BeforeValidator(_who), Field(min_length=1)]
"""Who sits in a seat: a learner by name, a player, or several of them, of which each game draws one."""


class Config(StrictModel):
    """A run: trials of episodes of a game, learners, and who sits where."""

    version: Literal[2] = 2
    """Version of this format."""
    recipe: str
    """Name of the recipe that this came from."""
    model: str = "tiny"
    """The language model: one that comes with coplay such as ``tiny``, a directory, or a Hub id."""
    four_bit: bool = False
    """Whether the language model is quantised to 4 bits."""
    precision: Precision = Precision.AUTO
    """Of the language model's products: ``float32``, ``bfloat16``, or ``auto``, which is bfloat16 on a GPU and float32 elsewhere."""
    gradient_checkpointing: bool = False
    """Whether the backward pass computes the inside of the language model's layers again instead of keeping it: much less memory, a third more time,
    the same numbers. Without effect on the embedded models, whose layers are fused."""
    chat: ChatFormat | None = None
    """Chat format of the language model; None for its own chat template."""
    chat_date: str = DAY
    """What chat templates that write the date take for today, as YYYY-MM-DD."""
    game: str | dict[str, object]
    """The game: its name, a TOML file, ``MODULE:GAME``, or the game itself as a mapping."""
    payoff_format: PayoffFormat = PayoffFormat.LIST
    """How prompts with one-token replies set out the payoffs."""
    spacing: Spacing = Spacing.PAPER
    """Which spaces these prompts have: those of ShapeLLM's figures (``paper``) or of its published code (``released``)."""
    seeds: IntTuple = Field((0, 1, 2, 3, 4), min_length=1, max_length=MOST_SEEDS)
    """Seeds, trained together."""
    trials: int = Field(ge=0, le=MOST)
    """Number of trials; a trial is what is played between two updates of the slowest learner."""
    episodes: int = Field(5, ge=1, le=MOST)
    """E, episodes in a trial."""
    rounds: int = Field(20, ge=1, le=MOST)
    """T, rounds in an episode."""
    games: int = Field(5, ge=1, le=MOST)
    """N, parallel games of each seed."""
    group_size: int | None = Field(None, ge=1)
    """Games that are dealt the same and are each other's baseline; the last group may be smaller. None for one group of all games."""
    retries: int = Field(0, ge=0, le=MOST)
    """How often a reply that cannot be parsed is asked for again. What is discarded is neither penalised nor learnt from, which shifts what a
    learner learns; metrics count it as ``retried``."""
    learners: dict[str, LearnerConfig]
    """The players that learn, by name."""
    seats: dict[str, Who]
    """Who sits in each seat: a learner's name; a player such as ``tit_for_tat``, ``RUN:LEARNER:SEED``, an endpoint's ``FILE.toml`` or
    ``MODULE:PLAYER``; or several, of which each game draws one; or ``pools``, alone or after others: then each group of games takes the next."""
    pools: Pools = Pools()
    """The co-players of a learner with a safety objective."""
    rotate_seats: bool = False
    """Whether the assignment of seats moves on by one seat from each group of games to the next."""
    past_selves: PastSelves = PastSelves()
    """The buffer of past selves, for a learner that sits in several seats."""
    adapter: Adapter = Adapter()
    """Form and start of the learners' adapters."""
    eval_games: int = Field(100, ge=1, le=MOST)
    """Games of each seed in the evaluation after training."""
    checkpoint_every: int = Field(10, ge=1, le=MOST)
    """Trials between checkpoints."""
    held_out_games: int = Field(0, ge=0, le=MOST)
    """Games against each co-player of every pool with which a learner with a safety objective is measured at each checkpoint; 0 for none. They
    are dealt otherwise than any game that is learnt from."""
    held_out_samples: int = Field(0, ge=0, le=10**5)
    """Replies of a language model sampled at each information set, from which what a best response gets is estimated at each checkpoint; 0 for
    no estimate. Tables tell their probabilities and need none."""
    select: Literal["last", "held_out"] = "last"
    """Which of a learner's policies a run ends with: the last, or that of the checkpoint at which the held-out games showed the least
    exploitability; of several, the one with the highest safety."""
    threads: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """CPU threads; None for all cores, or as many as ``OMP_NUM_THREADS`` says. Results are reproducible for one number of threads and workers."""
    workers: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """Processes that share out seeds and threads; None for one a thread where that is faster: small models on a CPU."""

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(value)) != len(value) or any(seed < 0 for seed in value):
            raise ValueError("seeds must be different whole numbers of at least 0")
        return value

    @field_validator("chat_date")
    @classmethod
    def _chat_date(cls, value: str) -> str:
        return checked_day(value)

    @model_validator(mode="after")
    def _seating(self) -> Config:
        seated = [who for seat in self.seats for who in self.sits_in(seat)]
        idle = [name for name in self.learners if name not in seated]
        if idle:
            raise ValueError(f"learner {idle[0]!r} has no seat; seat it, e.g. seats.{next(iter(self.seats))}={idle[0]}")
        clash = [name for name in self.learners if ":" in name or (not name.isidentifier() and "-" not in name)]
        if clash:
            raise ValueError(f"a learner's name is a word of letters, digits, - and _; got {clash[0]!r}")
        if self.past_selves.probability > 0 and not self._self_play:
            raise ValueError(
                "past selves are met in self-play, where one learner has several seats; set past_selves.probability=0"
            )
        return self

    @model_validator(mode="after")
    def _pools(self) -> Config:
        named = [seat for seat, who in self.seats.items() if BEST_RESPONSES in who]
        if named:
            raise ValueError(
                f"seats.{named[0]}: {BEST_RESPONSES!r} is a member of pools.exploit; set it there, and seats.{named[0]}={POOLS}"
            )
        pooled = [seat for seat, who in self.seats.items() if POOLS in who]
        members = [one for of_pool in self.pools.trained_against.values() for one in of_pool]
        if not pooled:
            terms = [name for name, one in self.learners.items() if one.group.safety.active]
            if members:
                raise ValueError(
                    f"nobody of the pools has a seat; seat them, e.g. seats.{list(self.seats)[-1]}={POOLS}"
                )
            if terms:
                raise ValueError(
                    f"learners.{terms[0]}.group.safety: penalties are measured against pools; set pools and seat them"
                )
            return self
        if len(pooled) > 1:
            raise ValueError(f"the pools sit in one seat; {' and '.join(pooled)} have them")
        for name, learner in self.learners.items():
            safety = learner.group.safety
            for weight, pool in ((safety.exploit, "exploit"), (safety.collusion, "collusive")):
                if weight > 0 and not self.pools.trained_against[pool]:
                    raise ValueError(
                        f"learners.{name}.group.safety: a penalty is measured against pools.{pool}, which is empty"
                    )
        if not members:
            raise ValueError(f"seats.{pooled[0]} has {POOLS}, but all pools are empty; set pools.train and others")
        takes = len(self.sits_in(pooled[0]))
        if self.groups % takes:
            size = self.group_size or self.games
            raise ValueError(
                f"{takes} co-players take turns in seats.{pooled[0]}, one a group of games, and there are {self.groups} groups."
                f" Set games to a multiple of {takes * size}, or group_size"
            )
        return self

    @model_validator(mode="after")
    def _held_out(self) -> Config:
        if self.select == "held_out" and not self.held_out_games:
            raise ValueError("select=held_out chooses by held-out games; set held_out_games, e.g. to 20")
        groups = any(one.algorithm == "group" for one in self.learners.values())
        if self.held_out_games and not (self.in_turn and groups):
            raise ValueError(
                "held_out_games measure a learner with algorithm=group against pools; set pools and seat them, e.g."
                f" seats.{list(self.seats)[-1]}={POOLS}"
            )
        if self.held_out_games and self.trials % self.checkpoint_every:
            raise ValueError(
                f"held-out games are played every checkpoint_every={self.checkpoint_every} trials, and the last of {self.trials} is not one of"
                " them; choose trials as a multiple"
            )
        return self

    @model_validator(mode="after")
    def _fits_into_memory(self) -> Config:
        of_all = self.rounds * len(self.seats) * len(self.seeds)
        for what, turns in (
            ("games x episodes x rounds x seats x seeds of a trial", self.games * self.episodes * of_all),
            ("eval_games x rounds x seats x seeds of the evaluation", self.eval_games * of_all),
        ):
            if turns > MOST_TURNS:
                raise ValueError(f"{what} are {turns:,} turns, kept in memory together; the most is {MOST_TURNS:,}")
        return self

    @model_validator(mode="after")
    def _enough_transitions(self) -> Config:
        for name, learner in self.learners.items():
            if (learner.algorithm, learner.update) == ("ppo", "episode") and self.games * self.rounds < 2:
                raise ValueError(f"games x rounds must be at least 2 for {name} to learn from an episode")
        return self

    def sits_in(self, seat: str) -> tuple[str, ...]:
        """Who may sit in a seat, one by one: ``pools`` stands for all their members."""
        members = [one for of_pool in self.pools.trained_against.values() for one in of_pool]
        return tuple(one for who in self.seats[seat] for one in (members if who == POOLS else [who]))

    @property
    def has_form_of_start(self) -> bool:
        """Whether the adapters' rank, alpha, targets and layers are those of the adapter that learners start from."""
        starts = [self.adapter.init_adapter, *(learner.init_adapter for learner in self.learners.values())]
        return self.adapter.is_default and any(start is not None for start in starts)

    @property
    def in_turn(self) -> bool:
        """Whether groups of games take co-players in turn, instead of games drawing them."""
        return any(POOLS in who for who in self.seats.values())

    @property
    def _self_play(self) -> bool:
        return any(sum(name in who for who in self.seats.values()) > 1 for name in self.learners)

    @property
    def groups(self) -> int:
        """Groups of games of each seed."""
        return -(-self.games // (self.group_size or self.games))

    @property
    def game_name(self) -> str:
        """The game's name, as far as the config says it."""
        return str(self.game.get("name")) if isinstance(self.game, dict) else self.game

    @property
    def roaming(self) -> tuple[str, ...]:
        """The learners that fill several seats, or change seats: their rewards are told by learner besides by seat."""
        several = (name for name in self.learners if sum(name in who for who in self.seats.values()) > 1)
        return tuple(self.learners) if self.rotate_seats else tuple(several)

    def roles(self) -> dict[str, str]:
        """What reports call who sits in each seat."""
        return {seat: " or ".join(self._role(one) for one in who) for seat, who in self.seats.items()}

    def _role(self, who: str) -> str:
        return self.learners[who].role if who in self.learners else who
