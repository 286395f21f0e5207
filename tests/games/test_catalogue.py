"""From a name, a file, a mapping or an object to the game, and what is said when there is none."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Shell

from coplay.errors import UsageError
from coplay.games import GAMES, Game, make_game
from coplay.games.catalogue import ENTRY_POINTS, HIDDEN, matrix_game
from coplay.games.public_goods import PublicGoods
from coplay.games.split import SplitNoComm
from coplay.games.trust_and_split import TrustAndSplit


@pytest.mark.parametrize("name", GAMES)
def test_names_and_games_lead_to_the_game(name: str) -> None:
    game = make_game(name)
    assert (game.name, make_game(game), make_game({"name": name})) == (name, game, game)
    assert isinstance(game, Game) and game.description.endswith(".")


@pytest.mark.parametrize(
    ("spec", "game"),
    [
        ("public-goods:n=4", PublicGoods(n=4)),
        ("public-goods:n=5,multiplier=2.5,endowment=1e1,rounds=3", PublicGoods(5, 2.5, 10.0, 3)),
        ("public-goods: n = 4 , multiplier = 2", PublicGoods(n=4, multiplier=2)),
        ("trust-and-split:rounds=3,max_characters=80", TrustAndSplit(3, 80)),
        ("split-no-comm:rounds=2", SplitNoComm(2)),
        ({"name": "public-goods", "n": 4, "endowment": 0.5}, PublicGoods(n=4, endowment=0.5)),
        ({"name": "public-goods:n=4", "rounds": 2}, PublicGoods(n=4, rounds=2)),
    ],
)
def test_settings(spec: Any, game: Game) -> None:
    assert make_game(spec) == game
    assert make_game(spec).seats == game.seats


def test_settings_leave_the_catalogue_as_it_is() -> None:
    game = make_game("ipd:rounds=5,null_payoff=-7")
    assert isinstance(game, type(GAMES["ipd"]))
    assert (game.rounds, game.null_payoff, game.table) == (5, -7, matrix_game("ipd").table)
    assert (GAMES["ipd"].rounds, matrix_game("ipd").null_payoff) == (20, -1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("public-goods:", "settings are written as NAME=VALUE, e.g. public-goods:n=4; got ''"),
        ("public-goods:n", "NAME=VALUE, e.g. public-goods:n=4; got 'n'"),
        ("public-goods:n=", "got 'n='"),
        ("public-goods:n=four", "n must be a whole number, got 'four'"),
        ("public-goods:n=4,,rounds=3", "got ''"),
        ("public-goods:n=4,n=5", "n is set twice"),
        ("public-goods:multiplier=nan", "multiplier must be a finite number, got nan"),
        ("public-goods:multiplier=1e999", "multiplier must be a finite number, got inf"),
        ("public-goods:n=4.5", "n must be a whole number, got 4.5"),
        ("public-goods:n=13", "n must be 2 to 12 seats, got 13"),
        ("public-goods:rounds=0", "rounds must be at least 1, got 0"),
        (
            "public-goods:multiplyer=2",
            "there is no setting 'multiplyer'. Did you mean 'multiplier'? Known: n, multiplier, end",
        ),
        ("ipd:table=3", "there is no setting 'table'. Known: null_payoff, rounds."),
        ("public-good:n=4", "unknown game 'public-good'. Did you mean 'public-goods'?"),
        ("public_goods", "unknown game 'public_goods'. Did you mean 'public-goods'?"),
        ({"name": "public-goods", "n": "4"}, "n must be a whole number, got '4'"),
        ({"name": "public-goods", "n": True}, "n must be a whole number, got True"),
        ({"name": "public-goods", "endowment": None}, "endowment must be a finite number, got None"),
        ({"name": "public-goods", "seats": ["a", "b"]}, "there is no setting 'seats'"),
        ({"name": "ipdd"}, "unknown game 'ipdd'. Did you mean 'ipd'"),
        ({"n": 4}, "a game given as a mapping has a name and settings, or actions and payoffs"),
        ({"name": "g", "payoffs": [[[1, 1]]]}, "field 'actions' is missing"),
        (":", "':' must be MODULE:NAME"),
        ("", "unknown game ''"),
    ],
)
def test_errors_name_the_setting_and_what_is_expected(spec: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_game(spec)
    assert message in str(error.value)


def test_what_makes_another_game_is_no_setting() -> None:
    for name, game in GAMES.items():
        for hidden in HIDDEN:
            with pytest.raises(UsageError, match=f"game '{name}': there is no setting '{hidden}'"):
                make_game({"name": name, hidden: 3} if hidden != "name" else f"{game.name}:name=3")


# --- Games of one's own -------------------------------------------------------------------------------------------------------

MODULE = """
from dataclasses import dataclass
from coplay.games.public_goods import PublicGoods

FIVE = PublicGoods(n=5)

def two():
    return PublicGoods(n=2)

@dataclass(frozen=True)
class Generous(PublicGoods):
    bonus: int = 0

THING = 3

def broken():
    raise ValueError("no luck")

class NeedsMore(PublicGoods):
    def __init__(self, more):
        pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module of games; from a name in it to its spec."""
    name = f"games_of_{tmp_path.name}"  # modules are imported once
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda word: f"{name}:{word}"


def test_games_of_a_module(module: Callable[[str], str]) -> None:
    assert len(make_game(module("FIVE")).seats) == 5
    assert len(make_game(module("two")).seats) == 2
    assert type(make_game(module("Generous"))).__name__ == "Generous"
    settings = {"name": module("Generous"), "bonus": 2, "n": 4}
    assert (make_game(settings).bonus, make_game(settings).seats[3:]) == (2, ("player-4",))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("THING", "is of type int; a game is a subclass of coplay.Game, or an instance of one"),
        ("FIV", "has no 'FIV'. Did you mean 'FIVE'?"),
        ("broken", "broken() failed: ValueError: no luck"),
        ("NeedsMore", "missing 1 required positional argument: 'more'"),
    ],
)
def test_what_is_no_game_is_refused(module: Callable[[str], str], word: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_game(module(word))
    assert message in str(error.value)


def test_modules_that_are_not_there() -> None:
    with pytest.raises(UsageError, match=r"there is no module 'no_such_module'; is it a file no_such_module\.py in"):
        make_game("no_such_module:GAME")
    with pytest.raises(UsageError, match=r"'my_games\.py' is a file name; write the module's name: my_games:GAME"):
        make_game("my_games.py:GAME")


@pytest.fixture
def installed(tmp_path: Path, module: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution on the path whose entry points name games, and what is none."""
    points = {
        "installed": module("FIVE"),
        "ipd": module("two"),
        "failing": module("broken"),
        "no-game": module("THING"),
        "gone": "no_such_module:GAME",
        "unimportable": "unimportable_games:GAME",
    }
    site = tmp_path / "site"
    (site / "more_games-1.0.dist-info").mkdir(parents=True)
    (site / "more_games-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: more-games\nVersion: 1.0\n"
    )
    lines = [f"{name} = {value}" for name, value in points.items()]
    (site / "more_games-1.0.dist-info" / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))
    (site / "unimportable_games.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(str(site))


BROKEN = {
    "failing": "cannot be loaded: .*broken\\(\\) failed: ValueError: no luck",
    "no-game": "cannot be loaded: .* is of type int; a game is a subclass of coplay.Game",
    "gone": r"\(no_such_module:GAME\) cannot be loaded: there is no module 'no_such_module'",
    "unimportable": "cannot be loaded: module 'unimportable_games' needs the module 'no_such_library'",
}


@pytest.mark.usefixtures("installed")
def test_installed_packages_add_games() -> None:
    assert len(make_game("installed").seats) == 5
    assert len(make_game("installed:n=6").seats) == 6
    assert make_game({"name": "installed", "rounds": 3}).rounds == 3
    assert make_game("ipd") is GAMES["ipd"]  # the catalogue's names are not taken over
    for name, message in BROKEN.items():
        with pytest.raises(UsageError, match=f"^game '{name}' of an installed package .*{message}"):
            make_game(name)
    with pytest.raises(UsageError, match=r"unknown game 'instaled'\. Did you mean 'installed'"):
        make_game("instaled:n=6")


@pytest.mark.usefixtures("installed")
def test_installed_games_are_listed_and_the_broken_ones_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    rows = {row["name"]: row for row in shell.json("list", "games")}
    assert list(rows) == [*GAMES, "installed", *BROKEN]
    assert rows["installed"]["seats"] == list(make_game("installed").seats)
    assert rows["ipd"]["description"] == GAMES["ipd"].description
    for name, message in BROKEN.items():
        assert re.search(message, rows[name]["description"]) and rows[name]["seats"] == []
    assert shell("list", "games") == 0
    assert len(shell.out.splitlines()) == len(rows)


def test_what_needs_a_matrix_says_so() -> None:
    assert matrix_game("ipd-ab").table[0][0] == (3, 3)
    with pytest.raises(UsageError, match="LOLA is for two-seat matrix games; 'public-goods' is none"):
        matrix_game("public-goods", what="LOLA")
