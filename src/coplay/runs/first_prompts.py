"""What a run's language models read first, by checksum: a run that is resumed must ask them what it asked when it began."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.models.known import printed_form
from coplay.runs.checks import replies_of
from coplay.runs.config import Config
from coplay.runs.prompts import readers_after, shown_text

if TYPE_CHECKING:
    from coplay.games.base import Game
    from coplay.models.loading import LoadedModel
    from coplay.runs.directory import RunDirectory
    from coplay.runs.state import TrainingState

_OLD_TAGS = {
    "gemma": ("<start_of_turn>", "<end_of_turn>"),
    "llama": ("<|start_header_id|>", "<|eot_id|>"),
}
"""Tags by which older versions chose a format for one-token prompts where none was named."""


def first_prompts(config: Config, game: Game, loaded: LoadedModel | None) -> dict[str, str]:
    """By seat, the SHA-256 of the tokens that its language model reads in the first round.

    Args:
        config: the run.
        game: its rules.
        loaded: its model; None for a run without one.
    """
    if loaded is None:
        return {}
    from coplay.models.loading import encode

    found = {}
    for seat, reader in readers_after(config, game, []).items():
        learner = config.learners.get(config.seats[seat][0])
        if learner is not None and learner.policy == "language_model":
            text = shown_text(config, game, seat, reader, lambda choices: loaded.chat)
            found[seat] = hashlib.sha256(json.dumps(encode(loaded.tokenizer, text)).encode()).hexdigest()
    return found


def refuse_other_prompts(run: RunDirectory, state: TrainingState) -> None:
    """Refuse to resume a run whose models would read other prompts than when it began.

    Raises:
        UsageError: naming the seats.
    """
    begun = run.store.read_object("env.json").get("prompts") if run.store.has("env.json") else None
    if not isinstance(begun, Mapping):
        _refuse_older(run, state)
        return
    now = first_prompts(state.config, state.game, state.loaded)
    if other := [seat for seat in now if begun.get(seat, now[seat]) != now[seat]]:
        raise UsageError(
            f"{run.path}: the first prompt of {', '.join(other)} is another one than when the run began: the model's tokenizer, its chat"
            f" template or coplay has changed ({run.path / 'env.json'} names the versions). Put back what it began with, or train anew into"
            " another --out"
        )


def _refuse_older(run: RunDirectory, state: TrainingState) -> None:
    """Refuse a run of before prompts were recorded whose one-token prompts had a form that was chosen by the vocabulary."""
    config, loaded = state.config, state.loaded
    if loaded is None or config.chat is not None or printed_form(config.model) is not None:
        return
    learners = [one for one in config.learners.values() if one.policy == "language_model"]
    known = loaded.tokenizer.get_vocab()
    form = next((form for form, tags in _OLD_TAGS.items() if all(tag in known for tag in tags)), None)
    if form is not None and any(replies_of(one, state.game) == "choice" for one in learners):
        raise UsageError(
            f"{run.path} was begun by an older version, whose prompts had the form chat={form} since the model's vocabulary has its tags; now"
            f" they would have the model's own template. Train anew with chat={form} into another --out"
        )
