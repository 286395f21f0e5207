"""What the passes of a run's language models take in memory at most, measured on the model's outline when they are first asked for.

They are measured with the adapters of the seeds that go through the model together; what the gradients of further adapters take is added by
:mod:`coplay.runs.memory`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.learners.config import LearnerConfig
from coplay.runs.checks import language_models, replies_of, seats_of
from coplay.runs.config import Config
from coplay.runs.games import game_of
from coplay.runs.lengths import Lengths, lengths_of

if TYPE_CHECKING:
    from coplay.models.bank import AdapterBank
    from coplay.models.measured_passes import MeasuredPasses, Rows
    from coplay.models.outline import Outline

PER_PASS = 2_048
"""New tokens that are read in a pass where slots are read one by one; see block_reader."""

ENDS = {"cpu": 4_096, "cuda": 65_536}
"""Tokens of a pass at whose end one token is chosen; see scoring."""

LOGITS, COPIES = 2**24, 24
"""Logits that are sampled from at a time, and bytes that each takes while they are; see sampling."""


@dataclass(frozen=True)
class Learner:
    """A language model that learns, as far as memory is concerned."""

    name: str
    config: LearnerConfig
    text: bool
    """Whether it replies in text."""
    lengths: Lengths
    most: int
    """Different replies of an update, at most."""

    @property
    def key(self) -> str:
        """The setting of how many replies go through the model at a time."""
        return f"learners.{self.name}.{'ppo' if self.config.algorithm == 'ppo' else 'group'}.microbatch_size"

    @property
    def size(self) -> int:
        """How many replies of a seed go through the model at a time, as it is set."""
        if self.config.algorithm == "ppo":
            asked = min(self.config.ppo.microbatch_size or self.config.ppo.minibatch, self.config.ppo.minibatch)
        else:
            asked = self.config.group.microbatch_size
        return max(1, min(asked, self.most))


class PassSizes:
    """See the module.

    Args:
        config: the run.

    Raises:
        UsageError: if there is no config of the model.
    """

    def __init__(self, config: Config) -> None:
        from coplay.models.outline import outline_of

        self.config, self.game = config, game_of(config)
        self.outline: Outline = outline_of(config.model, precision=config.precision)
        self.device = self.outline.device
        self._peaks: dict[tuple[str, int, bool], int] = {}

    @cached_property
    def bank(self) -> AdapterBank:
        """An adapter of each seed, with shapes alone.

        Raises:
            UsageError: if adapters have no place in the model.
        """
        from coplay.models.bank import AdapterBank, SlotName

        slots = [SlotName("outline", seed) for seed in self.config.seeds]
        return AdapterBank(self.outline.model, slots, **self.config.adapter.form)

    @property
    def adapter_size(self) -> int:
        """Weights of one adapter."""
        return sum(weight[0].numel() for weight in self.bank.parameters())

    @cached_property
    def learners(self) -> list[Learner]:
        """The learners that are language models."""
        config, lengths = self.config, lengths_of(self.config)
        found = []
        for name in language_models(config):
            learner, own = config.learners[name], lengths[name]
            most = max(1, config.games * own.requests // (1 if learner.update == "trial" else config.episodes))
            if learner.algorithm == "ppo":
                most = min(most, learner.ppo.minibatch)
            text = replies_of(learner, self.game) == "text"
            found.append(Learner(name, learner, text, own, min(most, own.prompts or most)))
        return found

    @property
    def fused(self) -> bool:
        """Whether layers are fused: these models are small, and nothing is computed again."""
        return self._kept.engine == "fused"

    def training(self, learner: Learner, size: int, *, recomputes: bool) -> int:
        """Bytes of a learner's training pass, the gradients of the adapters in it included.

        Args:
            learner: whose pass.
            size: replies of a seed that go through the model at a time.
            recomputes: whether layers are computed again in the backward pass.
        """
        recomputes = recomputes and not self.fused
        key = (learner.name, size, recomputes)
        if key not in self._peaks:
            passes = self._recomputing if recomputes else self._kept
            critic = learner.config.algorithm == "ppo" and learner.config.ppo.critic
            with self._told():
                self._peaks[key] = passes.training(self._rows(learner, size, passes), text=learner.text, critic=critic)
        return self._peaks[key]

    def together(self, learner: Learner) -> int:
        """Seeds whose replies go through the model together when a learner is trained."""
        return self._rows(learner, 1, self._kept).slots

    @cached_property
    def playing(self) -> int:
        """Bytes of the largest pass that plays, with the keys and values that are kept."""
        with self._told():
            return max((self._play(learner) for learner in self.learners), default=0)

    @cached_property
    def _kept(self) -> MeasuredPasses:
        return self._passes(recomputes=False)

    @cached_property
    def _recomputing(self) -> MeasuredPasses:
        if self._kept.scorer.packed is not None:
            return self._passes(recomputes=True)
        return PassSizes(self.config)._passes(recomputes=True)  # layers are wrapped in place: those of another outline

    def _passes(self, *, recomputes: bool) -> MeasuredPasses:
        from coplay.models.measured_passes import MeasuredPasses

        with self._told():
            return MeasuredPasses(self.outline, self.bank, recomputes=recomputes)

    def _rows(self, learner: Learner, size: int, passes: MeasuredPasses) -> Rows:
        from coplay.models.measured_passes import Rows

        own = learner.lengths
        shares = passes.scorer.packed is None if learner.text else passes.scorer.shares_passes
        joint = learner.config.algorithm == "ppo" and shares  # a step of all seeds is one
        return Rows(size, own.prompt, own.shared, own.reply, slots=len(self.config.seeds) if joint else 1)

    def _play(self, learner: Learner) -> int:
        from coplay.models.measured_passes import Rows

        own, passes, config = learner.lengths, self._kept, self.config
        words = int(passes.scorer.head.weight.shape[0])
        together = config.games * len(seats_of(config, learner.name)) * len(config.seeds)
        if not learner.text:
            rows = min(ENDS[self.device] // max(1, own.prompt - own.shared), own.prompts or together)
            return passes.reading(Rows(max(1, rows), own.prompt, own.shared, 1)) + 8 * max(1, rows) * words
        longest, of_token = own.prompt + own.reply, passes.cache_bytes()
        sampled = min(together, max(1, LOGITS // words)) * words * COPIES
        if passes.scorer.packed is None:
            return passes.prefill(Rows(together, own.prompt, 0, 1)) + together * longest * of_token + sampled
        from coplay.models.conversations import rows_at_once
        from coplay.models.kv_blocks import MOST_BYTES

        at_once = min(rows_at_once(passes.scorer.packed.decoder, longest), together)
        rows = max(1, min(at_once, PER_PASS // own.prompt))
        kept = min(MOST_BYTES, together * config.episodes * longest * of_token)
        buffered = 2 * at_once * longest * of_token  # once as they are read, once in a buffer with room for replies
        return passes.prefill(Rows(rows, own.prompt, 0, 1)) + buffered + kept + kept // 4 + sampled

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """In the block, whatever a model's code raises on tensors without numbers is said in a line."""
        try:
            yield
        except UsageError:
            raise
        except Exception as error:  # of any kind: it is others' code
            kind, said = type(self.outline.model).__name__, " ".join(str(error).split())[:160]
            raise Unmeasured(
                f"a pass of {kind} cannot be measured without its weights ({type(error).__name__}: {said})"
            ) from None


class Unmeasured(UsageError):
    """A pass that cannot be measured, for which no run is refused."""
