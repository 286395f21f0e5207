"""Losses: pure functions on tensors, one number for each row of a batch; the caller averages rows.

Tensors with the same suffix must have the same shape; ValueError otherwise. Nothing is broadcast.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.learners.shapes import require_same_shape


def clipped_policy_loss(logprobs_R: Tensor, old_logprobs_R: Tensor, advantages_R: Tensor, *, clip: float) -> Tensor:
    """PPO's clipped surrogate (Schulman et al. 2017, equation 7), negated.

    max(-A * rho, -A * clip(rho, 1 - eps, 1 + eps)) with rho = exp(logprob - old logprob). Shape [R].

    Derived in docs/theory/ppo.md.
    """
    require_same_shape(logprobs_R=logprobs_R, old_logprobs_R=old_logprobs_R, advantages_R=advantages_R)
    ratio_R = torch.exp(logprobs_R - old_logprobs_R)
    return torch.maximum(-advantages_R * ratio_R, -advantages_R * ratio_R.clamp(1.0 - clip, 1.0 + clip))


def clipped_value_loss(values_R: Tensor, old_values_R: Tensor, returns_R: Tensor, *, clip: float | None) -> Tensor:
    """Half the squared error of the value or of the value clipped around the old one, whichever is larger. Shape [R].

    1/2 * max((V - G)^2, (clip(V, V_old - eps, V_old + eps) - G)^2), as in TRL's PPO; 1/2 (V - G)^2 where ``clip`` is None.

    Derived in docs/theory/ppo.md.
    """
    require_same_shape(values_R=values_R, old_values_R=old_values_R, returns_R=returns_R)
    if clip is None:
        return 0.5 * (values_R - returns_R) ** 2
    clipped_R = torch.clamp(values_R, old_values_R - clip, old_values_R + clip)
    return 0.5 * torch.maximum((values_R - returns_R) ** 2, (clipped_R - returns_R) ** 2)


class PPOLoss(NamedTuple):
    """The terms of PPO's loss, one number a row."""

    loss_R: Tensor
    """The total."""
    policy_R: Tensor
    """The clipped policy loss."""
    value_R: Tensor
    """The clipped value loss."""


def ppo_loss(
    logprobs_R: Tensor,
    old_logprobs_R: Tensor,
    advantages_R: Tensor,
    values_R: Tensor,
    old_values_R: Tensor,
    returns_R: Tensor,
    entropies_R: Tensor,
    *,
    clip: float,
    value_clip: float | None,
    value_coef: float,
    entropy_coef: float,
) -> PPOLoss:
    """PPO's total loss (ShapeLLM, equation 7 and appendix A.5): L = L_policy + c_VF L_value - c_S H. All of shape [R].

    Derived in docs/theory/ppo.md.

    Args:
        logprobs_R: log-probabilities of the replies under the policy, with gradients.
        old_logprobs_R: log-probabilities that they were sampled with.
        advantages_R: advantages, usually whitened.
        values_R: value estimates, with gradients.
        old_values_R: value estimates made when the replies were sampled.
        returns_R: advantages before whitening, plus the old values.
        entropies_R: entropies of the distributions, with gradients.
        clip: see :func:`clipped_policy_loss`.
        value_clip: see :func:`clipped_value_loss`.
        value_coef: c_VF.
        entropy_coef: c_S.
    """
    require_same_shape(logprobs_R=logprobs_R, values_R=values_R, entropies_R=entropies_R)
    policy_R = clipped_policy_loss(logprobs_R, old_logprobs_R, advantages_R, clip=clip)
    value_R = clipped_value_loss(values_R, old_values_R, returns_R, clip=value_clip)
    return PPOLoss(policy_R + value_coef * value_R - entropy_coef * entropies_R, policy_R, value_R)


def kl_penalised_rewards(scores_N: Tensor, kl_N: Tensor, *, kl_coef: float) -> Tensor:
    """Rewards with the KL penalty taken off: r = score - beta (log pi - log pi_ref) (Ziegler et al. 2019). Shape [N].

    Derived in docs/theory/ppo.md.

    Args:
        scores_N: payoffs, scaled or not.
        kl_N: log pi - log pi_ref of each reply, in nats.
        kl_coef: beta.
    """
    require_same_shape(scores_N=scores_N, kl_N=kl_N)
    return scores_N - kl_coef * kl_N


def k3_kl(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Schulman's third estimate of KL(policy || reference) from the sampled tokens: exp(d) - 1 - d with d = reference - policy. Shape [N].

    Never negative, unbiased where the tokens were sampled from the policy.
    """
    require_same_shape(logprobs_N=logprobs_N, reference_logprobs_N=reference_logprobs_N)
    difference_N = reference_logprobs_N - logprobs_N
    return torch.expm1(difference_N) - difference_N


def one_sided_kl(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """max(0, log pi - log pi_ref) of each sample (SEPO, equation 6). Shape [N].

    It pulls back what has become likelier than under the reference and leaves alone what has become less likely: no estimate of the KL, and biased.
    """
    require_same_shape(logprobs_N=logprobs_N, reference_logprobs_N=reference_logprobs_N)
    return torch.clamp(logprobs_N - reference_logprobs_N, min=0.0)


def truncated_importance(logprobs_N: Tensor, sampled_logprobs_N: Tensor, *, cap: float) -> Tensor:
    """How much likelier a token is under the policy than when it was sampled, at most ``cap``; no gradient. Shape [N].

    Makes up for an engine that samples from slightly other probabilities than those that are trained on.
    """
    require_same_shape(logprobs_N=logprobs_N, sampled_logprobs_N=sampled_logprobs_N)
    return torch.exp(logprobs_N.detach() - sampled_logprobs_N).clamp(max=cap)


def linear_schedule(initial: float, final: float, *, step: int, steps: int, delay: int = 0) -> float:
    """``initial`` until step ``delay``, from there in a straight line over ``steps`` steps to ``final``, and ``final`` from then on."""
    since = step - delay
    if since < 0:
        return initial
    if steps <= 0 or since >= steps:
        return final
    return initial + (final - initial) * since / steps


def exponential_schedule(initial: float, final: float, *, rate: float, step: int) -> float:
    """``final + (initial - final) exp(-rate step)`` (Calvano et al., 2020, equation 7, where ``initial`` is 1 and ``final`` is 0)."""
    return final + (initial - final) * math.exp(-rate * step)


def cosine_schedule(peak: float, *, step: int, steps: int, warmup: float) -> float:
    """Up in a straight line to ``peak`` over the first share ``warmup`` of the steps, then down to 0 along half a cosine.

    With w = ceil(warmup * steps): peak (step + 1) / w before step w, peak (1 + cos(pi (step - w) / (steps - w))) / 2 from then on.
    """
    rising = math.ceil(warmup * steps)
    if step < rising:
        return peak * (step + 1) / rising
    return peak * 0.5 * (1.0 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def sparse_target_kl(logits_RV: Tensor, replies_RA: Tensor, target_RA: Tensor, *, among_weight: float = 1.0) -> Tensor:
    """KL divergence, in nats, of a model's next-token distribution from a target that knows A replies only. Shape [R].

    KL(target || model) = sum_a t_a (log t_a - log p_a) with p = softmax(logits) over the *whole* vocabulary and 0 log 0 = 0
    (ShapeLLM, appendix A.9: every token outside the target has probability 0, so this is the direction that is finite). Whatever the
    model gives to other tokens makes p_a smaller, so illegal replies are priced without being named.

    With m = sum_a p_a and q_a = p_a / m it is the price of illegal replies and that of a wrong policy among legal ones,

        KL(target || model) = -ln m + KL(target || q),

    of which ``among_weight`` multiplies the second.

    Args:
        logits_RV: next-token logits.
        replies_RA: the target's replies, as positions in the vocabulary.
        target_RA: their probabilities; each row sums to 1.
        among_weight: w in -ln m + w KL(target || q); 1 is the divergence.
    """
    require_same_shape(replies_RA=replies_RA, target_RA=target_RA)
    logprobs_RA = torch.log_softmax(logits_RV, dim=-1).gather(1, replies_RA)
    loss_R = (torch.xlogy(target_RA, target_RA) - target_RA * logprobs_RA).sum(dim=-1)
    if among_weight == 1.0:
        return loss_R
    among_RA = torch.log_softmax(logits_RV.gather(1, replies_RA), dim=-1)
    among_R = (torch.xlogy(target_RA, target_RA) - target_RA * among_RA).sum(dim=-1)
    return loss_R + (among_weight - 1.0) * among_R


def lr_factor(step: int, *, warmup: int, decay: int, end: float) -> float:
    """A schedule of the learning rate, as a factor of it: up linearly, down linearly, constant from then on.

    Derived in docs/theory/ppo.md.

    Args:
        step: number of the update, from 1.
        warmup: updates over which the factor rises from 0 to 1.
        decay: updates after those over which it falls to ``end``.
        end: the final factor.
    """
    if step < warmup:
        return linear_schedule(0.0, 1.0, step=step, steps=warmup)
    return linear_schedule(1.0, end, step=step - warmup, steps=decay)
