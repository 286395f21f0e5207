"""Objects named MODULE:NAME."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.matrix import MatrixGame
from coplay.user_code import load_object


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory, as the console script sees it: not on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


def test_a_game_from_the_current_directory(here: Path) -> None:
    (here / "my_games.py").write_text("from coplay.games import make_game\nGAME = make_game('imp')\n")
    assert load_object("my_games:GAME", MatrixGame) is make_game("imp")
    assert load_object("my_games:GAME", MatrixGame) is make_game("imp")
    assert sys.path.count(str(here)) == 1


def test_a_package(here: Path) -> None:
    (here / "my_package").mkdir()
    (here / "my_package" / "games.py").write_text("from coplay.games import make_game\nGAME = make_game('ish')\n")
    assert load_object("my_package.games:GAME", MatrixGame).name == "ish"
    with pytest.raises(UsageError, match=r"no module 'my_package.gams'"):
        load_object("my_package.gams:GAME", MatrixGame)


@pytest.mark.parametrize("spec", ["my_games", ":GAME", "my_games:", ""])
def test_a_bad_spec(spec: str) -> None:
    with pytest.raises(UsageError, match=r"must be MODULE:NAME, e\.g\. my_games:PENNIES"):
        load_object(spec, MatrixGame)


@pytest.mark.parametrize(
    ("spec", "remedy"), [("games.py:G", "games:G"), ("./sub/games.py:G", "sub.games:G"), ("sub/games:G", "sub.games:G")]
)
def test_a_file_name_is_turned_into_a_module_name(spec: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        load_object(spec, MatrixGame)
    assert str(error.value).endswith(f"write the module's name: {remedy}")


def test_what_is_not_there(here: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no module 'my_nothing'; is it a file my_nothing\.py in"):
        load_object("my_nothing:GAME", MatrixGame)
    (here / "my_games2.py").write_text("PENNIES = 3\n")
    with pytest.raises(UsageError, match=r"module 'my_games2' has no 'PENNIS'\. Did you mean 'PENNIES'"):
        load_object("my_games2:PENNIS", MatrixGame)
    with pytest.raises(UsageError, match="my_games2:PENNIES is of type int, but a MatrixGame is needed"):
        load_object("my_games2:PENNIES", MatrixGame)


def test_modules_that_fail(here: Path) -> None:
    (here / "my_needy.py").write_text("import my_missing_dependency\n")
    with pytest.raises(UsageError, match="needs the module 'my_missing_dependency', which is not installed"):
        load_object("my_needy:GAME", MatrixGame)
    (here / "my_broken.py").write_text("x = 1\ny = x / 0\n")
    with pytest.raises(UsageError, match=r"ZeroDivisionError: division by zero \(.*my_broken\.py, line 2\)"):
        load_object("my_broken:GAME", MatrixGame)
    (here / "my_typo.py").write_text("x = (\n")
    with pytest.raises(UsageError, match=r"SyntaxError: .*my_typo\.py, line 1"):
        load_object("my_typo:GAME", MatrixGame)
