"""How long the texts are that a run's language models read and write, in tokens: those of the last round of a trial, with replies as long as they may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.games.base import Game
from coplay.games.conversation import chat_messages, states_of
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Occupant, Reply, Request
from coplay.learners.config import LearnerConfig
from coplay.models.loading import encode, load_tokenizer, model_path
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.runs.checks import replies_of, seats_of
from coplay.runs.config import Config
from coplay.runs.games import game_of
from coplay.runs.prompts import Reader

if TYPE_CHECKING:
    from coplay.text.chat import ChatMessage

TAGS = 8
"""Tokens that a chat format puts around a message, about."""

LETTERS = 3
"""Letters a token where there is no tokenizer. Tokenizers for English have about four."""

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt")
"""One of them is in any directory that has a tokenizer."""

_FEW_STATES = (Memory.NONE, Memory.LAST_ROUND, Memory.LAST_CHOICE)
"""Memories with which there are few different prompts."""

Count = Callable[[str], int]
"""How many tokens a text has."""


@dataclass(frozen=True)
class Lengths:
    """Of what one learner reads."""

    prompt: int
    """Tokens of the longest prompt, at most."""
    shared: int
    """Tokens that the prompts of a seat begin with, about."""
    reply: int
    """Tokens of a reply, at most."""
    prompts: int | None
    """How many different prompts there are; None for as many as there are replies."""
    requests: int
    """Replies that one game of a trial asks of the learner."""


class _Listener(Reader):
    """Plays a trial, and remembers what it was asked."""

    def __init__(self, game: Game, learner: LearnerConfig | None) -> None:
        super().__init__(game, (), learner, -1)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        self.asked += requests
        return super().act(requests)


def has_tokenizer(model: str) -> bool:
    """Whether a model comes with a tokenizer; of one that is no directory here, that is believed."""
    directory = Path(model_path(model))
    return not directory.is_dir() or any((directory / file).exists() for file in TOKENIZER_FILES)


def lengths_of(config: Config) -> dict[str, Lengths]:
    """The lengths of each learner that is a language model, by name.

    Raises:
        UsageError: if the model's tokenizer cannot be loaded.
    """
    game = game_of(config)
    asked = _asked_in_a_trial(config, game)
    count = cache(_counting(config.model))
    return {
        name: _lengths(config, game, learner, [asked[seat] for seat in seats_of(config, name) if asked[seat]], count)
        for name, learner in config.learners.items()
        if learner.policy == "language_model"
    }


def _counting(model: str) -> Count:
    """How a model's texts are counted."""
    if not has_tokenizer(model):
        return lambda text: -(-len(text) // LETTERS)
    tokenizer = load_tokenizer(model)
    return lambda text: len(encode(tokenizer, text))


def _asked_in_a_trial(config: Config, game: Game) -> dict[str, list[Request]]:
    """What each seat is asked in a trial in which everybody does the first that is allowed."""
    listeners = {seat: _Listener(game, config.learners.get(config.seats[seat][0])) for seat in game.seats}
    table = Table(game, 0, 0, 0, {seat: Occupant(one, "reader", slot=0) for seat, one in listeners.items()})
    for episode in range(config.episodes):
        play_episode(game, [table], rounds=config.rounds, streams=StreamNames(("prompt",), episode))
    return {seat: one.asked for seat, one in listeners.items()}


def _lengths(
    config: Config, game: Game, learner: LearnerConfig, asked: Sequence[Sequence[Request]], count: Count
) -> Lengths:
    text = replies_of(learner, game) == "text"
    if not asked:
        return Lengths(1, 0, 1, None, 0)
    longest = shared = 0
    for of_seat in asked:
        first, *_, last = [_messages(config, game, learner, one) for one in (of_seat[0], *of_seat[-2:])]
        longest = max(longest, _tokens(first, learner, count), _tokens(last, learner, count))
        shared = min(shared or longest, count(_beginning(first, last)))
    few = learner.memory in _FEW_STATES and not text
    states = (1 + states_of(game)) * len(asked) if few else None
    return Lengths(
        prompt=longest,
        shared=shared,
        reply=learner.max_tokens if text else 1,
        prompts=states,
        requests=sum(map(len, asked)),
    )


def _beginning(*chats: Sequence[ChatMessage]) -> str:
    """What two conversations have in common at their beginning."""
    texts = ["\n".join(one.text for one in chat) for chat in chats]
    letters = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    return texts[0][: sum(1 for _ in letters)]


def _messages(config: Config, game: Game, learner: LearnerConfig, request: Request) -> list[ChatMessage]:
    """What is read, without the chat format."""
    from coplay.text.chat import ChatMessage

    if replies_of(learner, game) == "text":
        return chat_messages(game, request, learner.memory)
    assert isinstance(game, NormalFormGame)
    seat = request.seat
    parts = game.prompt_parts(seat, request.observation, labels=learner.labels, payoff_format=config.payoff_format)
    return [ChatMessage("user", parts.text)]


def _tokens(chat: Sequence[ChatMessage], learner: LearnerConfig, count: Count) -> int:
    """Tokens of a conversation in which every reply was as long as it may be."""
    return sum(
        TAGS + (max(learner.max_tokens, count(one.text)) if one.role == "assistant" else count(one.text))
        for one in chat
    )
