"""What a run takes in memory, before anything is loaded: weights, adapters, optimisers, and the largest of its passes.

Seeds of one process share a model; processes each have their own. Playing and training take turns, but what playing has taken is not given back: on a GPU
recorded passes keep it, on a CPU the allocator does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from coplay.models.threads import available_threads
from coplay.players.named import is_endpoint
from coplay.runs.checks import language_models
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.frozen import frozen_adapters
from coplay.runs.memory_there import Device, device_there
from coplay.runs.pass_sizes import Learner, PassSizes
from coplay.runs.worker_number import workers_for

BYTES = 4
"""Of an adapter's weight, its gradient, and each of Adam's two moments."""

STEP = 6
"""Copies of a learner's weights that an optimiser step takes, at most."""


class Memory:
    """The memory of a run; see the module.

    Args:
        config: the run.
        passes: its passes; by default measured anew. Those of a run that differs in past selves, the rank of adapters or 4 bits are as large.
        device: where it would be; by default the device that models are put on.
    """

    def __init__(self, config: Config, passes: PassSizes | None = None, device: Device | None = None) -> None:
        self.config, self.passes = config, passes or PassSizes(config)
        self.device = device or device_there(self.passes.device)
        self.names = language_models(config)
        self.past = config.past_selves.pool_size if config.past_selves.probability > 0 else 0
        self.frozen = len(frozen_adapters(config))
        self.weights_each, self.transient = self.passes.outline.weights(four_bit=config.four_bit)
        self.adapter_size = self.passes.adapter_size * config.adapter.rank // self.passes.config.adapter.rank
        """Weights of one adapter."""

    def changed(self, changes: Mapping[str, object]) -> Memory:
        """The memory of the run with other settings of those kinds, on the same device."""
        config = with_values(self.config, changes)
        return Memory(config, self.passes if config.seeds == self.config.seeds else PassSizes(config), self.device)

    # ------------------------------------------------------------------ what is there all the time

    @property
    def slots(self) -> int:
        """Adapters of all learners, past selves, frozen co-players and the reference policy."""
        adapter = self.config.adapter
        kept = adapter.init_adapter is not None and adapter.reference == "start"
        return (len(self.names) + self.past + self.frozen) * len(self.config.seeds) + kept

    @property
    def stepping(self) -> int:
        """Adapters with moments, one for each that an optimiser holds: a learner's and those of the learners before it."""
        return sum(range(1, len(self.names) + 1)) * len(self.config.seeds)

    @property
    def adapters(self) -> int:
        """Bytes of all adapters."""
        return BYTES * self.slots * self.adapter_size

    @property
    def moments(self) -> int:
        """Bytes of what Adam keeps."""
        return 2 * BYTES * self.stepping * self.adapter_size

    @cached_property
    def processes(self) -> int:
        """Processes that each hold the model: the one that is started, and its workers if there are several."""
        config = self.config
        alone = any(is_endpoint(who) for seat in config.seats for who in config.sits_in(seat))
        threads, size = config.threads or available_threads(), self.passes.outline.parameters
        workers = workers_for(config, threads, alone=alone, size=size, on_cpu=self.device.kind == "cpu")
        return workers if workers == 1 else workers + 1

    @property
    def weights(self) -> int:
        """Bytes of the model in all processes."""
        return self.processes * self.weights_each

    @property
    def libraries(self) -> int:
        """Bytes of Python and its libraries in all processes."""
        return self.processes * self.device.libraries

    @property
    def standing(self) -> int:
        """Bytes that are there all the time. What a run of several processes has learnt is in the first and in one of the others."""
        learnt = self.adapters + self.moments
        return self.weights + self.libraries + (learnt if self.processes == 1 else 2 * learnt)

    # ------------------------------------------------------------------ all together

    def training(self, learner: Learner, size: int, *, recomputes: bool) -> int:
        """Bytes of a learner's training pass in all processes, the gradients of all adapters included.

        Args:
            learner: whose pass.
            size: replies of a seed that go through the model at a time.
            recomputes: whether layers are computed again in the backward pass.
        """
        others = max(0, self.slots - len(self.passes.config.seeds))
        one = self.passes.training(learner, size, recomputes=recomputes) + self.transient
        return self._at_work(learner) * one + BYTES * others * self.adapter_size

    def _at_work(self, learner: Learner) -> int:
        """Processes that train at a time; those that share out what goes through the model together do so in parts."""
        workers = max(1, self.processes - 1)
        return 1 if self.passes.together(learner) > 1 else workers

    @property
    def playing(self) -> int:
        """Bytes of what plays, of all seeds, in whatever processes."""
        return self.passes.playing + max(1, self.processes - 1) * self.transient

    @property
    def step(self) -> int:
        """Bytes of an optimiser step: the gradients, and what it makes of them."""
        return BYTES * (self.slots + STEP * len(self.config.seeds)) * self.adapter_size

    def peak(self, sizes: Mapping[str, int] | None = None, *, recomputes: bool | None = None) -> int:
        """Bytes of the whole run at its peak.

        Args:
            sizes: replies at a time by learner; those that are set by default.
            recomputes: whether layers are computed again; as it is set by default.
        """
        again = self.config.gradient_checkpointing if recomputes is None else recomputes
        trained = [
            self.training(one, (sizes or {}).get(one.name, one.size), recomputes=again) for one in self.passes.learners
        ]
        return self.standing + max(self.playing + max(trained, default=0), self.step)

    def largest(self, learner: Learner, *, recomputes: bool) -> int:
        """The most replies of a learner at a time that fit; 0 if not even one does.

        A pass grows by the same with each reply; what is found so is measured again.
        """
        one, two = (self.training(learner, min(size, learner.most), recomputes=recomputes) for size in (1, 2))
        room = self.device.free - self.standing
        if max(self.playing + one, self.step) > room:
            return 0
        room -= self.playing
        size = learner.most if two == one else min(learner.most, 1 + (room - one) // (two - one))
        while size > 1 and self.training(learner, size, recomputes=recomputes) > room:
            size -= max(1, size // 20)
        return size
