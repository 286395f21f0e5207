"""Cross-play: everybody meets everybody, seats are swapped, intervals are over seeds or games; the command line says the same."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from coplay.cli.main import main
from coplay.runs.config_input import overridden
from coplay.evaluation.cross_play import CrossPlay, cross_play, replicates_of
from coplay.errors import UsageError
from coplay.evaluation.match import meet as meet_in_matrix
from coplay.games import make_game
from coplay.games.matrix import SEATS
from coplay.games.memory import Memory
from coplay.games.rounds import ALICE, BOB
from coplay.players.round_scripted import make_round_player
from coplay.players.scripted import make_player
from coplay.recipes import make_config
from coplay.report.heat_map import cross_play_map
from coplay.rounds.agents import agents_of
from coplay.rounds.evaluate import match_rounds, meet
from coplay.text.rounds import worded
from coplay.runs.train import train
from coplay.types import Move, View


def test_what_each_gets_from_each() -> None:
    def meeting(first: int, second: int, replicate: int) -> tuple[list[float], list[float]]:
        return [10.0 * first + second + replicate], [10.0 * second + first - replicate]

    found = cross_play(["a", "b"], meeting, game="g", rounds=1, episodes=1, replicates=3)
    assert found.payoffs == (((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), ((10.0, 9.0, 8.0), (11.0, 11.0, 11.0)))
    assert found.interval(0, 1).mean == 2.0 and found.interval(0, 1).half_width == pytest.approx(2.4841, abs=1e-3)
    cells = found.as_json()["cells"]
    assert [(cell["player"], cell["co_player"]) for cell in cells] == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    assert "2.00 ± 2.48" in found.table() and "± is the 95% interval over seeds" in found.table()
    assert found.as_json()["over"] == "seeds" and CrossPlay.from_json(found.as_json()) == found
    with pytest.raises(UsageError, match="named twice"):
        cross_play(["a", "a"], meeting, game="g", rounds=1, episodes=1, replicates=1)


def of_one_seed(*, games: int) -> CrossPlay:
    def meeting(first: int, second: int, replicate: int) -> tuple[list[float], list[float]]:
        return [float(first + game) for game in range(games)], [float(second - game) for game in range(games)]

    return cross_play(["a", "b"], meeting, game="g", rounds=1, episodes=games, replicates=1)


def test_without_several_seeds_intervals_are_over_games() -> None:
    found = of_one_seed(games=3)
    assert found.payoffs[0][1] == (1.0,) and found.over == "games"
    assert found.interval(0, 1).n == 3 and found.interval(0, 1).half_width == pytest.approx(2.4841, abs=1e-3)
    assert found.interval(0, 0).half_width == 0  # what one seat gains the other loses
    assert "1.00 ± 2.48" in found.table() and "± is the 95% interval over games" in found.table()
    assert cross_play_map(found).title == "g: payoff per round, ± over games"
    data = found.as_json()
    assert data["over"] == "games" and data["cells"][1]["n"] == 3 and data["cells"][1]["values"] == [1.0]
    assert CrossPlay.from_json(json.loads(json.dumps(data))) == found


def test_one_game_has_no_interval() -> None:
    found = of_one_seed(games=1)
    assert found.over is None and "±" not in found.table() and "±" not in cross_play_map(found).title


def test_files_from_before_intervals_over_games_can_be_read() -> None:
    older = of_one_seed(games=3).as_json()
    del older["over"]
    older["cells"] = [{**cell, "ci95": None, "n": 1} for cell in older["cells"]]
    found = CrossPlay.from_json(older)
    assert found.over is None and found.interval(0, 1).half_width is None and found.by_pair["a", "b"] == (1.0,)


def test_replicates() -> None:
    assert replicates_of([(), ()], ["a", "b"]) == 1
    assert replicates_of([(), (0, 1, 2), (5, 6, 7)], ["a", "b", "c"]) == 3
    with pytest.raises(UsageError, match="b has 3, c has 2"):
        replicates_of([(), (0, 1, 2), (5, 6)], ["a", "b", "c"])


@pytest.mark.parametrize("game", ["ipd-ab", "split-no-comm", "trust-and-split"])
def test_seats_are_swapped(game: str) -> None:
    words = worded(game)
    kind, greedy = make_round_player("cooperate", game), make_round_player("defect", game)
    first, second = meet(words, kind, greedy, seed=3, rounds=5, episodes=6)
    assert (second, first) == meet(words, greedy, kind, seed=3, rounds=5, episodes=6)
    games = match_rounds(words, {ALICE: kind, BOB: greedy}, seed=3, rounds=5, episodes=6)
    swapped = match_rounds(words, {ALICE: greedy, BOB: kind}, seed=3, rounds=5, episodes=6)
    own = sum(one.total(ALICE) for one in games) + sum(one.total(BOB) for one in swapped)
    assert len(first) == 6 and sum(first) / 6 == pytest.approx(own / 60)
    itself, again = meet(words, kind, kind, seed=3, rounds=5, episodes=6)
    alone = match_rounds(words, {ALICE: kind, BOB: kind}, seed=3, rounds=5, episodes=6)
    assert itself == again == pytest.approx([(one.total(ALICE) + one.total(BOB)) / 10 for one in alone])


def test_the_papers_agents_in_the_dilemma(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(
        ["eval", "cooperate", "defect", "reciprocate", "--game", "ipd-ab", "--matrix", "--episodes", "2", "--json"]
    )
    assert status == 0
    cells = {(c["player"], c["co_player"]): c["per_round"] for c in json.loads(capsys.readouterr().out)["cells"]}
    assert cells == {
        ("cooperate", "cooperate"): 3.0, ("cooperate", "defect"): 0.0, ("cooperate", "reciprocate"): 3.0,
        ("defect", "cooperate"): 5.0, ("defect", "defect"): 1.0, ("defect", "reciprocate"): 1.4,
        ("reciprocate", "cooperate"): 3.0, ("reciprocate", "defect"): 0.9, ("reciprocate", "reciprocate"): 3.0,
    }  # fmt: skip


def test_matrix_games_too_with_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "map.svg"
    arguments = ["eval", "tit_for_tat", "always_defect", "--matrix", "--episodes", "1", "--plot", str(picture)]
    assert main(arguments) == 0
    assert "0.95" in capsys.readouterr().out
    assert picture.read_text().lstrip().startswith("<?xml")


def test_matrix_games_have_intervals_over_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "map.svg"
    arguments = ["eval", "random", "always_defect", "--matrix", "--episodes", "20"]
    assert main([*arguments, "--plot", str(picture)]) == 0
    assert "± is the 95% interval over games" in capsys.readouterr().out
    assert "± over games" in picture.read_text()
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cells = {(cell["player"], cell["co_player"]): cell for cell in found["cells"]}
    assert found["over"] == "games" and cells["always_defect", "always_defect"]["ci95"] == 0
    chance = cells["random", "always_defect"]
    assert (chance["n"], chance["per_round"]) == (20, pytest.approx(0.5, abs=0.1)) and 0 < chance["ci95"] < 0.1


class Mute:
    """Never gives a legal reply."""

    name, memory = "mute", Memory.NONE

    def act(self, views: Sequence[View]) -> list[Move]:
        return [Move(action=None, reply="") for _ in views]


def test_games_without_a_legal_round_do_not_count() -> None:
    ipd = make_game("ipd")
    mute, kind = ({seat: make_player("always:cooperate", ipd, seat) for seat in SEATS} for _ in range(2))
    mute["row"] = Mute()
    assert meet_in_matrix(ipd, mute, kind, rounds=2, episodes=3, seed=0) == ([], [])
    found = cross_play(["a"], lambda *_: ([], []), game="g", rounds=2, episodes=3, replicates=1)
    assert "nan" in found.table()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cooperate", "cooperete", "--game", "ipd-ab"], "did you mean 'cooperate'"),
        (["cooperate", "defect", "--game", "ipd-ab", "--payoffs", "1,2,3,4"], "games in rounds have their own"),
        (["cooperate", "defect", "--game", "ipd-ab", "--plot", "x.png"], "goes with --matrix"),
        (["cooperate", "defect", "--game", "ipd-ab", "--matrix", "--plot", "x.doc"], "--plot writes"),
        (["a", "b", "c"], "with --matrix any number"),
        (["cooperate", "defect", "--game", "ipd-ab", "--temperature", "0"], "must be above 0, got 0.0"),
        (["cooperate", "defect", "--game", "ipd-ab", "--temperature", "nan"], "must be above 0, got nan"),
        (["tit_for_tat", "random", "--temperature", "0.5"], "in a game with text: --game ipd-ab"),
        (["some/run", "--temperature", "0.5"], "a run alone is evaluated as it was trained"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *arguments]) == 2
    assert said in capsys.readouterr().err.replace("Did", "did")


def test_agents_are_named_or_are_runs(tmp_path: Path) -> None:
    words = worded("ipd-ab")
    (agent,) = agents_of(["defect"], words)
    assert (agent.name, agent.seeds, agent.player(0).name) == ("defect", (), "defect")
    with pytest.raises(UsageError, match="not a run directory"):
        agents_of([str(tmp_path)], words)


def test_sampling_can_be_cooler_than_in_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = overridden(make_config("adalign/ipd-ab"), ["trials=0", "seeds=[0]", "eval_games=1"])
    run = str(train(config, tmp_path / "run").path)
    arguments = ["eval", run, run, "--game", "ipd-ab", "--episodes", "5", "--rounds", "3", "--json"]

    def interval(*more: str) -> float:
        capsys.readouterr()
        assert main([*arguments, *more]) == 0
        return float(json.loads(capsys.readouterr().out)["seats"]["alice"]["ci95"])

    assert interval() == interval("--temperature", "1") > 0  # what it was trained at
    assert interval("--temperature", "0.001") == 0  # every game is the same
