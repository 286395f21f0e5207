"""The summary of the results, in a sentence or two that a reader may quote.

It is computed from the numbers: it names the model, says when seeds disagree, when there was no
evaluation, and when a claim does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from coplay.evaluation.tables import ALL_ILLEGAL
from coplay.report.data import Arm, RunData
from coplay.report.ending import SETTLED, dominant, ending, mute_seats, shared_action
from coplay.report.formats import decided
from coplay.report.outcome import Outcome, outcome
from coplay.report.values import Record, at, is_number
from coplay.statistics import Interval
from coplay.text.rendering import counted, join

PAPER_MODELS = {"shapellm/ipd-second-model": "Llama-3.2-1B-Instruct", "shapellm/": "gemma-2-2b-it"}
"""The model behind a paper's published numbers, by how the recipe's name begins; the first that fits counts."""

COUNTS = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}
"""Numbers at the beginning of a sentence."""

LISTED = 2
"""How many claims that do not hold are named in the sentence; more than these are counted."""

OURS = "coplay"
"""How the source of a claim begins that is ours and no paper's."""

MANY = 6
"""More arms than this are not described one by one."""


def verdict(
    arms: Sequence[Arm],
    claims: Sequence[Record] | None = None,
    table: Sequence[Record] | None = None,
) -> str:
    """Summarise in plain words, with numbers, how the arms ended and whether the claims hold.

    Args:
        arms: the runs, in the order of the sentences.
        claims: as in ``claims.json``.
        table: rows with ``arm``, ``seat`` and ``published``; the last arm's published values are named beside ours.

    Returns:
        For example: ``Two naive learners end in mutual defection (1.00 / 1.00). Against the shaper the naive learner keeps 0.31 a
        round and the shaper takes 3.72 (tiny model, 5 seeds; the paper, on gemma-2-2b-it, has 0.10 and 3.96).``
    """
    lead, rest = verdict_parts(arms, claims, table)
    return f"{lead} {rest}".rstrip()


def verdict_parts(
    arms: Sequence[Arm],
    claims: Sequence[Record] | None = None,
    table: Sequence[Record] | None = None,
) -> tuple[str, str]:
    """The verdict in two parts: how the arms ended; what to know before quoting it (cautions, and whether the claims hold)."""
    if len(arms) > MANY:
        models = " and ".join(dict.fromkeys(model_words(arm.run) for arm in arms))
        told = f"{len(arms)} arms ({models}): the tables below have what each of them got."
        return told, _rest(arms, claims)
    alike = Counter(_roles(arm.run) for arm in arms)
    lead = [
        _arm_sentence(
            arm,
            _basis(arm, table) if arm is arms[-1] else "",
            named=len(arms) > 1,
            told_apart=alike[_roles(arm.run)] > 1,
        )
        for arm in arms
    ]
    spans = [progress(arm) for arm in arms]
    if len(set(spans)) == 1 and spans[0]:
        lead = [_after(spans[0], lead[0]), *lead[1:]]
    elif any(spans):
        lead = [_after(span, sentence) for sentence, span in zip(lead, spans, strict=True)]
    return " ".join(lead), _rest(arms, claims)


def _after(span: str, sentence: str) -> str:
    """A sentence about a run that is shorter than it should be begins by saying so."""
    if not span:
        return sentence
    return f"After {span}: {_begun(sentence)}"


def _begun(sentence: str) -> str:
    """A sentence as it goes on after a colon: in lower case, unless it begins with an arm's name."""
    first = sentence.partition(" ")[0]
    return sentence[0].lower() + sentence[1:] if first in ("The", "Against", *COUNTS.values()) else sentence


def progress(arm: Arm) -> str:
    """``2 of 120 trials``, of a run that is shorter than planned or than its recipe; empty for a whole one."""
    reached, whole = arm.run.last_step, max(arm.run.planned_steps or 0, arm.recipe_trials or 0)
    return f"{reached} of {whole} trials" if reached < whole else ""


def _rest(arms: Sequence[Arm], claims: Sequence[Record] | None) -> str:
    """What to know before quoting the verdict."""
    sentences = _cautions(arms)
    if claims:
        sentences.append(claims_sentence(claims, whole=not any(map(progress, arms))))
    return " ".join(sentences)


def claims_sentence(claims: Sequence[Record], *, whole: bool = True) -> str:
    """How many claims hold, and which do not.

    Args:
        claims: as in ``claims.json``.
        whole: whether the runs are as long as the recipes say, which is what the claims are about.
    """
    failed = [str(c.get("claim", c.get("id", "?"))).rstrip(".") for c in claims if decided(c) is False]
    open_ = sum(decided(c) is None for c in claims)
    held = len(claims) - len(failed) - open_
    of = "" if any(str(claim.get("paper", "")).startswith(OURS) for claim in claims) else " of the paper"
    if not whole:
        return f"The claims{of} are about longer runs; so far {held} of {len(claims)} hold."
    if held == len(claims):
        return f"The claim{of} holds." if held == 1 else f"All {held} claims{of} hold."
    sentence = f"{held} of {len(claims)} claims{of} hold"
    if len(failed) > LISTED:
        sentence += f"; {len(failed)} do not, as the list of claims shows"
    elif failed:
        sentence += f"; {'this one does' if len(failed) == 1 else 'these do'} not: " + "; ".join(
            f"\u201c{claim}\u201d" for claim in failed
        )
    if open_:
        sentence += f"; {open_} undecided"
    return sentence + "."


def paper_model(run: RunData) -> str | None:
    """The model that the paper behind a run's recipe used, if known."""
    recipe = str(run.config.get("recipe") or "")
    return next((model for beginning, model in PAPER_MODELS.items() if recipe.startswith(beginning)), None)


def model_words(run: RunData) -> str:
    """The model as it is named in a sentence."""
    words = {
        "tiny": "tiny model",
        "tiny-second": "tiny-second model",
        "tabular": "tabular learners",
        "network": "networks",
        "scripted": "players that do not learn",
    }
    return words.get(run.model, run.model)


def number(value: float) -> str:
    """A reward as it is written in a sentence: two decimals, no negative zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def _roles(run: RunData) -> tuple[str, ...]:
    return tuple(run.role(seat) for seat in run.seats)


def _arm_sentence(arm: Arm, basis: str, *, named: bool, told_apart: bool) -> str:
    """How an arm ended: under its name if there are others, by its roles if no other has the same ones."""
    run, result = arm.run, outcome(arm.run)
    rewards = {seat: result.reward(seat) for seat in run.seats}
    if not rewards or any(reward is None for reward in rewards.values()):
        mute = mute_seats(run)
        what = f"every reply of {join(mute)} was illegal: {ALL_ILLEGAL}" if mute else "no rewards are recorded yet"
        return f"{arm.label}: {what}{f' ({basis})' if basis else ''}."
    known = {seat: reward for seat, reward in rewards.items() if reward is not None}
    roles = _roles(run)
    shapers = [seat for seat in run.seats if run.role(seat) == "shaper"]
    naive = [seat for seat in run.seats if run.role(seat) == "naive"]
    if len(run.seats) == len(shapers) + len(naive) == 2 and len(shapers) == 1:
        sentence = _shaping_sentence(arm, result, known, shapers[0], naive[0], basis)
        return f"{arm.label}: {_begun(sentence)}" if told_apart else sentence
    numbers = " / ".join(number(reward.mean) for reward in known.values())
    inside = "; ".join(part for part in (numbers, basis) if part)
    if len(set(roles)) == 1 and len(roles) > 1:
        players = "naive learners" if roles[0] == "naive" else f"{roles[0] or 'player'}s"
        who = f"{COUNTS.get(len(roles), len(roles))} {players}"
        who = f"{arm.label}: {who.lower()}" if told_apart else who
        return f"{who} {ending(run, result, whole=not progress(arm))} ({inside})."
    told = ", ".join(
        f"{seat}{f' ({run.role(seat)})' if run.role(seat) else ''} {number(r.mean)}" for seat, r in known.items()
    )
    lead = f"{arm.label}: " if named else ""
    return f"{lead}reward a round is {told}{f' ({basis})' if basis else ''}."


def _shaping_sentence(
    arm: Arm, result: Outcome, rewards: Mapping[str, Interval], shaper: str, naive: str, basis: str
) -> str:
    """What a shaper made of a naive learner, and whether it got ahead at all."""
    run = arm.run
    takes, keeps = rewards[shaper], rewards[naive]
    tail = f" ({basis})" if basis else ""
    if _together(run, result):
        pair = " / ".join(number(rewards[seat].mean) for seat in run.seats)
        inside = "; ".join(part for part in (pair, basis) if part)
        return f"The shaper and the naive learner {ending(run, result, whole=not progress(arm))} ({inside})."
    doubt = "" if _ahead(takes, keeps) else ": it does not clearly get ahead"
    return (
        f"Against the shaper the naive learner keeps {number(keeps.mean)} a round"
        f" and the shaper takes {number(takes.mean)}{_seeds_ahead(result, shaper, naive)}{doubt}{tail}."
    )


def _ahead(takes: Interval, keeps: Interval) -> bool:
    """Whether the first clearly has more than the second."""
    return takes.mean - keeps.mean > 2 * max(takes.half_width or 0.0, keeps.half_width or 0.0)


def _together(run: RunData, result: Outcome) -> bool:
    """Whether all seats play one action in nearly all rounds, or in most of them without a shaper that gets ahead in the others."""
    state = dominant(result.states)
    if state is None or shared_action(run, state) is None:
        return False
    rewards = {run.role(seat): result.reward(seat) for seat in run.seats}
    takes, keeps = rewards.get("shaper"), rewards.get("naive")
    return result.states[state] >= SETTLED or takes is None or keeps is None or not _ahead(takes, keeps)


def _seeds_ahead(result: Outcome, shaper: str, naive: str) -> str:
    """In how many seeds the shaper is ahead, where that is not all of them."""
    pairs = [(mine, result.rewards[naive].get(seed)) for seed, mine in result.rewards[shaper].items()]
    ahead = sum(theirs is not None and mine > theirs for mine, theirs in pairs)
    return "" if ahead == len(pairs) else f", ahead in {ahead} of {len(pairs)} seeds"


def _basis(arm: Arm, table: Sequence[Record] | None) -> str:
    """``tiny model, 5 seeds; the paper, on gemma-2-2b-it, has 0.10 and 3.96``."""
    seeds = outcome(arm.run).n_seeds or len(arm.run.seeds)
    ours = f"{model_words(arm.run)}, {counted(seeds, 'seed')}"
    rows = {row.get("seat"): row.get("published") for row in table or () if row.get("arm") == arm.name}
    values = [value for seat in _told_order(arm.run) if is_number(value := rows.get(seat))]
    if not values:
        return ours
    model = paper_model(arm.run)
    where = f", on {model}," if model else ""
    return f"{ours}; the paper{where} has {' and '.join(number(v) for v in values)}"


def _told_order(run: RunData) -> list[str]:
    """The seats in the order in which a sentence names their rewards: of a shaper and a naive learner, the learner first."""
    if _together(run, outcome(run)):
        return list(run.seats)
    return sorted(run.seats, key=lambda seat: run.role(seat) == "shaper")


def _cautions(arms: Sequence[Arm]) -> list[str]:
    """What a reader must know before quoting the numbers."""
    sentences = []
    for arm in arms:
        planned, reached = arm.run.planned_steps, arm.run.last_step
        if planned is not None and reached < planned:
            sentences.append(f"{arm.label} stopped at trial {reached} of {planned}.")
        for seed, about in arm.run.diverged.items():
            told = f"{arm.label}: seed {seed} diverged in trial {at(about, 'step')} ({at(about, 'reason')})"
            sentences.append(f"{told}; from there on the numbers are of the other seeds.")
        sentences += _left_out(arm)
    recipes = {arm.recipe_trials for arm in arms if (arm.run.planned_steps or 0) < (arm.recipe_trials or 0)}
    if recipes:
        listed = join([str(trials) for trials in sorted(recipes, key=lambda trials: trials or 0)], "or")
        sentences.append(
            f"The recipe trains for {listed} trials: a shorter run demonstrates the workflow, not the effect."
        )
    unevaluated = [arm for arm in arms if not outcome(arm.run).evaluated]
    if unevaluated and any(outcome(arm.run).n_seeds for arm in unevaluated):
        names = " and ".join(arm.label for arm in unevaluated)
        sentences.append(
            f"No evaluation was run for {names}: the numbers are the mean of {outcome(unevaluated[0].run).source}."
        )
    return sentences


def _left_out(arm: Arm) -> list[str]:
    """The seeds that a mean leaves out, since a seat of theirs has no legal reply."""
    result = outcome(arm.run)
    have = [own for own in result.rewards.values() if own]
    without = [
        seed for seed in arm.run.seeds if str(seed) not in arm.run.diverged and not all(seed in own for own in have)
    ]
    if not result.evaluated or not without:
        return []
    which = f"{'seed' if len(without) == 1 else 'seeds'} {join([str(seed) for seed in without])}"
    return [
        f"{arm.label}: {which} {'has' if len(without) == 1 else 'have'} no legal reply to count, so the numbers are of the other seeds."
    ]
