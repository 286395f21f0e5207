"""Metrics of training: from the episodes of a trial to one line a seed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from coplay.evaluation.mediation import mediation_metrics
from coplay.games.base import Game
from coplay.games.records import Episode

METRICS: dict[str, str] = {
    "reward/SEAT": "mean payoff per round of the trial, over rounds that are not void",
    "reward/LEARNER": "mean payoff per round of the seats that a learner filled, for learners that fill several seats",
    "reward/co_player": "mean payoff per round of the seats that past selves and other players filled",
    "state/STATE": "share of the trial's rounds by what all seats did, in the order of seats; I: a reply could not be parsed; -: a seat had no"
    " choice",
    "illegal/SEAT": "share of the seat's replies that could not be parsed",
    "retried/SEAT": "with `retries`: replies that could not be parsed and were discarded, per reply that stands",
    "fallback/SEAT": "with `fallback`: share of the seat's replies that named no action, so that the model was made to choose one",
    "cooperate/SEAT": "share of cooperative conduct among the rounds in which the seat had a choice; each game says what that is",
    "cooperate_of/LEARNER": "the same, of the seats that the learner filled",
    "cooperate_after/cooperate": "the same, of rounds that follow one in which all co-players cooperated",
    "cooperate_after/greedy": "the same, of rounds that follow one in which a co-player did not",
    "collective/NAME": "with a mediator: mean over rounds of what a round came to for all, such as welfare and cooperation; each game says what",
    "interventions": "with a mediator: rounds of a game in which it addressed somebody, mean over games",
    "notice/NAME": "with a mediator: share of the rounds in which it sent that notice, or none",
    "kl/LEARNER": "if the KL has weight; ppo: mean of log pi - log pi_ref over the batch, in nats a reply; group: the same a token",
    "kl_coef/LEARNER": "ppo: the adaptive KL coefficient before the update",
    "policy_loss/LEARNER": "ppo: clipped policy loss, mean over the update's optimiser steps",
    "value_loss/LEARNER": "ppo: clipped value loss, likewise",
    "entropy/LEARNER": "entropy in nats of the distribution over legal replies (ppo: mean over optimiser steps; reinforce: over the rounds"
    " played), or of the distributions that tokens were sampled from (group)",
    "clipped/LEARNER": "ppo: share of transitions whose probability ratio left the clipping range, mean over optimiser steps",
    "clipped_first/LEARNER": "ppo, and group with `clip`: share of replies whose probability ratio is outside the clipping range before an update's first optimiser"
    " step; anything but 0 is rounding",
    "loss/LEARNER": "group: the loss of the update",
    "tokens/LEARNER": "group: how many tokens were learnt from",
    "grad_norm/LEARNER": "group: norm of the update's gradient before it is limited, if it is",
    "gradient/LEARNER": "reinforce, exact, lola: norm of the gradient that was climbed",
    "value/LEARNER": "exact, lola: payoff per round that the pair of policies is worth before the update, by closed form",
    "epsilon/LEARNER": "q_learning: probability of random actions",
    "td_error/LEARNER": "q_learning: mean size of the differences between targets and values",
    "stable/LEARNER": "q_learning with `convergence`: updates since the best action of any state last changed",
    "converged/LEARNER": "q_learning with `convergence`: share of the trial's updates after which `stable` was at least that",
    "note/LEARNER": "why an update or an optimiser step was skipped, or how many games had no baseline",
    "diverged": "the seed's last line: what of it was not a finite number, and where; it has no other key, and the seed is trained no further",
}
"""Every key of ``metrics.jsonl`` and its meaning; games add figures of their own. Of several updates in a trial, losses and the like are means.
What has no occasion in a trial is None."""

Line = dict[str, float | None]
"""Metrics by name."""


def play_metrics(
    game: Game,
    episodes: Iterable[Episode],
    learners: Collection[str] = (),
    *,
    roaming: Sequence[str] = (),
    retries: bool = False,
    fallback: bool = False,
) -> Line:
    """Rewards, states, illegal replies and figures of one seed's episodes.

    Args:
        game: the rules.
        episodes: the games.
        learners: names of those who learn; figures are about their seats, or about all seats if there are none.
        roaming: those of them that fill several seats, or change seats.
        retries: whether replies that could not be parsed were asked for again.
        fallback: whether models whose replies named no action were made to choose one.
    """
    episodes = list(episodes)
    line = _rewards_of(episodes, game, roaming) if roaming else {}
    line |= _states(game, episodes)
    for i, seat in enumerate(game.seats):
        paid = [
            p
            for e in episodes
            for p, o in zip(e.payoffs(seat), e.outcomes, strict=True)
            if p is not None and not o.void
        ]
        line[f"reward/{seat}"] = mean(paid)
        replies = [turn.reply for episode in episodes for turn in episode.turns[seat]]
        line[f"illegal/{seat}"] = mean([reply.action is None for reply in replies])
        if retries:
            line[f"retried/{seat}"] = mean([reply.retries for reply in replies])
        if fallback:
            line[f"fallback/{seat}"] = mean([reply.fallback for reply in replies])
        if (roaming or game.actions is None) and len(game.conducts(seat)) == 2:
            line[f"cooperate/{seat}"] = _cooperation(game, [(e, i) for e in episodes])
    own = [(e, game.seats.index(s)) for e in episodes for name in learners for s in e.seats_of(name)]
    own = own or [(e, i) for e in episodes for i in range(len(game.seats))]
    if (roaming or game.actions is None) and len(game.conducts(game.seats[0])) == 2:
        line |= _conduct(game, own, roaming)
    return line | _figures(game, own) | mediation_metrics(game, episodes)


def _rewards_of(episodes: Sequence[Episode], game: Game, roaming: Sequence[str]) -> Line:
    """Rewards by who filled a seat, where learners change seats."""
    line: Line = {}
    for name in (*roaming, None):
        paid = [
            payoff
            for episode in episodes
            for seat in game.seats
            if episode.seated[seat].learner == name
            for payoff in episode.payoffs(seat)
            if payoff is not None
        ]
        line[f"reward/{name or 'co_player'}"] = mean(paid)
    return line


def _states(game: Game, episodes: Sequence[Episode]) -> Line:
    met = [game.state_name(outcome) for episode in episodes for outcome in episode.outcomes]
    return {f"state/{state}": met.count(state) / len(met) for state in game.state_names()}


def _conduct(game: Game, own: Sequence[tuple[Episode, int]], roaming: Sequence[str]) -> Line:
    """Cooperation of the learners' seats, in all and by what the co-players did in the round before."""
    line: Line = {}
    for name in roaming:
        seats = [(e, i) for e, i in own if e.seated[game.seats[i]].learner == name]
        line[f"cooperate_of/{name}"] = _cooperation(game, seats)
    answers: dict[str, list[bool]] = {"cooperate": [], "greedy": []}
    for episode, i in own:
        for before, after in zip(episode.outcomes, episode.outcomes[1:], strict=False):
            theirs = [cooperates(game, j, word) for j, word in enumerate(before.conduct) if j != i]
            now = cooperates(game, i, after.conduct[i])
            if now is None or (None in theirs and False not in theirs):
                continue
            answers["greedy" if False in theirs else "cooperate"].append(now)
    return line | {f"cooperate_after/{word}": mean(found) for word, found in answers.items()}


def cooperates(game: Game, index: int, conduct: str | None) -> bool | None:
    """Whether a seat's conduct is the cooperative one; None if it had no choice or was not parsed."""
    return None if conduct is None else conduct == game.conducts(game.seats[index])[0]


def _cooperation(game: Game, seats: Sequence[tuple[Episode, int]]) -> float | None:
    done = [cooperates(game, i, outcome.conduct[i]) for episode, i in seats for outcome in episode.outcomes]
    return mean([one for one in done if one is not None])


def _figures(game: Game, own: Sequence[tuple[Episode, int]]) -> Line:
    """The game's own figures, of these seats."""
    found: dict[str, list[float]] = {name: [] for name in game.figures}
    for episode, i in own if found else ():
        for one in episode.rounds:
            for name, values in game.figures_of(one, game.seats[i]).items():
                found[name] += values
    return {name: mean(values) for name, values in found.items()}


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(map(float, values)) / len(values) if values else None


def update_metrics(learner: str, updates: Sequence[Mapping[str, float | str]]) -> dict[str, float | str]:
    """Means of a learner's updates in a trial; notes are joined."""
    line: dict[str, float | str] = {}
    for key in dict.fromkeys(key for update in updates for key in update):
        values = [update[key] for update in updates if key in update]
        if key == "note":
            line[f"note/{learner}"] = "; ".join(dict.fromkeys(map(str, values)))
        else:
            line[f"{key}/{learner}"] = sum(map(float, values)) / len(values)
    return line
