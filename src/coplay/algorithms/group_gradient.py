"""Policy gradients without a critic on games in rounds: multi-agent GRPO, its variant for the sum of rewards, and Advantage Alignment.

The three differ in one function, from advantages to credits. A round's credit goes to every token that the seat said in the round. With N the
tokens of a seed's trained replies,

    loss = -1/N * sum over tokens of  c * w * log pi  - entropy_coef * mean entropy + kl_coef * mean of w * k3

where w, the truncated importance weight, is 1 but for the rounding between sampling and training. One optimiser step an update, no clipping of
ratios. (Learning Robust Social Strategies with Large Language Models, section 3 and Table 1.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.credit import returns_to_go
from coplay.group_credit import aligned_advantages, group_relative_advantages, summed_advantages
from coplay.losses import k3_kl, truncated_importance
from coplay.rounds.config import GroupGradient
from coplay.rounds.types import Reply, Round, RoundEpisode


@dataclass(frozen=True)
class Credited:
    """A reply and what it is credited with."""

    reply: Reply
    """What was said."""
    credit: float
    """Of the round it was said in."""


def unread_of(episodes: Sequence[RoundEpisode], seats: Sequence[str]) -> Tensor:
    """How many of a seat's replies in a round could not be read: games by seats by rounds, [B, S, T]."""

    def unread(one: Round, seat: str) -> int:
        return sum(said[seat].action is None for said in one.replies.values() if seat in said)

    return torch.tensor([[[unread(one, seat) for one in game.rounds] for seat in seats] for game in episodes])


def rewards_of(
    episodes: Sequence[RoundEpisode], seats: Sequence[str], unread_BST: Tensor, settings: GroupGradient
) -> Tensor:
    """Rewards of games by seats by rounds, [B, S, T], unreadable replies priced, divided by the constant."""
    payoffs = [[[one.payoffs[seat] for one in game.rounds] for seat in seats] for game in episodes]
    priced_BST = torch.tensor(payoffs, dtype=torch.float64) - settings.price * unread_BST
    return priced_BST / settings.reward_constant


def credits_of(rewards_BST: Tensor, unread_BST: Tensor, groups_B: Tensor, settings: GroupGradient) -> Tensor:
    """Credits of all seats in all rounds, [B, S, T]: returns, the group's baseline, then the method.

    What could not be read is no gift, whatever it gave away: for such a round a seat has the credit of its own advantage alone. With the
    co-players' in it, saying nothing that can be read is the more reinforced the better a game went.

    Args:
        rewards_BST: see :func:`rewards_of`.
        unread_BST: see :func:`unread_of`.
        groups_B: the group of each game.
        settings: the method.
    """
    returns_BST = returns_to_go(rewards_BST, discount=settings.discount)
    advantages_BST = group_relative_advantages(returns_BST, groups_B)
    if settings.method == "sum_of_rewards":
        social_BST = summed_advantages(advantages_BST)
    elif settings.method == "advantage_alignment":
        social_BST = aligned_advantages(
            advantages_BST, beta=settings.beta, gamma=settings.alignment_discount, variant=settings.variant
        )
    else:
        return advantages_BST
    return torch.where(unread_BST > 0, advantages_BST, social_BST)


def credited_replies(
    episodes: Sequence[RoundEpisode],
    seats: Sequence[str],
    trained: Sequence[Collection[str]],
    settings: GroupGradient,
) -> list[Credited]:
    """What is learnt from, of one seed's games.

    Args:
        episodes: games of equal length.
        seats: the game's, in order.
        trained: for each game the seats that the learner itself filled; a past self or another player is not trained on, but its
            advantages count in its co-player's credit.
        settings: the method.
    """
    groups_B = torch.tensor([episode.group for episode in episodes])
    unread_BST = unread_of(episodes, seats)
    credits_BST = credits_of(rewards_of(episodes, seats, unread_BST, settings), unread_BST, groups_B, settings)
    return [
        Credited(said[seat], float(credits_BST[b, s, t]))
        for b, (episode, own) in enumerate(zip(episodes, trained, strict=True))
        for s, seat in enumerate(seats)
        if seat in own
        for t, one in enumerate(episode.rounds)
        for said in one.replies.values()
        if seat in said and said[seat].tokens
    ]


def group_loss(
    logprobs_N: Tensor,
    sampled_logprobs_N: Tensor,
    credits_N: Tensor,
    entropies_N: Tensor,
    reference_logprobs_N: Tensor | None,
    settings: GroupGradient,
    *,
    tokens: int | None = None,
) -> Tensor:
    """The loss of one seed's tokens, or of a part of them; see the module.

    Args:
        logprobs_N: log-probabilities of the sampled tokens under the policy, with gradients.
        sampled_logprobs_N: those they were sampled with.
        credits_N: each token's credit.
        entropies_N: entropies of the distributions they were taken from, with gradients.
        reference_logprobs_N: log-probabilities under the reference policy; None without a KL term.
        settings: the weights.
        tokens: how many tokens the seed has in all, if these are a part; the parts' losses add up to the whole's.

    Returns:
        A number.
    """
    total = len(logprobs_N) if tokens is None else tokens
    weights_N = truncated_importance(logprobs_N, sampled_logprobs_N, cap=settings.importance_cap)
    loss = -(credits_N * weights_N * logprobs_N).sum() / total - settings.entropy_coef * entropies_N.sum() / total
    if reference_logprobs_N is not None:
        loss = loss + settings.kl_coef * (weights_N * k3_kl(logprobs_N, reference_logprobs_N)).sum() / total
    return loss
