"""Estimates of what endpoints will be asked, as text: a line for each file, and one where its budget does not cover that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from coplay.evaluation.estimate import Estimate, Games, estimate
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_file import TO_FILL_IN
from coplay.players.endpoint_usage import NOTHING, Spent
from coplay.terminal.streams import tell
from coplay.text.rendering import counted

_DIGITS = 3
"""Significant digits of tokens and prices."""


def tell_estimate(games: Sequence[Games]) -> None:
    """Print what endpoints will be asked in these games, on standard error; nothing if none is among the players."""
    found = estimate(games)
    if found:
        tell(estimate_text(found))


def estimate_text(estimates: Sequence[Estimate]) -> str:
    """What the endpoints of some games will be asked, at most, as text for a person."""
    lines = [
        "Estimate, before anything is asked: prompts are those of games played with stand-ins that reply at random."
    ]
    for one in estimates:
        lines += [_line(one), *_budgets(one)]
    lines.append("Requests whose answers are kept already, or that are equal, are sent once and count less.")
    for one in estimates:
        if not one.file.exists:
            lines.append(f"There is no file {one.file.file} yet; one to fill in:\n\n{TO_FILL_IN}")
    return "\n".join(lines)


def _line(one: Estimate) -> str:
    """Requests, tokens and price of one file."""
    settings = one.file.settings
    requests = f"{one.requests:,} to {one.most_requests:,} requests"
    if one.requests == one.most_requests:
        requests = counted(one.requests, "request")
    read = _range(one.least.tokens_in, one.most.tokens_in)
    written = _range(one.least.tokens_out, one.most.tokens_out)
    how = f"the larger numbers if every reply has max_tokens = {settings.max_tokens:,}; a token is {settings.characters_per_token:g} characters"
    return f"  {one.file.file}: {requests}, {read} tokens read, {written} written ({how}); {_price(one)}"


def _price(one: Estimate) -> str:
    settings = one.file.settings
    if settings.price_in == settings.price_out == 0:
        return "no price, as the file has no price_in and price_out (of a million tokens)"
    return f"price {_range(one.least.money(settings), one.most.money(settings))}"


def _range(least: float, most: float) -> str:
    return " to ".join(dict.fromkeys(map(_shown, (least, most))))


def _shown(number: float) -> str:
    """A number to three significant digits, without an exponent."""
    if number == 0:
        return "0"
    places = _DIGITS - 1 - math.floor(math.log10(number))
    text = f"{round(number, places):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _budgets(one: Estimate) -> Iterator[str]:
    """A line for each of the file's budgets that may be spent before all is answered."""
    settings = one.file.settings
    if settings.token_budget is None and settings.cost_budget is None:
        return
    kept = one.file.answers
    spent = Answers(kept).spent if kept is not None and kept.exists() else NOTHING
    budgets: list[tuple[str, float | None, Callable[[Spent], float]]] = [
        ("token_budget", settings.token_budget, lambda used: used.tokens),
        ("cost_budget", settings.cost_budget, lambda used: used.money(settings)),
    ]
    for name, budget, of in budgets:
        if budget is None or of(one.most) + of(spent) <= budget:
            continue
        covers = "may not cover" if of(one.least) + of(spent) <= budget else "does not cover"
        yield (
            f"  {one.file.file}: {name} = {budget:,} (spent so far: {_shown(of(spent))}) {covers} that: asking stops before it is"
            f" exceeded, what was answered is kept, and the same goes on when {name} is raised"
        )
