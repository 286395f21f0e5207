"""The conformance kit for players: legal, reproducible, and dependent on nothing but what they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from coplay.conformance.games import ExamplePlayer
from coplay.conformance.normal_form import WARNING
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.user_code import one_line

TABLES, ROUNDS = 6, 4
"""Tables at which a player is tried, and rounds of each of two episodes there."""


def check_player(player: Player, game: Game, seat: str) -> list[str]:
    """Look for mistakes in a player.

    It is asked to act in a number of random situations, all at once, again, in reverse and one by one. Replies to the same request
    must be the same each time.

    Args:
        player: the player.
        game: the game it is to play.
        seat: the seat it is to fill.

    Returns:
        One sentence a problem; empty if there are none. Those that begin with ``"warning: "`` do not keep it from playing.

    Example:
        >>> from coplay.games import make_game
        >>> from coplay.players.scripted import make_script
        >>> check_player(make_script("tit_for_tat", make_game("ipd"), "row"), make_game("ipd"), "row")
        []
    """
    problems = _form(player)
    if problems:
        return problems
    requests = example_requests(game, seat, player.memory)
    replies, problems = _asked(player, requests)
    if problems:
        return problems
    return [
        *_legality(replies, requests, game),
        *_probabilities(replies, game, seat),
        *_repeatability(player, requests, replies),
    ]


class _Recorder(ExamplePlayer):
    """An example player with a certain memory, which looks for no mistakes in the game."""

    def __init__(self, game: Game, memory: Memory) -> None:
        super().__init__(game)
        self.memory = memory

    def inspect(self, request: Request) -> None:
        """Nothing."""


def example_requests(game: Game, seat: str, memory: Memory) -> list[Request]:
    """Requests to try a player with: those of two episodes of random play at some tables, with draws from 0 to nearly 1."""
    recorder = _Recorder(game, memory)
    seated = {one: Occupant(recorder, "example", slot=0) for one in game.seats}
    tables = [Table(game, index % 2, index, index, seated) for index in range(TABLES)]
    for episode in range(2):
        play_episode(game, tables, rounds=min(ROUNDS, game.rounds), streams=StreamNames(("check player",), episode))
    own = [request for request in recorder.requests if request.seat == seat]
    last = len(own) - 1
    return [
        replace(request, draw=i / len(own) if i < last else math.nextafter(1.0, 0.0)) for i, request in enumerate(own)
    ]


def _form(player: Player) -> list[str]:
    """It has a name, a memory and a way to act."""
    problems = []
    if not isinstance(getattr(player, "name", None), str):
        problems.append("name must be a word that says what to call the player")
    if not isinstance(getattr(player, "memory", None), Memory):
        problems.append(f"memory must be one of {', '.join(f'Memory.{memory.name}' for memory in Memory)}")
    if not callable(getattr(player, "act", None)):
        problems.append("there must be a method act(requests) that returns a list of replies")
    return problems


def _asked(player: Player, requests: Sequence[Request], *, when: str = "") -> tuple[list[Reply], list[str]]:
    """The replies, or what is wrong with them; whatever a user's code raises is what the user needs to hear of."""
    n = len(requests)
    try:
        replies: object = player.act(requests)
    except (Exception, SystemExit) as error:
        return [], [f"act() failed{when or f' on {n} requests'}: {one_line(error)}"]
    if not isinstance(replies, list) or not all(isinstance(reply, Reply) for reply in replies):
        return [], [f"act() must return a list of Reply, got {type(replies).__name__}{when}"]
    if len(replies) != n:
        problem = f"{n} requests gave {len(replies)} replies{when}"
        return [], [f"act() must return one reply to each request: {problem}"]
    return replies, list(dict.fromkeys(f"{problem}{when}" for reply in replies for problem in _types(reply)))[:1]


def _types(reply: Reply) -> Iterator[str]:
    """What is wrong with the types of a reply's fields."""
    if not isinstance(reply.text, str):
        yield f"a reply's text must be text, got {reply.text!r}"
    for name in ("logprobs", "probs"):
        value: object = getattr(reply, name)
        if value is None and name == "probs":
            continue
        numbers = isinstance(value, Sequence) and not isinstance(value, str)
        if not numbers or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in value):  # type: ignore[attr-defined]
            what = "natural logs of probabilities" if name == "logprobs" else "probabilities"
            yield f"{name} must be {what}, as numbers; got {value!r}"


def _legality(replies: Sequence[Reply], requests: Sequence[Request], game: Game) -> Iterator[str]:
    """Actions are legal ones; an illegal reply has none, and is worth a warning."""
    wrong: dict[str, str] = {}
    for request, reply in zip(requests, replies, strict=True):
        choices = game.choices(request)
        if reply.action is None:
            continue
        if choices is None and not _means_itself(game, request, reply.action):
            wrong[repr(reply.action)] = f"in phase {request.phase.name!r}"
        if choices is not None and reply.action not in choices:
            wrong[repr(reply.action)] = f"({', '.join(game.show(choice) for choice in choices)})"
    for action, where in sorted(wrong.items()):
        yield f"{action} is not a legal action {where}; an illegal reply has action=None"
    illegal = sum(reply.action is None for reply in replies)
    if illegal:
        yield f"{WARNING}{illegal} of {len(replies)} replies were illegal"


def _means_itself(game: Game, request: Request, action: Action) -> bool:
    """Whether an action can be written, and is parsed as the same action."""
    try:
        return bool(game.parse_action(request, game.render_action(request, action)) == action)
    except Exception:  # a game need not be able to write what is no action of it
        return False


def _probabilities(replies: Sequence[Reply], game: Game, seat: str) -> Iterator[str]:
    """Where probabilities are given, they are a distribution, and the one the action was drawn from."""
    for reply in replies:
        if not all(x <= 1e-6 for x in reply.logprobs):
            yield f"logprobs must be natural logs of probabilities, got {reply.logprobs}"
            return
        if reply.probs is None or game.actions is None:
            continue
        actions, probs = game.actions[seat], reply.probs
        if len(probs) != len(actions) or not all(p >= 0.0 for p in probs) or not sum(probs) <= 1.0 + 1e-4:
            yield f"probs must be a probability for each of {', '.join(actions)}, summing to at most 1; got {probs}"
            return
        if reply.action not in actions:
            continue
        p, logprob = probs[actions.index(str(reply.action))], sum(reply.logprobs)
        if p == 0.0 or (reply.logprobs and abs(math.exp(logprob) - p) > 1e-3):
            yield f"{reply.action!r} was played with log-probability {logprob}, but probs gives it {p}"
            return


def _repeatability(player: Player, requests: Sequence[Request], replies: Sequence[Reply]) -> Iterator[str]:
    """The same request gives the same reply: again, in another order, alone."""
    ways: list[tuple[str, str, Callable[[], list[tuple[list[Reply], list[str]]]]]] = [
        (
            "asked again",
            "take all chance from the request and keep no state between calls",
            lambda: [_asked(player, requests, when=" when asked again")],
        ),
        (
            "asked in reverse order",
            "let each reply follow from its own request",
            lambda: [_reversed(_asked(player, requests[::-1], when=" when asked in reverse order"))],
        ),
        (
            "asked one by one",
            "let no reply depend on the batch",
            lambda: [_asked(player, [one], when=" when asked one by one") for one in requests],
        ),
    ]
    for way, remedy, ask in ways:
        asked = ask()
        problems = [problem for _, found in asked for problem in found]
        if problems:
            yield problems[0]
            continue
        again = [reply for found, _ in asked for reply in found]
        differing = sum((a.action, a.text) != (b.action, b.text) for a, b in zip(replies, again, strict=True))
        if differing:
            yield f"{differing} of {len(replies)} replies changed when {way}; {remedy}"


def _reversed(asked: tuple[list[Reply], list[str]]) -> tuple[list[Reply], list[str]]:
    return asked[0][::-1], asked[1]
