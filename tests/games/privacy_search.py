"""Searches what seats are asked for what they may not know; test_privacy.py says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from small_games import CARDS, RecordingPlayer, folded

from coplay.games import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Action, Episode, Occupant, Reply, Request, Round
from coplay.games.trust_and_split import BEATEN_BY
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.rng import draws

WORDS = {"trust-and-split": tuple(BEATEN_BY), "kuhn-test": CARDS}
"""What is dealt in secret, as a word."""


def holding(deal: Any, seat: str) -> str:
    """The word that a seat was dealt."""
    return str(deal.hands[seat] if hasattr(deal, "hands") else deal[seat])


def is_secret(one: Round, over: bool) -> bool:
    """Whether the others' words are to be kept from a seat: in Kuhn poker also when the round is over, if somebody folded."""
    return not over or (isinstance(one.deal, dict) and folded(one))


# --- What is played -----------------------------------------------------------------------------------------------------------


def marks_of(game: Game, seat: str) -> range:
    """Numbers that only this seat's replies hold."""
    first = 10**9 * (1 + game.seats.index(seat))
    return range(first, first + 10**9)


class MarkedPlayer(RecordingPlayer):
    """Chooses at random, whatever it is dealt, and marks everything else in its replies as its own."""

    def __init__(self, game: Game, memory: Memory, seat: str) -> None:
        super().__init__(game, memory)
        self.seat = seat

    def reply(self, request: Request) -> Reply:
        mark = marks_of(self.game, self.seat)[len(self.requests)]
        numbers = {"tokens": (mark, mark), "logprobs": (-float(mark),), "prompt": (mark,), "value": float(mark)}
        return Reply(f"reply-of-{self.seat}", self.action(request), probs=(float(mark),), **numbers)

    def action(self, request: Request) -> Action | None:
        """One of the legal actions; now and then none."""
        uniform = draws(request.seed, "marked", *request.rng_path, n=4).tolist()
        if uniform[0] < 0.4:
            return None
        options = self.game.choices(request)
        if options is None and request.phase.name == "message":
            options = ["hello", *(f"I hold {hand}" for hand in BEATEN_BY)]
        if options is None and request.phase.name == "proposal":
            return {item: int(u * 11) for item, u in zip(self.game.items, uniform[1:], strict=False)}
        options = list(options or self.game.examples(request))
        return options[int(uniform[1] * len(options))]


def played(game: Game, memory: Memory, seed: int, episodes: int = 2) -> tuple[dict[str, list[Request]], list[Episode]]:
    """Episodes after one another at two tables: what each seat was asked in the last one, and what was played."""
    players = {seat: MarkedPlayer(game, memory, seat) for seat in game.seats}
    seated = {seat: Occupant(player, seat) for seat, player in players.items()}
    tables = [Table(game, seed, index, index, seated) for index in range(2)]
    last: list[Episode] = []
    for episode in range(episodes):
        for player in players.values():
            player.requests.clear()
        last = play_episode(game, tables, rounds=3, streams=StreamNames(("test",), episode), retries=1)
    return {seat: player.requests for seat, player in players.items()}, last


# --- The search ---------------------------------------------------------------------------------------------------------------


def reachable(thing: Any) -> Iterator[Any]:
    """Every word and number that can be got at from a thing; fails for things it does not know how to search."""
    if thing is None or isinstance(thing, str | bool | int | float | Enum):
        yield thing
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from reachable(getattr(thing, field.name))
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from reachable(key)
            yield from reachable(value)
    elif isinstance(thing, tuple | list | set | frozenset):
        for part in thing:
            yield from reachable(part)
    else:
        raise TypeError(f"cannot search a {type(thing).__name__}")


def words(*things: Any) -> str:
    """All that can be read in things."""
    return "\n".join(str(leaf) for thing in things for leaf in reachable(thing) if isinstance(leaf, str))


def prompt(game: Game, request: Request, memory: Memory) -> str:
    """What a language model in that seat reads."""
    text = "\n".join(message.text for message in chat_messages(game, request, memory))
    if isinstance(game, NormalFormGame):
        text += game.prompt_parts(request.seat, request.observation).text
    return text


def marks_found(game: Game, request: Request, text: str) -> Iterator[str]:
    """Marks of other seats' replies, in a request or in its prompt."""
    for other in game.seats:
        if other == request.seat:
            continue
        for leaf in reachable(request):
            if isinstance(leaf, str) and f"reply-of-{other}" in leaf:
                yield f"{request.seat} is given the text of a reply of {other}"
            if isinstance(leaf, int | float) and int(abs(leaf)) in marks_of(game, other):
                yield f"{request.seat} is given {leaf}, a number of a reply of {other}"
        if f"reply-of-{other}" in text:
            yield f"{request.seat} reads the text of a reply of {other}"


def secrets_found(game: Game, request: Request, played_rounds: Sequence[Round], memory: Memory) -> Iterator[str]:
    """What other seats were dealt in secret, in a request or in what its prompt says of the round."""
    seat, secret_words = request.seat, WORDS.get(game.name, ())
    if not secret_words:
        return
    seen = [(one, True) for one in request.past] + [(request.now, False)]
    for one, over in seen:
        whole = played_rounds[one.number]
        if not is_secret(whole, over):
            continue
        own = holding(whole.deal, seat)
        known = {seat, own}
        if set(reachable(one.deal)) - known:
            yield f"{seat} sees the deal {one.deal}"
        said = words(one.acts) if any(act.phase == "message" for act in one.acts) else ""
        turns = [turn for turn in request.own if turn.round == one.number]
        shown = words(replace(one, deal=None), turns)
        for word in secret_words:
            if word != own and word in shown and word not in said:
                yield f"{seat} is given {word!r}, which nobody has said"
    if any(word in words(request.observation) for word in secret_words):
        yield f"{seat} observes {request.observation}"
    if memory is Memory.NONE:  # one message, of this round alone
        said = words(request.now.acts)
        text = prompt(game, request, memory).replace(game.rules(seat), "")
        for word in secret_words:
            if word != holding(played_rounds[request.now.number].deal, seat) and word in text and word not in said:
                yield f"{seat} reads {word!r}, which nobody has said"


Tamper = Callable[[Request, Episode], Request]
"""Puts into a request what does not belong there."""


def leaks(game: Game, memory: Memory, seed: int, tamper: Tamper | None = None) -> list[str]:
    """Everything that any seat learns and should not, in some games of random play."""
    requests, episodes = played(game, memory, seed)
    found: list[str] = []
    for request in (request for of_seat in requests.values() for request in of_seat):
        episode = episodes[request.game]
        request = request if tamper is None else tamper(request, episode)
        found += marks_found(game, request, prompt(game, request, memory))
        found += secrets_found(game, request, episode.rounds, memory)
    return found
