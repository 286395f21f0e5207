"""Policy gradients without a critic: multi-agent GRPO, its variant for the sum of rewards, and Advantage Alignment.

The three differ in one function, from advantages to credits. A round's credit goes to every token of the seat's replies in the round. With N the
tokens of a seed's trained replies,

    loss = -1/N * sum over tokens of  c * w * log pi  - entropy_coef * mean entropy + kl_coef * mean of w * k3

where w, the truncated importance weight, is 1 but for the rounding between sampling and training. One optimiser step an update, no clipping of
ratios. (Learning Robust Social Strategies with Large Language Models, section 3 and Table 1.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.games.base import Game
from coplay.games.records import Episode, Turn
from coplay.games.safety import payoff_scale
from coplay.learners.credit import returns_to_go
from coplay.learners.group_credit import (
    aligned_advantages,
    group_relative_advantages,
    scaled_to_group,
    summed_advantages,
)
from coplay.learners.losses import clipped_policy_loss, k3_kl, one_sided_kl, truncated_importance
from coplay.learners.safety_credit import TRAIN, pool_weights, safety_game, safety_rewards
from coplay.learners.settings import GroupGradient
from coplay.learners.shapes import require_same_shape


@dataclass(frozen=True)
class Credited:
    """A reply and its credit."""

    turn: Turn
    """The reply, with what it was a reply to."""
    credit: float
    """The credit of the round it was made in."""


def padded_rounds(episodes: Sequence[Episode]) -> int:
    """T, the rounds of the longest game; shorter ones are padded with rounds that pay nothing."""
    return max((len(episode.rounds) for episode in episodes), default=0)


def count_unparsed(episodes: Sequence[Episode], seats: Sequence[str]) -> Tensor:
    """How many of a seat's replies in a round could not be parsed: games by seats by rounds, [B, S, T]."""
    unparsed_BST = torch.zeros(len(episodes), len(seats), padded_rounds(episodes), dtype=torch.long)
    for b, episode in enumerate(episodes):
        for s, seat in enumerate(seats):
            for turn in episode.turns[seat]:
                unparsed_BST[b, s, turn.round] += turn.reply.action is None
    return unparsed_BST


def rewards_of(
    episodes: Sequence[Episode], seats: Sequence[str], unparsed_BST: Tensor, settings: GroupGradient
) -> Tensor:
    """Rewards of games by seats by rounds, [B, S, T]: payoffs less parse-error penalties, divided by the scale.

    A round that is void for a seat pays it nothing, and neither do the rounds after a game's end.
    """
    return (payoffs_of(episodes, seats) - settings.parse_error_penalty * unparsed_BST) / settings.reward_scale


def payoffs_of(episodes: Sequence[Episode], seats: Sequence[str]) -> Tensor:
    """Payoffs of games by seats by rounds, [B, S, T]; 0 where a round is void, and after a game's end."""
    rounds = padded_rounds(episodes)

    def row(episode: Episode, seat: str) -> list[float]:
        payoffs = [payoff or 0.0 for payoff in episode.payoffs(seat)]
        return payoffs + [0.0] * (rounds - len(payoffs))

    return torch.tensor([[row(episode, seat) for seat in seats] for episode in episodes], dtype=torch.float64)


def credits_of(rewards_BST: Tensor, unparsed_BST: Tensor, groups_B: Tensor, settings: GroupGradient) -> Tensor:
    """Credits of all seats in all rounds, [B, S, T]: returns, the group's baseline, then the method.

    A round in which a seat's reply could not be parsed is credited with the seat's own advantage alone. With the co-players' advantage in it, not
    being parsed would be reinforced the more the better a game went.

    Why unparsed replies are treated so: docs/theory/advantage_alignment.md.

    Args:
        rewards_BST: see :func:`rewards_of`.
        unparsed_BST: see :func:`count_unparsed`.
        groups_B: the group of each game.
        settings: the method.

    Raises:
        ValueError: if rewards and counts have different shapes.
    """
    require_same_shape(rewards_BST=rewards_BST, unparsed_BST=unparsed_BST)
    advantages_BST = advantages_of(rewards_BST, groups_B, settings)
    if settings.method == "sum_of_rewards":
        social_BST = summed_advantages(advantages_BST)
    elif settings.method == "advantage_alignment":
        social_BST = aligned_advantages(
            advantages_BST, beta=settings.beta, gamma=settings.alignment_discount, variant=settings.variant
        )
    else:
        return advantages_BST
    return torch.where(unparsed_BST > 0, advantages_BST, social_BST)


def advantages_of(rewards_BST: Tensor, groups_B: Tensor, settings: GroupGradient) -> Tensor:
    """Advantages of all seats in all rounds, [B, S, T]: returns less their group's baseline, divided by a deviation if that is asked for."""
    if settings.normalise == "episode":
        whole_BST = rewards_BST.mean(-1, keepdim=True)
        return scaled_to_group(whole_BST, groups_B).expand_as(rewards_BST)
    returns_BST = returns_to_go(rewards_BST, discount=settings.discount)
    advantages_BST = group_relative_advantages(returns_BST, groups_B)
    return scaled_to_group(advantages_BST, groups_B) if settings.normalise == "round" else advantages_BST


def safe_credits(
    game: Game, episodes: Sequence[Episode], seats: Sequence[str], learner: str, settings: GroupGradient
) -> Tensor:
    """Credits [B, S, T] under a safety objective: see :mod:`coplay.learners.safety_credit`.

    In games of the train pool, self-play included, the method applies to the rewards of all seats. In games that measure a penalty the learner's
    seat is credited with its own advantage alone, times the penalty's weight.
    """
    unparsed_BST, terms = count_unparsed(episodes, seats), settings.safety
    groups_B = torch.tensor([episode.group for episode in episodes])
    scales_S1 = torch.tensor([[payoff_scale(game, seat)] for seat in seats], dtype=torch.float64)
    rewards_BST = scales_S1 * payoffs_of(episodes, seats)
    own = [(b, s) for b, one in enumerate(episodes) for s, seat in enumerate(seats) if seat in one.seats_of(learner)]
    seen = [safety_game(game, episodes[b], seats[s]) for b, s in own]
    rows_P, columns_P = torch.tensor(own).unbind(1)
    rewards_BST[rows_P, columns_P] = safety_rewards(seen, terms, rounds=rewards_BST.shape[-1])
    rewards_BST = (rewards_BST - settings.parse_error_penalty * unparsed_BST) / settings.reward_scale
    together_BST = credits_of(rewards_BST, unparsed_BST, groups_B, settings)
    alone_BST = advantages_of(rewards_BST, groups_B, settings)
    train_P = torch.tensor([one.pool == TRAIN for one in seen])
    credits_PT = torch.where(train_P[:, None], together_BST[rows_P, columns_P], alone_BST[rows_P, columns_P])
    credits_BST = torch.zeros_like(rewards_BST)
    credits_BST[rows_P, columns_P] = credits_PT * pool_weights(seen, terms)[:, None]
    return credits_BST


def credited_replies(
    episodes: Sequence[Episode],
    seats: Sequence[str],
    learner: str,
    settings: GroupGradient,
    *,
    game: Game | None = None,
) -> list[Credited]:
    """What is learnt from, of one seed's games.

    Args:
        episodes: games, perhaps of different length.
        seats: the game's playing seats, in order; credit rules that sum over co-players count these.
        learner: whose own seats are trained; a past self or another player is not trained on, but its advantages count in its
            co-player's credit. In a seat beside the playing ones, such as a mediator's, it is credited with its own advantage alone.
        settings: the method.
        game: the rules, if credit is a safety objective's, which asks the game what does harm.
    """
    if game is not None:
        credits_BST = safe_credits(game, episodes, seats, learner, settings)
    else:
        groups_B = torch.tensor([episode.group for episode in episodes])
        unparsed_BST = count_unparsed(episodes, seats)
        credits_BST = credits_of(rewards_of(episodes, seats, unparsed_BST, settings), unparsed_BST, groups_B, settings)
    beside = [one for one in dict.fromkeys(s for e in episodes for s in e.seats_of(learner)) if one not in seats]
    if beside:
        credits_BST = torch.cat([credits_BST, _own_advantages(episodes, beside, settings)], 1)
    return [
        Credited(turn, float(credits_BST[b, s, turn.round]))
        for b, episode in enumerate(episodes)
        for s, seat in enumerate((*seats, *beside))
        if seat in episode.seats_of(learner)
        for turn in episode.turns[seat]
        if turn.reply.tokens
    ]


def _own_advantages(episodes: Sequence[Episode], seats: Sequence[str], settings: GroupGradient) -> Tensor:
    """Credits [B, S, T] of seats that play for nobody's payoff but their own: the advantage, whatever the method."""
    rewards_BST = rewards_of(episodes, seats, count_unparsed(episodes, seats), settings)
    return advantages_of(rewards_BST, torch.tensor([episode.group for episode in episodes]), settings)


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

    With ``settings.clip`` it is that of whole replies instead (SEPO, equations 5 and 6), with rho the ratio of a reply's probability now to that with
    which it was sampled:

        loss = 1/N * sum over replies of  max(-c rho, -c clip(rho, 1 - eps, 1 + eps)) + kl_coef * max(0, log pi - log pi_ref)

    Args:
        logprobs_N: log-probabilities of the sampled tokens under the policy, with gradients; of whole replies with ``settings.clip``.
        sampled_logprobs_N: those they were sampled with.
        credits_N: each token's credit.
        entropies_N: entropies of the distributions they were taken from, with gradients.
        reference_logprobs_N: log-probabilities under the reference policy; None without a KL term.
        settings: the weights.
        tokens: how many tokens the seed has in all, if these are a part; the parts' losses add up to the whole's.

    Returns:
        A number.

    Raises:
        ValueError: if the shapes of the tensors differ.
    """
    require_same_shape(logprobs_N=logprobs_N, credits_N=credits_N, entropies_N=entropies_N)
    total = len(logprobs_N) if tokens is None else tokens
    weights_N = torch.ones_like(credits_N)
    if settings.clip is None:
        weights_N = truncated_importance(logprobs_N, sampled_logprobs_N, cap=settings.importance_cap)
        loss = -(credits_N * weights_N * logprobs_N).sum() / total
    else:
        loss = clipped_policy_loss(logprobs_N, sampled_logprobs_N, credits_N, clip=settings.clip).sum() / total
    loss = loss - settings.entropy_coef * entropies_N.sum() / total
    if reference_logprobs_N is not None:
        estimate = k3_kl if settings.kl_estimator == "k3" else one_sided_kl
        loss = loss + settings.kl_coef * (weights_N * estimate(logprobs_N, reference_logprobs_N)).sum() / total
    return loss
