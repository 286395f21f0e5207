"""A language model that several players share: its weights, what it has read, and its passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch

from coplay.models.conversations import ConversationGenerator, Conversations

if TYPE_CHECKING:
    from coplay.games.records import Reply, Request
    from coplay.models.loading import LoadedModel
    from coplay.models.scoring import Scorer
    from coplay.players.model_player import ModelPlayer


@dataclass(eq=False)
class SharedModel:
    """A loaded model, which players of any seat, game and persona share."""

    loaded: LoadedModel
    """The model and its tokenizer."""
    scorer: Scorer
    """The model with its bank."""
    slot: int
    """The slot that plays."""
    engine: SharedEngine | None = field(init=False)
    """What answers players of this model together; None for small models, whose own passes are faster, and for other architectures."""

    def __post_init__(self) -> None:
        """Set up the engine."""
        self.engine = None if self.scorer.packed is None else SharedEngine(self)


class SharedEngine:
    """Asks a model once for the replies of all its players: games, seats and personas share passes.

    Each reply takes its chance from its own request, so it is the same up to rounding whatever is asked beside it.
    """

    def __init__(self, shared: SharedModel) -> None:
        self.generator = ConversationGenerator(Conversations(shared.scorer, shared.slot), stop=shared.loaded.chat.stop)

    def answer(self, asked: Sequence[tuple[ModelPlayer, Sequence[Request]]]) -> list[list[Reply]]:
        """See :class:`coplay.players.base.Engine`; players whose replies have the same length at most share passes."""
        replies: dict[int, list[Reply]] = {}
        for most in dict.fromkeys(player.max_tokens for player, _ in asked):
            places = [i for i, (player, _) in enumerate(asked) if player.max_tokens == most]
            replies |= zip(places, self._together([asked[i] for i in places]), strict=True)
        return [replies[i] for i in range(len(asked))]

    def _together(self, asked: Sequence[tuple[ModelPlayer, Sequence[Request]]]) -> list[list[Reply]]:
        prepared = [player.prepare(requests) for player, requests in asked]
        owners = [(one.complete, row) for one in prepared for row in range(len(one.prompts))]

        def complete(row: int, tokens: Sequence[int]) -> bool:
            ends, own = owners[row]
            return ends is not None and ends(own, tokens)

        generated = self.generator.generate(
            [slot for one in prepared for slot in one.slots],
            [prompt for one in prepared for prompt in one.prompts],
            torch.from_numpy(np.concatenate([one.chance_RL for one in prepared])),
            complete=complete,
        )
        left = iter(generated)
        return [
            player.finish(one, list(islice(left, len(one.prompts))))
            for (player, _), one in zip(asked, prepared, strict=True)
        ]
