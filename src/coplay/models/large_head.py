"""Log-probabilities of tokens under a head of many words, without the logits of all tokens at once.

Logits of 512 tokens over 262,144 words are 512 MiB in single precision, and autograd keeps several tensors of that size for the backward pass. Here
they are computed for a few tokens at a time and not kept: the backward pass computes them once more and writes the gradient over them.
(SEPO, "Memory-efficient log-softmax".)

With z the logits of a token divided by the temperature, p their softmax and H its entropy, and with g and h the gradients of the loss by log p_t and by H:

    dL/dz_v = g 1[v = t] - p_v (g + h (log p_v + H))

Shapes: N tokens, C tokens of a chunk, H hidden width, V words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

if TYPE_CHECKING:
    from torch.autograd.function import FunctionCtx

LARGE = 2**15
"""Words from which on a head is worth it. Smaller heads are left to autograd."""


class Reading(NamedTuple):
    """How logits are turned into probabilities."""

    temperature: float
    """They are divided by it."""
    softcap: float | None
    """c where they are capped at c * tanh(logit / c) before; None where they are not."""
    rows: int
    """C, tokens at a time."""


def is_large(head: nn.Module) -> bool:
    """Whether a head is a plain matrix of many words."""
    return type(head) is nn.Linear and head.bias is None and head.out_features >= LARGE


def token_scores(hidden_NH: Tensor, head: nn.Linear, tokens_N: Tensor, reading: Reading) -> tuple[Tensor, Tensor]:
    """The log-probability of each token, [N], and the entropy of the distribution that it is from, in nats, [N].

    Differentiable by hidden states and, if it is trained, by the head's matrix.
    """
    logprobs_N, entropies_N = _TokenScores.apply(hidden_NH, head.weight, tokens_N, reading)  # type: ignore[no-untyped-call]
    return logprobs_N, entropies_N


class _TokenScores(torch.autograd.Function):
    """See the module."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden_NH: Tensor, weight_VH: Tensor, tokens_N: Tensor, reading: Reading
    ) -> tuple[Tensor, Tensor]:
        logprobs_N, entropies_N = (hidden_NH.new_empty(len(tokens_N), dtype=torch.float32) for _ in range(2))
        for start in range(0, len(tokens_N), reading.rows):
            chunk = slice(start, start + reading.rows)
            logprobs_CV, _ = _logprobs(hidden_NH[chunk], weight_VH, reading)
            logprobs_N[chunk] = logprobs_CV.gather(1, tokens_N[chunk, None])[:, 0]
            entropies_N[chunk] = -logprobs_CV.exp().mul_(logprobs_CV).sum(-1)
        ctx.save_for_backward(hidden_NH, weight_VH, tokens_N, entropies_N)
        ctx.reading = reading  # type: ignore[attr-defined]
        return logprobs_N, entropies_N

    @staticmethod
    def backward(
        ctx: FunctionCtx, by_logprobs_N: Tensor, by_entropies_N: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        hidden_NH, weight_VH, tokens_N, entropies_N = ctx.saved_tensors  # type: ignore[attr-defined]
        reading: Reading = ctx.reading  # type: ignore[attr-defined]
        wants_hidden, wants_weight = ctx.needs_input_grad[:2]  # type: ignore[attr-defined]
        by_hidden_NH = torch.empty_like(hidden_NH) if wants_hidden else None
        by_weight_VH = torch.zeros_like(weight_VH) if wants_weight else None
        for start in range(0, len(tokens_N), reading.rows):
            chunk = slice(start, start + reading.rows)
            logprobs_CV, slopes_CV = _logprobs(hidden_NH[chunk], weight_VH, reading)
            probs_CV = logprobs_CV.exp()
            g_C1, h_C1 = by_logprobs_N[chunk, None], by_entropies_N[chunk, None]
            by_logits_CV = logprobs_CV.add_(entropies_N[chunk, None]).mul_(h_C1).add_(g_C1).mul_(probs_CV).neg_()
            by_logits_CV.scatter_add_(1, tokens_N[chunk, None], g_C1).div_(reading.temperature)
            if slopes_CV is not None:
                by_logits_CV.mul_(slopes_CV)
            by_outputs_CV = by_logits_CV.to(weight_VH.dtype)
            if by_hidden_NH is not None:
                by_hidden_NH[chunk] = (by_outputs_CV @ weight_VH).to(hidden_NH.dtype)
            if by_weight_VH is not None:
                by_weight_VH.addmm_(by_outputs_CV.T, hidden_NH[chunk].to(weight_VH.dtype))
        return by_hidden_NH, by_weight_VH, None, None


def _logprobs(hidden_CH: Tensor, weight_VH: Tensor, reading: Reading) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of all words, [C, V], from a product in the head's precision, and the slopes of the cap at their logits, if there is one."""
    logits_CV, slopes_CV = linear(hidden_CH.to(weight_VH.dtype), weight_VH).float(), None
    if reading.softcap is not None:
        capped_CV = logits_CV.div_(reading.softcap).tanh_()
        slopes_CV = 1.0 - capped_CV.square()
        logits_CV = capped_CV.mul_(reading.softcap)
    return torch.log_softmax(logits_CV.div_(reading.temperature), dim=-1), slopes_CV
