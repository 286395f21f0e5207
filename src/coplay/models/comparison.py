"""An engine compared with Transformers on the same model: logits, gradients, samples and their probabilities.

The reference is the model's own forward pass on one row alone: no cache, no padding, nothing shared. For a model in 16 bits it is that of a copy in 32
bits, if there is room for one: what an engine's rounding changes is then beside what Transformers' own rounding changes. What is compared with it:

- rows alone, and in one batch with shorter and longer ones that begin alike, with and without adapters;
- the same with gradients, and the gradients themselves;
- replies that are sampled token by token, and scored again: the probability of each token is the reference's on the row up to there.

Differences are of logits, in their own units, beside the spread (standard deviation) of the reference's logits over the vocabulary.

Shapes: R rows, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.conversations import generator_of
from coplay.models.final_hidden import FinalHidden, head_of, ordinary_tokens
from coplay.models.generation import Generator
from coplay.models.scoring import Engine, Prompt, Scorer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

EXACT = 2e-3
"""In 32 bits logits may differ by this share of their spread."""

ROUNDED = 0.1
"""In 16 bits their root mean square difference may be this share of their spread,"""

ROUNDINGS = 2.0
"""or so many times what the model's own rounding changes, where that is more: products round differently in every order of summation."""

UNMEASURED_ROUNDING = 0.4
"""The share of the spread that is allowed in 16 bits for models too large for a copy in 32 bits, which is the reference otherwise."""

LARGEST_COPY = 10**9
"""Parameters of a model up to which such a copy is made."""

GRADIENTS = 2e-2
"""The share of a gradient's norm by which another may differ from it in 32 bits; in 16 bits half of it."""

SAMPLED = 3
"""Tokens that are sampled of a reply."""


@dataclass(frozen=True)
class Difference:
    """One comparison of an engine with Transformers."""

    what: str
    """What was compared, in words."""
    tokens: int
    """Tokens of the longest row."""
    largest: float
    """The difference: in 32 bits the largest of all words', in 16 bits its root mean square; of gradients the norm's."""
    spread: float
    """The standard deviation of the reference's logits; of gradients the reference's norm."""
    allowed: float
    """The difference up to which both agree."""

    @property
    def agrees(self) -> bool:
        """Whether it is small enough; a difference that is not a number is not."""
        return self.largest <= self.allowed


class Reference:
    """What Transformers makes of single rows; each is computed once.

    Args:
        model: the model, whose layers a bank has wrapped.
        bank: its adapters.
    """

    def __init__(self, model: PreTrainedModel, bank: AdapterBank) -> None:
        self.model, self.bank = model, bank
        self.in_32_bits = model.dtype == torch.float32
        """Whether the model itself is."""
        quantised, size = getattr(model, "is_quantized", False), sum(p.numel() for p in model.parameters())
        self.exact: PreTrainedModel | None = None
        """The model in 32 bits; None if it is too large for a copy, or of 4 bits."""
        if self.in_32_bits:
            self.exact = model
        elif size <= LARGEST_COPY and not quantised:
            self.exact = deepcopy(model, {id(bank): bank}).float()
        self._final = FinalHidden(self.exact or model)
        self._own = self._final if self.exact in (None, model) else FinalHidden(model)
        self._known: dict[tuple[int, int, Prompt], Tensor] = {}

    def logits(self, slot: int, row: Prompt) -> Tensor:
        """Next-token logits behind a row, float32, [V]."""
        version = 0 if slot == REFERENCE else self.bank.versions[slot]
        key = (slot, version, row)
        if key not in self._known:
            self._known[key] = self.fresh(slot, row)
        return self._known[key]

    def fresh(self, slot: int, row: Prompt) -> Tensor:
        """The same, computed now."""
        return self._logits(self._final, slot, row)

    def _logits(self, final: FinalHidden, slot: int, row: Prompt) -> Tensor:
        with self.bank.route([slot]):
            ids_1L = torch.tensor([row], device=self.bank.device)
            logits_11V = final.with_logits(ids_1L, last_only=True).logits_RLV
        assert logits_11V is not None
        return logits_11V[0, -1]

    def gradient(self, slot: int, row: Prompt) -> list[Tensor]:
        """The gradient of the log-probability of the likeliest next token by a slot's adapters."""
        with self.bank.route([slot]), torch.enable_grad():
            ids_1L = torch.tensor([row], device=self.bank.device)
            logits_V = (self.exact or self.model)(input_ids=ids_1L, use_cache=False).logits[0, -1].float()
        return _gradient(logits_V, self.bank)

    def rounding(self, slot: int, row: Prompt) -> float:
        """How far 16 bits take the model's own logits behind a row from those in 32, root mean square; 0 without a copy in 32 bits."""
        return _rms(self._logits(self._own, slot, row) - self.logits(slot, row))


@torch.enable_grad()
def _gradient(logits_V: Tensor, bank: AdapterBank) -> list[Tensor]:
    """Of the log-probability of the likeliest token, by all adapters; zeros where none flows."""
    logprob = torch.log_softmax(logits_V, -1)[logits_V.argmax()]
    found = torch.autograd.grad(logprob, bank.parameters(), allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for g, p in zip(found, bank.parameters(), strict=True)]


def _rms(difference: Tensor) -> float:
    return float(difference.square().mean().sqrt())


class Comparison:
    """Compares engines of one model with Transformers.

    Args:
        model: the model, whose layers a bank has wrapped.
        bank: its adapters; slot 0 is given other weights while adapters are compared, if there is one.
        brief: whether fewer rows are compared, each in one way: for models whose passes take seconds.
    """

    def __init__(self, model: PreTrainedModel, bank: AdapterBank, *, brief: bool = False) -> None:
        self.model, self.bank, self.brief = model, bank, brief
        self.reference = Reference(model, bank)
        self.adapts = bool(bank.slots) and bool(bank.weights)
        """Whether there are adapters to compare."""
        self._rounding: dict[tuple[int, tuple[int, ...]], float] = {}
        self._like: Scorer | None = None

    def of(self, engine: Engine, tokens: int, *, slots: Sequence[int], gradients: bool = False) -> list[Difference]:
        """Compare an engine on rows of up to so many tokens.

        Args:
            engine: which one.
            tokens: of the longest row, two at least.
            slots: the slots that rows go through in turn.
            gradients: whether gradients of slot 0 are compared as well; it must be among the slots.

        Returns:
            One difference for each kind of comparison.
        """
        rows = self.rows(tokens)
        pairs = list(zip(slots, rows, strict=False)) if self.brief else [(slot, row) for slot in slots for row in rows]
        batch_slots, batch_rows = [slot for slot, _ in pairs], [row for _, row in pairs]
        wanted_RV = torch.stack([self.reference.logits(slot, row) for slot, row in pairs])
        with_adapters = ", with adapters" if any(slot != REFERENCE for slot in slots) else ""
        allowed = self._allowed(tokens, slots, float(wanted_RV.std(-1).mean()))

        def difference(what: str, got_RV: Tensor) -> Difference:
            return self._difference(f"{what}{with_adapters}", tokens, got_RV.detach(), wanted_RV, allowed)

        scorer, found = self._scorer(engine), []
        if not self.brief:
            alone = [self._scorer(engine).score([slot], [row]).logits_RV for slot, row in pairs]
            found.append(difference("rows alone", torch.cat(alone)))
        found.append(difference("beside other rows", scorer.score(batch_slots, batch_rows).logits_RV))
        if not self.brief:  # from what was kept of the first time
            found.append(difference("the same rows again", scorer.score(batch_slots, batch_rows).logits_RV))
        if gradients:
            learnt_RV = self._scorer(engine).score(batch_slots, batch_rows, grad=True).logits_RV
            found.append(difference("with gradients", learnt_RV))
            found.append(self._gradients(engine, rows[0]))
        return [*found, *self._samples(engine, tokens, slots, with_adapters, allowed)]

    def same(self, tokens: int, again_V: Tensor, first_V: Tensor) -> Difference:
        """Two of the reference's own answers about one row of so many tokens."""
        return self._difference(
            "the same row again", tokens, again_V[None], first_V[None], EXACT * float(first_V.std())
        )

    def _scorer(self, engine: Engine) -> Scorer:
        """One that has read nothing."""
        scorer = Scorer(self.model, self.bank, engine, like=self._like)
        self._like = scorer
        return scorer

    def rows(self, tokens: int) -> list[Prompt]:
        """The longest row, one that begins as it does, and in full comparisons another such one and a short one that does not."""
        longest, other = ordinary_tokens(self.model, tokens, seed=2), ordinary_tokens(self.model, tokens, seed=3)
        half = (*longest[: tokens // 2], *other[: max(1, tokens // 2 - 2)])
        others = [] if self.brief else [(*longest[:-1], other[0]), other[: min(tokens, 9)]]
        return list(dict.fromkeys([longest, half, *others]))

    def _difference(self, what: str, tokens: int, got_RV: Tensor, wanted_RV: Tensor, allowed: float) -> Difference:
        off_RV = got_RV.float() - wanted_RV
        in_32_bits = self.reference.in_32_bits
        size = float(off_RV.abs().max()) if in_32_bits else float(off_RV.square().mean(-1).sqrt().max())
        return Difference(what, tokens, size, float(wanted_RV.std(-1).mean()), allowed)

    def _allowed(self, tokens: int, slots: Sequence[int], spread: float) -> float:
        """The difference of logits up to which rows of so many tokens agree."""
        if self.reference.in_32_bits:
            return EXACT * spread
        if self.reference.exact is None:
            return UNMEASURED_ROUNDING * spread
        key = (tokens, tuple(slots))
        if key not in self._rounding:
            rows = self.rows(tokens)[: 1 if self.brief else None]
            self._rounding[key] = max(self.reference.rounding(slots[0], row) for row in rows)
        return max(ROUNDED * spread, ROUNDINGS * self._rounding[key])

    def _gradients(self, engine: Engine, row: Prompt) -> Difference:
        """The gradient by slot 0's adapters."""
        wanted = torch.cat([one[0].flatten() for one in self.reference.gradient(0, row)])
        logits_RV = self._scorer(engine).score([0], [row], grad=True).logits_RV
        with torch.enable_grad():
            logits_V = logits_RV[0]
        got = torch.cat([one[0].flatten() for one in _gradient(logits_V, self.bank)])
        norm = float(wanted.norm())
        # a gradient of nothing would agree with another of nothing
        allowed = (GRADIENTS if self.reference.in_32_bits else 0.5) * norm if norm > 0 else -1.0
        return Difference("gradients by adapters", len(row), float((got - wanted).norm()), norm, allowed)

    def _samples(
        self, engine: Engine, tokens: int, slots: Sequence[int], with_adapters: str, allowed: float
    ) -> list[Difference]:
        """Replies that begin before the last of ``tokens`` and end behind it, and their probabilities when they are scored again."""
        longest, *_, short = self.rows(tokens)
        prompts = [longest[: max(1, tokens - SAMPLED)], short[: max(1, min(len(short), tokens - SAMPLED))]]
        asked = [(slot, prompt) for slot in slots for prompt in prompts[: 1 if self.brief else None]]
        asked_slots, asked_prompts = [slot for slot, _ in asked], [prompt for _, prompt in asked]
        generator: Generator = generator_of(self._scorer(engine), stop=())
        draws_RL = torch.rand(len(asked), SAMPLED, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
        replies = generator.generate(asked_slots, asked_prompts, draws_RL)
        wanted_N, behind = [], []
        for (slot, prompt), reply in zip(asked, replies, strict=True):
            for place, token in enumerate(reply.tokens):
                logits_V = self.reference.logits(slot, (*prompt, *reply.tokens[:place]))
                wanted_N.append(torch.log_softmax(logits_V, -1)[token])
                behind.append(logits_V.std())
        wanted = torch.stack(wanted_N).cpu()
        sampled = torch.tensor([value for reply in replies for value in reply.logprobs])
        scored = generator.score(asked_slots, asked_prompts, [reply.tokens for reply in replies]).logprobs_N.cpu()
        spread = float(torch.stack(behind).mean())
        found = []
        for what, got in (("sampled tokens", sampled), ("tokens scored again", scored)):
            size = float((got - wanted).abs().max()) if self.reference.in_32_bits else _rms(got - wanted)
            found.append(Difference(f"{what}{with_adapters}", tokens, size, spread, allowed))
        return found


@torch.no_grad()
def trial_weights(bank: AdapterBank, slot: int) -> None:
    """Give a slot weights that move the logits: B at random, of a size that changes a layer's output by about a tenth of its input."""
    generator = torch.Generator().manual_seed(5)
    state = bank.slot_state(slot)
    for name, weight in state.items():
        if name.endswith("lora_B"):
            place = bank.places[name.removesuffix(".lora_B")]
            size = 0.1 / (place.rank**0.5 * (abs(place.scale) or 1.0))
            state[name] = (torch.randn(weight.shape, generator=generator) * size).to(weight)
    bank.load_slot_state(slot, state)


def attention_disagrees(model: PreTrainedModel) -> bool:
    """Whether the attention that Transformers chose leaves out what its plain one computes, as some kernels do with caps."""
    if getattr(model.config, "_attn_implementation", "eager") == "eager":
        return False
    ids_1L = torch.tensor([ordinary_tokens(model, 24, seed=6)], device=head_of(model).weight.device)
    chosen = str(model.config._attn_implementation)
    with torch.no_grad():
        quick_LV = model(input_ids=ids_1L, use_cache=False).logits[0].float()
        model.set_attn_implementation("eager")
        plain_LV = model(input_ids=ids_1L, use_cache=False).logits[0].float()
    model.set_attn_implementation(chosen)
    share = EXACT if model.dtype == torch.float32 else ROUNDED
    return not float((quick_LV - plain_LV).square().mean().sqrt()) <= share * float(plain_LV.std())
