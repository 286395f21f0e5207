"""A language model as a player of any game: as it is, or with an adapter in PEFT's format. It learns nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from weakref import WeakValueDictionary

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Reply, Request, Turn
from coplay.models.known import MODELS
from coplay.models.loading import model_path

if TYPE_CHECKING:
    from coplay.models.loading import LoadedModel
    from coplay.models.scoring import Scorer

PREFIX = "hf:"
"""What a player's name begins with if the rest is a model's directory, Hub id or name, perhaps with ``+ADAPTER``."""

FALLBACK = "fallback:"
"""What stands before the name of a model that is made to choose an action where its reply names none."""

DESCRIPTIONS = {
    **{name: f"The model of that name (coplay models): {model.description}" for name, model in MODELS.items()},
    f"{PREFIX}MODEL[+ADAPTER]": "A language model: a directory, a Hub id or a name of `coplay models`; with a LoRA adapter in PEFT's format.",
    f"{FALLBACK}MODEL": f"One of these that is made to choose an action where its reply names none, e.g. {FALLBACK}smollm2.",
}
"""What ``coplay list players`` says of them."""


class _BankForm(TypedDict):
    """The form of an adapter's bank; see :class:`coplay.models.bank.AdapterBank`."""

    rank: int
    alpha: float
    targets: list[str]


@dataclass(eq=False)
class _SharedModel:
    """A loaded model, which players of any seat and game share."""

    loaded: LoadedModel
    scorer: Scorer
    slot: int


_LOADED: WeakValueDictionary[tuple[str, str | None], _SharedModel] = WeakValueDictionary()
"""Models in use, by model and adapter: a model that sits in both seats is loaded once."""


class ModelPlayer:
    """Plays what a language model replies: one token where the game's replies are labels, text elsewhere. What cannot be parsed is data.

    Requests with one-token replies are scored by themselves, so a reply does not depend on the other games.

    Args:
        shared: the loaded model, shared by players of any seat and game.
        memory: what it is shown of the past; by default the last round, or in games with text the conversation.
        max_tokens: largest number of tokens of a reply in text.
        fallback: whether it is made to choose an action where its reply names none; see :mod:`coplay.players.fallback`.

    Raises:
        UsageError: if there is to be a fallback, but replies are one token, the game does not list its actions, or the model reads single
            turns only.
    """

    def __init__(
        self,
        name: str,
        shared: _SharedModel,
        game: Game,
        seat: str,
        *,
        memory: Memory | None = None,
        max_tokens: int = 400,
        fallback: bool = False,
    ) -> None:
        from coplay.players.choice_model import ChoiceModel
        from coplay.players.text_model import TextModel

        if fallback and (game.one_token or not (game.actions or game.max_choices)):
            raise UsageError(
                f"{name}: there can be a fallback where replies are text and name one of a few actions, which those of game {game.name!r} do"
                f" not; use {name.removeprefix(FALLBACK)}"
            )
        self.name, self._slot, self.fallback = name, shared.slot, fallback
        self.memory = memory or (Memory.LAST_ROUND if game.one_token else Memory.CHAT)
        self._policy: ChoiceModel | TextModel
        self.one_by_one = isinstance(game, NormalFormGame) and game.one_token
        self._shared = shared
        if isinstance(game, NormalFormGame) and game.one_token:
            self._policy = ChoiceModel(name, shared.loaded, shared.scorer, game=game, memory=self.memory, seats=[seat])
        else:
            self._policy = TextModel(
                name,
                shared.loaded,
                shared.scorer,
                game=game,
                memory=self.memory,
                max_tokens=max_tokens,
                fallback=fallback,
            )

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        own = [replace(request, slot=self._slot) for request in requests]
        if self.one_by_one:
            return [reply for request in own for reply in self._policy.act([request])]
        return self._policy.act(own)

    def prompt_text(self, turn: Turn) -> str | None:
        """What a reader of the games is shown as the input."""
        return self._policy.prompt_text(turn)


def names_model(spec: str) -> bool:
    """Whether a player's name is that of a model."""
    model = spec.removeprefix(FALLBACK)
    return model in MODELS or model.startswith(PREFIX)


def model_player(spec: str, game: Game, seat: str) -> ModelPlayer:
    """The player that ``spec`` names, for one seat of a game.

    Args:
        spec: a name of :data:`~coplay.models.known.MODELS`, or ``hf:MODEL``, or ``hf:MODEL+ADAPTER``; ``fallback:`` before it.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: if there is no such model or adapter, the game's labels are not single tokens of the model's, or there can be no fallback.
    """
    model, adapter = _parts(spec.removeprefix(FALLBACK))
    shared = _LOADED.get((model, adapter))
    if shared is None:
        shared = _LOADED[model, adapter] = _load(model, adapter)
    return ModelPlayer(spec, shared, game, seat, fallback=spec.startswith(FALLBACK))


def _parts(spec: str) -> tuple[str, str | None]:
    """Model and adapter. A plus sign in the name of a directory that exists separates nothing."""
    name = spec.removeprefix(PREFIX)
    model, plus, adapter = name.rpartition("+")
    if not plus or user_path(name).is_dir():
        return name, None
    return model, adapter


def _load(model: str, adapter: str | None) -> _SharedModel:
    model_path(model)
    config = None if adapter is None else _adapter_config(user_path(adapter))
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName
    from coplay.models.loading import load_model
    from coplay.models.scoring import Scorer, base_scorer

    loaded = load_model(model)
    if adapter is None or config is None:
        return _SharedModel(loaded, base_scorer(loaded.model), REFERENCE)
    bank = AdapterBank(loaded.model, [SlotName(adapter, 0)], **config)
    bank.import_peft(0, user_path(adapter))
    return _SharedModel(loaded, Scorer(loaded.model, bank), 0)


def _adapter_config(directory: Path) -> _BankForm:
    """The form of an adapter's bank; whatever else its config says is checked when it is imported."""
    if not directory.is_dir():
        raise UsageError(
            f"there is no adapter {directory}; give a directory that coplay train, coplay align or PEFT wrote"
        )
    from coplay.models.checkpoint import read_adapter_config

    config = read_adapter_config(directory)
    rank, alpha, targets = (config.get(key) for key in ("r", "lora_alpha", "target_modules"))
    if not isinstance(rank, int) or not isinstance(alpha, int | float) or not isinstance(targets, list):
        raise UsageError(f"{directory}: adapter_config.json needs r, lora_alpha and a list of target_modules")
    return {"rank": rank, "alpha": alpha, "targets": targets}
