"""Metrics of training: from the episodes of a trial to one line a seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coplay.games.matrix import SEATS, MatrixGame
from coplay.players.base import Player
from coplay.types import Episode

METRICS: dict[str, str] = {
    "reward/SEAT": "mean payoff per round of the trial, over rounds in which both replies were legal",
    "state/STATE": "share of the trial's rounds that ended in this joint action (row first); I: an illegal reply",
    "illegal/SEAT": "share of the seat's replies that were illegal",
    "kl/SEAT": "mean of log pi - log pi_ref over the batch, in nats a reply",
    "kl_coef/SEAT": "the adaptive KL coefficient before the update",
    "policy_loss/SEAT": "clipped policy loss, mean over the update's optimiser steps",
    "value_loss/SEAT": "clipped value loss, likewise",
    "entropy/SEAT": "entropy of the distribution over legal replies, in nats, likewise (reinforce: over the rounds played)",
    "clipped/SEAT": "share of transitions whose probability ratio left the clipping range, likewise",
    "gradient/SEAT": "length of the gradient that was climbed (reinforce, exact, lola)",
    "value/SEAT": "payoff per round that the pair of policies is worth before the update, by closed form (exact, lola)",
    "epsilon/SEAT": "share of the moves that were made at random (q_learning)",
    "td_error/SEAT": "mean size of the differences between targets and values (q_learning)",
    "note/SEAT": "why an update or an optimiser step was skipped",
}
"""Every key of ``metrics.jsonl`` and what it means. Of several updates in a trial, losses and the like are means."""


def play_metrics(game: MatrixGame, episodes: Iterable[Episode]) -> dict[str, float | None]:
    """Rewards, state visitation and illegal replies of one seed's episodes."""
    episodes = list(episodes)
    states = [state for episode in episodes for state in episode.states]
    legal = [state for state in states if state is not None]
    line: dict[str, float | None] = {}
    for index, seat in enumerate(SEATS):
        payoffs = [game.payoff(seat, own=state[index], other=state[1 - index]) for state in legal]
        line[f"reward/{seat}"] = sum(payoffs) / len(payoffs) if payoffs else None
    for state in [*game.states, None]:
        line[f"state/{game.state_name(state)}"] = states.count(state) / len(states)
    for seat in SEATS:
        replies = [turn.move.action for episode in episodes for turn in episode.traces[seat].turns]
        line[f"illegal/{seat}"] = replies.count(None) / len(replies)
    return line


def update_metrics(seat: str, updates: Sequence[Mapping[str, float | str]]) -> dict[str, Any]:
    """Means of a seat's updates in a trial; notes are joined."""
    line: dict[str, Any] = {}
    for key in dict.fromkeys(key for update in updates for key in update):
        values = [update[key] for update in updates if key in update]
        if key == "note":
            line[f"note/{seat}"] = "; ".join(dict.fromkeys(map(str, values)))
        else:
            line[f"{key}/{seat}"] = sum(map(float, values)) / len(values)
    return line


def episode_record(
    game: MatrixGame, players: Mapping[str, Player], episode: Episode, *, step: int, number: int
) -> dict[str, Any]:
    """A complete game as ``episodes.jsonl`` keeps it: what each seat read and did, round by round."""
    seats: dict[str, Any] = {}
    for seat in SEATS:
        player = players[seat]
        prompt_text = getattr(getattr(player, "policy", None), "prompt_text", None)
        turns = []
        for turn in episode.traces[seat].turns:
            probs = turn.move.probs
            turns.append(
                {
                    "prompt": prompt_text(turn.observation) if prompt_text is not None else None,
                    "reply": turn.move.reply,
                    "action": turn.move.action,
                    "payoff": turn.payoff,
                    "probs": dict(zip(game.actions[seat], (round(p, 5) for p in probs), strict=True))
                    if probs
                    else None,
                }
            )
        seats[seat] = {"player": player.name, "turns": turns}
    return {
        "step": step,
        "seed": episode.seed,
        "game": episode.game,
        "episode": number,
        "states": [game.state_name(state) for state in episode.states],
        "seats": seats,
    }
