"""Action labels: where does a model start, for every pair of letters that could stand for its two actions?

A model's first policy depends on the words for its actions (ShapeLLM, section 5.2). Appendix A.6 therefore tries all pairs of capital
letters, reads the model's reply probabilities under the five prompts of a naive learner, and picks the pair nearest to a wanted policy.
This module does that for any model: :func:`measure` reads the probabilities, :func:`nearest` ranks the pairs.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.games.catalogue import GAMES
from coplay.games.choice_prompts import PayoffFormat, Spacing, write_prompt
from coplay.games.matrix import COLUMN, MatrixGame, first_observations
from coplay.games.memory import Memory, Observation
from coplay.models.labels import reply_tokens
from coplay.models.loading import LoadedModel, encode_all
from coplay.recipes.shapellm.table_14 import TABLE_14, FirstActionProbs, LabelPair

if TYPE_CHECKING:
    from coplay.models.scoring import Prompt, Scorer

_PAIRS_A_CALL = 16
"""How many pairs are scored at a time: the logits of their prompts, a vocabulary wide each, must fit the memory."""


@dataclass(frozen=True)
class LabelPolicy:
    """What a model replies before any training, if its actions have these labels."""

    labels: LabelPair
    """The labels of the seat's first and second action."""
    logprobs: tuple[tuple[float, float], ...]
    """For each prompt, usually the five of :data:`~coplay.recipes.shapellm.table_14.STATES`, the natural logs of the two labels' probabilities.
    They are those of the model's next token and not renormalised."""

    @property
    def first(self) -> tuple[float, ...]:
        """Probability of the first action's label in each prompt."""
        return tuple(math.exp(first) for first, _ in self.logprobs)

    @property
    def second(self) -> tuple[float, ...]:
        """Probability of the second action's label in each prompt."""
        return tuple(math.exp(second) for _, second in self.logprobs)

    @property
    def illegal(self) -> tuple[float, ...]:
        """Probability of every other reply in each prompt."""
        return tuple(max(0.0, 1.0 - a - b) for a, b in zip(self.first, self.second, strict=True))

    def divergence(self, target: float) -> float:
        """How far the policy is from playing the first action with probability ``target``; see :func:`label_divergence`."""
        return label_divergence(self.logprobs, target=target)


@dataclass(frozen=True)
class Measured:
    """The policies of many pairs of labels."""

    policies: tuple[LabelPolicy, ...]
    """One a pair, in the order the pairs were given."""
    skipped: tuple[LabelPair, ...]
    """Pairs whose labels are not two different single tokens of the model's."""


def label_divergence(logprobs: Sequence[tuple[float, float]], *, target: float) -> float:
    r"""Mean divergence of a model's replies from a wanted policy (appendix A.6).

    With t the wanted probability of the first action, and p_s(w) the model's probability of answering prompt s with the token w,

        D = 1/S sum_s KL(T || p_s),   KL(T || p_s) = t ln(t / p_s(w_a1)) + (1 - t) ln((1 - t) / p_s(w_a2)),

    where T gives t to w_a1, 1 - t to w_a2 and nothing to any other token. The model's probabilities are not renormalised over the two
    labels, so illegal replies count: a model with the right proportions and illegal mass m is at -ln(1 - m), not at 0.

    Args:
        logprobs: (ln p_s(w_a1), ln p_s(w_a2)) for each of the S prompts.
        target: t, strictly between 0 and 1.

    Returns:
        D in nats, at least 0; 0 only where every prompt's reply is exactly T.

    Raises:
        UsageError: if the target is not strictly between 0 and 1.
    """
    check_target(target)
    entropy = -target * math.log(target) - (1 - target) * math.log1p(-target)
    cross = [-target * first - (1 - target) * second for first, second in logprobs]
    return max(0.0, math.fsum(cross) / len(cross) - entropy)


def nearest(policies: Iterable[LabelPolicy], *, target: float) -> list[LabelPolicy]:
    """The policies by their divergence from ``target``, the nearest first; equally near ones by their labels."""
    return sorted(policies, key=lambda policy: (policy.divergence(target), policy.labels))


def label_pairs(game: MatrixGame, seat: str = COLUMN) -> list[LabelPair]:
    """Every ordered pair of different capital letters, 26 x 25 = 650 of them.

    Where the seats have different actions, letters that stand for the co-player's are left out: one prompt shows both.
    """
    check_two_actions(game)
    shared = game.actions[seat] == game.actions[game.other(seat)]
    taken = () if shared else game.labels[game.other(seat)]
    return list(permutations([letter for letter in string.ascii_uppercase if letter not in taken], 2))


def published_policy(
    game: MatrixGame, labels: LabelPair, payoff_format: PayoffFormat = PayoffFormat.LIST
) -> FirstActionProbs | None:
    """Table 14's row for these labels: gemma-2-2b-it's P(first action) in each prompt; None if the paper has none."""
    if payoff_format is not PayoffFormat.LIST or GAMES.get(game.name) != game:
        return None
    return TABLE_14.get(game.name, {}).get(labels)


def prompt_names(game: MatrixGame, seat: str = COLUMN) -> list[str]:
    """Names of the five prompts: ``start``, then the last joint action by name, the reader's own first."""
    return ["start", *("/".join(map(str, joint)) for joint in game.own_states(seat))]


def check_target(target: float) -> None:
    """Raise UsageError unless the target is strictly between 0 and 1, where the divergence is finite."""
    if not 0 < target < 1:
        raise UsageError(f"target: must be greater than 0 and less than 1, e.g. 0.75; got {target:g}")


def check_two_actions(game: MatrixGame) -> None:
    """Raise UsageError unless each seat has two actions."""
    for seat in game.seats:
        if len(game.actions[seat]) != 2:
            raise UsageError(
                f"game: pairs of labels are for games of two actions a seat;"
                f" in {game.name!r} {seat} has {len(game.actions[seat])}: {', '.join(game.actions[seat])}"
            )


@dataclass(frozen=True)
class Reader:
    """A model, or one with an adapter, whose replies are read."""

    loaded: LoadedModel
    """The model. It is only read."""
    scorer: Scorer
    """Scores its prompts."""
    slot: int
    """Where in the scorer's bank the adapter is; the reference slot without one."""


def measure(
    loaded: LoadedModel,
    game: MatrixGame,
    *,
    seat: str = COLUMN,
    pairs: Sequence[LabelPair] | None = None,
    payoff_format: PayoffFormat = PayoffFormat.LIST,
    spacing: Spacing = Spacing.PAPER,
    adapter: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Read a model's first policy under the five prompts of a naive learner, for many pairs of labels.

    Args:
        loaded: the model, as :func:`coplay.models.loading.load_model` returns it. It is only read.
        game: a game of two actions a seat.
        seat: the reader of the prompts, and the seat whose labels these are.
        pairs: the labels of the seat's first and second action; by default :func:`label_pairs`.
        payoff_format: how the prompts set out the payoffs.
        spacing: which spaces the prompts have.
        adapter: directory of a PEFT adapter to be read with the model; None for the model as it is.
        on_progress: called with (pairs done, pairs) after each batch.

    Raises:
        UsageError: if the game has another number of actions.
    """
    check_two_actions(game)
    wanted = label_pairs(game, seat) if pairs is None else list(pairs)
    return read_policies(
        reader_of(loaded, adapter),
        game,
        seat=seat,
        pairs=wanted,
        seen=first_observations(game, seat, Memory.LAST_ROUND),
        payoff_format=payoff_format,
        spacing=spacing,
        pairs_a_call=_PAIRS_A_CALL,
        on_progress=on_progress,
    )


def read_policies(
    reader: Reader,
    game: MatrixGame,
    *,
    seat: str,
    pairs: Sequence[LabelPair],
    seen: Sequence[Observation],
    payoff_format: PayoffFormat = PayoffFormat.LIST,
    spacing: Spacing = Spacing.PAPER,
    pairs_a_call: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Read a model's policy under any prompts, for many pairs of labels.

    Args:
        reader: the model.
        game: a game of two actions a seat.
        seat: the reader of the prompts, and the seat whose labels these are.
        pairs: the labels of the seat's first and second action.
        seen: what each prompt shows.
        payoff_format: how the prompts set out the payoffs.
        spacing: which spaces the prompts have.
        pairs_a_call: how many pairs are scored at a time. Those of one pair share the rules, which then go through the model once.
        on_progress: called with (pairs done, pairs) after each batch.
    """
    questions = [_question(reader.loaded, game, seat, labels, payoff_format, spacing, seen) for labels in pairs]
    fitting = [question for question in questions if question is not None]
    skipped = tuple(labels for labels, question in zip(pairs, questions, strict=True) if question is None)
    policies: list[LabelPolicy] = []
    for start in range(0, len(fitting), pairs_a_call):
        policies += _answers(reader.scorer, reader.slot, fitting[start : start + pairs_a_call])
        if on_progress is not None:
            on_progress(len(policies), len(fitting))
    return Measured(tuple(policies), skipped)


@dataclass(frozen=True)
class _Question:
    labels: LabelPair
    prompts: Sequence[Prompt]
    """One for each observation."""
    replies: tuple[int, ...]
    """The labels' tokens."""


def _question(
    loaded: LoadedModel,
    game: MatrixGame,
    seat: str,
    labels: LabelPair,
    payoff_format: PayoffFormat,
    spacing: Spacing,
    seen: Sequence[Observation],
) -> _Question | None:
    """What to ask about a pair; None if its labels are not two single tokens."""
    prompts = [
        write_prompt(game, seat, each, labels=labels, payoff_format=payoff_format, spacing=spacing) for each in seen
    ]
    texts = [loaded.chat.prompt(prompt) for prompt in prompts]
    try:
        replies = reply_tokens(loaded.tokenizer, texts[0], labels)
    except UsageError:
        return None
    return _Question(labels, encode_all(loaded.tokenizer, texts), replies)


def reader_of(loaded: LoadedModel, adapter: Path | None) -> Reader:
    """A reader of the model with the PEFT adapter in a directory, or of the model as it is; raises UsageError if there is no such adapter."""
    from coplay.models.adapter_config import adapter_form
    from coplay.models.admission import admitted_scorer, base_scorer
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    if adapter is None:
        return Reader(loaded, base_scorer(loaded), REFERENCE)
    bank = AdapterBank(loaded.model, [SlotName("aligned", 0)], **adapter_form(adapter))
    bank.import_peft(0, adapter)
    return Reader(loaded, admitted_scorer(loaded, bank), 0)


def _answers(scorer: Scorer, slot: int, questions: Sequence[_Question]) -> list[LabelPolicy]:
    """Score the prompts of several pairs at once."""
    import torch

    prompts = [prompt for question in questions for prompt in question.prompts]
    replies = [question.replies for question in questions for _ in question.prompts]
    logits_RV = scorer.score([slot] * len(prompts), prompts).logits_RV
    chosen_RA = logits_RV.gather(1, torch.tensor(replies, device=logits_RV.device))
    rows = [(first, second) for first, second in (chosen_RA - logits_RV.logsumexp(1, keepdim=True)).tolist()]
    size = len(rows) // len(questions)
    return [LabelPolicy(q.labels, tuple(rows[i * size : (i + 1) * size])) for i, q in enumerate(questions)]
