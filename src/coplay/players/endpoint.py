"""Any OpenAI-compatible endpoint as a player of any game.

Requests run side by side up to a limit; what fails in passing is tried again with growing pauses; what is answered is kept, so nothing is asked or
paid for twice. An endpoint that stays dead, or a budget that is spent, stops the run where it can go on. An endpoint is not trusted: every answer
goes through :mod:`coplay.players.endpoint_gate`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TypedDict

from pydantic import JsonValue

from coplay.errors import Stopped, missing_extra
from coplay.games.base import Game
from coplay.games.conversation import chat_messages, check_memory
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.players.base import player_error
from coplay.players.endpoint_answers import Answers
from coplay.players.endpoint_file import read_endpoint
from coplay.players.endpoint_gate import Asked, is_too_long
from coplay.players.endpoint_key import Key
from coplay.players.endpoint_settings import EndpointSettings
from coplay.players.endpoint_usage import Spent
from coplay.players.personas import SIGN
from coplay.rng import stream_seed
from coplay.text.chat import ChatMessage
from coplay.text.defusing import FamilyDefuser

_DEFUSER = FamilyDefuser()


class _Message(TypedDict):
    """One message of a conversation."""

    role: str
    content: str


class _Body(TypedDict):
    """A request; answers are kept under a hash of it."""

    model: str
    messages: list[_Message]
    temperature: float
    max_completion_tokens: int
    seed: int
    extra_body: dict[str, JsonValue]


class Endpoint:
    """See the module.

    Args:
        answers: what is known already; by default nothing, kept in memory.
        persona: what its persona is called; None for none.
        system: the persona's system prompt, which begins every request.

    Raises:
        UsageError: if the library for HTTP is not installed, the key cannot be read, or counts of states are to be shown that are too many.
    """

    def __init__(
        self,
        game: Game,
        settings: EndpointSettings,
        *,
        answers: Answers | None = None,
        persona: str | None = None,
        system: str | None = None,
    ) -> None:
        if find_spec("httpx2") is None:
            raise missing_extra("httpx2", "endpoint")
        check_memory(game, settings.memory)
        self.game, self.settings = game, settings
        self.memory, self.window = settings.memory, settings.window
        self.answers = answers or Answers()
        self.persona, self.system = persona, system
        self._key = Key(settings)

    @property
    def name(self) -> str:
        """The endpoint's name for the model, with the persona."""
        return self.settings.model if self.persona is None else f"{self.settings.model}{SIGN}{self.persona}"

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask for every reply that is not known yet.

        Raises:
            EndpointFailed: if one cannot be had. Those on their way may still arrive, for as long as an answer is waited for, and are
                kept; no other is begun.
            BudgetSpent: before a request that might take more than is left; likewise.
            AnswersFailed: if answers cannot be read or kept; likewise.
        """
        from coplay.players.endpoint_asking import ask_all

        asked = [self._asked(request) for request in requests]
        try:
            missing = {one.name: one for one in asked if self.answers.get(one.name) is None}
            if missing:
                ask_all(list(missing.values()), self.settings, self._key, self.answers)
            replies = [self._known(one.name) for one in asked]
        except Stopped as error:
            raise type(error)(str(player_error(self.name, requests[0], f"has no answer: {error}"))) from None
        return [
            Reply(reply, self.game.parse_action(request, reply))
            for request, reply in zip(requests, replies, strict=True)
        ]

    def _known(self, name: str) -> str:
        """A reply that was kept, now or by an earlier run."""
        reply = self.answers.get(name)
        if reply is None:
            raise self.answers.damaged("a reply that was kept is gone")
        if is_too_long(reply, self.settings.max_tokens):
            raise self.answers.damaged(f"a reply in it has {len(reply):,} characters, more than max_tokens can hold")
        return reply

    def _asked(self, request: Request) -> Asked:
        settings = self.settings
        body = _Body(
            model=settings.model,
            messages=[
                _Message(role=message.role, content=message.text)
                for message in shown_messages(self.game, request, self.memory, system=self.system)
            ],
            temperature=settings.temperature,
            max_completion_tokens=settings.max_tokens,
            seed=stream_seed(request.seed, "reply", *request.rng_path) % 2**31,
            extra_body=dict(settings.extra or {}),
        )
        sent = {**{key: value for key, value in body.items() if key != "extra_body"}, **body["extra_body"]}
        data = json.dumps(sent, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        text = "".join(message["content"] for message in body["messages"])
        return Asked(_name(settings.base_url, body), data, text, Spent(len(data), settings.max_tokens))


def endpoint_from(file: str, game: Game, *, persona: str | None = None, system: str | None = None) -> Endpoint:
    """An endpoint from its file; see :mod:`coplay.players.endpoint_file`.

    Args:
        file: the path, ending in ``.toml``.
        game: the game.
        persona: what its persona is called; None for none.
        system: the persona's system prompt.

    Raises:
        UsageError: if the file cannot be read, or a setting is unknown, missing or impossible; or as :class:`Endpoint` does.
    """
    found = read_endpoint(file)
    return Endpoint(game, found.settings, answers=Answers(found.answers), persona=persona, system=system)


def shown_messages(game: Game, request: Request, memory: Memory, *, system: str | None) -> list[ChatMessage]:
    """What an endpoint is sent to read: the persona's system prompt, if there is one, then the conversation.

    The template behind an endpoint is not known, so the tags of all common families are broken up in messages.
    """
    before = [] if system is None else [ChatMessage("system", system)]
    messages = [*before, *chat_messages(game, request, memory)]
    return [one._replace(text=_DEFUSER.defused(one.text)) for one in messages]


def _name(base_url: str, request: _Body) -> str:
    """What a request is kept under: another server's model of the same name is another model."""
    asked = json.dumps([base_url, request], sort_keys=True)
    return hashlib.blake2b(asked.encode(), digest_size=24).hexdigest()
