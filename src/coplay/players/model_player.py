"""A language model as a player of any game: as it is, or with an adapter in PEFT's format. It learns nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Reply, Request, Turn
from coplay.models.known import MODELS, AdapterForm
from coplay.models.loading import model_path
from coplay.players.personas import PERSONAS, SIGN, split_persona

if TYPE_CHECKING:
    from coplay.models.sampling import Generated
    from coplay.players.choice_model import ChoiceModel
    from coplay.players.choosing import ChoosingModel
    from coplay.players.shared_model import SharedModel
    from coplay.players.text_model import Prepared, TextModel

PREFIX = "hf:"
"""What a player's name begins with if the rest is a model's directory, Hub id or name, perhaps with ``+ADAPTER``."""

FALLBACK = "fallback:"
"""What stands before the name of a model that is made to choose an action where its reply names none."""

CHOOSE = "choose:"
"""What stands before the name of a model that chooses among the legal actions; see :mod:`coplay.players.choosing`."""

MAX_TOKENS = 400
"""Of a reply in text, unless said otherwise."""

DESCRIPTIONS = {
    **{name: f"The model of that name (coplay models): {model.description}" for name, model in MODELS.items()},
    f"{PREFIX}MODEL[+ADAPTER]": "A language model: a directory, a Hub id or a name of `coplay models`; with a LoRA adapter in PEFT's format.",
    f"{FALLBACK}MODEL": f"One of these that is made to choose an action where its reply names none, e.g. {FALLBACK}smollm2.",
    f"{CHOOSE}MODEL": (
        f"One of these that can only write legal actions, by its own probabilities for them, e.g. {CHOOSE}smollm2; it is shown the last round."
    ),
    f"PLAYER{SIGN}PERSONA": (
        f"One of these, or an endpoint's FILE.toml, with a system prompt: {', '.join(PERSONAS)}, or a text file, e.g. smollm2{SIGN}malicious."
    ),
    f"simulator:FILE[{SIGN}PERSONA]": "A player fitted to recorded games of another one by coplay fit-simulator, which made the file.",
}
"""What ``coplay list players`` says of them."""


_LOADED: WeakValueDictionary[tuple[str, str | None], SharedModel] = WeakValueDictionary()
"""Models in use, by model and adapter: a model that sits in both seats is loaded once."""


class ModelPlayer:
    """Plays what a language model replies: one token where the game's replies are labels, text elsewhere. What cannot be parsed is data.

    Requests with one-token replies are scored by themselves, so a reply does not depend on the other games.

    Args:
        shared: the loaded model, shared by players of any seat and game.
        memory: what it is shown of the past; by default the last round, or in games with text the conversation.
        max_tokens: largest number of tokens of a reply in text.
        fallback: whether it is made to choose an action where its reply names none; see :mod:`coplay.players.fallback`.
        system: its system prompt; None for none.

    Raises:
        UsageError: if there is to be a fallback, but replies are one token, the game does not list its actions, or the model reads single
            turns only.
    """

    def __init__(
        self,
        name: str,
        shared: SharedModel,
        game: Game,
        seat: str,
        *,
        memory: Memory | None = None,
        max_tokens: int = MAX_TOKENS,
        fallback: bool = False,
        system: str | None = None,
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
            self._policy = ChoiceModel(
                name, shared.loaded, shared.scorer, game=game, memory=self.memory, seats=[seat], system=system
            )
        else:
            self._policy = TextModel(
                name,
                shared.loaded,
                shared.scorer,
                game=game,
                memory=self.memory,
                max_tokens=max_tokens,
                fallback=fallback,
                system=system,
                generator=shared.engine.generator if shared.engine else None,
            )

        self.shared_engine = None if self.one_by_one else shared.engine
        """See :class:`coplay.players.base.Engine`."""

    @property
    def max_tokens(self) -> int:
        """Largest number of tokens of a reply in text."""
        return getattr(self._policy, "max_tokens", 1)

    def prepare(self, requests: Sequence[Request]) -> Prepared:
        """What a reply in text to each request is generated from."""
        return self._text_model.prepare([replace(request, slot=self._slot) for request in requests])

    def finish(self, asked: Prepared, generated: Sequence[Generated]) -> list[Reply]:
        """The replies that were generated, parsed."""
        return self._text_model.finish(asked, generated)

    @property
    def _text_model(self) -> TextModel:
        assert not self.one_by_one
        return cast("TextModel", self._policy)

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
    """Whether a player's name is that of a model, perhaps with a persona."""
    model = _bare(spec)
    return model in MODELS or model.startswith(PREFIX) or split_persona(model)[0] in MODELS


def is_model_directory(spec: str) -> bool:
    """Whether the name, with its ``@``, is that of a directory that exists, of a model or an adapter: then the sign separates nothing."""
    name = _bare(spec).removeprefix(PREFIX)
    return _bare(spec).startswith(PREFIX) and any(
        user_path(one).is_dir() for one in (name, name.rpartition("+")[2]) if one
    )


def files_of_model(spec: str) -> tuple[str, str | None]:
    """The model of a player's name without persona, as it was named, and its adapter's directory; None without one."""
    return _parts(_bare(spec))


def model_player(
    spec: str,
    game: Game,
    seat: str,
    *,
    persona: str | None = None,
    system: str | None = None,
    max_tokens: int = MAX_TOKENS,
) -> ModelPlayer | ChoosingModel:
    """The player that ``spec`` names, for one seat of a game.

    Args:
        spec: a name of :data:`~coplay.models.known.MODELS`, or ``hf:MODEL``, or ``hf:MODEL+ADAPTER``; ``fallback:`` or ``choose:`` before it.
        game: the game to be played.
        seat: the seat to be filled.
        persona: what its persona is called; None for none.
        system: the persona's system prompt.
        max_tokens: largest number of tokens of a reply in text.

    Raises:
        UsageError: if there is no such model or adapter, the game's labels are not single tokens of the model's, or there can be no fallback.
    """
    model, adapter = _parts(_bare(spec))
    shared = _LOADED.get((model, adapter))
    if shared is None:
        shared = _LOADED[model, adapter] = _load(model, adapter)
    name = spec if persona is None else f"{spec}{SIGN}{persona}"
    if spec.startswith(CHOOSE):
        from coplay.players.choosing import ChoosingModel

        return ChoosingModel(name, shared, game, seat, memory=Memory.LAST_ROUND, system=system)
    return ModelPlayer(
        name, shared, game, seat, fallback=spec.startswith(FALLBACK), system=system, max_tokens=max_tokens
    )


def _bare(spec: str) -> str:
    """A model's name without what says how it replies."""
    return spec.removeprefix(FALLBACK).removeprefix(CHOOSE)


def _parts(spec: str) -> tuple[str, str | None]:
    """Model and adapter. A plus sign in the name of a directory that exists separates nothing."""
    name = spec.removeprefix(PREFIX)
    model, plus, adapter = name.rpartition("+")
    if not plus or user_path(name).is_dir():
        return name, None
    return model, adapter


def _load(model: str, adapter: str | None) -> SharedModel:
    model_path(model)
    form = None if adapter is None else _adapter_form(user_path(adapter))
    from coplay.models.admission import admitted_scorer, base_scorer
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName
    from coplay.models.loading import load_model
    from coplay.players.shared_model import SharedModel

    loaded = load_model(model)
    if adapter is None or form is None:
        return SharedModel(loaded, base_scorer(loaded), REFERENCE)
    bank = AdapterBank(loaded.model, [SlotName(adapter, 0)], **form)
    bank.import_peft(0, user_path(adapter))
    return SharedModel(loaded, admitted_scorer(loaded, bank), 0)


def _adapter_form(directory: Path) -> AdapterForm:
    """The shape of an adapter's bank."""
    if not directory.is_dir():
        raise UsageError(
            f"there is no adapter {directory}; give a directory that coplay train, coplay align or PEFT wrote"
        )
    from coplay.models.adapter_config import adapter_form

    return adapter_form(directory)
