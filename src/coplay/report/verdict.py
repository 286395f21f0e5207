"""The verdict: what happened, in a sentence or two that a reader may quote.

It is written from the numbers, never from what was hoped for: it names the model, says when seeds disagree, when there was no
evaluation, and when a claim does not hold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from coplay.report.data import ILLEGAL, Arm, RunData, is_number
from coplay.report.formats import decided
from coplay.report.outcome import Outcome, outcome
from coplay.statistics import Interval

PAPER_MODELS = {"shapellm/ipd-second-model": "Llama-3.2-1B-Instruct", "shapellm/": "gemma-2-2b-it"}
"""The model behind a paper's published numbers, by how the recipe's name begins; the first that fits counts."""

NOUNS = {"cooperate": "cooperation", "defect": "defection"}
"""What playing an action together is called."""

WHOEVER_CHOOSES = {
    "CC": "mutual cooperation",
    "DD": "mutual greed",
    "C": "cooperation by whoever has the choice",
    "D": "greed by whoever has the choice",
}
"""What states of games in rounds are called, where proposals are many and count as cooperation or greed."""

NO_CHOICE = "-"
"""In a state's name, a seat that had no choice."""

LISTED = 2
"""How many claims that do not hold are named in the sentence; more than these are counted."""

OURS = "coplay"
"""How the source of a claim begins that is ours and no paper's."""

MANY = 6
"""More arms than this are not told one by one."""

DOMINANT = 0.5
"""Share of rounds from which one joint action is said to be where play ends."""

SETTLED = 0.9
"""Share of rounds from which nothing else needs to be said."""


def verdict(
    arms: Sequence[Arm],
    claims: Sequence[Mapping[str, Any]] | None = None,
    table: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Say in plain words, with numbers, how the arms ended and whether the claims hold.

    Args:
        arms: what was run, in the order to be told.
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
    claims: Sequence[Mapping[str, Any]] | None = None,
    table: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[str, str]:
    """The verdict in two parts: how the arms ended; what to know before quoting it (cautions, and whether the claims hold)."""
    if len(arms) > MANY:
        models = " and ".join(dict.fromkeys(model_words(arm.run) for arm in arms))
        told = f"{len(arms)} arms ({models}): the tables below have what each of them got."
        return told, " ".join(_cautions(arms) + ([claims_sentence(claims)] if claims else []))
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
    rest = _cautions(arms) + ([claims_sentence(claims)] if claims else [])
    return " ".join(lead), " ".join(rest)


def claims_sentence(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims hold, and which do not."""
    failed = [str(c.get("claim", c.get("id", "?"))).rstrip(".") for c in claims if decided(c.get("holds")) is False]
    open_ = sum(decided(c.get("holds")) is None for c in claims)
    held = len(claims) - len(failed) - open_
    of = "" if all(str(claim.get("paper", "")).startswith(OURS) for claim in claims) else " of the paper"
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
        sentence += f"; {open_} not decided"
    return sentence + "."


def paper_model(run: RunData) -> str | None:
    """The model that the paper behind a run's recipe used, if known."""
    recipe = str(run.config.get("recipe") or "")
    return next((model for beginning, model in PAPER_MODELS.items() if recipe.startswith(beginning)), None)


def model_words(run: RunData) -> str:
    """The model as it is named in a sentence."""
    words = {"tiny": "tiny model", "tiny-second": "tiny-second model", "tabular": "tabular learners"}
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
        return f"{arm.label}: no rewards are recorded yet{f' ({basis})' if basis else ''}."
    known = {seat: reward for seat, reward in rewards.items() if reward is not None}
    roles = _roles(run)
    shapers = [seat for seat in run.seats if run.role(seat) == "shaper"]
    naive = [seat for seat in run.seats if run.role(seat) == "naive"]
    if len(run.seats) == len(shapers) + len(naive) == 2 and len(shapers) == 1:
        return _shaping_sentence(run, result, known, shapers[0], naive[0], basis)
    numbers = " / ".join(number(reward.mean) for reward in known.values())
    inside = "; ".join(part for part in (numbers, basis) if part)
    if len(set(roles)) == 1 and len(roles) > 1:
        who = f"{_count(len(roles))} {_plural(roles[0])}"
        who = f"{arm.label}: {who.lower()}" if told_apart else who
        return f"{who} {_ending(run, result)} ({inside})."
    told = ", ".join(
        f"{seat}{f' ({run.role(seat)})' if run.role(seat) else ''} {number(r.mean)}" for seat, r in known.items()
    )
    lead = f"{arm.label}: " if named else ""
    return f"{lead}reward a round is {told}{f' ({basis})' if basis else ''}."


def _shaping_sentence(
    run: RunData, result: Outcome, rewards: Mapping[str, Interval], shaper: str, naive: str, basis: str
) -> str:
    """What a shaper made of a naive learner, and whether it got ahead at all."""
    takes, keeps = rewards[shaper], rewards[naive]
    tail = f" ({basis})" if basis else ""
    together = _shared_action(run, _dominant(result.states))
    if together is not None:
        pair = " / ".join(number(rewards[seat].mean) for seat in run.seats)
        inside = "; ".join(part for part in (pair, basis) if part)
        return f"The shaper and the naive learner {_ending(run, result)} ({inside})."
    margin = 2 * max(takes.half_width or 0.0, keeps.half_width or 0.0)
    doubt = "" if takes.mean - keeps.mean > margin else ": it does not clearly get ahead"
    return (
        f"Against the shaper the naive learner keeps {number(keeps.mean)} a round"
        f" and the shaper takes {number(takes.mean)}{_seeds_ahead(result, shaper, naive)}{doubt}{tail}."
    )


def _seeds_ahead(result: Outcome, shaper: str, naive: str) -> str:
    """In how many seeds the shaper is ahead, where that is not all of them."""
    pairs = [(mine, result.rewards[naive].get(seed)) for seed, mine in result.rewards[shaper].items()]
    ahead = sum(theirs is not None and mine > theirs for mine, theirs in pairs)
    return "" if ahead == len(pairs) else f", ahead in {ahead} of {len(pairs)} seeds"


def _basis(arm: Arm, table: Sequence[Mapping[str, Any]] | None) -> str:
    """``tiny model, 5 seeds; the paper, on gemma-2-2b-it, has 0.10 and 3.96``."""
    seeds = outcome(arm.run).n_seeds or len(arm.run.seeds)
    ours = f"{model_words(arm.run)}, {seeds} seed{'' if seeds == 1 else 's'}"
    rows = {
        r.get("seat"): r["published"] for r in table or () if r.get("arm") == arm.name and is_number(r.get("published"))
    }
    values = [float(rows[seat]) for seat in _told_order(arm.run) if seat in rows]
    if not values:
        return ours
    model = paper_model(arm.run)
    where = f", on {model}," if model else ""
    return f"{ours}; the paper{where} has {' and '.join(number(v) for v in values)}"


def _told_order(run: RunData) -> list[str]:
    """The seats in the order in which a sentence names their rewards: of a shaper and a naive learner, the learner first."""
    if _shared_action(run, _dominant(outcome(run).states)) is not None:
        return list(run.seats)
    return sorted(run.seats, key=lambda seat: run.role(seat) == "shaper")


def _ending(run: RunData, result: Outcome) -> str:
    """``end in mutual defection``, and in how many rounds and seeds if not in nearly all."""
    states = _by_choice(run, result.states)
    state = _dominant(states)
    if state is None:
        common = sorted(states.items(), key=lambda item: -item[1])[:2]
        return "end without a settled outcome" + (f", {_mix(run, common)}" if common else "")
    per_seed = Counter(_dominant(_by_choice(run, shares)) for shares in result.seed_states.values())
    seeds = len(result.seed_states)
    extents = [f"{states[state]:.0%} of rounds"] if states[state] < SETTLED else []
    extents += [f"{per_seed[state]} of {seeds} seeds"] if per_seed[state] < seeds else []
    action = _shared_action(run, state)
    if state == ILLEGAL:
        what = "illegal replies"
    else:
        what = f"mutual {NOUNS.get(action, action)}" if action else _in_words(run, state)
    return f"end in {what}" + ",".join(f" in {extent}" for extent in extents)


def _by_choice(run: RunData, shares: Mapping[str, float]) -> Mapping[str, float]:
    """Shares of states; in games in rounds it does not matter which seat had the choice if only one had: ``C-`` and ``-C`` are both ``C``."""
    if not run.roaming:
        return shares
    found: defaultdict[str, float] = defaultdict(float)
    for state, share in shares.items():
        found[state.replace(NO_CHOICE, "")] += share
    return found


def _in_words(run: RunData, state: str) -> str:
    """A state of a game in rounds in words; of others its name."""
    return WHOEVER_CHOOSES.get(state, state) if run.roaming else state


def _mix(run: RunData, common: Sequence[tuple[str, float]]) -> str:
    return "most often " + " and ".join(f"{_in_words(run, state)} ({share:.0%})" for state, share in common)


def _dominant(shares: Mapping[str, float]) -> str | None:
    """The joint action of at least half the rounds, if there is one."""
    if not shares:
        return None
    state = max(shares, key=lambda name: shares[name])
    return state if shares[state] >= DOMINANT else None


def _shared_action(run: RunData, state: str | None) -> str | None:
    """The action that both seats play in a state, by name, as the recorded games tell it; None if they differ."""
    for episode in run.episodes if state not in (None, ILLEGAL) else ():
        for t, met in enumerate(episode.get("states") or ()):
            if met == state:
                played = {turns[t].get("action") for turns in _turns(episode) if t < len(turns)}
                return next(iter(played)) if len(played) == 1 else None
    return None


def _turns(episode: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    return [seat.get("turns") or [] for seat in (episode.get("seats") or {}).values()]


def _cautions(arms: Sequence[Arm]) -> list[str]:
    """What a reader must know before quoting the numbers."""
    said = []
    for arm in arms:
        planned, reached = arm.run.planned_steps, arm.run.last_step
        if planned is not None and reached < planned:
            said.append(f"{arm.label} stopped at trial {reached} of {planned}.")
    unevaluated = [arm for arm in arms if not outcome(arm.run).evaluated]
    if unevaluated and any(outcome(arm.run).n_seeds for arm in unevaluated):
        names = " and ".join(arm.label for arm in unevaluated)
        said.append(
            f"No evaluation was run for {names}: the numbers are the mean of {outcome(unevaluated[0].run).source}."
        )
    return said


def _count(n: int) -> str:
    return {2: "Two", 3: "Three", 4: "Four", 5: "Five"}.get(n, str(n))


def _plural(role: str) -> str:
    return "naive learners" if role == "naive" else f"{role or 'player'}s"
