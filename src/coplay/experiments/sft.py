"""Supervised fine-tuning on demonstrations: reads a data set, trains an adapter on the replies and writes it in PEFT's format with a record.

A run starts from it with ``adapter.init_adapter``, as from an alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.experiments.sft_data import TRAIN, VALID, Example, read_data
from coplay.files.kinds import newest_version
from coplay.files.naming import user_path
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory
from coplay.models.known import Precision
from coplay.models.loading import encode, load_model, model_path
from coplay.models.threads import available_threads, set_threads
from coplay.recipes.sft import SftSettings
from coplay.runs.directory import is_taken
from coplay.terminal import tables
from coplay.text.chat import DAY, ChatFormat

if TYPE_CHECKING:
    from coplay.learners.imitation import Mastery, Replies
    from coplay.models.bank import AdapterBank
    from coplay.models.loading import LoadedModel

RECORD = "sft.json"
"""What was done, beside the adapter."""

Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Request:
    """A model to be fine-tuned, and what on."""

    model: str
    """The model whose adapter is trained."""
    data: str
    """The directory of the data set."""
    settings: SftSettings
    """How."""
    seed: int = 0
    """Decides the order of the examples and the adapter's first weights."""
    chat: ChatFormat | None = None
    """The model's chat format; None for its own."""
    chat_date: str = DAY
    """What chat templates that write the date take for today."""
    four_bit: bool = False
    """Quantise the base model to 4 bits."""
    precision: Precision = Precision.AUTO
    """Of the model's products."""
    threads: int | None = None
    """CPU threads; None for all cores."""


@dataclass(frozen=True)
class FineTuning:
    """A trained adapter and how well it knows the demonstrations."""

    request: Request
    """What was asked for."""
    before: dict[tuple[str, str], Mastery]
    """On the examples for validation, before training: all, and by game and strategy."""
    after: dict[tuple[str, str], Mastery]
    """The same after training."""
    losses: list[float]
    """Mean loss of each epoch."""
    checksums: dict[str, str]
    """The SHA-256 of the files of the data set."""

    def record(self) -> dict[str, object]:
        """What ``sft.json`` holds."""
        settings = asdict(self.request) | {"settings": self.request.settings.model_dump(mode="json")}
        rows = [
            {"game": game, "strategy": strategy, "before": asdict(self.before[game, strategy]), "after": asdict(after)}
            for (game, strategy), after in self.after.items()
        ]
        return {
            "version": newest_version(RECORD),
            "settings": settings,
            "data_sha256": self.checksums,
            "losses": self.losses,
            "validation": rows,
        }


def sft(request: Request, out: Path, *, progress: Progress = lambda epoch, loss: None) -> FineTuning:
    """Train an adapter on demonstrations and write it to a new directory.

    Args:
        request: what, on what and how.
        out: the directory of the adapter.
        progress: called after each epoch with its number and its mean loss.

    Raises:
        UsageError: for anything wrong with the request, the data or the directory, before training.
    """
    refuse_taken(out)
    model_path(request.model)
    directory = user_path(request.data)
    data = read_data(directory)
    from coplay.learners.imitation import Lessons, imitate, measure
    from coplay.models.admission import admitted_scorer
    from coplay.models.bank import AdapterBank, SlotName
    from coplay.models.generation import Generator

    set_threads(request.threads or available_threads())
    settings = request.settings
    loaded = load_model(
        request.model,
        four_bit=request.four_bit,
        chat=request.chat,
        chat_date=request.chat_date,
        precision=request.precision,
    )
    train = encoded(loaded, data.train, directory / TRAIN, max_length=settings.max_length)
    valid = encoded(loaded, data.valid, directory / VALID, max_length=settings.max_length)
    adapter, slots = settings.adapter, [SlotName("sft", request.seed)]
    bank = AdapterBank(loaded.model, slots, **adapter.form)
    generator = Generator(admitted_scorer(loaded, bank), stop=loaded.chat.stop)
    lessons = Lessons(**settings.model_dump(exclude={"adapter", "max_length"}))
    before = measure(generator, 0, valid)
    losses = imitate(generator, 0, train, lessons, seed=request.seed, progress=progress)
    done = FineTuning(request, before, measure(generator, 0, valid), losses, data.checksums)
    _write(out, bank, done)
    return done


def refuse_taken(out: Path) -> None:
    """A fine-tuning never overwrites anything."""
    if is_taken(out):
        raise UsageError(f"{out} exists already; choose another --out")


def encoded(loaded: LoadedModel, examples: Sequence[Example], path: Path, *, max_length: int | None) -> Replies:
    """Examples as the model reads them in play: the chat as a prompt, then the reply and what ends it.

    Args:
        loaded: the model.
        examples: the lines of a file, in order.
        path: the file, for errors.
        max_length: the most tokens of an example; None for the model's context.

    Raises:
        UsageError: naming the line of an example that is too long, or that the model's chat format does not take.
    """
    from coplay.learners.imitation import Replies
    from coplay.models.encoding import PromptEncoder
    from coplay.models.token_rows import of_model

    tokenizer, prompts, replies, actions = loaded.tokenizer, [], [], []
    [end], encoder = of_model(tokenizer, [loaded.chat.closing]), PromptEncoder(tokenizer)
    context = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
    most = min((one for one in (context, max_length) if one is not None), default=None)
    known: dict[object, tuple[int, ...]] = {}
    for number, example in enumerate(examples, 1):
        where = f"{path}, line {number}"
        if example.prompt not in known:
            try:
                known[example.prompt] = encoder.encode([loaded.chat.conversation(example.prompt)])[0]
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        text = loaded.chat.defused(example.reply, own=True)
        if text not in known:
            known[text] = encode(tokenizer, text)
        prompt, reply = known[example.prompt], (*known[text], *end)
        if most is not None and len(prompt) + len(reply) > most:
            limit = "max_length" if most == max_length else "the model's context"
            raise UsageError(
                f"{where}: the example has {len(prompt) + len(reply):,} tokens; {limit} is {most:,}. Use a shorter memory"
            )
        prompts.append(prompt)
        replies.append(reply)
        actions.append(_last_line(reply, encode(tokenizer, text[: text.rstrip().rfind("\n") + 1])))
    return Replies(prompts, replies, actions, [(example.game, example.strategy) for example in examples])


def _last_line(reply: Sequence[int], reason: Sequence[int]) -> int:
    """Where the last line begins, in tokens: where the reply's stop being those of the text before that line."""
    return next(
        (i for i, (a, b) in enumerate(zip(reply, reason, strict=False)) if a != b), min(len(reply), len(reason))
    )


def _write(out: Path, bank: AdapterBank, done: FineTuning) -> None:
    """Write everything beside ``out`` and move it there, so that nobody meets half of it."""
    with new_directory(out) as temporary:
        store = Store(temporary, "sft")
        for name, content in bank.peft_files(0, base_model=done.request.model).items():
            store.write(name, content)
        store.write(RECORD, json_text(done.record()))
        store.commit(finished=True)


def table(done: FineTuning) -> str:
    """Loss and accuracy on the examples for validation before and after, by game and strategy, for people."""
    rows = [["", "examples", "loss before", "after", "tokens before", "after", "actions before", "after"]]
    for (game, strategy), after in done.after.items():
        before = done.before[game, strategy]
        numbers = [f"{before.loss:.3f}", f"{after.loss:.3f}"]
        for name in ("token_accuracy", "action_accuracy"):
            numbers += [f"{getattr(one, name):.1%}" for one in (before, after)]
        rows.append([f"  {strategy}" if strategy else game or "all", str(after.examples), *numbers])
    return "\n".join(tables.align(rows, numbers=True))
