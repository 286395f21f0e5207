"""What a seat is asked as other libraries see it, and their actions as replies: indices and arrays, or text.

Pure functions of a request, so that a policy is shown the same as the agent of an environment and as a player in a seat.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coplay.errors import CoplayError, UsageError
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.catalogue import GameSpec
from coplay.games.conversation import chat_messages, check_memory
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request
from coplay.text.defusing import FamilyDefuser

DISCRETE, TEXT = "discrete", "text"
"""The modes: arrays and indices, or prompts and replies."""


class Encoding(Protocol):
    """How requests are shown, and actions read."""

    game: Game
    """The rules."""
    memory: Memory
    """What is shown of the past."""
    window: int
    """H, of the window memory."""

    def shown(self, request: Request) -> tuple[Any, dict[str, Any]]:
        """What the seat knows as an observation, and what else is told with it."""

    def blank(self, seat: str) -> Any:
        """The observation of a seat that was not asked yet."""

    def reply(self, request: Request, action: object) -> Reply:
        """The reply that an action means; raises CoplayError for what is no action of the seat at all."""


class DiscreteEncoding:
    """Features of the request in, the index of a legal action out.

    An index that the action space has and the request has not is a reply that cannot be parsed: the game says what it costs.

    Args:
        game: the rules; they list the choices of every request of the seats.
        seats: the seats that are played.
        window: H, how many of the last rounds the features show.

    Raises:
        UsageError: for a game with open replies, such as messages, or a window less than 1.
    """

    memory = Memory.WINDOW

    def __init__(self, game: Game, seats: Sequence[str], *, window: int = 1) -> None:
        if window < 1:
            raise UsageError(f"window must be at least 1, got {window}")
        self.game, self.window = game, window
        self.sizes = {seat: game.most_choices(seat) for seat in seats}
        self.names = {seat: game.feature_names(seat, window=window) for seat in seats}
        if not all(self.sizes.values()):
            raise UsageError(
                f"some replies in game {game.name!r} cannot be listed, such as messages and amounts: use mode={TEXT!r}, or a setting of the game"
                " that lists them, such as bertrand:grid=15 or ipd-3:talk=0"
            )

    def shown(self, request: Request) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """See :class:`Encoding`.

        Returns:
            ``observation``, the features, [F], and ``action_mask``, 1 for each index that is legal now, [A]; and :func:`info_of` with ``actions``,
            the legal actions in words, by index.
        """
        seat = request.seat
        features = self.game.features(request, window=self.window)
        if len(features) != len(self.names[seat]):
            raise CoplayError(
                f"game {self.game.name!r} gives {len(features)} features to {seat} in phase {request.phase.name!r}; feature_names() lists"
                f" {len(self.names[seat])}"
            )
        choices = self._choices(request)
        mask_A = np.zeros(self.sizes[seat], np.int8)
        mask_A[: len(choices)] = 1
        observation: dict[str, npt.NDArray[Any]] = {
            "observation": np.array(features, np.float32),
            "action_mask": mask_A,
        }
        return observation, {"actions": [self.game.show(choice) for choice in choices], **info_of(request)}

    def blank(self, seat: str) -> dict[str, npt.NDArray[Any]]:
        """Nothing known, nothing legal."""
        return {
            "observation": np.zeros(len(self.names[seat]), np.float32),
            "action_mask": np.zeros(self.sizes[seat], np.int8),
        }

    def reply(self, request: Request, action: object) -> Reply:
        """The choice of that index."""
        try:
            index = operator.index(action)  # type: ignore[arg-type]
        except TypeError:
            index = -1
        size = self.sizes[request.seat]
        if not 0 <= index < size:
            raise CoplayError(f"an action of {request.seat} is a whole number from 0 to {size - 1}, got {action!r}")
        choices = self._choices(request)
        if index >= len(choices):
            return Reply(f"action {index}")
        return Reply(self.game.render_action(request, choices[index]), choices[index])

    def _choices(self, request: Request) -> Sequence[Action]:
        choices = self.game.choices(request) or ()
        if not 0 < len(choices) <= self.sizes[request.seat]:
            raise CoplayError(
                f"game {self.game.name!r} lists {len(choices)} choices for {request.seat} in phase {request.phase.name!r}; most_choices() says"
                f" {self.sizes[request.seat]}"
            )
        return choices


class TextEncoding:
    """The prompt in, the reply as text out; it is parsed as a language model's is.

    Args:
        game: the rules.
        memory: what the prompt tells of the past: the last round, counts, or with ``chat`` the whole conversation of the episode.

    Raises:
        UsageError: for counts of more states than a prompt lists.
    """

    window = 1

    def __init__(self, game: Game, *, memory: Memory | str = Memory.LAST_ROUND) -> None:
        if memory not in tuple(Memory):
            raise UsageError(f"memory must be one of {', '.join(Memory)}, got {memory!r}")
        self.game, self.memory = game, Memory(memory)
        check_memory(game, self.memory)
        self._defuser = FamilyDefuser()

    def shown(self, request: Request) -> tuple[str, dict[str, Any]]:
        """See :class:`Encoding`.

        Returns:
            What a language model is told, of a conversation each part after its role; and :func:`info_of` with ``messages``, the same as a chat.
        """
        messages = [
            one._replace(text=self._defuser.defused(one.text))  # the reader's template is not known
            for one in chat_messages(self.game, request, self.memory)
        ]
        text = messages[0].text if len(messages) == 1 else "\n\n".join(f"{one.role}: {one.text}" for one in messages)
        chat = [{"role": one.role, "content": one.text} for one in messages]
        return text, {"messages": chat, **info_of(request)}

    def blank(self, seat: str) -> str:
        """Nothing."""
        return ""

    def reply(self, request: Request, action: object) -> Reply:
        """The text with the action that it is parsed as; None if it cannot be."""
        if not isinstance(action, str):
            raise CoplayError(f"an action of {request.seat} is text, got {action!r}")
        return Reply(action, self.game.parse_action(request, action))


def rules_of(game: GameSpec, rounds: int | None) -> tuple[Game, int]:
    """A game as it is for episodes of so many rounds, by default its own, and that number.

    Raises:
        UsageError: for an unknown game, or fewer than one round.
    """
    rules = make_game(game)
    found = rules.rounds if rounds is None else rounds
    if found < 1:
        raise UsageError(f"rounds must be at least 1, got {rounds}")
    return rules.lasting(found), found


def info_of(request: Request) -> dict[str, Any]:
    """The round from 0, the phase, and ``draw``: a uniform number from the seat's own stream, all the chance that a policy needs to be reproducible."""
    return {"round": request.now.number, "phase": request.phase.name, "draw": request.draw}


def make_encoding(
    game: Game, seats: Sequence[str], mode: str, *, window: int = 1, memory: Memory | str = Memory.LAST_ROUND
) -> Encoding:
    """The encoding of a mode.

    Args:
        game: the rules.
        seats: the seats that are played.
        mode: ``discrete`` or ``text``.
        window: H, rounds in the features; in mode ``discrete``.
        memory: what prompts tell of the past; in mode ``text``.

    Raises:
        UsageError: for another mode, or one that the game does not have.
    """
    if mode == DISCRETE:
        return DiscreteEncoding(game, seats, window=window)
    if mode == TEXT:
        return TextEncoding(game, memory=memory)
    raise UsageError(f"mode must be {DISCRETE!r} or {TEXT!r}, got {mode!r}")
