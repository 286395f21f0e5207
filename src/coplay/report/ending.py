"""The outcome of a run in words: the state of most rounds, and in how many rounds and seeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from coplay.report.data import ILLEGAL, RunData
from coplay.report.outcome import Outcome, late_means
from coplay.report.values import at, estimate, items, section
from coplay.text.rendering import join

NOUNS = {"cooperate": "cooperation", "defect": "defection", "contribute": "contribution"}
"""What playing an action together is called."""

CONDUCT = {"C": "cooperation", "D": "greed"}
"""What a seat's conduct is called where actions have no names, such as proposals, which are cooperative or greedy."""

NO_CHOICE = "-"
"""In a state's name, a seat that had no choice."""

DOMINANT = 0.5
"""Share of rounds from which one joint action is called the outcome."""

SETTLED = 0.9
"""Share of rounds from which the share itself is not given."""


def ending(run: RunData, result: Outcome, *, whole: bool = True) -> str:
    """``end in mutual defection``, and in how many rounds and seeds if not in nearly all.

    Args:
        run: the run.
        result: how it ended.
        whole: whether it was as long as planned; of a shorter one no end is claimed.
    """
    states = by_choice(result.states)
    state = dominant(states)
    if state is None:
        common = sorted(states.items(), key=lambda item: -item[1])[:2]
        told = "end without a settled outcome" if whole else "have no settled outcome"
        return told + (f", {_mix(run, common)}" if common else "")
    per_seed = Counter(dominant(by_choice(shares)) for shares in result.seed_states.values())
    seeds = len(result.seed_states)
    extents = [f"{states[state]:.0%} of rounds"] if states[state] < SETTLED else []
    extents += [f"{per_seed[state]} of {seeds} seeds"] if per_seed[state] < seeds else []
    what = in_words(run, state)
    comma = "," if " that " in what and extents else ""
    whole_verb, part_verb = ("end with", "are at") if what.startswith("everybody") else ("end in", "are in")
    verb = whole_verb if whole else part_verb
    return f"{verb} {what}" + comma + ",".join(f" in {extent}" for extent in extents)


def by_choice(shares: Mapping[str, float]) -> Mapping[str, float]:
    """Shares of states; where only one seat had a choice it does not matter which: ``C-`` and ``-C`` are both ``C``."""
    found: defaultdict[str, float] = defaultdict(float)
    for state, share in shares.items():
        found[state.replace(NO_CHOICE, "")] += share
    return found


def dominant(shares: Mapping[str, float]) -> str | None:
    """The joint action of at least half the rounds, if there is one."""
    if not shares:
        return None
    state = max(shares, key=lambda name: shares[name])
    return state if shares[state] >= DOMINANT else None


def in_words(run: RunData, state: str) -> str:
    """A state in words where there are some: ``mutual defection``; else its name."""
    if state == ILLEGAL:
        return "illegal replies"
    action = shared_action(run, state)
    if action is not None:
        return f"mutual {NOUNS[action]}" if action in NOUNS else f"everybody playing {action}"
    if "greedy" not in conducts(run) or not set(state) <= set(CONDUCT):
        return state
    if len(set(state)) > 1:
        cooperating = [seat for seat, letter in zip(run.seats, state, strict=False) if letter == "C"]
        return f"cooperation by {join(cooperating)} alone"
    return f"mutual {CONDUCT[state[0]]}" if len(state) > 1 else f"{CONDUCT[state]} by the seat that has a choice"


def shared_action(run: RunData, state: str | None) -> str | None:
    """The action that all seats play in a state, by name, as the recorded games tell it; None if they differ."""
    for episode in run.episodes if state not in (None, ILLEGAL) else ():
        for one, name in zip(items(episode.get("rounds")), items(episode.get("states")), strict=False):
            if name == state:
                last: dict[str, object] = dict.fromkeys(section(episode, "players"))
                last |= {str(at(act, "seat")): at(act, "action") for act in items(at(one, "acts"))}
                played = {str(action) for action in last.values()}
                known = conducts(run)
                return played.pop() if len(played) == 1 and (played <= known or not known) else None
    return None


def mute_seats(run: RunData) -> list[str]:
    """The seats none of whose replies could be parsed, in the evaluation or, before there is one, at the end of training."""
    found = []
    for seat in run.seats:
        evaluated = estimate(at(run.eval, "seats", seat, "illegal"))
        late = late_means(run, f"illegal/{seat}").values()
        if evaluated == 1 or (run.eval is None and late and all(share == 1 for share in late)):
            found.append(seat)
    return found


def conducts(run: RunData) -> set[str]:
    """What seats can do, in a word each: the names of their actions, or ``cooperate`` and ``greedy``; empty before there is an evaluation."""
    return {name for about in section(run.eval, "seats").values() for name in section(about, "actions")}


def _mix(run: RunData, common: Sequence[tuple[str, float]]) -> str:
    """States by name; in words where names are but letters for conduct."""
    worded = "greedy" in conducts(run)
    return "most often " + " and ".join(
        f"{in_words(run, state) if worded or state == ILLEGAL else state} ({share:.0%})" for state, share in common
    )
