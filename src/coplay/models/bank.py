"""The adapter bank: many LoRA adapters on one frozen base model, any mix of them in one batch.

For a target linear layer of shape (out, in) the bank holds ``A: [P, r, in]`` and ``B: [P, out, r]``. In a forward pass row i of the
batch, routed to slot p, gets ``x W^T + s * (x A_p^T) B_p^T``. Slot -1 (:data:`REFERENCE`) is the base model, untouched. Rank r and scale s, which is
alpha / r if no adapter's settings say otherwise, are a layer's own.

The page with the equation: docs/theory/adapter_bank.md.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from coplay.errors import UsageError
from coplay.files.reading import read_bytes
from coplay.models.adapter_config import read_settings, written_config
from coplay.models.adapter_targets import ModelLayers, Place, mismatch, named_places, settings_places
from coplay.models.checkpoint import listed
from coplay.models.lora_settings import LoraSettings
from coplay.rng import stream_seed

REFERENCE = -1
"""The slot of the frozen base model."""

MOST_ADAPTER_BYTES = 2**33
"""Of a file of adapter weights."""


@dataclass(frozen=True)
class SlotName:
    """What a slot holds: one learner of one seed. Its initial weights depend on this alone."""

    learner: str
    """The learner, e.g. its seat."""
    seed: int
    """The run's seed."""


class RoutedLinear(nn.Module):
    """A frozen linear layer (of any kind, 4-bit ones too) plus the low-rank update of each row's slot; see docs/theory/adapter_bank.md."""

    def __init__(self, base: nn.Module, bank: AdapterBank, name: str) -> None:
        super().__init__()
        self.base = base
        self._bank = [bank]  # in a list, so that the bank is not registered as a submodule of its own target
        self._name, self._scale = name, bank.places[name].scale

    def forward(self, x_RLI: Tensor) -> Tensor:
        """Apply the base and the routed updates; outside :meth:`AdapterBank.route` the base alone."""
        out_RLO: Tensor = self.base(x_RLI)
        route = self._bank[0].current
        if route is None:
            return out_RLO
        A_P, B_P = self._of(route)
        x_PKI = torch.unflatten(x_RLI, 0, (len(route.slots), -1)).flatten(1, -2).to(A_P.dtype)
        low_PKr = torch.bmm(x_PKI, A_P.transpose(1, 2)) * route.scales[self._scale]
        return out_RLO + torch.bmm(low_PKr, B_P.transpose(1, 2)).view(out_RLO.shape).to(out_RLO.dtype)

    def merged(self) -> Tensor:
        """Base and update as one matrix for each slot of the route, [P, out, in]; outside a route the base's own, [out, in]."""
        weight = cast(Tensor, self.base.weight)
        if type(self.base).__name__ == "Conv1D":  # GPT-2's, which is stored as [in, out]
            weight = weight.T
        route = self._bank[0].current
        if route is None:
            return weight
        A_P, B_P = self._of(route)
        return torch.baddbmm(weight, B_P * route.scales[self._scale], A_P)

    def _of(self, route: Route) -> tuple[Tensor, Tensor]:
        if torch.is_grad_enabled():
            self._bank[0].read.add(self._name)
        A, B = self._bank[0].weights[self._name]
        return A.index_select(0, route.slots_P), B.index_select(0, route.slots_P)


@dataclass(frozen=True)
class Route:
    """Which adapters the rows of a batch go through: as many equal groups of consecutive rows as there are slots."""

    slots: tuple[int, ...]
    """Slot of each group."""
    slots_P: Tensor
    """The same as a tensor, reference groups pointing at slot 0."""
    scales: Mapping[float, Tensor]
    """Each scale of the bank's adapters, in groups that have one, and 0 for reference groups; shapes [P, 1, 1]."""


class AdapterBank:
    """LoRA adapters in slots on one frozen model; see docs/theory/adapter_bank.md.

    Args:
        model: a Hugging Face causal language model. It is frozen, put in eval mode and its targets are wrapped in place.
        rank: of the update.
        alpha: the update is scaled by alpha / r.
        targets: last parts of the names of the linear layers to adapt; of models with towers for other inputs than text, in the text decoder only.
        top_layers: how many of the last layers are adapted; None for all.
        lora: settings of an adapter that was made elsewhere, which then say all of this.

    Raises:
        UsageError: if a target names no linear layer of the model.
    """

    def __init__(
        self,
        model: nn.Module,
        slots: Sequence[SlotName],
        *,
        rank: int,
        alpha: float,
        targets: Sequence[str] = ("q_proj", "v_proj"),
        top_layers: int | None = None,
        lora: LoraSettings | None = None,
    ) -> None:
        self.slots = list(slots)
        self.targets = tuple(targets)
        self.current: Route | None = None
        self.weights: dict[str, tuple[nn.Parameter, nn.Parameter]] = {}
        self.versions = [0] * len(self.slots)
        """How often each slot was changed; whatever is computed from a slot is valid for one version."""
        self.imported: dict[int, Path] = {}
        """The directory from which a slot's adapter was read, of those that were."""
        self.read: set[str] = set()
        """Names of the layers whose adapters had a part in a pass with gradients since a slot last changed."""
        model.requires_grad_(False)
        model.eval()
        self.base_size = sum(parameter.numel() for parameter in model.parameters())
        """Parameters of the base model."""
        device = next(model.parameters()).device
        self.device = device
        self._layers = ModelLayers(model)
        if lora is None:
            lora, places = named_places(self._layers, rank=rank, alpha=alpha, targets=targets, top_layers=top_layers)
        else:
            places = settings_places(self._layers, lora, where="adapter")
        self.settings = lora
        """Where the adapters are, as PEFT's config says it."""
        self.places: Mapping[str, Place] = places
        """The adapted layers, each with rank and scale."""
        self.first_layer = self._layers.first_layer(list(places))
        """The lowest layer that is adapted; 0 if all are, or none, or other parts of the model are as well."""
        for name, place in places.items():
            size = self._layers.linear[name]
            A = _initial_as(self.slots, name, place.rank, size.in_features, device)
            B = torch.zeros(len(self.slots), size.out_features, place.rank, device=device)
            self.weights[name] = (nn.Parameter(A), nn.Parameter(B))
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, RoutedLinear(model.get_submodule(name), self, name))

    def parameters(self) -> list[nn.Parameter]:
        """All adapter weights, each stacked over slots: [P, ...]."""
        return [weight for pair in self.weights.values() for weight in pair]

    def unread(self) -> list[nn.Parameter]:
        """The weights that had no part in a pass with gradients since a slot last changed: a model may not come by all of its layers."""
        return [weight for name, pair in self.weights.items() if name not in self.read for weight in pair]

    def _by_name(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All adapter weights with names as in PEFT: ``NAME.lora_A`` and ``NAME.lora_B``."""
        for name, (A, B) in self.weights.items():
            yield from ((f"{name}.lora_A", A), (f"{name}.lora_B", B))

    @contextlib.contextmanager
    def route(self, slots: Sequence[int]) -> Iterator[None]:
        """Send the rows of each batch in the block through slots.

        A batch is cut into as many equal groups of consecutive rows as there are slots here, and group i goes through ``slots[i]``:
        one slot a row, or a few for many rows. Backward may run outside the block.
        """
        previous = self.current
        self.current = self._route(tuple(slots))
        try:
            yield
        finally:
            self.current = previous

    def _route(self, slots: tuple[int, ...]) -> Route | None:
        if all(slot < 0 for slot in slots):  # nothing but reference rows: the base as it is
            return None
        slots_P = torch.tensor(slots, dtype=torch.long, device=self.device)
        adapted_P = (slots_P >= 0).to(torch.float32)
        scales = {
            scale: (adapted_P * scale)[:, None, None] for scale in {place.scale for place in self.places.values()}
        }
        return Route(slots, slots_P.clamp(min=0), scales)

    def bump_version(self, slots: Sequence[int]) -> None:
        """Say that these slots' weights have changed."""
        self.read.clear()
        for slot in slots:
            self.versions[slot] += 1

    def versions_of(self, slots: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """(slot, version) of each; what was computed under these slots is valid for as long as this does not change."""
        return tuple((slot, 0 if slot == REFERENCE else self.versions[slot]) for slot in slots)

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """Copies of one slot's weights, keyed ``NAME.lora_A`` and ``NAME.lora_B``."""
        return {name: weight.detach()[slot].clone() for name, weight in self._by_name()}

    @torch.no_grad()
    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Overwrite one slot with what :meth:`slot_state` returned."""
        for name, weight in self._by_name():
            weight[slot] = state[name]
        self.bump_version([slot])

    def peft_files(self, slot: int, *, base_model: str) -> dict[str, bytes]:
        """One slot as a PEFT adapter: the content of ``adapter_model.safetensors`` and ``adapter_config.json``, by name."""
        tensors = {
            f"base_model.model.{name}.weight": weight.detach()[slot].cpu().contiguous().clone()
            for name, weight in self._by_name()
        }
        config = written_config(self.settings, base_model)
        return {
            "adapter_model.safetensors": save(tensors),
            "adapter_config.json": (json.dumps(config, indent=2) + "\n").encode(),
        }

    def import_peft(self, slot: int, directory: Path) -> None:
        """Read a PEFT LoRA adapter into a slot, as :meth:`read_peft` does; if that fails, the slot is as it was."""
        self.load_slot_state(slot, self.read_peft(directory))
        self.imported[slot] = directory

    def read_peft(self, directory: Path) -> dict[str, Tensor]:
        """The weights of a PEFT LoRA adapter that is at the bank's layers with its ranks and scales, however its config says that.

        Returns:
            What :meth:`slot_state` does.

        Raises:
            UsageError: if the adapter is of another kind or shape, or damaged, naming the file and the key or tensors.
        """
        where = directory / "adapter_config.json"
        problem = mismatch(settings_places(self._layers, read_settings(directory), where=str(where)), self.places)
        if problem:
            raise UsageError(
                f"{where}: {problem}. Adapters of one model need the same layers, ranks and scales: give `adapter` this one's rank, alpha, targets"
                " and top_layers, or leave all four at their defaults where learners start from it"
            )
        name_of = {f"base_model.model.{name}.weight": name for name, _ in self._by_name()}
        shapes = {f"base_model.model.{name}.weight": tuple(weight.shape[1:]) for name, weight in self._by_name()}
        tensors = _read_tensors(directory / "adapter_model.safetensors", shapes)
        return {name_of[key]: tensor for key, tensor in tensors.items()}


def _read_tensors(file: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Exactly the tensors of these names and shapes, all finite, from a safetensors file; raises UsageError for any others.

    PEFT reads names with and without the adapter's own, which is ``default`` where none was given.
    """
    try:
        stored: dict[str, Tensor] = load(read_bytes(file, most=MOST_ADAPTER_BYTES))
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}") from None
    except (SafetensorError, ValueError, TypeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    tensors = {
        re.sub(r"(\.lora_[AB])\.default\.weight$", r"\1.weight", name): _single(tensor)
        for name, tensor in stored.items()
    }
    faults = {
        "that are there twice": sorted(name for name in stored if name not in tensors and len(tensors) < len(stored)),
        "missing": sorted(shapes.keys() - tensors.keys()),
        "that this bank does not have": sorted(tensors.keys() - shapes.keys()),
        "of another shape": [
            f"{name} has shape {tuple(tensor.shape)}, this bank needs {shapes[name]}"
            for name, tensor in sorted(tensors.items())
            if name in shapes and tuple(tensor.shape) != shapes[name]
        ],
        "with NaN, infinite or no floating-point numbers": [
            name for name, tensor in sorted(tensors.items()) if not bool(tensor.isfinite().all())
        ],
    }
    for what, names in faults.items():
        if names:
            raise UsageError(f"{file}: {listed(what, names)}")
    return tensors


def _single(tensor: Tensor) -> Tensor:
    """A tensor of floating-point numbers of any kind in single precision, as the bank holds it; NaN for other kinds."""
    if tensor.is_floating_point():
        with contextlib.suppress(RuntimeError):  # there is no conversion from some kinds of 4 bits
            return tensor.float()
    return torch.full(tensor.shape, math.nan)


def _initial_as(slots: Sequence[SlotName], name: str, rank: int, in_features: int, device: torch.device) -> Tensor:
    """Of all slots, [P, r, in]; numbers are drawn on the processor, whatever the device."""
    A = torch.empty(len(slots), rank, in_features, device=device)
    for place, slot in enumerate([] if device.type == "meta" else slots):
        A[place] = _initial_a(slot, name, rank, in_features)
    return A


def _initial_a(slot: SlotName, name: str, rank: int, in_features: int) -> Tensor:
    """PEFT's initialisation, Kaiming-uniform with a = sqrt(5), from the slot's own stream. B starts at zero."""
    generator = torch.Generator().manual_seed(stream_seed(slot.seed, "adapter", slot.learner, name))
    bound = math.sqrt(6.0 / ((1.0 + 5.0) * in_features))
    return (torch.rand(rank, in_features, generator=generator) * 2.0 - 1.0) * bound
