"""Credit without a critic: games played in groups are each other's baseline, and advantages may look at the co-player's.

A group holds games whose environment drew the same random numbers, so that what differs between their returns comes from the
players alone. (Learning Robust Social Strategies with Large Language Models, section 3.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from coplay.learners.credit import leave_one_out
from coplay.learners.settings import AlignmentVariant


def group_relative_advantages(returns_BST: Tensor, groups_B: Tensor) -> Tensor:
    """Each return minus the mean of the other games of its group, for the same seat at the same round.

    A_bst = G_bst - 1/(k-1) * sum of G_jst over the k-1 other games j of b's group (section 3; not divided by a deviation).
    A game that is a group by itself has no baseline: A = G.

    Derived in docs/theory/advantage_alignment.md.

    Args:
        returns_BST: discounted returns from each round on, games by seats by rounds, in reward units.
        groups_B: the group of each game, any integers.

    Returns:
        Advantages [B, S, T].

    Raises:
        ValueError: if there is not one group for each game.
    """
    if groups_B.shape != returns_BST.shape[:1]:
        raise ValueError(f"{len(returns_BST)} games need as many groups, got {list(groups_B.shape)}")
    advantages_BST = returns_BST.clone()
    for group in torch.unique(groups_B):
        own_B = groups_B == group
        if int(own_B.sum()) > 1:
            advantages_BST[own_B] = leave_one_out(returns_BST[own_B])
    return advantages_BST


DELTA = 1e-8
"""Added to a standard deviation before anything is divided by it (SEPO, below equation 4)."""


def scaled_to_group(advantages_BST: Tensor, groups_B: Tensor) -> Tensor:
    """Advantages divided by the standard deviation of their group, for the same seat at the same round (SEPO, equation 4).

    With k games a group, advantages that are differences from the *other* games' mean are k/(k-1) times those from the mean of all; after the
    division both are the same but for a constant factor. A group in which all are equal has no signal and stays zero.

    Args:
        advantages_BST: see :func:`group_relative_advantages`.
        groups_B: the group of each game.
    """
    scaled_BST = torch.zeros_like(advantages_BST)
    for group in torch.unique(groups_B):
        own_B = groups_B == group
        of_group_BST = advantages_BST[own_B]
        of_group_BST = of_group_BST - of_group_BST.mean(0, keepdim=True)
        scaled_BST[own_B] = of_group_BST / (of_group_BST.std(0, keepdim=True, correction=0) + DELTA)
    return scaled_BST


def lone_games(groups_B: Tensor) -> int:
    """How many games are a group by themselves, and so without a baseline."""
    return int((torch.unique(groups_B, return_counts=True)[1] == 1).sum())


def discounted_past(values_BST: Tensor, *, gamma: float) -> Tensor:
    """The discounted sum of everything before each round: W_t = sum over k < t of gamma^(t-k) * v_k, so W_0 = 0.

    By the recurrence W_t = gamma * (W_{t-1} + v_{t-1}), in which nothing grows: the quotient of powers that is sometimes used instead
    leaves the range of floating-point numbers within a thousand rounds.

    Derived in docs/theory/advantage_alignment.md.
    """
    past_BST = torch.zeros_like(values_BST)
    for t in range(1, values_BST.shape[-1]):
        past_BST[..., t] = gamma * (past_BST[..., t - 1] + values_BST[..., t - 1])
    return past_BST


def aligned_advantages(
    advantages_BST: Tensor, *, beta: float, gamma: float, variant: AlignmentVariant = "paper"
) -> Tensor:
    """Advantage Alignment: an action is credited for the co-player's advantage, weighted by one's own discounted past advantage.

    A*_it = A_it + beta * gamma * (sum over k < t of gamma^(t-k) * A_ik) * (sum over co-players j != i of A_jt)      (equation 1)

    Nothing is added at t = 0. The policy gradient with A* in place of A is the update of seat i; a seat that is not trained
    still supplies its advantages to the others.

    Derived in docs/theory/advantage_alignment.md.

    Args:
        advantages_BST: advantages of every seat on its own reward, games by seats by rounds.
        beta: weight of the alignment term.
        gamma: its discount, which need not be the returns'.
        variant: ``paper`` is equation 1 as printed. The others are forms found in code: ``one_gamma`` leaves out the factor gamma before
            the sum; ``including_now`` lets the sum run to k = t; ``undiscounted_mean`` is the first implementation's, beta times
            the plain mean of the past advantages, without any gamma.

    Returns:
        Credits [B, S, T].
    """
    past_BST = _past(advantages_BST, gamma=gamma, variant=variant)
    co_players_BST = advantages_BST.sum(1, keepdim=True) - advantages_BST
    return advantages_BST + beta * past_BST * co_players_BST


def summed_advantages(advantages_BST: Tensor) -> Tensor:
    """What every seat is credited with where all learn for the sum of rewards: the sum over seats, given to each.

    Derived in docs/theory/advantage_alignment.md.
    """
    return advantages_BST.sum(1, keepdim=True).expand_as(advantages_BST)


def _past(advantages_BST: Tensor, *, gamma: float, variant: AlignmentVariant) -> Tensor:
    """What multiplies the co-players' advantages, but for beta."""
    if variant == "undiscounted_mean":
        earlier_T = torch.arange(advantages_BST.shape[-1], dtype=advantages_BST.dtype, device=advantages_BST.device)
        return (advantages_BST.cumsum(-1) - advantages_BST) / earlier_T.clamp(min=1)
    past_BST = discounted_past(advantages_BST, gamma=gamma)
    if variant == "one_gamma":
        return past_BST
    if variant == "including_now":
        past_BST = past_BST + advantages_BST
    return gamma * past_BST
