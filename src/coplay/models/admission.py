"""Admission: which engine computes a model, found by comparison with Transformers on the model itself.

The engines are tried from the fastest on, and the first that agrees is used; the last ones are the model's own pass. Rows are compared on both sides
of every length at which the config changes what the model does (sliding windows, chunks, original positions), as far as that is cheap. A row that is
longer than all that were compared is compared when it first comes, before it is read.

Results are kept by checksum (:mod:`coplay.models.admission_record`), so a model is compared once on a machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from coplay.errors import CoplayError, UsageError
from coplay.models.adapter_admission import admit_adapters
from coplay.models.admission_record import Admission, EngineTrial, admission_key
from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.comparison import Comparison, Difference, attention_disagrees, trial_weights
from coplay.models.final_hidden import config_entries
from coplay.models.scoring import Engine, Scorer, possible_engines

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coplay.models.loading import LoadedModel

SHORT, USUAL = 12, 48
"""Tokens of the rows that are always compared."""

LONGEST = 2_048
"""Tokens of a row that are compared when a model is loaded; longer ones are compared when they come."""

SECONDS = 60.0
"""What the comparison may take when a model is loaded: after that, no more lengths are tried, and what was compared is said."""

FULL, BRIEF = 60, 20
"""Passes of one row, about, that a full comparison of one length takes, and a brief one, which is made where the full one takes too long."""

_CHANGES = re.compile(r"window|chunk|position|context|block_size|local|topk")
"""What configs call the lengths at which a model changes what it does. Only which lengths are tried first depends on it."""


def admitted_scorer(loaded: LoadedModel, bank: AdapterBank) -> Scorer:
    """The scorer of a loaded model with the engine that agrees with Transformers.

    Args:
        loaded: the model, whose layers the bank has wrapped.
        bank: its adapters.

    Raises:
        UsageError: if no engine agrees, saying by how much and where.
    """
    key = admission_key(loaded, bank)
    known = Admission.kept(key)
    if known is None:
        known = admit(loaded.model, bank)
        known.keep(key)
    elif known.attention:
        loaded.model.set_attn_implementation(known.attention)
    scorer = Scorer(loaded.model, bank, known.engine)
    admit_adapters(loaded, bank, scorer.engine, key)
    scorer.check_length = _LengthCheck(loaded, bank, key, known)
    return scorer


def base_scorer(loaded: LoadedModel) -> Scorer:
    """A scorer of a model as it is, for the slot :data:`~coplay.models.bank.REFERENCE`: no adapters, so any architecture's layers do."""
    return admitted_scorer(loaded, AdapterBank(loaded.model, [], rank=1, alpha=1.0, targets=()))


def admit(model: PreTrainedModel, bank: AdapterBank, *, seconds: float = SECONDS) -> Admission:
    """Find the engine of a model; all engines up to the first that agrees are compared.

    Args:
        model: the model, whose layers the bank has wrapped.
        bank: its adapters, whose weights are the same afterwards.
        seconds: what it may take; the shortest rows are always compared.

    Raises:
        UsageError: if no engine agrees.
    """
    started = time.monotonic()
    attention, left_out = _chosen_attention(model)
    with torch.no_grad(), _trying_adapters(bank):
        comparison = _comparison(model, bank)
        if _seconds_of(comparison) * FULL > seconds:
            comparison.brief = True
        lengths, notes = _lengths(comparison, seconds)
        notes[:0] = left_out
        stable, longest = _stable(comparison, lengths)
        if longest is not None:
            notes.append(
                f"rows of {longest} tokens or more: Transformers gives other logits for the same row the second time"
            )
        _refuse_dead_adapters(comparison)
        trials: list[EngineTrial] = []
        for engine in possible_engines(model):
            trials.append(_trial(comparison, engine, stable, started + seconds))
            if trials[-1].agrees:
                break
    if not trials[-1].agrees:
        raise UsageError(f"model: {type(model).__name__} cannot be used: " + _reasons(trials))
    compared = max(one.tokens for one in trials[-1].differences)
    notes += [f"rows of {tokens} tokens: no time was left" for tokens in stable if tokens > compared]
    return Admission(
        trials[-1].engine, compared, longest, attention, tuple(trials), time.monotonic() - started, tuple(notes)
    )


def _comparison(model: PreTrainedModel, bank: AdapterBank) -> Comparison:
    """With the model's answer about one short row; UsageError for a model that has none about text."""
    try:
        comparison = Comparison(model, bank)
        logits_V = comparison.reference.logits(REFERENCE, comparison.rows(SHORT)[0])
    except (KeyboardInterrupt, SystemExit, CoplayError):
        raise
    except Exception as error:  # of any kind: models that need other inputs than text, or packages that are not there
        raise UsageError(
            f"model: {type(model).__name__} cannot be run on text alone: {type(error).__name__}: {_line(error)}"
        ) from None
    if not bool(logits_V.isfinite().all()):
        raise UsageError(f"model: {type(model).__name__} gives logits that are not finite")
    return comparison


def _reasons(trials: Sequence[EngineTrial]) -> str:
    """Why no engine may be used: that of the last one, which is the model's own pass, first."""
    return "; ".join(f"engine {one.engine}: {one.reason}" for one in reversed(trials))


def _chosen_attention(model: PreTrainedModel) -> tuple[str, list[str]]:
    """The attention that is used, set at the model, empty if the model has no choice of it; and a note if it is not Transformers' own choice."""
    chosen = str(getattr(model.config, "_attn_implementation", "") or "")
    try:
        wrong = attention_disagrees(model)
    except Exception:  # models without a choice raise errors of their own kinds
        return "", []
    if not wrong:
        return chosen, []
    model.set_attn_implementation("eager")
    note = f"attention: eager is used, since Transformers' own choice {chosen} gives other logits, as where it leaves out a cap or meets a window of 0"
    return "eager", [note]


@contextmanager
def _trying_adapters(bank: AdapterBank) -> Iterator[None]:
    """Slot 0 with other weights, if there is one; it is as it was afterwards."""
    if not bank.slots or not bank.weights:
        yield
        return
    kept, version = bank.slot_state(0), bank.versions[0]
    trial_weights(bank, 0)
    try:
        yield
    finally:
        bank.load_slot_state(0, kept)
        bank.versions[0] = version


def _lengths(comparison: Comparison, seconds: float) -> tuple[list[int], list[str]]:
    """Lengths of rows that are compared: short ones, and beyond each length at which the config changes something; and what was left out.

    A length is left out if there is no time left to compare it, by what the reference took for the others, or if the reference cannot read it.
    """
    entries = config_entries(comparison.model.config.get_text_config())
    changes = sorted(
        {
            value
            for key, value in entries
            if _CHANGES.search(key) and isinstance(value, int) and not isinstance(value, bool) and 1 < value < LONGEST
            if key != "max_position_embeddings" or not _unlimited(entries)
        }
    )
    lengths, notes = [SHORT], []
    of_short = _seconds_of(comparison)  # a pass of few tokens costs reading the weights
    if comparison.brief:
        notes.append(f"fewer rows were compared: a pass takes {of_short:.1f} s")
    passes, spent = BRIEF if comparison.brief else FULL, 0.0
    for tokens in sorted({USUAL, *(change + 2 for change in changes), *(2 * change + 5 for change in changes)}):
        of_row = of_short * max(1.0, tokens / USUAL)
        if tokens > USUAL and spent + passes * of_row > seconds:
            notes.append(f"rows of {tokens} tokens: a row takes about {of_row:.1f} s")
            continue
        began = time.monotonic()
        if reason := _unreadable(comparison, tokens):
            notes.append(f"rows of {tokens} tokens: the model cannot read them ({reason})")
            continue
        spent += passes * (time.monotonic() - began)
        lengths.append(tokens)
    return lengths, notes


def _unreadable(comparison: Comparison, tokens: int) -> str:
    """Why the model cannot read a row of so many tokens; empty if it can."""
    try:
        logits_V = comparison.reference.logits(REFERENCE, comparison.rows(tokens)[0])
    except (IndexError, ValueError, RuntimeError) as error:
        return _line(error)
    return "" if bool(logits_V.isfinite().all()) else "its logits are not finite"


def _seconds_of(comparison: Comparison) -> float:
    """What the reference takes for one short row."""
    started = time.monotonic()
    comparison.reference.fresh(REFERENCE, comparison.rows(SHORT)[0])
    return time.monotonic() - started


def _unlimited(entries: Sequence[tuple[str, object]]) -> bool:
    """Whether a model has rotary embeddings that go on beyond its number of positions as before."""
    kinds = [value for key, value in entries if key in ("rope_type", "type")]
    return any(key == "rope_theta" for key, _ in entries) and "dynamic" not in kinds


def _stable(comparison: Comparison, lengths: Sequence[int]) -> tuple[list[int], int | None]:
    """The lengths at which Transformers gives the same logits after it has read longer rows, and the first at which it does not."""
    moved = []
    for tokens in reversed(lengths):
        row = comparison.rows(tokens)[0]
        again_V, first_V = comparison.reference.fresh(REFERENCE, row), comparison.reference.logits(REFERENCE, row)
        if not comparison.same(tokens, again_V, first_V).agrees:
            moved.append(tokens)
    longest = min(moved, default=None)
    return [tokens for tokens in lengths if longest is None or tokens < longest], longest


def _refuse_dead_adapters(comparison: Comparison) -> None:
    """Adapters that change nothing would never learn: the layers that they are at are not run, or what they add is lost."""
    if not comparison.adapts:
        return
    row = comparison.rows(SHORT)[0]
    try:
        with_V, without_V = (comparison.reference.logits(slot, row) for slot in (0, REFERENCE))
    except Exception as error:  # modules that read their layers' weights themselves raise errors of their own kinds
        raise UsageError(
            f"adapter.targets: {', '.join(comparison.bank.targets)} cannot be adapted in {type(comparison.model).__name__}: {_line(error)};"
            " name other layers"
        ) from None
    if not float((with_V - without_V).abs().max()) > 0:
        raise UsageError(
            f"adapter.targets: adapters at {', '.join(comparison.bank.targets)} change nothing in {type(comparison.model).__name__}: these"
            " layers are not run on text; name others"
        )


def _trial(
    comparison: Comparison, engine: Engine, lengths: Sequence[int], until: float, *, slots: Sequence[int] = (REFERENCE,)
) -> EngineTrial:
    """Compare an engine, length by length, until one does not agree or the time is over.

    Where slot 0 has weights for trying adapters, ``slots`` is the base alone, and adapters are compared after it.
    """
    found: list[Difference] = []
    try:
        for tokens in lengths:
            if found and time.monotonic() > until:
                break
            if not (comparison.brief and comparison.adapts):
                found += comparison.of(engine, tokens, slots=slots)
            if comparison.adapts and 0 not in slots and all(one.agrees for one in found):
                found += comparison.of(engine, tokens, slots=[0, REFERENCE], gradients=tokens == lengths[0])
            if not all(one.agrees for one in found):
                break
    except (KeyboardInterrupt, SystemExit, CoplayError):
        raise
    except Exception as error:  # of any kind: an engine that meets a model it was not made for
        return EngineTrial(engine, tuple(found), f"{type(error).__name__}: {_line(error)}")
    return EngineTrial.of(engine, found)


def _line(error: BaseException) -> str:
    """An error in a short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


class _LengthCheck:
    """Compares longer rows when they come.

    Args:
        loaded: the model.
        bank: its adapters.
        key: by which its admission is kept.
        admission: what is known.
    """

    def __init__(self, loaded: LoadedModel, bank: AdapterBank, key: str, admission: Admission) -> None:
        self.loaded, self.bank, self.key, self.admission = loaded, bank, key, admission

    def __call__(self, tokens: int) -> None:
        """Raise CoplayError if rows of so many tokens are not read as Transformers reads them."""
        if tokens > self.admission.verified:
            self._extend(tokens)

    def _extend(self, tokens: int) -> None:
        model, known = self.loaded.model, self.admission
        name = f"model: {self.loaded.name}"
        if known.longest is not None and tokens >= known.longest:
            raise UsageError(
                f"{name} cannot read {tokens} tokens: from {known.longest} on, Transformers gives other logits for the same row the second"
                " time it reads it. Show less of the past (a window, the last round)"
            )
        slots = [0, REFERENCE] if self.bank.slots else [REFERENCE]
        with torch.no_grad():
            comparison = Comparison(model, self.bank)
            positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
            for compared in dict.fromkeys((_rounded(tokens, positions), tokens)):
                reason = _unreadable(comparison, compared)
                if not reason:  # some models count positions from a few on, and end before those of their config
                    break
            else:
                raise UsageError(
                    f"{name} cannot read {tokens} tokens ({reason}). Show less of the past (a window, the last round), or ask for shorter replies"
                )
            trial = _trial(comparison, known.engine, [compared], float("inf"), slots=slots)
        if not trial.agrees:
            slower = _next(known.engine)
            if slower is not None:
                replace(known, trials=(*known.trials, trial), engine=slower, verified=0).keep(self.key)
            advice = f"Run the command again: it will use the engine {slower}" if slower else "Show less of the past"
            raise CoplayError(
                f"{name} is read otherwise than by Transformers at {tokens} tokens (engine {known.engine}: {trial.reason}). {advice}"
            )
        self.admission = replace(known, verified=compared)
        self.admission.keep(self.key)


def _next(engine: Engine) -> Engine | None:
    """A slower engine than this one; None for the slowest."""
    order = [Engine.TRANSFORMERS, Engine.ROWS, Engine.TOKENS]
    return order[0] if engine not in order else next(iter(order[order.index(engine) + 1 :]), None)


def _rounded(tokens: int, positions: object) -> int:
    """A length that is compared in place of a smaller one, so that rows which grow are not compared at each token; not past the model's positions."""
    rounded = 64 * -(-tokens // 64) if tokens <= 512 else 128 * -(-tokens * 9 // (8 * 128))
    return min(rounded, positions) if isinstance(positions, int) and tokens <= positions else rounded
