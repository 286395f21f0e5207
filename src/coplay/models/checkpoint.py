"""Model directories, looked at before any memory is taken: is the config sane, and are the stored tensors those that it asks for?"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.files.reading import as_object, read_json
from coplay.models.model_files import check_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
"""What configs call the number of layers."""

LARGEST = 2**31
"""Of the whole numbers in a ``config.json``."""

MOST_UNSTORED = 1_000
"""Of layers and experts where no weights are stored, whose tensors would say how many there are."""

MOST_BUFFERS = 2**30
"""Numbers that a model may compute for itself and keep, such as the frequencies of rotary embeddings."""

LISTED = 3
"""Names of tensors in an error."""

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of tensors by name."""


def check_config(path: Path) -> tuple[Shapes, int]:
    """Refuse a model directory with other things than files, and one whose ``config.json`` cannot be true of the tensors that are stored there.

    No weights are read.

    Returns:
        What :func:`stored_tensors` does.

    Raises:
        UsageError: naming the file and the key.
    """
    check_files(path)
    if (path / "adapter_config.json").exists():
        raise UsageError(
            f"{path} holds an adapter_config.json beside the model, and whether that is applied would depend on the packages"
            " installed; move the adapter to a directory of its own"
        )
    config = as_object(read_json(path / "config.json"), path / "config.json")
    stored, most = stored_tensors(path)
    for problem in _numbers(config, stored):
        raise UsageError(f"{path / 'config.json'}: {problem}")
    return stored, 8 * most if "quantization_config" in config else _count(stored)


def check_tensors(path: Path) -> None:
    """Compare the model that ``config.json`` describes, made without memory, with the tensors that are stored.

    Raises:
        UsageError: naming the tensors, or what :func:`check_config` finds.
    """
    stored, most = check_config(path)
    if stored:  # else transformers says what it looked for
        _check_model(path, stored, most=most)


def _whole_numbers(path: Path, names: Container[str]) -> list[str]:
    """Those of some tensors that are stored as whole numbers or truth values, which no parameter is unless it is quantised."""
    from safetensors import safe_open

    found = []
    for file in _weight_files(path):
        with safe_open(file, framework="np") as opened:
            found += [
                name
                for name in opened.keys()  # noqa: SIM118
                if name in names and not opened.get_slice(name).get_dtype().startswith(("F", "BF"))
            ]
    return sorted(found)


def stored_tensors(path: Path) -> tuple[Shapes, int]:
    """The shapes of all tensors of a directory, from the headers of its safetensors files, and the files' bytes; none if it has no such files.

    Raises:
        UsageError: if a file is damaged or missing, or the index leads elsewhere.
    """
    from safetensors import SafetensorError, safe_open

    shapes: dict[str, tuple[int, ...]] = {}
    size = 0
    for file in _weight_files(path):
        try:
            with safe_open(file, framework="np") as opened:
                found = {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
        for name in found:
            if name in shapes:
                raise UsageError(f"{file}: tensor {name} is in another file of the model as well")
        shapes |= found
        size += file.stat().st_size
    return shapes, size


def _weight_files(path: Path) -> list[Path]:
    if (path / WEIGHTS).exists():
        return [path / WEIGHTS]
    if not (path / INDEX).exists():
        return []
    listed = as_object(read_json(path / INDEX), path / INDEX).get("weight_map")
    names = set(listed.values()) if isinstance(listed, dict) and all(map(_is_text, listed.values())) else set()
    if not names or any(Path(name).name != name or not name.endswith(".safetensors") for name in names):
        raise UsageError(f"{path / INDEX}: weight_map must name the safetensors files beside it")
    return [path / name for name in sorted(names)]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _numbers(config: Mapping[str, object], stored: Shapes) -> Iterator[str]:
    """Numbers that would take all time or memory before a tensor is compared: every layer has a tensor, every expert a number."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from (f"{key}.{problem}" for problem in _numbers(value, stored))
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        most = LARGEST
        if key in LAYERS:
            most = len(stored) if stored else MOST_UNSTORED
        elif "expert" in key:
            most = _count(stored) if stored else MOST_UNSTORED
        if value > most:
            why = f"the files have {len(stored):,} tensors" if stored and most < LARGEST else f"the most is {most:,}"
            yield f"{key} is {value:,}, but {why}"


def _check_model(path: Path, stored: Shapes, *, most: int) -> None:
    model = _outline(path)
    quantised = getattr(model.config, "quantization_config", None) is not None
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    # Tensors of other names or order are renamed and turned when they are loaded, packed ones unpacked; what is wrong with them is found then.
    wrong = (
        []
        if quantised
        else [name for name, shape in wanted.items() if math.prod(stored.get(name, shape)) != math.prod(shape)]
    )
    if wrong:
        described = [f"{name} {list(stored[name])} instead of {list(wanted[name])}" for name in sorted(wrong)]
        raise UsageError(f"{listed('of another shape', described)}")
    tied = set(getattr(model, "all_tied_weights_keys", {}))
    parameters = {name: tuple(p.shape) for name, p in model.named_parameters() if name not in tied}
    whole = [] if quantised else _whole_numbers(path, parameters)
    if whole:
        raise UsageError(f"{listed('of whole numbers, where a model has fractions', whole)}")
    if _count(parameters) > most:
        missing = sorted(parameters.keys() - stored.keys())
        raise UsageError(
            f"config.json describes a model of {_count(parameters):,} parameters, the files hold {_count(stored):,}"
            + (f"; {listed('missing', missing)}" if missing else "")
        )
    kept = sum(buffer.numel() for buffer in model.buffers())
    if kept > MOST_BUFFERS:
        raise UsageError(
            f"config.json describes a model that keeps {kept:,} computed numbers; the most is {MOST_BUFFERS:,}"
        )


def _outline(path: Path) -> PreTrainedModel:
    """The model with shapes alone: its tensors are on the device ``meta``, where they take no memory and no random numbers."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def _count(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes.values()))


def listed(what: str, names: list[str]) -> str:
    """``tensors missing: 5, e.g. a, b, c``."""
    return f"tensors {what}: {len(names)}, e.g. {', '.join(names[:LISTED])}"
