"""Where the time goes: timers around functions, each charged only for what no timer inside it is charged for."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

PROMPTS = "play: prompt text and tokens"
ACTING = "play: scoring"
SAMPLING = "play: sampling"
GAMES = "play: games"
RECOMPUTED = "update: old log-probabilities"
REFERENCE = "update: reference log-probabilities"
CREDIT = "update: credit"
FORWARD = "update: forward"
BACKWARD = "update: backward"
OPTIMISER = "update: optimiser"
LOSSES = "update: losses and bookkeeping"
REST = "metrics and the rest"

SECTIONS = (
    PROMPTS,
    ACTING,
    SAMPLING,
    GAMES,
    RECOMPUTED,
    REFERENCE,
    CREDIT,
    FORWARD,
    BACKWARD,
    OPTIMISER,
    LOSSES,
    REST,
)
"""All sections, in the order of a trial."""


@dataclass(frozen=True)
class Watch:
    """A function to time."""

    place: str
    """``module:function`` or ``module:Class.method``."""
    section: str
    """What its time is charged to."""
    when: Callable[[dict[str, Any]], bool] | None = None
    """Time only calls whose keyword arguments pass this test."""


def _asks_for_gradients(keywords: dict[str, Any]) -> bool:
    return bool(keywords.get("grad"))


def _gradients_are_on(_: dict[str, Any]) -> bool:
    return torch.is_grad_enabled()


COPLAY = (
    Watch("coplay.runs.state:TrainingState.run_trial", REST),
    Watch("coplay.runs.state:play_episode", GAMES),
    Watch("coplay.players.choice:ChoicePolicy.act", SAMPLING),
    Watch("coplay.players.choice:ChoicePolicy.decide", ACTING),
    Watch("coplay.players.choice_model:ChoiceModel.prompts", PROMPTS),
    Watch("coplay.learners.ppo:PPOLearner.update", LOSSES),
    Watch("coplay.learners.ppo:PPOLearner._batch", CREDIT),
    Watch("coplay.players.choice_model:ChoiceModel.reference_logprobs", REFERENCE),
    Watch("coplay.models.scoring:Scorer.score", FORWARD, when=_asks_for_gradients),
    Watch("torch:Tensor.backward", BACKWARD),
    Watch("coplay.models.optimiser:SlotAdam.step", OPTIMISER),
)

STRAIGHTFORWARD = (
    Watch("straightforward:StraightforwardRun.trial", REST),
    Watch("straightforward:play_episode", GAMES),
    Watch("straightforward:Agent.act", SAMPLING),
    Watch("straightforward:Agent.tokenised", PROMPTS),
    Watch("straightforward:Agent.acting_logprobs", ACTING),
    Watch("straightforward:Agent.update", LOSSES),
    Watch("straightforward:Agent._batch", CREDIT),
    Watch("straightforward:Agent.recomputed", RECOMPUTED),
    Watch("straightforward:Agent.reference", REFERENCE),
    Watch("straightforward:Agent.forward", FORWARD, when=_gradients_are_on),
    Watch("torch:Tensor.backward", BACKWARD),
    Watch("torch.optim:Adam.step", OPTIMISER),
)


class Clock:
    """Within the block, the watched functions are timed.

    Args:
        watched: the functions.
    """

    def __init__(self, watched: Sequence[Watch]) -> None:
        self.watched = watched
        self.seconds: dict[str, float] = {}
        """Time charged to each section."""
        self._inside: list[float] = []
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Clock:
        for watch in self.watched:
            holder, name = _find(watch.place)
            original = getattr(holder, name)
            self._undo.append((holder, name, original))
            setattr(holder, name, self._timed(original, watch))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for holder, name, original in reversed(self._undo):
            setattr(holder, name, original)
        self._undo.clear()

    def _timed(self, function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if watch.when is not None and not watch.when(kwargs):
                return function(*args, **kwargs)
            self._inside.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.perf_counter() - start
                within = self._inside.pop()
                self.seconds[watch.section] = self.seconds.get(watch.section, 0.0) + taken - within
                if self._inside:
                    self._inside[-1] += taken

        return timed


def _find(place: str) -> tuple[Any, str]:
    """The object that holds a watched function, and the function's name in it."""
    module, _, path = place.partition(":")
    *parents, name = path.split(".")
    holder: Any = importlib.import_module(module)
    for parent in parents:
        holder = getattr(holder, parent)
    if not hasattr(holder, name):
        raise AttributeError(f"benchmarks/sections.py times {place}, which is no more; name what took its place")
    return holder, name
