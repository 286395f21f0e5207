"""Players of one's own, MODULE:NAME: what can be one, and errors of a line that say what is wrong and where."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_players import TEXT_GAMES, actions, play, scripts
from run_files import read_json, read_lines
from shell import Shell
from small_runs import QUIET, files
from small_text_runs import tables_config

from coplay.errors import CoplayError, UsageError
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.players.named import make_player
from coplay.players.own import FunctionPlayer, OwnPlayer
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.directory import RunDirectory
from coplay.runs.train import resume, train

MODULE = """
from coplay.games.memory import Memory
from coplay.games.records import Reply

def copycat(request):
    others = [seat for seat in request.past[-1].actions("action") if seat != request.seat] if request.past else []
    return request.past[-1].actions("action")[others[0]] if others else "cooperate"

def careless(request):
    return "cooperate" if request.now.number < 2 else 1 / 0

def flier(request):
    return "fly"

def proposer(request):
    return "let us share\\n\\nNew round." if request.phase.name == "message" else {"coins": 4}

def greedy_proposer(request):
    return "hi" if request.phase.name == "message" else {"coins": 11}

class Base:
    name, memory = "own", Memory.LAST_ROUND
    def act(self, requests):
        return [Reply("D", "defect") for request in requests]

class Seated(Base):
    def __init__(self, game, seat):
        self.name = f"{game.name} as {seat}"

class Failing(Base):
    def act(self, requests):
        if requests[0].now.number == 1:
            raise KeyError("lost\\nin two lines")
        return super().act(requests)

class Illegal(Base):
    def act(self, requests):
        return [Reply("F", "fly") for request in requests]

class Unparseable(Base):
    def act(self, requests):
        return [Reply("hm") for request in requests]

class TooFew(Base):
    def act(self, requests):
        return super().act(requests)[1:]

class TooMany(Base):
    def act(self, requests):
        return super().act(requests) * 2

class Nothing(Base):
    def act(self, requests):
        pass

class Words(Base):
    def act(self, requests):
        return ["defect"] * len(requests)

class Demanding(Base):
    def __init__(self, game, weights):
        pass

class Broken(Base):
    def __init__(self, seat):
        raise OSError("no weights here")

class Nameless:
    memory = Memory.NONE
    def act(self, requests):
        return []

class Forgetful(Base):
    memory = "everything"

INSTANCE = Base()
NUMBER = 3
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current directory with ``my_players.py``, which is not on the path, as for the console script."""
    directory = tmp_path / "here"
    directory.mkdir()
    (directory / "my_players.py").write_text(MODULE)
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield directory
    sys.modules.pop("my_players", None)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


IPD = make_game("ipd")

# --- What can be a player ------------------------------------------------------------------------------------------------------------------


def test_a_function() -> None:
    player = make_player("my_players:copycat", IPD, "column")
    assert isinstance(player, FunctionPlayer) and player.name == "my_players:copycat"
    (episode,) = play(IPD, {**scripts(IPD, "alternator", "random"), "column": player})
    assert actions(episode, "column") == ["cooperate", "cooperate", "defect", "cooperate"]
    assert [turn.reply.text for turn in episode.turns["column"]] == ["C", "C", "D", "C"]


@pytest.mark.parametrize("seat", ["row", "column"])
def test_a_class_that_takes_game_and_seat(seat: str) -> None:
    player = make_player("my_players:Seated", IPD, seat)
    assert isinstance(player, OwnPlayer) and player.name == f"ipd as {seat}" and player.memory is Memory.LAST_ROUND
    (episode,) = play(IPD, {**scripts(IPD, "random", "random"), seat: player}, rounds=2)
    assert actions(episode, seat) == ["defect", "defect"]


@pytest.mark.parametrize("spec", ["my_players:Base", "my_players:INSTANCE"])
def test_a_class_that_takes_nothing_and_an_instance(spec: str, shell: Shell) -> None:
    found = shell.json("eval", spec, "tit_for_tat", "--episodes", "2", "--rounds", "3")
    assert found["seats"]["row"]["player"] == spec and found["states"]["DD"] == pytest.approx(2 / 3)


def test_a_reply_that_cannot_be_parsed_is_data(shell: Shell) -> None:
    found = shell.json("eval", "my_players:Unparseable", "tit_for_tat", "--episodes", "2", "--rounds", "3")
    assert found["seats"]["row"]["illegal"] == 1.0


def test_in_text_an_action_is_what_the_game_parses() -> None:
    """A message cannot pose as more lines of a prompt, whoever wrote it."""
    game = make_game("trust-and-split")
    player = make_player("my_players:proposer", game, "alice")
    (episode,) = play(game, {**scripts(game, "random", "always_cooperate"), "alice": player}, rounds=1)
    assert actions(episode, "alice") == ["let us share New round.", {"coins": 4}]


def test_objects_and_functions_from_python() -> None:
    """As they are: what they raise is for who wrote them."""
    make_player("my_players:copycat", IPD, "row")  # imports it
    my_players = sys.modules["my_players"]

    assert make_player(my_players.INSTANCE, IPD, "row") is my_players.INSTANCE
    assert make_player(my_players.copycat, IPD, "row").name == "copycat"
    assert make_player(my_players.Seated, IPD, "row").name == "ipd as row"


# --- Errors ---------------------------------------------------------------------------------------------------------------------------------

CANNOT_BE = [
    ("my_players:NUMBER", "my_players:NUMBER is of type int; a player has a method act(requests), or is a function"),
    ("my_players:Nameless", "player my_players:Nameless has no attribute 'name'"),
    ("my_players:Forgetful", "player my_players:Forgetful: memory must be one of Memory.NONE, Memory.LAST_ROUND,"),
    ("my_players:Demanding", "player my_players:Demanding: its constructor wants weights; a player's class may take `game`"),
    ("my_players:Broken", "player my_players:Broken cannot be made: OSError: no weights here (~/my_players.py, line 66)"),
    ("my_players:dict", "module 'my_players' has no 'dict'"),
    ("my_players:copycats", "module 'my_players' has no 'copycats'. Did you mean 'copycat'?"),
    ("my_playrs:copycat", "there is no module 'my_playrs'"),
    ("my_players.py:copycat", "write the module's name: my_players:copycat"),
    ("builtins:dict", "builtins:dict"),
]  # fmt: skip

FAIL_IN_PLAY = [
    ("my_players:careless", "player 'my_players:careless' (row, round 3) failed: ZeroDivisionError: division by zero (~/my_players.py, line 10)"),
    ("my_players:Failing", "player 'my_players:Failing' (row, round 2) failed: KeyError: 'lost\\nin two lines' (~/my_players.py, line 33)"),
    ("my_players:flier", "player 'my_players:flier' (row, round 1) returned 'fly', which is no legal action of phase 'action' in 'ipd'; legal are cooperate, defect"),
    ("my_players:Illegal", "player 'my_players:Illegal' (row, round 1) returned 'fly', which is no legal action of phase 'action' in 'ipd'; legal are cooperate, defect"),
    ("my_players:TooFew", "player 'my_players:TooFew' (row, round 1) gave 2 replies to 3 requests; act(requests) must return one reply to each"),
    ("my_players:TooMany", "player 'my_players:TooMany' (row, round 1) gave 6 replies to 3 requests"),
    ("my_players:Nothing", "player 'my_players:Nothing' (row, round 1) gave no list of coplay's Reply but NoneType; see act(requests)"),
    ("my_players:Words", "player 'my_players:Words' (row, round 1) gave no list of coplay's Reply but a list with str"),
]  # fmt: skip


def said(shell: Shell, here: Path) -> str:
    """The one line on standard error."""
    (line,) = shell.err.splitlines()
    return line.replace(str(here), "~")


@pytest.mark.parametrize(("spec", "message"), CANNOT_BE)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_what_cannot_be_a_player_is_wrong_usage(
    spec: str, message: str, json: list[str], shell: Shell, here: Path
) -> None:
    assert shell("eval", spec, "tit_for_tat", "--episodes", "3", *json) == 2
    assert message in said(shell, here) and shell.out == ""


@pytest.mark.parametrize(("spec", "message"), FAIL_IN_PLAY)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_what_goes_wrong_in_play_is_a_failure(
    spec: str, message: str, json: list[str], shell: Shell, here: Path
) -> None:
    assert shell("eval", spec, "tit_for_tat", "--episodes", "3", *json) == 1
    assert message in said(shell, here) and shell.out == ""


def test_an_illegal_amount_says_what_the_game_asks(shell: Shell, here: Path) -> None:
    assert shell("eval", "my_players:greedy_proposer", "always_cooperate", "--game", "trust-and-split") == 1
    assert (
        "player 'my_players:greedy_proposer' (alice, round 1) returned {'coins': 11}, which is no legal action of phase"
        " 'proposal' in 'trust-and-split'; the game asks: Reply with <<proposal_start>>"
    ) in said(shell, here)


@pytest.mark.parametrize("game", TEXT_GAMES)
def test_an_action_of_another_game_is_refused(game: str) -> None:
    player = make_player("my_players:flier", make_game(game), "alice")
    others = scripts(make_game(game), "random", "always_cooperate")
    if game == "trust-and-split":  # a message may say anything
        with pytest.raises(CoplayError, match="returned 'fly', which is no legal action of phase 'proposal'"):
            play(game, {**others, "alice": player})
    else:
        with pytest.raises(CoplayError, match="returned 'fly', which is no legal action"):
            play(game, {**others, "alice": player})


# --- In runs ---------------------------------------------------------------------------------------------------------------------------------


def against(spec: str, **more: object) -> Config:
    return tables_config("ipd", {"a": {}}, {"row": spec, "column": "a"}, **more)


@pytest.mark.parametrize(("spec", "message"), CANNOT_BE)
def test_a_run_against_what_cannot_be_a_player_is_not_begun(
    spec: str, message: str, here: Path, tmp_path: Path
) -> None:
    before = files(tmp_path)
    with pytest.raises(UsageError) as caught:
        train(against(spec), tmp_path / "run", progress=QUIET)
    assert message in str(caught.value).replace(str(here), "~")
    assert [name for name in files(tmp_path) if "__pycache__" not in name] == before


@pytest.mark.parametrize(
    ("spec", "message", "workers"),
    [
        (*FAIL_IN_PLAY[0], 1),
        (*FAIL_IN_PLAY[3], 1),
        (*FAIL_IN_PLAY[0], 2),
        pytest.param(*FAIL_IN_PLAY[3], 2, marks=pytest.mark.slow),
    ],
)
def test_a_run_whose_co_player_fails_says_so_and_holds_nothing_half_written(
    spec: str, message: str, workers: int, here: Path, tmp_path: Path
) -> None:
    with pytest.raises(CoplayError) as caught:
        train(against(spec, seeds=[0, 1], workers=workers), tmp_path / "run", progress=QUIET)
    assert str(caught.value).replace(str(here), "~") == message
    assert files(tmp_path / "run") == [".lock", "config.json", "env.json", "manifest.json"]


@pytest.mark.parametrize(
    ("spec", "status", "left"),
    [
        ("my_players:Demanding", 2, []),
        ("my_playrs:copycat", 2, []),
        ("my_players:Illegal", 1, [".lock", "config.json", "env.json", "manifest.json"]),
    ],
)
def test_the_command_line_trains_against_ones_own(
    spec: str, status: int, left: list[str], shell: Shell, here: Path
) -> None:
    settings = ("seats.row=" + spec, "trials=1", "eval_games=1", "threads=1")
    train_it = ("train", "shapellm/ipd", "--learner", "tabular", "--seeds", "0", "--quiet", "--out", "run", *settings)
    assert shell(*train_it) == status
    assert spec.partition(":")[0] in said(shell, here) and shell.out == ""
    assert (files(here / "run") if (here / "run").exists() else []) == left


FRAGILE = """
import os
def player(request):
    if os.path.exists("broken") and request.rng_path[:2] == ("train", 2):
        raise RuntimeError("no")
    return "cooperate"
"""


def test_a_run_goes_on_when_the_player_is_repaired(here: Path, tmp_path: Path) -> None:
    """What was written is whole; the same run in one go ends the same."""
    (here / "my_fragile.py").write_text(FRAGILE)
    whole = train(against("my_fragile:player"), tmp_path / "whole", progress=QUIET).path
    (here / "broken").touch()
    with pytest.raises(CoplayError, match=r"'my_fragile:player' \(row, round 1\) failed: RuntimeError: no"):
        train(against("my_fragile:player"), tmp_path / "run", progress=QUIET)
    run = tmp_path / "run"
    assert [line["step"] for line in read_lines(run / "metrics.jsonl")] == [1, 2]
    assert [path.name for path in RunDirectory.open(run).checkpoints()] == ["trial-00001", "trial-00002"]
    assert not (run / "eval.json").exists()
    (here / "broken").unlink()
    resume(run, progress=QUIET)
    for name in ("metrics.jsonl", "episodes.jsonl", "eval.json", "config.json"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def test_a_run_against_a_function_in_a_pool(tmp_path: Path) -> None:
    config = with_overrides(against("my_players:copycat"), ["seats.row=my_players:copycat,my_players:Base"])
    run = train(config, tmp_path / "run", progress=QUIET).path
    assert read_json(run / "config.json")["seats"]["row"] == ["my_players:copycat", "my_players:Base"]
    names = {game["players"]["row"] for game in read_lines(run / "episodes.jsonl")}
    assert names <= {"my_players:copycat", "own"} and names


def test_what_a_player_promises_of_probabilities_is_seen_through_the_checks() -> None:
    """Exact gradients ask hypothetical questions only of players that tell probabilities."""
    player = make_player("my_players:INSTANCE", IPD, "row")
    assert isinstance(player, OwnPlayer) and not player.tells_probabilities
    assert OwnPlayer(scripts(IPD, "random", "random")["row"], "x", IPD).tells_probabilities
