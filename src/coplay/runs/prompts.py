"""What seats read: the prompts of a config after some rounds, without loading any weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.features import features_in_words
from coplay.games.memory import WINDOW_ROUNDS, Memory, state_in_words
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Occupant, Reply, Request
from coplay.learners.config import LearnerConfig
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.runs.checks import check_seats, replies_of
from coplay.runs.config import Config
from coplay.runs.games import game_of

if TYPE_CHECKING:
    from coplay.text.model_chat import Chat


class Reader:
    """Acts as its seat did in each past round, then cooperates or takes the first action; keeps the requests of the round after."""

    name = "reader"

    def __init__(self, game: Game, rounds: Sequence[Sequence[str]], learner: LearnerConfig | None, now: int) -> None:
        self.game, self.rounds, self.now = game, rounds, now
        self.memory = Memory.LAST_ROUND if learner is None else learner.memory
        self.window = WINDOW_ROUNDS if learner is None else learner.window
        self.played = 0
        self.asked: list[Request] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        game, seat = self.game, request.seat
        number = self.played + request.now.number
        if number == self.now:
            self.asked.append(request)
        words = game.conducts(seat)
        past = number < len(self.rounds)
        if words:
            action = game.perform(self.rounds[number][game.seats.index(seat)] if past else words[0], request)
        else:
            listed = [*(game.choices(request) or ()), *game.examples(request)]
            if not listed:
                return Reply("")
            action = listed[0]
        return Reply(game.render_action(request, action), action)


def prompts_after(config: Config, items: Sequence[str]) -> dict[str, str]:
    """The exact text that each seat reads in the round after some others of a trial.

    Args:
        config: the run.
        items: what the seats did in each round so far, in the game's order of seats: initials (``CC``) or words (``cooperate/defect``).

    Raises:
        UsageError: for anything else in ``items``.
    """
    game = game_of(config)
    readers = readers_after(config, game, items)

    @cache  # a real model's tokenizer takes a third of a second to load
    def chat(choices: bool) -> Chat:
        from coplay.models.talking import model_chat

        return model_chat(config.model, config.chat, chat_date=config.chat_date, choices=choices)

    return {seat: shown_text(config, game, seat, reader, chat) for seat, reader in readers.items()}


def readers_after(config: Config, game: Game, items: Sequence[str]) -> dict[str, Reader]:
    """By seat, what keeps its requests of the round after some others; see :func:`prompts_after`."""
    check_seats(config, game)
    rounds = [_conduct(game, config, item) for item in items]
    readers = {
        seat: Reader(game, rounds, config.learners.get(config.seats[seat][0]), len(rounds)) for seat in game.seats
    }
    table = Table(game, 0, 0, 0, {seat: Occupant(reader, "reader", slot=0) for seat, reader in readers.items()})
    for start in range(0, len(rounds) + 1, config.rounds):
        for reader in readers.values():
            reader.played = start
        left = min(config.rounds, len(rounds) + 1 - start)
        play_episode(game, [table], rounds=left, streams=StreamNames(("prompt",), start))
    return readers


def _conduct(game: Game, config: Config, item: str) -> list[str]:
    """What each seat did, by the game's own words."""
    words = item.split("/") if "/" in item else list(item)
    if len(words) != len(game.seats):
        example = game.state_names()[0]
        raise UsageError(
            f"--history: {item!r} does not say what each of {', '.join(game.seats)} did; write e.g. {example}"
            f" or {'/'.join(game.conducts(seat)[0] for seat in game.seats if game.conducts(seat))}"
        )
    return [_word(game, config, seat, word) for seat, word in zip(game.seats, words, strict=True)]


def _word(game: Game, config: Config, seat: str, word: str) -> str:
    known = game.conducts(seat)
    learner = config.learners.get(config.seats[seat][0])
    if learner is not None and learner.labels is not None and word in learner.labels:
        return known[learner.labels.index(word)]
    if isinstance(game, NormalFormGame):
        return game.action_named(seat, word)
    for conduct in known:
        if word in (conduct, game.initial(seat, conduct)):
            return conduct
    initials = ", ".join(f"{game.initial(seat, conduct)} ({conduct})" for conduct in known)
    raise UsageError(f"--history: {word!r} is none of {initials} for {seat}")


Asked = Callable[[bool], "Chat"]
"""How a config's model is talked to, for one-token replies or in conversations; loaded when first asked for."""


def shown_text(config: Config, game: Game, seat: str, reader: Reader, chat: Asked) -> str:
    """Every request of the round, as the seat's player reads it."""
    return "\n".join(_request_text(config, game, seat, request, chat) for request in reader.asked)


def _request_text(config: Config, game: Game, seat: str, request: Request, chat: Asked) -> str:
    learner = config.learners.get(config.seats[seat][0])
    if learner is not None and learner.policy == "network":
        window = {"none": 0, "last_round": 1}.get(learner.memory, learner.window)
        names = game.feature_names(seat, window=window)
        return features_in_words(names, game.features(request, window=window))
    if learner is None or learner.policy == "tabular":
        return state_in_words(game.own_states(seat), request.observation)
    if replies_of(learner, game) == "text":
        return chat(False).conversation(chat_messages(game, request, learner.memory))
    assert isinstance(game, NormalFormGame)
    parts = game.prompt_parts(
        seat,
        request.observation,
        labels=learner.labels,
        payoff_format=config.payoff_format,
        spacing=config.spacing,
    )
    return chat(True).prompt(parts)
