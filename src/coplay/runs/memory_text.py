"""Whether a run fits into memory, in words: what it takes, how many replies may go through the model at a time, and what to change."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from coplay.errors import UsageError
from coplay.models.known import EMBEDDED
from coplay.runs.checks import language_models
from coplay.runs.config import Config
from coplay.runs.memory import Memory
from coplay.runs.pass_sizes import Unmeasured
from coplay.terminal.streams import tell
from coplay.text.rendering import counted

Changes = dict[str, object]
"""Settings by key."""


def memory_lines(config: Config) -> list[str]:
    """What ``--dry-run`` says of a run's memory; nothing for one without language models.

    Raises:
        UsageError: if the model's config cannot be read, or the run cannot fit in any size.
    """
    if not language_models(config):
        return []
    memory = Memory(config)
    lines = [f"--- memory on {memory.device.name}, {_gib(memory.device.free)} free ---", *_standing(memory)]
    try:
        lines += _passes(memory)
        total = memory.peak()
        lines.append(_row("in all, at most", total))
        if total <= memory.device.free:
            return [*lines, "It fits.", *_sizes(memory)]
        return [*lines, "It does not fit.", *_advice(memory)]
    except Unmeasured as error:
        return [*lines, f"The passes are not counted: {error}."]


def check_memory(config: Config) -> None:
    """Refuse a run that cannot fit, and say what may be too much of one that could; a run of an embedded model is small.

    Raises:
        UsageError: if the weights, or with them the smallest of passes, take more than there is.
    """
    if config.model in EMBEDDED or not language_models(config):
        return
    memory = Memory(config)
    try:
        total = memory.peak()
        if total > memory.device.free:
            advice = " ".join(_advice(memory))
            tell(f"This run may take {_gib(total)}; {memory.device.name} has {_gib(memory.device.free)} free. {advice}")
    except Unmeasured:
        refuse_too_large(config)


def refuse_too_large(config: Config) -> None:
    """Refuse a model and adapters that take more than there is, before they are loaded; raises UsageError."""
    memory = Memory(config)
    if memory.standing > memory.device.free:
        raise UsageError(f"{_too_large(memory, memory.standing)}. {_larger_device(memory)}")


def _standing(memory: Memory) -> Iterator[str]:
    outline, processes = memory.passes.outline, memory.processes
    each = f", in each of {processes} processes" if processes > 1 else ""
    precision = "4 bits" if memory.config.four_bit else str(outline.model.dtype).removeprefix("torch.")
    yield _row("weights", memory.weights, f"{outline.parameters:,} parameters in {precision}{each}")
    if memory.libraries:
        yield _row("Python and libraries", memory.libraries, each.removeprefix(", "))
    yield _row("adapters", memory.adapters, f"{memory.slots:,} of {memory.adapter_size:,} weights")
    yield _row("Adam's moments", memory.moments, f"of {counted(memory.stepping, 'adapter')}")


def _passes(memory: Memory) -> Iterator[str]:
    for learner in memory.passes.learners:
        lengths, again = learner.lengths, memory.config.gradient_checkpointing and not memory.passes.fused
        size = memory.training(learner, learner.size, recomputes=again)
        reply = f" and replies of {lengths.reply:,}" if learner.text else ""
        what = f"{_replies(learner.size)} at a time, prompts of up to {lengths.prompt:,} tokens{reply}"
        yield _row(f"training {learner.name}", size, f"{what}; gradients of the adapters included")
    yield _row("playing", memory.playing, "kept while it trains")


def _sizes(memory: Memory) -> Iterator[str]:
    """The largest passes that fit."""
    for learner in memory.passes.learners:
        kept = memory.largest(learner, recomputes=False)
        line = f"{learner.key}: at most {_shown(kept, learner.most)} fit"
        if kept < learner.most and not memory.passes.fused:
            again = memory.largest(learner, recomputes=True)
            line += f", with gradient_checkpointing=true {_shown(again, learner.most)}"
        yield f"{line}."


def _shown(size: int, most: int) -> str:
    return "all" if size == most else str(size)


def _advice(memory: Memory) -> Iterator[str]:
    """What to change, from what changes no result to what does.

    Raises:
        UsageError: if nothing helps.
    """
    changes: Changes = {}
    now = memory
    for more in _steps(memory):
        if more:
            changes |= more
            now = memory.changed(changes)
        found = list(_that_fit(now))
        if found:
            said = " ".join(f"{key}={_value(value)}" for key, value in changes.items())
            lead = f"{said} with " if said else ""
            yield f"Set {lead}{', or '.join(found)}."
            if "seeds" in changes:
                yield "Seeds do not depend on each other: train each in a run of its own."
            return
    least = now.peak({one.name: 1 for one in now.passes.learners}, recomputes=True)
    raise UsageError(
        f"{_too_large(now, least)}, even with {' '.join(f'{k}={_value(v)}' for k, v in changes.items())} and one reply at a time. {_larger_device(memory)}"
    )


def _steps(memory: Memory) -> Iterator[Changes]:
    """Settings that take less, in the order in which they are tried, each with those before."""
    config = memory.config
    yield {}
    if len(config.seeds) > 1:
        yield {"seeds": [config.seeds[0]]}
    if not config.four_bit:
        yield {"four_bit": True}
    size = config.past_selves.pool_size if memory.past else 0
    while size > 1:
        size //= 2
        yield {"past_selves.pool_size": size}
    rank = config.adapter.rank
    while rank > 4 and config.adapter.init_adapter is None:
        rank //= 2
        yield {"adapter.rank": rank}


def _that_fit(memory: Memory) -> Iterator[str]:
    """Sizes of passes that fit, with layers kept and computed again."""
    for again in (False, True):
        if again and memory.passes.fused:
            return
        sizes = {one.key: memory.largest(one, recomputes=again) for one in memory.passes.learners}
        if all(sizes.values()):
            own = [f"{one.key}={min(sizes[one.key], one.size)}" for one in memory.passes.learners]
            yield " ".join([*own, *(["gradient_checkpointing=true"] if again else [])])


def _too_large(memory: Memory, needed: int) -> str:
    parts = [
        f"weights {_gib(memory.weights)}",
        f"{counted(memory.slots, 'adapter')} with gradients and moments {_gib(2 * memory.adapters + memory.moments)}",
    ]
    with contextlib.suppress(Unmeasured):
        parts.append(f"playing {_gib(memory.playing)}")
        parts += [
            f"training {one.name} {_gib(memory.training(one, 1, recomputes=True))}" for one in memory.passes.learners
        ]
    there = f"{memory.device.name} has {_gib(memory.device.free)} free"
    return f"model: {memory.config.model} does not fit: it takes {_gib(needed)} ({', '.join(parts)}); {there}"


def _larger_device(memory: Memory) -> str:
    return (
        "Use a machine with more memory, or a smaller --model"
        if memory.device.kind == "cpu"
        else "Use a larger GPU, or a smaller --model"
    )


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"


def _value(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else ",".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def _row(what: str, size: int, note: str = "") -> str:
    return f"{what:<24} {_gib(size):>12}  {note}".rstrip()


def _gib(size: int) -> str:
    """Bytes for a reader."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
