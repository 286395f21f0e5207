"""Loading: one path for the models that coplay knows, a local directory and any Hub id, 4-bit or not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.models.checkpoint import check_config, check_tensors, listed
from coplay.models.ends import ends_of
from coplay.models.hub import fetched, kept, only_here
from coplay.models.known import MODELS, Precision, known_path, printed_form
from coplay.models.model_files import regular_files
from coplay.models.token_rows import note_rows, of_model
from coplay.text.chat import DAY, ChatFormat

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from coplay.text.model_chat import Chat

LONGEST_REASON = 300
"""Letters that are shown of another library's error."""


@dataclass(frozen=True)
class LoadedModel:
    """A frozen causal language model with its tokenizer."""

    name: str
    """As the user named it."""
    model: PreTrainedModel
    """The Hugging Face model, in eval mode."""
    tokenizer: PreTrainedTokenizerBase
    """Its tokenizer."""
    chat: Chat
    """How it is talked to."""
    files: Path | None = None
    """The directory that it was read from; None for a model that was made in memory."""


def model_path(name: str) -> str:
    """Where the model of that name lies: a directory, or the name itself if it is a Hub id. Imports nothing heavy.

    Raises:
        UsageError: if the name is a path and there is no model there, or that of a model that is not installed.
    """
    if name in MODELS:
        return str(known_path(name))
    looks_like_hub_id = re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not name.startswith((".", "~"))
    try:
        directory = user_path(name)
    except UsageError as error:
        raise UsageError(f"model: {error}") from None
    if directory.is_dir():
        if not (directory / "config.json").is_file():
            raise UsageError(f"model: {name} is a directory without config.json, so not a Hugging Face model")
        try:
            regular_files(directory)
        except UsageError as error:
            raise UsageError(f"model: {error}") from None
        return str(directory)
    if not looks_like_hub_id:
        raise UsageError(
            f"model: there is no model at {name}; give {', '.join(map(repr, MODELS))}, a directory or a Hub id such as org/name"
        )
    return name


def load_model(
    name: str,
    *,
    four_bit: bool = False,
    chat: ChatFormat | None = None,
    chat_date: str = DAY,
    device: str | None = None,
    precision: Precision = Precision.AUTO,
) -> LoadedModel:
    """Load a frozen model and its tokenizer.

    Args:
        name: one of :data:`~coplay.models.known.MODELS`, a directory, or a Hub id. Weights are read from safetensors files only.
        four_bit: quantise the base to 4 bits (nf4) with bitsandbytes.
        chat: the chat format; by default the model's own template.
        chat_date: what chat templates take for today, as YYYY-MM-DD.
        device: where to put it; by default the GPU if there is one.
        precision: of the weights; those of 4 bits are computed with in it.

    Raises:
        UsageError: if there is no such model, its tensors are not exactly those that its config asks for and finite, or 4-bit is
            asked for without bitsandbytes.
    """
    path = model_path(name)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from coplay.models.four_bit import four_bit_config, make_trainable
    from coplay.text.model_chat import Chat

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if precision is Precision.AUTO:
        precision = Precision.BFLOAT16 if device.startswith("cuda") else Precision.FLOAT32
    dtype = torch.bfloat16 if precision is Precision.BFLOAT16 else torch.float32
    options: dict[str, object] = {
        "use_safetensors": True,
        "dtype": dtype,
        "trust_remote_code": False,
        "ignore_mismatched_sizes": True,  # they are told, and refused below in one line
    }
    if four_bit:
        options["quantization_config"] = four_bit_config(dtype)
        options["device_map"] = {"": device}
    with _refused(f"model: {name} could not be loaded"):
        with _quiet_transformers():
            files = Path(path) if Path(path).is_dir() else fetched(path)
            check_tensors(files)
            tokenizer = AutoTokenizer.from_pretrained(files, trust_remote_code=False)
        before = torch.get_rng_state()
        with _quiet_transformers(warnings=False):
            model, tensors = AutoModelForCausalLM.from_pretrained(files, output_loading_info=True, **options)
        _refuse_other_tensors(tensors)
        if not torch.equal(before, torch.get_rng_state()):
            with _quiet_transformers(warnings=False):
                _refuse_drawn(model, AutoModelForCausalLM.from_pretrained(files, **options))
        _refuse_non_finite(model)
        if getattr(model, "is_quantized", False):  # its files may be of 4 bits without being asked for
            make_trainable(model, asked=four_bit)
        note_rows(tokenizer, model)
        ends = ends_of(model.generation_config.eos_token_id, model.generation_config.stop_strings)
    if getattr(model.config, "attn_logit_softcapping", None) is not None:
        model.set_attn_implementation("eager")  # others leave the cap out, and transformers 5.17 chose one of them
    if not four_bit:
        model = model.to(device)
    model.config.return_dict = True  # how results are handed over, by names
    model.requires_grad_(False)
    model.eval()
    size = len(model.get_input_embeddings().weight)
    talk = Chat(tokenizer, chat, printed=printed_form(name), ends=ends, size=size, day=chat_date)
    return LoadedModel(name, model, tokenizer, talk, files)


def files_of(path: str) -> Path | None:
    """The directory of a model that was loaded: itself, or where the Hub's library keeps its files."""
    return Path(path) if Path(path).is_dir() else kept(path)


def _refuse_drawn(model: PreTrainedModel, again: PreTrainedModel) -> None:
    """Refuse weights that are other ones when the model is loaded a second time: Transformers drew them at random.

    A model may draw numbers while it is loaded without keeping them, so that it drew some says nothing.
    """
    import torch

    second = again.state_dict()
    drawn = [name for name, weight in model.state_dict().items() if not torch.equal(weight, second[name])]
    if drawn:
        raise UsageError(listed("drawn at random by transformers, since they are not in its files", drawn))


def _refuse_other_tensors(found: Mapping[str, Collection[str | Sequence[object]]]) -> None:
    """A tensor that is missing or of another shape would be random, and one too many may be of another model."""
    kinds = {
        "missing_keys": "missing",
        "mismatched_keys": "of another shape",
        "unexpected_keys": "not part of the model",
    }
    for kind, words in kinds.items():
        keys = sorted(key if isinstance(key, str) else str(key[0]) for key in found.get(kind) or ())
        if keys:
            raise UsageError(listed(words, keys))


def _refuse_non_finite(model: PreTrainedModel) -> None:
    """Weights are numbers; one that is not makes every reply nonsense."""
    wrong = [name for name, weight in model.named_parameters() if not _is_finite(weight)]
    if wrong:
        raise UsageError(listed("with NaN or infinite numbers", wrong))


def _is_finite(weight: torch.Tensor) -> bool:
    """Of 4-bit weights, whose numbers are codes, the scales are looked at."""
    scales = getattr(getattr(weight, "quant_state", None), "absmax", None)
    numbers = weight if scales is None else scales
    if not numbers.is_floating_point():
        return True
    if numbers.itemsize == 1:  # there is no arithmetic of 8 bits
        numbers = numbers.float()
    total = numbers.sum().isfinite()  # a third of the time of looking at each number; a sum may overflow
    return bool(total) or bool(numbers.isfinite().all())


@contextlib.contextmanager
def _refused(what: str) -> Iterator[None]:
    """Say in one line what is wrong with a model's files. The libraries that read them raise errors of any kind, even panics of Rust code."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    except BaseException as error:
        raise UsageError(f"{what}: {first_line(error)}") from None


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """A model's tokenizer, without its weights; raises UsageError if it cannot be loaded."""
    path = model_path(name)
    from transformers import AutoTokenizer

    with _refused(f"model: the tokenizer of {name} could not be loaded"), _quiet_transformers():
        if Path(path).is_dir():
            check_config(Path(path))
        return AutoTokenizer.from_pretrained(path, trust_remote_code=False, local_files_only=only_here(path))


def first_line(error: BaseException) -> str:
    """What an error says first, with its kind where the words alone say little. A line that ends with a colon is followed by what it announces."""
    lines = str(error).strip().splitlines() or [""]
    announces = lines[0].rstrip().endswith(":")
    line = " ".join(" ".join(lines).split() if announces else [lines[0]])[:LONGEST_REASON]
    return line if isinstance(error, OSError | ValueError) and line else f"{type(error).__name__} {line}".rstrip()


@contextlib.contextmanager
def _quiet_transformers(*, warnings: bool = True) -> Iterator[None]:
    """Without the library's progress bars, since coplay shows its own, and perhaps without its warnings.

    Neither are retries of the Hub's library shown: what comes of them is said in a line.
    """
    from logging import ERROR

    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    shown, verbosity, of_hub = logging.is_progress_bar_enabled(), logging.get_verbosity(), hub_logging.get_verbosity()
    logging.disable_progress_bar()
    hub_logging.set_verbosity(ERROR)
    if not warnings:
        logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(of_hub)
        if shown:
            logging.enable_progress_bar()


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    """The token ids of a rendered prompt, whose special tokens are spelled out in the text."""
    return encode_all(tokenizer, [text])[0]


def encode_all(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The same for many prompts, whole and without padding, as the tokenizer's own call makes them.

    The tokenizer's backend takes a third of the time of the wrapper around it. It is asked where both agree on :data:`PROBES`.
    """
    if not texts:
        return []
    if not backend_agrees(tokenizer):
        return of_model(tokenizer, _by_call(tokenizer, texts))
    backend = tokenizer.backend_tokenizer
    if backend.truncation is not None:  # both are kept in a tokenizer's file, and by whatever called it last
        backend.no_truncation()
    if backend.padding is not None:
        backend.no_padding()
    return of_model(tokenizer, _by_backend(tokenizer, texts))


def has_backend(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer is one of the library ``tokenizers``; others are written in Python."""
    return getattr(tokenizer, "backend_tokenizer", None) is not None


def persisted_state(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Which of truncation and padding a tokenizer has switched on."""
    backend = tokenizer.backend_tokenizer if has_backend(tokenizer) else None
    return [kind for kind in ("truncation", "padding") if getattr(backend, kind, None) is not None]


_CANNOT = "model: its tokenizer cannot encode a text"


def _by_call(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[tuple[int, ...]]:
    with _refused(_CANNOT):
        found = tokenizer(list(texts), add_special_tokens=False, padding=False, truncation=False, verbose=False)
        return [tuple(ids) for ids in found["input_ids"]]


def _by_backend(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[tuple[int, ...]]:
    with _refused(_CANNOT):
        found = tokenizer.backend_tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [tuple(encoding.ids) for encoding in found]


PROBES = (
    "Each player gets 3 points if both cooperate. Reply with C or D.",
    "  Two  spaces,\ttabs,\n\nbreaks ",
    "Ünïcödé: naïve ½ ﬁ \uff11\uff12 漢字 🙂 \u200b\u00ad",
    "CamelCase snake_case 1,000.50 <tag> [INST] </s> ###",
)
"""Texts with which a tokenizer's backend is compared with its own call; its special tokens are tried as well."""

_AGREES: WeakKeyDictionary[PreTrainedTokenizerBase, bool] = WeakKeyDictionary()


def backend_agrees(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer has a backend that encodes :data:`PROBES` as its own call does; tried once for each tokenizer."""
    if not has_backend(tokenizer):
        return False
    if tokenizer not in _AGREES:
        tags = list(map(str, tokenizer.all_special_tokens))
        texts = [*PROBES, *(f"a{tag}b {tag} c" for tag in tags), " ".join(PROBES) * 20]
        try:  # the call sets the backend's padding and truncation as well
            _AGREES[tokenizer] = _by_call(tokenizer, texts) == _by_backend(tokenizer, texts)
        except UsageError:  # some have no token for what they do not know; prompts may not need one
            _AGREES[tokenizer] = False
    return _AGREES[tokenizer]
