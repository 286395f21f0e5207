"""A network of values: what each choice of a request is worth, and the best one chosen but for a share of random ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch

from coplay.games.records import Reply, Request
from coplay.learners.q_learning import epsilon_greedy
from coplay.players.network import Network
from coplay.players.policy import slot_of
from coplay.players.sampling import drawn_reply


class QNetwork(Network):
    """Epsilon-greedy on the values of a network, all of them 0 at the start. The arguments are those of :class:`coplay.players.network.Network`."""

    @cached_property
    def epsilons(self) -> list[float]:
        """Probability of a random choice, for each slot."""
        return [0.0] * self.slots

    @torch.no_grad()
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        features = self.features_of(requests)
        slots = [slot_of(request) for request in requests]
        _, values_RA = self.network(slots, torch.from_numpy(np.array(features, dtype=np.float32)))
        rows = values_RA.double().numpy()
        return [
            self._reply(request, row_A, self.epsilons[slot], shown)
            for request, row_A, slot, shown in zip(requests, rows, slots, features, strict=True)
        ]

    def _reply(self, request: Request, values_A: np.ndarray, epsilon: float, shown: tuple[float, ...]) -> Reply:
        choices = self.choices_of(request)
        probs = epsilon_greedy(values_A[: len(choices)], epsilon=epsilon)
        return drawn_reply(self.game, request, choices, probs, indexed=True)._replace(features=shown)
