"""All games by name, and from a name, a file or a mapping to the game. Payoffs: ShapeLLM, appendix A.1, Tables 4 and 5."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from coplay.errors import UsageError, suggestion, unknown
from coplay.games.auction import Auction
from coplay.games.base import MOST_PAYOFF, MOST_ROUNDS, Game, is_payoff
from coplay.games.bertrand import Bertrand
from coplay.games.chat_matrix import IPD_AB
from coplay.games.form import malformed
from coplay.games.item_negotiation import ItemNegotiation
from coplay.games.kuhn import KuhnPoker
from coplay.games.matrix import MatrixGame, game_from_dict, game_from_toml, game_to_dict
from coplay.games.mediated import OWN_WORDS, Mediated
from coplay.games.negotiation import Negotiation
from coplay.games.pairwise import CHICKEN_3, IPD_3, STAG_HUNT_3
from coplay.games.public_goods import PublicGoods
from coplay.games.reasoned_matrix import IPD_8
from coplay.games.split import SplitNoComm
from coplay.games.trust_and_split import TrustAndSplit
from coplay.text.rendering import join
from coplay.user_code import load_any, own_code

_DILEMMA = ["cooperate", "defect"]

_MATRIX_GAMES = (
    {
        "name": "ipd",
        "description": "Iterated Prisoner's Dilemma: each does better by defecting, both do worse.",
        "actions": _DILEMMA,
        "payoffs": [[[3, 3], [0, 4]], [[4, 0], [1, 1]]],
    },
    {
        "name": "imp",
        "description": "Iterated Matching Pennies: zero-sum; row wins when the pennies match.",
        "actions": ["heads", "tails"],
        "payoffs": [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]],
    },
    {
        "name": "icg",
        "description": "Iterated Chicken Game: going straight pays against one who swerves, and ruins two who do not.",
        "actions": ["swerve", "go straight"],
        "labels": ["S", "G"],
        "payoffs": [[[2, 2], [1, 3]], [[3, 1], [-5, -5]]],
    },
    {
        "name": "ish",
        "description": "Iterated Stag Hunt: the stag needs both hunters, the hare only one.",
        "actions": ["stag", "hare"],
        "labels": ["S", "H"],
        "payoffs": [[[4, 4], [0, 3]], [[3, 0], [1, 1]]],
    },
    {
        "name": "c-ipd",
        "description": "Cooperative IPD: as the IPD, but row gets 6 for mutual cooperation.",
        "actions": _DILEMMA,
        "payoffs": [[[6, 3], [0, 4]], [[4, 0], [1, 1]]],
    },
)

GAMES: dict[str, Game] = {
    game.name: game
    for game in (
        *map(game_from_dict, _MATRIX_GAMES),
        IPD_AB,
        IPD_8,
        SplitNoComm(),
        TrustAndSplit(),
        PublicGoods(),
        Auction(),
        Negotiation(),
        ItemNegotiation(),
        KuhnPoker(),
        IPD_3,
        STAG_HUNT_3,
        CHICKEN_3,
        Bertrand(),
    )
}
"""The catalogue. Null payoffs follow the paper's rule, one below the lowest payoff."""


ENTRY_POINTS = "coplay.games"
"""The group of entry points by which installed packages add games."""

OTHER_LIBRARIES = {
    "openspiel": "coplay.adapters.openspiel",
    "pettingzoo": "coplay.adapters.pettingzoo",
    "textarena": "coplay.adapters.textarena",
}
"""Libraries whose games have a prefix, such as ``openspiel:kuhn_poker``, and the modules that have ``PREFIX_game(NAME)``: imported by name, as they know all else."""

GameSpec = str | Path | Mapping[str, object] | Game
"""What names a game; see :func:`make_game`."""


def make_game(spec: GameSpec) -> Game:
    """The game that a name, a file, a mapping or an object stands for.

    Args:
        spec: a name of :data:`GAMES`, of another library (``openspiel:kuhn_poker``, ``pettingzoo:rps_v2``) or of an installed package's entry point, with settings behind a colon where the game has some
            (``public-goods:n=4,multiplier=2``), and with ``+mediator`` behind it for a further seat that may send messages
            (``ipd-3+mediator:cost=0.1``); the path of a ``.toml`` file; ``MODULE:GAME``, an object of your own; a
            mapping with ``name`` and settings, or one that :func:`coplay.games.matrix.game_from_dict` reads; or a game.

    Raises:
        UsageError: for an unknown name (with the nearest known one), setting or file.

    Example:
        >>> make_game("public-goods:n=4").seats
        ('player-1', 'player-2', 'player-3', 'player-4')
    """
    if isinstance(spec, Game):
        return spec
    if isinstance(spec, Mapping):
        if "payoffs" in spec:
            return game_from_dict(spec)
        settings = dict(spec)
        if set(settings) >= {"name", "game"} and settings["name"] == MEDIATED:
            within = make_game(settings.pop("game"))  # type: ignore[arg-type]
            return _mediated(within, {key: value for key, value in settings.items() if key != "name"})
        if "name" not in settings:
            raise UsageError("a game given as a mapping has a name and settings, or actions and payoffs")
        return with_settings(make_game(str(settings.pop("name"))), settings)
    name = str(spec)
    mediated = _MEDIATED.fullmatch(name)
    if mediated is not None:
        settings = {} if mediated[2] is None else _settings(name, mediated[2])
        return _mediated(make_game(mediated[1]), settings)
    if name.endswith(".toml"):
        return game_from_toml(Path(name))
    head, colon, rest = name.partition(":")
    if colon and head in OTHER_LIBRARIES:
        return _of_other_library(head, rest)
    if head in GAMES:
        return with_settings(GAMES[head], _settings(name, rest)) if colon else GAMES[head]
    if colon and "=" not in rest:
        return load_game(name)
    installed = entry_points(group=ENTRY_POINTS)
    for point in installed:
        if point.name == head:
            game = _installed(point)
            return with_settings(game, _settings(name, rest)) if colon else game
    raise unknown("game", head, [*GAMES, *(point.name for point in installed)], listed="games")


def _of_other_library(library: str, name: str) -> Game:
    """A game of another library."""
    found: Game = getattr(import_module(OTHER_LIBRARIES[library]), f"{library}_game")(name)
    return found


MEDIATED = "mediated"
"""The name by which a mapping asks for a mediator around its ``game``."""

_MEDIATED = re.compile(r"(.+)\+mediator(?::(.*))?")
"""``GAME+mediator``, with the mediator's settings behind a colon."""


def _mediated(within: Game, settings: Mapping[str, object]) -> Game:
    """A game with a mediator; one that offers no notices has a mediator that writes its own words, and no other."""
    own = within.mediation is None and settings.get("notices") == OWN_WORDS
    return with_settings(Mediated(within, notices=OWN_WORDS if own else ""), settings)


def installed_games() -> dict[str, Game | UsageError]:
    """The games of installed packages by name, or what is wrong with them; names of the catalogue are not taken over."""
    found: dict[str, Game | UsageError] = {}
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in GAMES and point.name not in found:
            try:
                found[point.name] = _installed(point)
            except UsageError as error:
                found[point.name] = error
    return found


def _installed(point: EntryPoint) -> Game:
    try:
        return load_game(point.value)
    except UsageError as error:
        raise UsageError(
            f"game {point.name!r} of an installed package ({point.value}) cannot be loaded: {error}"
        ) from None


def config_game(spec: GameSpec) -> str | dict[str, object]:
    """What a config keeps of a game: the name or path as it is, a mapping, or the mapping of a matrix game.

    Raises:
        UsageError: for another game object, which a config cannot hold.

    Example:
        >>> config_game(make_game("public-goods"))
        'public-goods'
    """
    if isinstance(spec, Mapping):
        return dict(spec)
    if not isinstance(spec, Game):
        return str(spec)
    if GAMES.get(spec.name) == spec:
        return spec.name
    if isinstance(spec, MatrixGame):
        return game_to_dict(spec)
    raise UsageError(
        f"a config cannot hold the game object {spec.name!r}; save it in a file and name it, e.g. game='my_games:GAME'"
    )


def load_game(spec: str) -> Game:
    """A game of your own: an instance, or a class or function that makes one without arguments."""
    found = load_any(spec)
    if isinstance(found, type) or (callable(found) and not isinstance(found, Game)):
        with own_code(f"{spec}()"):
            found = found()
    if not isinstance(found, Game):
        raise UsageError(
            f"{spec} is of type {type(found).__name__}; a game is a subclass of coplay.Game, or an instance of one"
        )
    with own_code(f"game {spec}"):
        problem = next(malformed(found), None)
    if problem is not None:
        raise UsageError(f"game {spec}: {problem}")
    return found


def matrix_game(spec: GameSpec, *, what: str = "this") -> MatrixGame:
    """The two-seat matrix game that a spec stands for; raises UsageError for any other game, naming ``what`` needs one."""
    game = make_game(spec)
    if not isinstance(game, MatrixGame):
        raise UsageError(f"{what} is for two-seat matrix games; {game.name!r} is none")
    return game


def with_settings(game: Game, settings: Mapping[str, object]) -> Game:
    """The same game with other settings: fields of its dataclass that can be set.

    Raises:
        UsageError: for a setting that the game does not have, or a value that it refuses.
    """
    known: dict[str, Field[object]] = {}
    if is_dataclass(game):
        known = {one.name: one for one in fields(game) if one.init and one.name not in HIDDEN}
    for key, value in settings.items():
        if key not in known:
            listed = f" Known: {', '.join(known)}." if known else " It has no settings."
            raise UsageError(f"game {game.name!r}: there is no setting {key!r}.{suggestion(key, known)}{listed}")
        _check_setting(f"game {game.name!r}: {key}", known[key], value)
    return replace(game, **settings) if settings else game  # type: ignore[type-var]


def _check_setting(where: str, one: Field[object], value: object) -> None:
    """Refuse a value that a setting cannot have. A field's metadata may say ``least``, of whole numbers, and ``words``, of text."""
    kind = str(one.type)
    if kind in ("bool", "str"):
        words = one.metadata.get("words")
        fits = isinstance(value, bool if kind == "bool" else str) and (words is None or value in words)
        if not fits:
            form = "true or false" if kind == "bool" else "a word" if words is None else join(list(words), "or")
            raise UsageError(f"{where} must be {form}, got {value!r}")
        return
    whole = kind == "int"
    if not isinstance(value, int if whole else int | float) or isinstance(value, bool) or not _is_finite(value):
        raise UsageError(f"{where} must be a {'whole' if whole else 'finite'} number, got {value!r}")
    if not is_payoff(value):
        raise UsageError(f"{where} must be at most {MOST_PAYOFF:,.0f}, got {str(value)[:30]}")
    least = one.metadata.get("least", 1)
    if whole and value < least:
        raise UsageError(f"{where} must be at least {least}, got {value}")
    if one.name == "rounds" and value > MOST_ROUNDS:
        raise UsageError(f"{where} must be at most {MOST_ROUNDS:,}, got {value:,}")


def _is_finite(value: int | float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


HIDDEN = ("name", "description", "actions", "labels", "table", "seats", "game")
"""Fields that are not settings: they make another game."""


def _settings(spec: str, text: str) -> dict[str, object]:
    """``n=4,multiplier=2`` as a mapping."""
    found: dict[str, object] = {}
    for part in text.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        if not key or not value:
            raise UsageError(f"game {spec!r}: settings are written as NAME=VALUE, e.g. public-goods:n=4; got {part!r}")
        if key in found:
            raise UsageError(f"game {spec!r}: {key} is set twice")
        found[key] = _value(value)
    return found


def _value(text: str) -> object:
    """A setting as it is written: a whole number, another number, true or false, or a word."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
