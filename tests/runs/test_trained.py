"""What runs have learnt, by name: RUN, RUN:SEED, RUN:LEARNER and RUN:LEARNER:SEED; and as players in seats."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_players import actions
from shell import Shell
from small_runs import QUIET, small
from small_text_runs import small_text, tables_config

from coplay.conformance.players import example_requests
from coplay.errors import UsageError
from coplay.evaluation.match import play_match
from coplay.games import make_game
from coplay.games.records import Occupant
from coplay.players.scripted import PLAYERS
from coplay.runs.contestants import contestants
from coplay.runs.directory import RunDirectory
from coplay.runs.frozen import is_run
from coplay.runs.restore import restored
from coplay.runs.train import train
from coplay.runs.trained import RunSpec, parse_run, trained_learner

torch.set_num_threads(1)

IPD = make_game("ipd")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of the IPD, seeds 0 and 3."""
    path = tmp_path_factory.mktemp("trained") / "pair"
    return train(small("tabular", "seeds=[0,3]", "row.role=leader"), path, progress=QUIET).path


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One learner of a text game, in both seats; seeds 2 and 5."""
    path = tmp_path_factory.mktemp("trained") / "alone"
    return train(small_text("ipd-ab-grpo", "seeds=[2,5]", "trials=1", "workers=1"), path, progress=QUIET).path


# --- Names -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rest", "learner", "seed"),
    [
        ("", None, None),
        (":0", None, 0),
        (":12", None, 12),
        (":row", "row", None),
        (":row:3", "row", 3),
        (":learner-2:3", "learner-2", 3),
        (":3:4", "3", 4),  # a learner may be called so
    ],
)
def test_the_parts_of_a_name(here: Path, rest: str, learner: str | None, seed: int | None) -> None:
    (here / "my" / "run").mkdir(parents=True)
    for path in ("my/run", "./my/run", str(here / "my" / "run"), "my/../my/run"):
        assert parse_run(f"{path}{rest}") == RunSpec(Path(path), learner, seed)


def test_a_directory_may_have_colons_in_its_name(here: Path) -> None:
    for name in ("a:b", "a:b:1"):
        (here / name).mkdir()
    assert parse_run("a:b") == RunSpec(Path("a:b"), None, None)
    assert parse_run("a:b:2") == RunSpec(Path("a:b"), None, 2)
    assert parse_run("a:b:1") == RunSpec(Path("a:b:1"), None, None)
    assert parse_run("a:b:1:row:7") == RunSpec(Path("a:b:1"), "row", 7)


def test_a_home_directory_may_be_meant(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / "run").mkdir()
    assert parse_run("~/run:1") == RunSpec(here / "run", None, 1)


@pytest.mark.parametrize("spec", ["nowhere", "nowhere:row", "nowhere:row:3", "a:b:c:d:e", "", ":", "them.toml"])
def test_what_is_no_directory_is_no_run(here: Path, spec: str) -> None:
    (here / "them.toml").write_text("")
    assert parse_run(spec) is None and not is_run(spec)


@pytest.mark.parametrize("spec", [*PLAYERS, "random:0.3", "always:cooperate", "generous_tit_for_tat:0.5"])
def test_scripted_players_are_never_taken_for_directories(here: Path, spec: str) -> None:
    for name in {spec, spec.partition(":")[0]}:
        (here / name).mkdir()
    assert parse_run(spec) is None
    if ":" in spec:
        (found,) = contestants([spec], IPD)
        assert found.seeds == () and found.occupant(0, "row").player.name == spec


def test_a_directory_of_a_scripted_players_name_can_be_named_by_its_path(here: Path) -> None:
    (here / "random").mkdir()
    assert parse_run("./random:0") == RunSpec(Path("./random"), None, 0)


def test_a_python_package_is_no_run(here: Path) -> None:
    """``my_players:Player`` names something in it."""
    (here / "my_players").mkdir()
    (here / "my_players" / "__init__.py").write_text("")
    assert parse_run("my_players:Player") is None
    assert parse_run("my_players") == RunSpec(Path("my_players"), None, None)


@pytest.mark.parametrize("rest", [":row:x", ":row:column:3", ":", ":row:", "::3", ":row:-1"])
def test_what_follows_a_directory_must_be_a_learner_and_a_seed(here: Path, rest: str) -> None:
    (here / "run").mkdir()
    with pytest.raises(UsageError, match="a run is named as RUN, RUN:LEARNER, RUN:SEED or RUN:LEARNER:SEED"):
        parse_run(f"run{rest}")


# --- Runs ---------------------------------------------------------------------------------------------------------------------------------


def test_one_learner_of_a_run(pair: Path, alone: Path) -> None:
    row = trained_learner(f"{pair}:row", IPD)
    assert (row.learner, row.seeds, row.seats, row.is_table) == ("row", (0, 3), ("row",), True)
    assert trained_learner(f"{pair}:column:3", IPD).seeds == (3,)
    text = make_game("ipd-ab")
    one = trained_learner(str(alone), text)
    assert (one.learner, one.seeds, one.seats, one.is_table) == ("learner", (2, 5), ("alice", "bob"), False)
    for spec in (f"{alone}:5", f"{alone}:learner:5"):
        assert trained_learner(spec, text).seeds == (5,)
    assert one.adapter(5) == alone / "adapters" / "learner-seed5" and one.adapter(5).is_dir()


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("", "is a run of several learners; name one of them: {run}:row or {run}:column"),
        (":3", "is a run of several learners; name one of them: {run}:row:3 or {run}:column:3"),
        (":rwo", "unknown learner of {run} 'rwo'. Did you mean 'row'?"),
        (":leader", "unknown learner of {run} 'leader'."),  # a role is no name
        (":row:1", "{run}:row:1: the run has seeds 0, 3"),
        (":row:x", "a run is named as RUN"),
    ],
)
def test_what_a_run_does_not_have(pair: Path, rest: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        trained_learner(f"{pair}{rest}", IPD)
    assert said.format(run=pair) in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_no_run_or_not_finished(pair: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no run directory nowhere:row"):
        trained_learner("nowhere:row", IPD)
    with pytest.raises(UsageError, match=r"is not a run directory: it has no config\.json"):
        trained_learner(str(tmp_path), IPD)
    with pytest.raises(UsageError, match="learnt 'ipd', whose seats or actions are not those of 'ipd-ab'"):
        trained_learner(f"{pair}:row", make_game("ipd-ab"))
    with pytest.raises(UsageError, match="learnt 'ipd', whose seats or actions are not those of 'imp'"):
        trained_learner(f"{pair}:row", make_game("imp"))
    assert trained_learner(f"{pair}:row", make_game("c-ipd")).learner == "row"  # other payoffs, the same choices
    unfinished = RunDirectory.create(tmp_path / "unfinished", small_text("ipd-ab-grpo")).path
    with pytest.raises(
        UsageError, match=r"is not finished: it has no adapters yet; resume it with: coplay train --res"
    ):
        trained_learner(str(unfinished), make_game("ipd-ab"))


# --- As players -----------------------------------------------------------------------------------------------------------------------------


def played(seated: dict[str, Occupant], game: Any = IPD) -> list[list[Any]]:
    (episode,) = play_match(game, seated, rounds=12, episodes=1, seed=0).episodes
    return [actions(episode, seat) for seat in game.seats]


def test_a_contestant_plays_as_it_learnt(pair: Path) -> None:
    """The i-th replicate is the i-th seed, under that seed's parameters."""
    row, column = contestants([f"{pair}:row", f"{pair}:column"], IPD)
    assert row.seeds == (0, 3) and row.name == f"{pair}:row"
    state = restored(pair)
    for i, seed in enumerate((0, 3)):
        seated = {"row": row.occupant(i, "row"), "column": column.occupant(i, "column")}
        assert seated["row"].name == f"{pair}:row (seed {seed})" and seated["row"].learner is None
        own = {
            seat: Occupant(state.learners[seat].player, seat, state.learners[seat].slots[seed]) for seat in IPD.seats
        }
        assert played(seated) == played(own)


def test_in_a_symmetric_game_a_seat_can_be_changed(pair: Path) -> None:
    """Row's table in column's seat does what it does in its own, seen from there."""
    row = contestants([f"{pair}:row:3"], IPD)[0]
    assert row.seats == ("row", "column") and row.seeds == (3,)
    own, elsewhere = row.occupant(0, "row"), row.occupant(0, "column")
    assert own.slot == elsewhere.slot and elsewhere.player.name == own.player.name
    asked = [replace(request, slot=own.slot) for request in example_requests(IPD, "row", own.player.memory)]
    as_column = [replace(request, seat="column") for request in asked]
    assert len(asked) > 20 and elsewhere.player.act(as_column) == own.player.act(asked)


def test_in_other_games_seats_are_those_it_learnt_in(tmp_path: Path) -> None:
    config = tables_config("imp", {"a": {}, "b": {}}, {"row": "a", "column": "b"}, trials=1)
    run = train(config, tmp_path / "run", progress=QUIET).path
    a, b = contestants([f"{run}:a", f"{run}:b"], make_game("imp"))
    assert a.seats == ("row",) and b.seats == ("column",)


def test_three_seats(tmp_path: Path) -> None:
    """A learner of one seat, in any seat of a symmetric game with others."""
    seats = {"player-1": "a", "player-2": "always_cooperate", "player-3": "always_defect"}
    run = train(tables_config("public-goods", {"a": {}}, seats, trials=1), tmp_path / "run", progress=QUIET).path
    game = make_game("public-goods")
    (one,) = contestants([str(run)], game)
    assert one.seats == game.seats
    for seat in game.seats:
        others = contestants(["always_cooperate", "always_defect"], game)
        seated = {s: (one if s == seat else others.pop()).occupant(0, s) for s in game.seats}
        assert all(word in ("contribute", "keep") for own in played(seated, game) for word in own)


def test_the_command_line_names_runs_so(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    found = shell.json("eval", f"{pair}:row:3", "tit_for_tat", "--episodes", "2", "--rounds", "3")
    assert found["seats"]["row"]["player"] == f"{pair}:row:3 (seed 3)" and found["game"] == "ipd"
    assert shell("eval", f"{pair}:3", "tit_for_tat") == 2
    assert f"{pair}:row:3 or {pair}:column:3" in shell.err
    assert shell("eval", f"{pair}:row:x", "tit_for_tat") == 2
    assert "a run is named as RUN" in shell.err
