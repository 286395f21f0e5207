"""The conformance kit for games: what rules and words must get right before anything is trained on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from coplay.conformance.normal_form import MANY, WARNING, check_form, check_normal_form
from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.form import malformed
from coplay.games.memory import Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.records import Action, Episode, Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.rng import draws, stream
from coplay.user_code import failed_method, one_line

__all__ = ["WARNING", "check_game", "failures"]

SAMPLES, ROUNDS = 20, 4
"""Episodes that are looked at, fewer where seats are many, and their rounds."""

MOST_INSPECTED = 2_000
"""Requests whose prompts are looked at: a round that never ends has more and more acts, and longer and longer prompts."""


def check_game(game: Game) -> list[str]:
    """Look for mistakes in a game.

    Args:
        game: the game, however it was made.

    Returns:
        One sentence a problem; empty if there are none. Those that begin with ``"warning: "`` do not keep the game from being
        played. If the game's form is wrong, nothing else is checked.

    Example:
        >>> from coplay.games import make_game
        >>> check_game(make_game("trust-and-split"))
        []
    """
    return _findings(game, [_form]) or list(dict.fromkeys(_findings(game, [_chance, _play, _normal_form])))


def _findings(game: Game, checks: Sequence[Callable[[Game], Iterable[str]]]) -> list[str]:
    """What the checks find; what a user's code raises is what the user needs to hear of, even a wish to end the program."""
    found: list[str] = []
    for check in checks:
        try:
            found += check(game)
        except CoplayError as error:
            found.append(str(error))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            found.append(f"{failed_method(game, error) or 'the game'} failed: {one_line(error)}")
    return found


def failures(problems: Sequence[str]) -> list[str]:
    """The problems that are not mere warnings."""
    return [problem for problem in problems if not problem.startswith(WARNING)]


# ---------------------------------------------------------------------- play


class ExamplePlayer:
    """Plays random legal actions where they are listed, examples where they are not; keeps what it was asked, and what was wrong with it.

    Args:
        game: the game.
        unparsed: how often to reply with nonsense instead, from 0 to 1.
    """

    def __init__(self, game: Game, *, unparsed: float = 0.0) -> None:
        self.name = "example"
        self.game, self.unparsed = game, unparsed
        few = len(game.own_states(game.seats[0])) <= MANY
        self.memory = Memory.EPISODE_COUNTS if few else Memory.LAST_ROUND
        self.requests: list[Request] = []
        self.problems: list[str] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`coplay.players.base.Player`."""
        self.requests += requests
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        if len(self.requests) < MOST_INSPECTED:
            self.inspect(request)
        game, phase = self.game, request.phase.name
        if draws(request.seed, "unparsed", *request.rng_path, n=1) < self.unparsed:
            if game.parse_action(request, NONSENSE) is not None:
                self.problems.append(f"phase {phase!r}: nonsense is parsed as an action")
            return Reply(NONSENSE)
        action = example(game, request)
        if action is None:
            self.problems.append(f"{WARNING}phase {phase!r}: no legal action is known to try; give some in examples()")
            return Reply(NONSENSE)
        text = game.render_action(request, action)
        back = game.parse_action(request, text)
        if back != action:
            self.problems.append(f"phase {phase!r}: {action!r} is written {text!r}, which is parsed as {back!r}")
        return Reply(text, action)

    def inspect(self, request: Request) -> None:
        """Note what is wrong with a request and its prompts."""
        game, seat = self.game, request.seat
        if game.observe(request.now, seat) != request.now:
            self.problems.append(f"observe: what {seat} sees of a round changes when it is observed again")
        for memory in (Memory.NONE, Memory.LAST_ROUND, Memory.EPISODE_COUNTS, Memory.CHAT):
            if not all(message.text.strip() for message in chat_messages(game, request, memory)):
                self.problems.append(f"phase {request.phase.name!r}: a question is empty")
        if isinstance(game, NormalFormGame):
            game.prompt_parts(seat, request.observation)


NONSENSE = "\x00?<<>>"
"""A reply that no game should parse."""


def example(game: Game, request: Request) -> Action | None:
    """A legal action: one of the choices, or one that the game performs or gives as an example; None if it gives none."""
    rng = stream(request.seed, "example", *request.rng_path)
    choices = game.choices(request)
    if choices is None and game.conducts(request.seat):
        words = game.conducts(request.seat)
        return game.perform(words[int(rng.integers(len(words)))], request)
    listed = game.examples(request) if choices is None else choices
    return listed[int(rng.integers(len(listed)))] if listed else None


def play_examples(game: Game, player: ExamplePlayer) -> list[Episode]:
    """Some episodes with the player in every seat."""
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    tables = [Table(game, 0, index, index, seated) for index in range(max(3, SAMPLES * 2 // max(2, len(game.seats))))]
    return play_episode(game, tables, rounds=min(ROUNDS, game.rounds), streams=StreamNames(("check",)))


def _form(game: Game) -> Iterable[str]:
    """Types of fields, and of games in normal form actions, labels and payoffs."""
    return list(malformed(game)) or (check_form(game) if isinstance(game, NormalFormGame) else [])


def _chance(game: Game) -> Iterator[str]:
    """The same numbers deal the same."""
    for sample in range(SAMPLES):
        numbers = draws(0, "check deal", sample, n=game.draws).tolist()
        if game.deal(numbers, []) != game.deal(numbers, []):
            yield "deal: the same numbers deal different things; take all chance from them"


def _normal_form(game: Game) -> Iterator[str]:
    """What games in normal form must have besides."""
    if isinstance(game, NormalFormGame):
        yield from check_normal_form(game)


def _play(game: Game) -> Iterator[str]:
    """Episodes of random legal play, of nothing but replies that cannot be parsed, and of both."""
    for unparsed in (0.0, 1.0, 0.5):
        player = ExamplePlayer(game, unparsed=unparsed)
        episodes = play_examples(game, player)
        yield from player.problems
        for episode in episodes:
            yield from _rounds(game, episode)


def _rounds(game: Game, episode: Episode) -> Iterator[str]:
    """Figures are declared, observations are stable; the rest is checked in play."""
    for one, outcome in zip(episode.rounds, episode.outcomes, strict=True):
        game.state_name(outcome)
        for seat in game.seats:
            undeclared = set(game.figures_of(one, seat)) - set(game.figures)
            if undeclared:
                yield f"figures_of gives {', '.join(sorted(undeclared))}, which `figures` does not declare"
            seen = game.observe(one, seat)
            if game.observe(seen, seat) != seen:
                yield f"observe: what {seat} sees of a round changes when it is observed again"
