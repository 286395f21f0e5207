"""How long `coplay reproduce` will take, said before it begins: one arm of each kind is measured, the others are taken to go at its rate."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from coplay.errors import CoplayError
from coplay.experiments.request import Request, arm_directory, request_of
from coplay.models.known import EMBEDDED
from coplay.runs.config import Config
from coplay.runs.directory import is_finished, is_taken
from coplay.runs.estimate import asks_endpoints, trials_done

FEWEST_ROUNDS = 100_000
"""Rounds of play of embedded models below which a table is made in minutes, and measuring would take a good part of that."""


def hours_text(request: Request, out: Path) -> str:
    """The hours that are left, in a line; nothing if everything is finished.

    Args:
        request: what is asked for.
        out: the directory, which may not exist yet.
    """
    placed = request_of(out) if is_taken(out) else request
    left: list[tuple[Config, int]] = []
    for arm in request.arms:
        path = arm_directory(placed, out, arm)
        if not is_finished(path):
            config = request.config(arm)
            done = trials_done(path)
            if config.trials > done:
                left.append((config, done))
    if not left:
        return ""
    playing = [(config, done) for config, done in left if _kind(config) is not None]
    rounds = sum((config.trials - done) * _rounds(config) for config, done in playing)
    embedded = all(config.model in EMBEDDED for config, _ in playing)
    if any(asks_endpoints(config) for config, _ in left):
        return "Time: not measured, since endpoints are asked."
    if embedded and rounds < FEWEST_ROUNDS:
        return "Time: minutes at most; not measured."
    try:
        return _measured(left)
    except CoplayError as error:
        return f"Time: not measured ({error})."


def _kind(config: Config) -> Hashable:
    """Arms of one kind go at one rate, about: rounds a second. None for arms without language models, which take next to nothing."""
    models = tuple(
        (learner.memory, learner.algorithm, learner.update, learner.max_tokens)
        for learner in config.learners.values()
        if learner.policy == "language_model"
    )
    return (config.model, config.four_bit, config.game_name, models) if models else None


def _rounds(config: Config) -> int:
    return config.games * config.episodes * config.rounds * len(config.seeds)


def _measured(left: list[tuple[Config, int]]) -> str:
    """Measure the first arm of each kind."""
    from coplay.runs.hours import Hours, load_note, measured_hours, words_of

    measured: dict[Hashable, Hours] = {}
    least = most = 0.0
    for config, done in left:
        kind = _kind(config)
        if kind is None:
            continue
        if kind not in measured:
            measured[kind] = measured_hours(config)
        ends = measured[kind].alike(config).seconds(first_trial=done)
        least, most = least + ends[0], most + ends[1]
    arms = "1 arm" if len(left) == 1 else f"{len(left)} arms"
    ends_in_words = " to ".join(dict.fromkeys((words_of(least), words_of(most))))
    one = "one of them" if len(measured) == 1 else f"{len(measured)} of them, one of each kind"
    return (
        f"Time: about {ends_in_words} on this machine, one after the other, for {arms} that are left: {one} measured, the others by their rounds of play."
        f" What is made besides (alignments, cross-play, reports) is not counted.{load_note()}"
    )
