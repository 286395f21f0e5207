"""Cross-play: everybody meets everybody, seats are swapped, intervals are over seeds or games; the command line says the same."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_players import TEXT_GAMES, TextPlayer, occupants, scripts
from shell import Shell

from coplay.errors import UsageError
from coplay.evaluation.cross_play import CrossPlay, Payoffs, cross_play, replicates_of
from coplay.evaluation.match import play_match
from coplay.evaluation.meetings import swapped_payoffs
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.games.split import ALICE, BOB
from coplay.recipes import make_config
from coplay.report.heat_map import cross_play_map
from coplay.runs.config_input import with_overrides
from coplay.runs.contestants import contestants
from coplay.runs.train import train


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def everywhere(game: Game, spec: str) -> dict[str, Occupant]:
    """A scripted player for every seat."""
    return occupants(scripts(game, *[spec] * len(game.seats)))


def test_what_each_gets_from_each() -> None:
    def meetings(pairs: Sequence[tuple[int, int, int]]) -> list[Payoffs]:
        return [([10.0 * i + j + replicate], [10.0 * j + i - replicate]) for i, j, replicate in pairs]

    found = cross_play(["a", "b"], meetings, game="g", rounds=1, episodes=1, replicates=3)
    assert found.payoffs == (((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), ((10.0, 9.0, 8.0), (11.0, 11.0, 11.0)))
    assert found.interval(0, 1).mean == 2.0 and found.interval(0, 1).half_width == pytest.approx(2.4841, abs=1e-3)
    cells = found.to_dict()["cells"]
    assert [(cell["player"], cell["co_player"]) for cell in cells] == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    assert "2.00 ± 2.48" in found.table() and "± is the 95% interval over seeds" in found.table()
    assert found.to_dict()["over"] == "seeds" and CrossPlay.from_json(found.to_dict()) == found
    with pytest.raises(UsageError, match="named twice"):
        cross_play(["a", "a"], meetings, game="g", rounds=1, episodes=1, replicates=1)


def of_one_seed(*, games: int) -> CrossPlay:
    def meetings(pairs: Sequence[tuple[int, int, int]]) -> list[Payoffs]:
        return [([float(i + n) for n in range(games)], [float(j - n) for n in range(games)]) for i, j, _ in pairs]

    return cross_play(["a", "b"], meetings, game="g", rounds=1, episodes=games, replicates=1)


def test_without_several_seeds_intervals_are_over_games() -> None:
    found = of_one_seed(games=3)
    assert found.payoffs[0][1] == (1.0,) and found.over == "games"
    assert found.interval(0, 1).n == 3 and found.interval(0, 1).half_width == pytest.approx(2.4841, abs=1e-3)
    assert found.interval(0, 0).half_width == 0  # what one seat gains the other loses
    assert "1.00 ± 2.48" in found.table() and "± is the 95% interval over games" in found.table()
    assert cross_play_map(found).title == "g: payoff per round, ± over games"
    data = found.to_dict()
    assert data["over"] == "games" and data["cells"][1]["n"] == 3 and data["cells"][1]["values"] == [1.0]
    assert CrossPlay.from_json(json.loads(json.dumps(data))) == found


def test_one_game_has_no_interval() -> None:
    found = of_one_seed(games=1)
    assert found.over is None and "±" not in found.table() and "±" not in cross_play_map(found).title


def test_files_from_before_intervals_over_games_can_be_read() -> None:
    older = of_one_seed(games=3).to_dict()
    del older["over"]
    older["cells"] = [{**cell, "ci95": None, "n": 1} for cell in older["cells"]]
    found = CrossPlay.from_json(older)
    assert found.over is None and found.interval(0, 1).half_width is None and found.by_pair["a", "b"] == (1.0,)


def test_replicates() -> None:
    assert replicates_of([(), ()], ["a", "b"]) == 1
    assert replicates_of([(), (0, 1, 2), (5, 6, 7)], ["a", "b", "c"]) == 3
    with pytest.raises(UsageError, match="b has 3, c has 2"):
        replicates_of([(), (0, 1, 2), (5, 6)], ["a", "b", "c"])


@pytest.mark.parametrize("name", TEXT_GAMES)
def test_seats_are_swapped(name: str) -> None:
    game = make_game(name)
    kind, greedy = everywhere(game, "always_cooperate"), everywhere(game, "always_defect")
    first, second = swapped_payoffs(game, kind, greedy, seed=3, rounds=5, episodes=6)
    assert (second, first) == swapped_payoffs(game, greedy, kind, seed=3, rounds=5, episodes=6)

    def games(alice: dict[str, Occupant], bob: dict[str, Occupant]) -> list[float]:
        seated = {ALICE: alice[ALICE], BOB: bob[BOB]}
        played = play_match(game, seated, seed=3, rounds=5, episodes=6).episodes
        return [sum(one.total(seat) for one in played) for seat in (ALICE, BOB)]

    assert len(first) == 6 and sum(first) / 6 == pytest.approx((games(kind, greedy)[0] + games(greedy, kind)[1]) / 60)
    itself, again = swapped_payoffs(game, kind, kind, seed=3, rounds=5, episodes=6)
    assert itself == again and sum(itself) / 6 == pytest.approx(sum(games(kind, kind)) / 60)


def test_in_a_game_of_three_each_is_alone_among_the_other() -> None:
    """Public goods with m = 1.5, e = 3: a contributor among two keepers gets 1.5, a keeper among two contributors 6."""
    game = make_game("public-goods")
    kind, greedy = everywhere(game, "always_cooperate"), everywhere(game, "always_defect")
    assert swapped_payoffs(game, kind, greedy, seed=0, rounds=2, episodes=2) == ([1.5] * 2, [6.0] * 2)
    assert swapped_payoffs(game, greedy, kind, seed=0, rounds=2, episodes=2) == ([6.0] * 2, [1.5] * 2)
    assert swapped_payoffs(game, kind, kind, seed=0, rounds=2, episodes=1) == ([4.5], [4.5])


def test_the_papers_agents_in_the_dilemma(shell: Shell) -> None:
    players = ("always_cooperate", "always_defect", "tit_for_tat")
    found = shell.json("eval", *players, "--game", "ipd-ab", "--matrix", "--episodes", "2")
    kind, greedy, mirror = players
    assert {(cell["player"], cell["co_player"]): cell["per_round"] for cell in found["cells"]} == {
        (kind, kind): 3.0, (kind, greedy): 0.0, (kind, mirror): 3.0,
        (greedy, kind): 5.0, (greedy, greedy): 1.0, (greedy, mirror): 1.4,
        (mirror, kind): 3.0, (mirror, greedy): 0.9, (mirror, mirror): 3.0,
    }  # fmt: skip


def test_files_with_earlier_names_of_strategies_can_be_read() -> None:
    older = of_one_seed(games=3).to_dict()
    names = {"a": "cooperate", "b": "reciprocate"}
    older["players"] = list(names.values())
    older["cells"] = [{**cell, **{key: names[cell[key]] for key in ("player", "co_player")}} for cell in older["cells"]]
    assert CrossPlay.from_json(older).players == ("always_cooperate", "tit_for_tat")


def test_matrix_games_too_with_a_picture(tmp_path: Path, shell: Shell) -> None:
    picture = tmp_path / "map.svg"
    pair = ("eval", "tit_for_tat", "always_defect", "--matrix", "--episodes", "1")
    assert shell(*pair, "--plot", str(picture)) == 0
    assert "0.95" in shell.out
    assert picture.read_text().lstrip().startswith("<?xml")


def test_intervals_over_games(tmp_path: Path, shell: Shell) -> None:
    picture = tmp_path / "map.svg"
    pair = ("eval", "random", "always_defect", "--matrix", "--episodes", "20")
    assert shell(*pair, "--plot", str(picture)) == 0
    assert "± is the 95% interval over games" in shell.out
    assert "± over games" in picture.read_text()
    found = shell.json(*pair)
    cells = {(cell["player"], cell["co_player"]): cell for cell in found["cells"]}
    assert found["over"] == "games" and cells["always_defect", "always_defect"]["ci95"] == 0
    chance = cells["random", "always_defect"]
    assert (chance["n"], chance["per_round"]) == (20, pytest.approx(0.5, abs=0.1)) and 0 < chance["ci95"] < 0.1


def test_games_without_a_legal_round_do_not_count() -> None:
    ipd = make_game("ipd")
    kind = everywhere(ipd, "always_cooperate")
    mute = {**kind, "row": Occupant(TextPlayer(ipd, ""), "mute")}
    assert swapped_payoffs(ipd, mute, kind, rounds=2, episodes=3, seed=0) == ([], [])
    found = cross_play(["a"], lambda pairs: [([], [])] * len(pairs), game="g", rounds=2, episodes=3, replicates=1)
    assert "nan" in found.table()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["always_cooperate", "always_cooperete", "--game", "ipd-ab"], "Did you mean 'always_cooperate'"),
        (["always_cooperate", "always_defect", "--game", "split-no-comm", "--payoffs", "1,2,3,4"], "is for two-seat"),
        (["always_cooperate", "always_defect", "--game", "ipd-ab", "--plot", "x.png"], "use it with --matrix"),
        (["always_cooperate", "always_defect", "--matrix", "--plot", "x.doc"], "--plot writes"),
        (["a", "b", "c"], "with --matrix any number"),
        (["always_cooperate", "always_defect", "--temperature", "0"], "must be above 0, got 0.0"),
        (["always_cooperate", "always_defect", "--temperature", "nan"], "must be above 0, got nan"),
        (["tit_for_tat", "random", "--temperature", "0.5"], "no player here is a run"),
        ([".", "--temperature", "0.5"], "a run is evaluated as it was trained"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, shell: Shell) -> None:
    assert shell("eval", *arguments) == 2
    assert said in shell.err


def test_contestants_are_named_or_are_runs(tmp_path: Path) -> None:
    game = make_game("ipd-ab")
    (scripted,) = contestants(["always_defect"], game)
    assert (scripted.name, scripted.seeds, scripted.seats) == ("always_defect", (), (ALICE, BOB))
    assert scripted.occupant(0, BOB).name == "always_defect"
    with pytest.raises(UsageError, match="not a run directory"):
        contestants([str(tmp_path)], game)


@pytest.mark.slow
def test_sampling_can_be_cooler_than_in_training(tmp_path: Path, shell: Shell) -> None:
    config = with_overrides(make_config("adalign/ipd-ab"), ["trials=0", "seeds=[0]", "eval_games=1"])
    run = str(train(config, tmp_path / "run").path)

    def interval(*more: str) -> float:
        found = shell.json("eval", run, run, "--game", "ipd-ab", "--episodes", "5", "--rounds", "3", *more)
        return float(found["seats"]["alice"]["ci95"])

    assert interval() == interval("--temperature", "1") > 0  # what it was trained at
    assert interval("--temperature", "0.001") == 0  # every game is the same


@pytest.mark.parametrize("key", ["values", "per_round", "ci95", "n"])
def test_a_cell_that_holds_text_is_refused(key: str) -> None:
    payoffs = (((1.0, 2.0),),)
    data = json.loads(json.dumps(CrossPlay("ipd", 2, 3, ("tit_for_tat",), payoffs).to_dict()))
    data["cells"][0][key] = "<script>"
    with pytest.raises(TypeError, match="is no number"):
        CrossPlay.from_json(data)
