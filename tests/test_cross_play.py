"""Cross-play: everybody meets everybody, seats are swapped, intervals are over seeds; the command line says the same."""

import json
from pathlib import Path

import pytest

from coplay.cli.main import main
from coplay.cross_play import cross_play, replicates_of
from coplay.errors import UsageError
from coplay.games.rounds import ALICE, BOB
from coplay.players.round_scripted import make_round_player
from coplay.rounds.agents import agents_of
from coplay.rounds.evaluate import match_rounds, meet
from coplay.text.rounds import worded


def test_what_each_gets_from_each() -> None:
    def meeting(first: int, second: int, replicate: int) -> tuple[float, float]:
        return 10.0 * first + second + replicate, 10.0 * second + first - replicate

    found = cross_play(["a", "b"], meeting, game="g", rounds=1, episodes=1, replicates=3)
    assert found.payoffs == (((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), ((10.0, 9.0, 8.0), (11.0, 11.0, 11.0)))
    assert found.interval(0, 1).mean == 2.0 and found.interval(0, 1).half_width == pytest.approx(2.4841, abs=1e-3)
    cells = found.as_json()["cells"]
    assert [(cell["player"], cell["co_player"]) for cell in cells] == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    assert "2.00 ± 2.48" in found.table()
    with pytest.raises(UsageError, match="named twice"):
        cross_play(["a", "a"], meeting, game="g", rounds=1, episodes=1, replicates=1)


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
    other_way = meet(words, greedy, kind, seed=3, rounds=5, episodes=6)
    assert (second, first) == pytest.approx(other_way)
    games = match_rounds(words, {ALICE: kind, BOB: greedy}, seed=3, rounds=5, episodes=6)
    swapped = match_rounds(words, {ALICE: greedy, BOB: kind}, seed=3, rounds=5, episodes=6)
    own = sum(one.total(ALICE) for one in games) + sum(one.total(BOB) for one in swapped)
    assert first == pytest.approx(own / 60)


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cooperate", "cooperete", "--game", "ipd-ab"], "did you mean 'cooperate'"),
        (["cooperate", "defect", "--game", "ipd-ab", "--payoffs", "1,2,3,4"], "games in rounds have their own"),
        (["cooperate", "defect", "--game", "ipd-ab", "--plot", "x.png"], "goes with --matrix"),
        (["cooperate", "defect", "--game", "ipd-ab", "--matrix", "--plot", "x.doc"], "--plot writes"),
        (["a", "b", "c"], "with --matrix any number"),
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
