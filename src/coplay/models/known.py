"""The models that coplay knows by name: those in the package, and those that ``coplay models add`` installs. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NotRequired, TypedDict

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.models.lora_settings import LoraSettings
from coplay.text.chat import ChatFormat

CACHE_VARIABLE = "COPLAY_CACHE"
"""The environment variable that says where models are installed."""

RECORD = "source.json"
"""The file in an installed model's directory that says where the model came from. It is written last."""


class AdapterForm(TypedDict):
    """The shape of a bank's adapters: the arguments of :class:`coplay.models.bank.AdapterBank`."""

    rank: int
    alpha: float
    targets: Sequence[str]
    top_layers: int | None
    lora: NotRequired[LoraSettings]
    """The settings of an adapter that was made elsewhere, which say more than the others."""


class Precision(StrEnum):
    """In what a language model's weights are held and its products computed. Adapters, value heads and optimisers are in float32."""

    AUTO = "auto"
    """bfloat16 on a GPU, float32 elsewhere."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


@dataclass(frozen=True)
class KnownModel:
    """A model that has a name of its own."""

    name: str
    """What to call it, as in ``--model NAME``."""
    description: str
    """One sentence."""
    parameters: int
    """How many parameters it has."""
    size: int
    """Bytes on disk, rounded."""
    embedded: bool = True
    """Whether it is in the package; if not, it must be installed."""

    @property
    def path(self) -> Path:
        """Its directory: beside this file, or in the cache, where there may be nothing yet."""
        return (Path(__file__).parent if self.embedded else cache_directory()) / self.name

    @property
    def installed(self) -> bool:
        """Whether it is there."""
        return self.embedded or (self.path / RECORD).is_file()

    @property
    def command(self) -> str:
        """What installs it."""
        return f"coplay models add {self.name}"


_ALL = (
    KnownModel(
        "tiny",
        "A small Llama built for ShapeLLM's prompts. Its replies to prompts without counts have nearly the paper's Gemma's probabilities; it knows no other text.",
        116_416,
        503_000,
    ),
    KnownModel(
        "tiny-second",
        "A small Gemma 2 built for the same prompts, with another initial policy than tiny, for experiments across models.",
        116_672,
        501_000,
    ),
    KnownModel(
        "tiny-talk",
        "A small Llama built for the prompts of the games with text, which replies in their formats; it knows no other text.",
        147_776,
        679_000,
    ),
    KnownModel(
        "tiny-talk-second",
        "A small Gemma 2 built for the same prompts, for experiments across models.",
        148_032,
        681_000,
    ),
    KnownModel(
        "tiny-reason",
        "A small Llama built for the prompts of SEPO's games that show the last round. It gives a reason, then acts at random; it knows no other text.",
        231_360,
        1_152_000,
    ),
    KnownModel(
        "smollm2",
        "SmolLM2-135M-Instruct by Hugging Face, an instruction-tuned Llama that answers questions in English (Apache-2.0).",
        134_515_008,
        541_000_000,
        embedded=False,
    ),
)

MODELS = {model.name: model for model in _ALL}
"""All of them, by name."""

TINY = "tiny"
"""The model that is used where none is named."""

TEXT_MODELS = {"tiny": "tiny-talk", "tiny-second": "tiny-talk-second"}
"""From the embedded models that reply with one token to their siblings that reply in text."""

EMBEDDED = tuple(model.name for model in _ALL if model.embedded)
"""The models in the package: a directory of that name beside this file each."""


def printed_form(name: str) -> ChatFormat | None:
    """The form of one-token prompts that a model was made for: the embedded ones for those that are printed in ShapeLLM; None for others."""
    return ChatFormat.GEMMA if name in EMBEDDED else None


def cache_directory() -> Path:
    """Where models are installed: ``$COPLAY_CACHE``, else ``$XDG_CACHE_HOME/coplay``, else ``~/.cache/coplay``."""
    own = os.environ.get(CACHE_VARIABLE)
    if own:
        return user_path(own).absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "coplay"


def known_path(name: str) -> Path:
    """The directory of a model of :data:`MODELS`; raises UsageError if it is not installed, with the command that installs it."""
    model = MODELS[name]
    if not model.installed:
        raise UsageError(f"model: {name} is not installed; run: {model.command}")
    return model.path
