"""From what the head gives to a model's logits: some models scale or cap it, and what they do is found by comparison with their own logits.

logits = c tanh(s z / c)  or  s z,   z what the head gives, s a scale, c a cap
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from coplay.errors import UsageError
from coplay.models.final_hidden import PROBE_TOKENS, FinalHidden, config_entries, head_of, ordinary_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_EXACT = 1e-3
"""By which share of their spread logits may differ in 32 bits."""

_ROUNDED = 0.05
"""The same in 16 bits, whose last step hardly rounds differently on different processors."""

_NO_MORE = 1e-5
"""By which share of their spread logits differ in 32 bits where the rule is the model's own: nothing else needs to be tried."""

_AS_GOOD = 2.0
"""A plainer rule is taken if it is off by up to so many times what the best is: in 16 bits that is chance."""

_HIGHEST_CAP = 1e4
"""A cap beyond this would change nothing that is allowed to differ."""


@dataclass(frozen=True)
class LogitRule:
    """What a model does to its head's output."""

    scale: float = 1.0
    """It is multiplied by this."""
    softcap: float | None = None
    """c where it is capped then; None where not."""

    def __call__(self, raw: Tensor) -> Tensor:
        """Logits of what the head gave, of any shape."""
        scaled = raw if self.scale == 1.0 else raw * self.scale
        return scaled if self.softcap is None else self.softcap * torch.tanh(scaled / self.softcap)


@torch.no_grad()
def logit_rule(model: PreTrainedModel, final: FinalHidden) -> LogitRule:
    """The rule by which the model makes its logits.

    Raises:
        UsageError: if it is another one than scaling and capping, with the difference.
    """
    if head_of(model).weight.is_meta:
        return LogitRule()  # there are shapes alone, and nothing to compare
    ids_1L = torch.tensor([ordinary_tokens(model, PROBE_TOKENS, seed=1)], device=head_of(model).weight.device)
    hidden_1LH, logits_1LV = final.with_logits(ids_1L)
    assert logits_1LV is not None
    raw = head_of(model)(hidden_1LH.to(head_of(model).weight.dtype)).float()
    spread = float(logits_1LV.std())
    allowed = (_EXACT if model.dtype == torch.float32 else _ROUNDED) * spread

    def off(rule: LogitRule) -> float:
        return float((rule(raw) - logits_1LV).square().mean().sqrt())

    cap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
    capped = None if not cap else float(cap)
    usual = [LogitRule(softcap=capped), LogitRule()]
    usual += [LogitRule(_scale(raw, logits_1LV, one), one) for one in (capped, None)]
    for rule in usual:
        if off(rule) <= _NO_MORE * spread:
            return rule
    # a cap may change little here and much once logits have grown
    offs = {rule: off(rule) for rule in (*usual, *_capped(model, raw, logits_1LV))}
    least = min(offs.values())
    best = next(rule for rule, by in offs.items() if by <= _AS_GOOD * least)
    if offs[best] <= allowed:
        return best
    raise UsageError(
        f"model: {type(model).__name__} computes its logits in a way coplay does not know: they differ from its head's output, scaled and"
        f" capped, by {least:.3g} where their spread is {spread:.3g}; use another model family"
    )


def _capped(model: PreTrainedModel, raw: Tensor, logits: Tensor) -> list[LogitRule]:
    """Rules with a cap that is called otherwise: any number of the config may be one that no logit exceeds."""
    entries = config_entries(model.config.get_text_config())
    numbers = {float(value) for _, value in entries if isinstance(value, int | float) and not isinstance(value, bool)}
    caps = sorted(number for number in numbers if float(logits.abs().max()) <= number < _HIGHEST_CAP)
    return [LogitRule(scale, cap) for cap in caps for scale in (1.0, _scale(raw, logits, cap))]


def _scale(raw: Tensor, logits: Tensor, cap: float | None) -> float:
    """The factor that takes the head's output nearest to the logits."""
    wanted = logits if cap is None else cap * torch.atanh((logits / cap).clamp(-1 + 1e-6, 1 - 1e-6))
    return float((raw * wanted).sum() / raw.square().sum())
