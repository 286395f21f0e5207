"""Alignment of one model to another policy by supervised fine-tuning (ShapeLLM, appendix A.9).

An adapter is trained so that its model answers the prompts of a game as a target policy does. The target gives each prompt a
distribution over the action labels, and every other token gets 0; the loss is the KL divergence from it. :mod:`coplay.experiments.align` says
where targets come from and writes the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coplay.errors import CoplayError, UsageError
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Joint, Memory, Observation
from coplay.learners import sft
from coplay.learners.losses import linear_schedule, sparse_target_kl
from coplay.learners.sft import Course, Taught, backward
from coplay.models.bank import REFERENCE
from coplay.models.scoring import Prompt, Scorer
from coplay.players.choice import Key
from coplay.players.choice_model import ChoiceModel
from coplay.rng import stream

FORMS = ("start", "last round", "counts")
"""The prompt forms: the bare rules; the last joint action; counts of the earlier ones as well (ShapeLLM, Figures 17-19)."""

PAPERS_MEMORIES = (Memory.LAST_ROUND, Memory.TRIAL_COUNTS)
"""Whose prompts are sampled, in equal shares: the naive learner's and the shaper's."""

_ROWS_A_PASS = 64
"""Rows scored at a time without gradients: logits over a large vocabulary are big."""


Situation = Key
"""What a prompt depends on, given the game, the labels and the chat format."""


def form_of(observation: Observation) -> str:
    """Which of :data:`FORMS` the prompt of an observation has."""
    if observation.counts is not None:
        return FORMS[2]
    return FORMS[0] if observation.last is None else FORMS[1]


@dataclass(frozen=True)
class Dataset:
    """Prompts with their target distributions, N rows."""

    forms: list[str]
    """Form of each prompt."""
    prompts: list[Prompt]
    """Token ids."""
    replies_NA: Tensor
    """The legal replies to each prompt, as token ids."""
    target_NA: Tensor
    """Their target probabilities; each row sums to 1."""


@dataclass(frozen=True)
class Fit:
    """How near a model is to the target on one set of prompts."""

    prompts: int
    """How many."""
    kl: float
    """Mean KL divergence from the target, in nats."""
    illegal: float
    """Mean probability of a reply that is no label."""
    gap: float
    """The largest difference, over prompts and labels, between the probability of a label among the labels and the target's."""


@dataclass(frozen=True)
class Schedule:
    """How the adapter is trained. The paper does not print its settings; these are ours."""

    epochs: int = 30
    """Passes over the prompts."""
    learning_rate: float = 3e-3
    """Adam's rate at the start; it falls to zero in a straight line."""
    minibatch: int = 20
    """Prompts in an optimiser step."""
    max_grad_norm: float = 1.0
    """The largest norm of a gradient; larger ones are scaled down to it."""
    among_weight: float = 1.0
    """How much a wrong policy among the labels counts beside illegal replies; see :func:`coplay.learners.losses.sparse_target_kl`."""

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of an optimiser step."""
        return linear_schedule(self.learning_rate, 0.0, step=step, steps=steps)


# ---------------------------------------------------------------------- the data set


def sample_situations(
    game: MatrixGame,
    n: int,
    *,
    seed: int,
    purpose: str,
    memories: Sequence[Memory] = PAPERS_MEMORIES,
    episodes: int = 5,
    rounds: int = 20,
) -> list[Situation]:
    """Draw the situations of n prompts that players might meet (footnote 11).

    Each is drawn uniformly and on its own: whose memory it is, the seat (row alone where both seats read the same text), the episode,
    the round and the last joint action; see :func:`sample_observation`.

    Args:
        game: the rules.
        n: how many.
        seed: names the stream of chance, together with ``purpose``.
        purpose: what they are for, e.g. ``"train"``.
        memories: whose prompts to sample.
        episodes: E, episodes in a trial.
        rounds: T, rounds in an episode.
    """
    rng, seats = stream(seed, "alignment prompts", purpose), reading_seats(game)
    situations = []
    for _ in range(n):
        memory, seat = memories[int(rng.integers(len(memories)))], seats[int(rng.integers(len(seats)))]
        observation = sample_observation(rng, game.own_states(seat), memory, episodes=episodes, rounds=rounds)
        situations.append(Situation(seat, observation))
    return situations


def reading_seats(game: MatrixGame) -> tuple[str, ...]:
    """The seats whose prompts differ: the first alone where both read the same text."""
    first, second = game.seats
    alike = game.is_symmetric and game.labels[first] == game.labels[second]
    return (first,) if alike else (first, second)


def sample_observation(
    rng: np.random.Generator,
    states: Sequence[Joint],
    memory: Memory,
    *,
    episodes: int,
    rounds: int,
    even: bool = True,
) -> Observation:
    """What a player with this memory might be shown in a random round of a random episode.

    The last joint action is uniform over ``states``. Counts are multinomial, over as many rounds as lie before the last one, so that
    they add up to what play would give.

    Args:
        rng: the stream of chance.
        states: the joint actions as the reader sees them.
        memory: ``last_round``, ``episode_counts`` or ``trial_counts``.
        episodes: E, episodes in a trial.
        rounds: T, rounds in an episode.
        even: whether all states are as likely in the counts, as in the paper; else their probabilities are drawn uniformly from the
            simplex each time, so that one-sided histories occur too.

    Raises:
        UsageError: for a memory whose prompts the paper does not sample.
    """
    if memory not in (Memory.LAST_ROUND, Memory.EPISODE_COUNTS, Memory.TRIAL_COUNTS):
        raise UsageError(f"alignment knows no prompts of memory {memory.value!r}; use last_round or one with counts")
    episode, earlier = int(rng.integers(episodes)), int(rng.integers(rounds))
    last = states[int(rng.integers(len(states)))]
    if memory is Memory.TRIAL_COUNTS:
        earlier += episode * rounds
    if earlier == 0:
        return Observation()
    if memory is Memory.LAST_ROUND or earlier == 1:
        return Observation(last=last)
    share = np.full(len(states), 1.0 / len(states)) if even else rng.dirichlet(np.ones(len(states)))
    counts = rng.multinomial(earlier - 1, share)
    return Observation(last=last, counts=tuple(int(count) for count in counts))


def read_target(policies: Mapping[str, ChoiceModel], situations: Sequence[Situation]) -> Tensor:
    """The target policy's probabilities of the labels, renormalised (footnote 12). Shape [N, A].

    Args:
        policies: the target model's policy of each seat.
        situations: the prompts, which each policy writes in its own model's format.
    """
    rows = []
    for seat, part in _by_seat(situations):
        policy = policies[seat]
        with torch.no_grad():
            logits_RV = policy.score([REFERENCE] * len(part), part).logits_RV
        rows.append(torch.softmax(logits_RV[:, list(policy.legal(seat))], dim=-1).cpu())
    return torch.cat(rows)


def make_dataset(policies: Mapping[str, ChoiceModel], situations: Sequence[Situation], target_NA: Tensor) -> Dataset:
    """Write the situations as the model to be trained reads them.

    Args:
        policies: the policy of each seat.
        situations: what the prompts say.
        target_NA: the target probabilities of the seat's labels.
    """
    device = next(iter(policies.values())).scorer.bank.device
    return Dataset(
        forms=[form_of(situation.observation) for situation in situations],
        prompts=[policies[s.seat].prompts([s])[0] for s in situations],
        replies_NA=torch.tensor([policies[s.seat].legal(s.seat) for s in situations], device=device),
        target_NA=target_NA.to(device),
    )


def _by_seat(situations: Sequence[Situation]) -> Iterator[tuple[str, list[Situation]]]:
    """Runs of the same seat, in order, none longer than a pass."""
    start = 0
    for i in range(1, len(situations) + 1):
        full = i - start == _ROWS_A_PASS
        if i == len(situations) or full or situations[i].seat != situations[start].seat:
            yield situations[start].seat, list(situations[start:i])
            start = i


# ---------------------------------------------------------------------- training


def train_slot(
    scorer: Scorer,
    slot: int,
    data: Dataset,
    schedule: Schedule,
    *,
    seed: int,
    progress: Callable[[int, float], None] = lambda epoch, kl: None,
) -> list[float]:
    """Train one adapter towards the targets. The same arguments give the same weights on the same machine.

    Args:
        scorer: scores prompts under the bank whose adapter is trained.
        slot: which adapter. No other one is touched.
        data: prompts and targets.
        schedule: how.
        seed: decides the order of the prompts.
        progress: called after each epoch with its number, from 1, and its mean loss.

    Returns:
        The mean loss of each epoch, taken while it was going on.

    Raises:
        CoplayError: if a loss, a gradient or the adapter is not finite, naming the epoch and the step.
        Unmoved: if the adapter does not move.
    """

    def teach(rows: Sequence[int]) -> Taught:
        scores = scorer.score([slot] * len(rows), [data.prompts[row] for row in rows], grad=True)
        loss_R = sparse_target_kl(
            scores.logits_RV, data.replies_NA[rows], data.target_NA[rows], among_weight=schedule.among_weight
        )
        backward(loss_R.mean(), course.name)
        return Taught(float(loss_R.detach().sum()), len(rows))

    course = Course("alignment", schedule.epochs, schedule.minibatch, schedule.max_grad_norm, schedule.rate)
    optimiser = torch.optim.Adam(scorer.bank.parameters(), lr=schedule.learning_rate)
    return sft.train_slot(
        scorer.bank, slot, optimiser, course, teach, rows=len(data.prompts), seed=seed, progress=progress
    )


@torch.no_grad()
def measure(scorer: Scorer, slot: int, data: Dataset) -> dict[str, Fit]:
    """How near an adapter is to the targets: ``all`` prompts, then each form that occurs; raises CoplayError if that is not finite."""
    kl, illegal, gap = [], [], []
    for start in range(0, len(data.prompts), _ROWS_A_PASS):
        rows = slice(start, start + _ROWS_A_PASS)
        prompts = data.prompts[rows]
        logits_RV = scorer.score([slot] * len(prompts), prompts).logits_RV
        kl += sparse_target_kl(logits_RV, data.replies_NA[rows], data.target_NA[rows]).tolist()
        legal_R = torch.softmax(logits_RV, dim=-1).gather(1, data.replies_NA[rows]).sum(dim=-1)
        illegal += (1.0 - legal_R).clamp(min=0.0).tolist()
        among_RA = torch.softmax(logits_RV.gather(1, data.replies_NA[rows]), dim=-1)
        gap += (among_RA - data.target_NA[rows]).abs().amax(dim=-1).tolist()
    if not math.isfinite(sum(kl)):
        raise CoplayError("the model's distance from the target is not finite; see that model and adapter are whole")
    found = {"all": list(range(len(kl)))}
    found |= {form: [i for i, of_row in enumerate(data.forms) if of_row == form] for form in FORMS}
    return {
        form: Fit(
            prompts=len(rows),
            kl=float(np.mean([kl[i] for i in rows])),
            illegal=float(np.mean([illegal[i] for i in rows])),
            gap=max(gap[i] for i in rows),
        )
        for form, rows in found.items()
        if rows
    }
