"""Passes of a packed grid as CUDA graphs: a pass is started as one operation instead of thousands, which a GPU otherwise waits for.

A graph is recorded for one shape, so rows are padded to few numbers of rows and of tokens; what was not recorded yet is recorded when it is
first asked for. All graphs of a kind use the same memory, over which each replay writes. Results are therefore copied, and while the backward
pass of one is still to come, other passes with gradients run without a graph.

Shapes: P slots, N rows of a slot, L tokens of a row, S tokens of a beginning, H hidden width.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

import torch
from torch import Tensor, nn

from coplay.models.bank import AdapterBank, Route
from coplay.models.decoder import KVCache, Prefix
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.packed_grid import PackedGrid

if TYPE_CHECKING:
    from torch.autograd.function import FunctionCtx

TOKENS = 16
"""Rows are padded to multiples of so many tokens, which is also what matrix units like."""

_MOST_TOKENS = 16_384
"""Of a pass that is recorded: larger ones keep a GPU busy without, and their memory would stay taken."""

_GRAPHS_KEPT = 64

Key = tuple[object, ...]
"""Slots and the shapes of all inputs."""

Pass = Callable[[Sequence[Tensor]], Tensor]
"""From a pass's inputs to its result: final hidden states, [P * N, H], or keys and values."""


class GraphedGrid(PackedGrid):
    """See the module.

    Args:
        decoder: the model, on a GPU.
        bank: its adapters.
    """

    def __init__(self, decoder: PackedDecoder, bank: AdapterBank) -> None:
        super().__init__(decoder)
        self.bank = bank
        self._reading: _Recorded[_ReadingPass] = _Recorded()
        self._learning: _Recorded[_LearningPass] = _Recorded()
        self._waiting: WeakSet[_Turn] = WeakSet()
        """Recorded passes whose backward pass is still to come."""

    @staticmethod
    def supports(decoder: PackedDecoder) -> bool:
        """Whether the model is on a GPU and its layers are plain: others, those of 4 bits for example, may do what no graph can record."""
        linear = [module for module in decoder.decoder.modules() if hasattr(module, "in_features")]
        return decoder.device.type == "cuda" and all(type(module) is nn.Linear for module in linear)

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.last_hidden`."""
        P, N, L = ids_PNL.shape
        rows, length = padded_rows(N), -(-L // TOKENS) * TOKENS
        first = len(prefix) if isinstance(prefix, Tensor) else 0
        learns = torch.is_grad_enabled() and self.bank.current is not None
        if P * (first + rows * length) > _MOST_TOKENS or (learns and self._waiting):
            return super().last_hidden(ids_PNL, last_PN, prefix)
        inputs = [
            nn.functional.pad(ids_PNL, (0, length - L, 0, rows - N)),
            nn.functional.pad(last_PN, (0, rows - N)),
            *_tensors_of(prefix),
        ]
        route = self.bank.current
        key = (None if route is None else route.slots, *(tuple(one.shape) for one in inputs))
        hidden_RH = self._learn(key, inputs) if learns else self._read(key, inputs, self._pass)
        return hidden_RH.view(P, rows, -1)[:, :N].flatten(0, 1)

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`~coplay.models.decoder.Decoder.encode_prefix`."""
        if slots * len(prefix_L) > _MOST_TOKENS:
            return super().encode_prefix(prefix_L, slots)
        route = self.bank.current
        key = ("beginning", slots if route is None else route.slots, len(prefix_L))
        kv = self._read(key, [prefix_L], partial(self._encode, slots=slots))
        return [(layer[0], layer[1]) for layer in kv]

    def _encode(self, inputs: Sequence[Tensor], *, slots: int) -> Tensor:
        """Keys and values of a beginning as one tensor, [layers, 2, P, g, S, D]."""
        return torch.stack([torch.stack(layer) for layer in super().encode_prefix(inputs[0], slots)])

    def _read(self, key: Key, inputs: Sequence[Tensor], run: Pass) -> Tensor:
        route = self.bank.current
        return self._reading.of(key, lambda pool: _ReadingPass(run, route, inputs, pool))(inputs)

    def _learn(self, key: Key, inputs: Sequence[Tensor]) -> Tensor:
        weights, route = self.bank.parameters(), self.bank.current
        found = self._learning.of(key, lambda pool: _LearningPass(self._pass, route, inputs, weights, pool))
        _copy(found.inputs, inputs)
        hidden_RH: Tensor = _Replayed.apply(found, _Turn(self._waiting), *weights)  # type: ignore[no-untyped-call]
        return hidden_RH

    def _pass(self, inputs: Sequence[Tensor]) -> Tensor:
        """What is recorded. One tensor of a prefix is its tokens, more are its keys and values, layer by layer."""
        ids_PNL, last_PN, *rest = inputs
        known: Prefix = rest[0] if len(rest) == 1 else list(zip(rest[::2], rest[1::2], strict=True)) or None
        return super().last_hidden(ids_PNL, last_PN, known)


PassT = TypeVar("PassT")


class _Recorded(Generic[PassT]):
    """The passes of a kind that were recorded, those that were not replayed for longest dropped, and the memory that they share."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()
        self._passes: OrderedDict[Key, PassT] = OrderedDict()

    def of(self, key: Key, record: Callable[[Any], PassT]) -> PassT:
        """The pass of that key, recorded now if it has not been."""
        if key not in self._passes:
            self._passes[key] = record(self.pool)
        self._passes.move_to_end(key)
        while len(self._passes) > _GRAPHS_KEPT:
            self._passes.popitem(last=False)
        return self._passes[key]


class _ReadingPass:
    """A recorded pass without gradients."""

    def __init__(self, run: Pass, route: Route | None, inputs: Sequence[Tensor], pool: Any) -> None:
        self.route = route  # the graph reads its tensors, so they must stay where they are
        self.inputs = [one.clone() for one in inputs]
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            _warm_up(lambda: run(self.inputs))
            with torch.cuda.graph(self.graph, pool=pool):
                self.result = run(self.inputs)

    def __call__(self, inputs: Sequence[Tensor]) -> Tensor:
        """The result for these inputs."""
        _copy(self.inputs, inputs)
        self.graph.replay()
        return self.result.clone()


class _LearningPass:
    """A recorded pass with its backward pass."""

    def __init__(
        self,
        run: Pass,
        route: Route | None,
        inputs: Sequence[Tensor],
        weights: Sequence[nn.Parameter],
        pool: Any,
    ) -> None:
        self.route = route  # as above
        self.inputs = [one.clone() for one in inputs]
        self.forward, self.backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()

        def gradients(hidden_RH: Tensor, by_hidden_RH: Tensor) -> tuple[Tensor | None, ...]:
            return torch.autograd.grad(hidden_RH, weights, by_hidden_RH, allow_unused=True)

        def both() -> None:
            hidden_RH = run(self.inputs)
            gradients(hidden_RH, torch.zeros_like(hidden_RH))

        _warm_up(both)
        with torch.cuda.graph(self.forward, pool=pool):
            hidden_RH = run(self.inputs)
        self.by_hidden_RH = torch.zeros_like(hidden_RH)
        with torch.cuda.graph(self.backward, pool=pool):
            found = gradients(hidden_RH, self.by_hidden_RH)
            self.by_weights_D = torch.cat([one.flatten() for one in found if one is not None])
        self.hidden_RH = hidden_RH.detach()
        self.shapes = [None if one is None else one.shape for one in found]

    def run_forward(self) -> Tensor:
        """Final hidden states for what is in the inputs."""
        self.forward.replay()
        return self.hidden_RH.clone()

    def run_backward(self, by_hidden_RH: Tensor) -> list[Tensor | None]:
        """The gradient of each weight; None for those that have no part in the pass."""
        self.by_hidden_RH.copy_(by_hidden_RH)
        self.backward.replay()
        sizes = [shape.numel() for shape in self.shapes if shape is not None]
        parts = iter(torch.split(self.by_weights_D.clone(), sizes))
        return [None if shape is None else next(parts).view(shape) for shape in self.shapes]


class _Turn:
    """A recorded pass whose backward pass is still to come; over with it, or when nobody can ask for it any more."""

    def __init__(self, waiting: WeakSet[_Turn]) -> None:
        self._waiting = waiting
        waiting.add(self)

    def end(self) -> None:
        """Say that it is over."""
        self._waiting.discard(self)


class _Replayed(torch.autograd.Function):
    """A recorded pass as an operation of autograd."""

    @staticmethod
    def forward(ctx: FunctionCtx, recorded: _LearningPass, turn: _Turn, *_: Tensor) -> Tensor:
        ctx.recorded, ctx.turn = recorded, turn  # type: ignore[attr-defined]
        return recorded.run_forward()

    @staticmethod
    def backward(ctx: FunctionCtx, by_hidden_RH: Tensor) -> tuple[Tensor | None, ...]:
        recorded: _LearningPass = ctx.recorded  # type: ignore[attr-defined]
        ctx.turn.end()  # type: ignore[attr-defined]
        return None, None, *recorded.run_backward(by_hidden_RH)


def padded_rows(count: int) -> int:
    """As many rows or a few more, so that few different numbers are recorded: up to 4 as they are, then even ones, from 16 on multiples of 8."""
    step = 1 if count <= 4 else 2 if count <= 16 else 8
    return -(-count // step) * step


def _tensors_of(prefix: Prefix) -> list[Tensor]:
    if prefix is None:
        return []
    return [prefix] if isinstance(prefix, Tensor) else [one for layer in prefix for one in layer]


def _copy(own: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    kinds = {one.dtype for one in own}  # token ids; keys and values
    for kind in kinds:
        to, source = ([one for one in them if one.dtype == kind] for them in (own, inputs))
        torch._foreach_copy_(to, source)


def _warm_up(run: Callable[[], object]) -> None:
    """Run once beside the stream of all else: what libraries do at first is not to be recorded."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
