"""What ``coplay models check`` finds of a model: its tokenizer, its engine and its adapters compared with Transformers, in words and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.models.adapter_admission import adapter_trial
from coplay.models.adapter_config import adapter_form
from coplay.models.admission import SECONDS, admit
from coplay.models.admission_record import Admission, EngineTrial, admission_key
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.known import AdapterForm, Precision
from coplay.models.loading import backend_agrees, encode, has_backend, load_model, persisted_state
from coplay.text.chat import ChatFormat, ChatMessage

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coplay.models.loading import LoadedModel

DEFAULT_FORM: AdapterForm = {"rank": 8, "alpha": 16.0, "targets": ("q_proj", "v_proj"), "top_layers": None}
"""The adapters that are compared where none is given."""


@dataclass(frozen=True)
class ModelCheck:
    """The result of a check."""

    model: str
    """As it was named."""
    architecture: str
    """The class of Transformers that computes it."""
    precision: str
    """Of its weights."""
    device: str
    """Where it was compared."""
    admission: Admission
    """Which engine agrees, and what was compared."""
    tokenizer: Mapping[str, object]
    """How prompts are encoded."""
    chat: Mapping[str, object]
    """How it is talked to, and what ends its replies."""
    targets: tuple[str, ...]
    """Layers with adapters that were compared; empty if none were."""
    adapter: EngineTrial | None = None
    """The given adapter compared with PEFT's reading of it; None without one."""
    notes: tuple[str, ...] = field(default=())
    """What is not supported or was not compared, and why."""

    def record(self) -> dict[str, object]:
        """The same as JSON."""
        found = asdict(self)
        for trial, written in zip(self.admission.trials, found["admission"]["trials"], strict=True):
            written |= {"agrees": trial.agrees, "reason": trial.reason}
        if self.adapter is not None:
            found["adapter"] |= {"agrees": self.adapter.agrees, "reason": self.adapter.reason}
        return {"version": 1, **found, "ok": self.ok}

    @property
    def ok(self) -> bool:
        """Whether the model, and the adapter that was given, may be used."""
        return self.adapter is None or self.adapter.agrees

    def lines(self) -> Iterator[str]:
        """The same for a person."""
        admission = self.admission
        yield f"{self.model}: {self.architecture}, {self.precision} on {self.device}"
        yield f"engine: {admission.engine}, attention {admission.attention or 'of its own'}; rows of up to {admission.verified} tokens were compared"
        for trial in admission.trials:
            worst = trial.worst
            if not trial.agrees:
                yield f"  {trial.engine}: not used, {trial.reason}"
            elif worst is not None:
                yield (
                    f"  {trial.engine}: agrees in {len(trial.differences)} comparisons; the largest difference is {worst.largest:.2g} where"
                    f" the spread is {worst.spread:.2g} and {worst.allowed:.2g} is allowed ({worst.what}, {worst.tokens} tokens)"
                )
        for title, found in (("tokenizer", self.tokenizer), ("chat", self.chat)):
            yield f"{title}: " + "; ".join(f"{key}: {value}" for key, value in found.items())
        kinds = Counter(target.rpartition(".")[2] for target in self.targets)
        listed = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
        yield f"adapters: {listed}" if listed else "adapters: none were compared"
        if self.adapter is not None and self.adapter.agrees and self.adapter.worst is not None:
            worst = self.adapter.worst
            yield f"adapter given: agrees; the largest difference is {worst.largest:.2g} where the spread is {worst.spread:.2g} ({worst.what})"
        elif self.adapter is not None:
            yield f"adapter given: not used, {self.adapter.reason}"
        yield from (f"note: {note}" for note in (*admission.notes, *self.notes))
        yield f"compared in {admission.seconds:.1f} s"


def check_model(
    name: str,
    *,
    adapter: Path | None = None,
    four_bit: bool = False,
    precision: Precision = Precision.AUTO,
    seconds: float = SECONDS,
) -> ModelCheck:
    """Compare a model with Transformers; the result is kept for commands that load it.

    Args:
        name: as ``--model``.
        adapter: the directory of a PEFT adapter that is compared as well.
        four_bit: whether its weights are quantised to 4 bits.
        precision: of its weights.
        seconds: what the comparison may take.

    Raises:
        UsageError: if it cannot be used.
    """
    loaded = load_model(name, four_bit=four_bit, precision=precision)
    notes: list[str] = []
    form = DEFAULT_FORM if adapter is None else adapter_form(adapter)
    try:
        bank = AdapterBank(loaded.model, [SlotName("check", 0)], **form)
    except UsageError as error:
        if adapter is not None:
            raise
        notes.append(f"adapters: {error}")
        bank = AdapterBank(loaded.model, [], rank=1, alpha=1.0, targets=())
    admission = admit(loaded.model, bank, seconds=seconds)
    admission.keep(admission_key(loaded, bank))
    trial = None
    if adapter is not None:
        bank.import_peft(0, adapter)
        trial = adapter_trial(loaded, bank, 0, adapter, admission.engine)
    return ModelCheck(
        model=name,
        architecture=type(loaded.model).__name__,
        precision=_precision(loaded.model),
        device=str(bank.device),
        admission=admission,
        tokenizer=_tokenizer(loaded),
        chat=_chat(loaded),
        targets=tuple(sorted(bank.weights)),
        adapter=trial,
        notes=tuple(notes),
    )


def _precision(model: PreTrainedModel) -> str:
    """Of a model's weights."""
    plain = str(model.dtype).removeprefix("torch.")
    if not getattr(model, "is_quantized", False):
        return plain
    bits = next((bits for bits in (4, 8) if getattr(model, f"is_loaded_in_{bits}bit", False)), None)
    return f"{bits} bits" if bits else f"quantised, computed in {plain}"


def _tokenizer(loaded: LoadedModel) -> dict[str, object]:
    """How prompts are encoded."""
    tokenizer = loaded.tokenizer
    state = persisted_state(tokenizer)
    own = "its own call, which its backend differs from" if has_backend(tokenizer) else "its own call"
    return {
        "encoded by": "its backend" if backend_agrees(tokenizer) else own,
        "persisted state": f"{', '.join(state)} (ignored: prompts are encoded whole)" if state else "none",
        "tokens of a test": len(encode(tokenizer, "Reply with C or D.")),
    }


def _chat(loaded: LoadedModel) -> dict[str, object]:
    """How the model is talked to. A closing token is shown as it is written; what is outside its vocabulary by its number."""
    chat, tokenizer = loaded.chat, loaded.tokenizer
    ends = [str(tokenizer.convert_ids_to_tokens(token) or token) for token in sorted(chat.stop)]
    ends += [f"{text.strip()!r} as a text" for text in chat.stop_texts]
    begin = None if tokenizer.bos_token_id is None else int(tokenizer.bos_token_id)
    ids = encode(tokenizer, chat.conversation([ChatMessage("user", "Reply with C or D.")]))
    return {
        "format": "the model's own template" if chat.format is ChatFormat.TEMPLATE else str(chat.format),
        "replies end with": " ".join(ends) or "nothing",
        "beginning-of-text tokens at a prompt's start": sum(1 for _ in takewhile(lambda token: token == begin, ids)),
    }
