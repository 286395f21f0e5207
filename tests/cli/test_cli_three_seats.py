"""Every verb on a game of three seats. Public goods: each contributor pays everybody 1.5 points; who keeps has 3 more."""

import io
import json
import re
from pathlib import Path

import pytest
import torch
from shell import Shell
from small_runs import QUIET

from coplay.recipes import make_config
from coplay.runs.config_input import with_overrides
from coplay.runs.train import train as train_run

torch.set_num_threads(1)

GAME = "public-goods"
SEATS = ["player-1", "player-2", "player-3"]
SMALL = ["rounds=4", "episodes=2", "games=2", "eval_games=2", "threads=1", "trials=2", "seeds=[0,1]", "workers=1"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A naive table in every seat."""
    config = with_overrides(make_config("any/naive", game=GAME, learner="tabular"), SMALL)
    return train_run(config, tmp_path_factory.mktemp("runs") / "goods", progress=QUIET).path


def test_eval(coplay: Shell) -> None:
    """By hand: one contributor pays each 1.5; those who keep have 3 more. Tit for tat contributes once, then sees a co-player keep."""
    players = ["tit_for_tat", "always_cooperate", "always_defect"]
    report = coplay.json("eval", *players, "--game", GAME, "--rounds", "3", "--episodes", "2")
    assert {seat: about["player"] for seat, about in report["seats"].items()} == dict(zip(SEATS, players, strict=True))
    assert [about["total"] for about in report["seats"].values()] == [3 + 4.5 + 4.5, 3 + 1.5 + 1.5, 6 + 4.5 + 4.5]
    assert report["states"] == pytest.approx(
        {"CCC": 0, "CCK": 1 / 3, "CKC": 0, "CKK": 0, "KCC": 0, "KCK": 2 / 3, "KKC": 0, "KKK": 0, "I": 0}
    )
    assert coplay("eval", *players, "--game", GAME, "--rounds", "3", "--episodes", "1", "--print-games", "1") == 0
    assert coplay.out.startswith("public-goods, 3 rounds, 1 episode\n")
    assert re.search(r"\n1 +contribute +contribute +keep +3 / 3 / 6\n", coplay.out)


def test_eval_needs_a_player_for_each_seat(coplay: Shell) -> None:
    assert coplay("eval", "tit_for_tat", "random", "--game", GAME) == 2
    assert "game 'public-goods' has 3 seats (player-1, player-2, player-3), got 2 players" in coplay.err
    assert coplay("eval", *["random"] * 3, "--game", GAME, "--payoffs", "3,0,5,1") == 2
    assert "--payoffs is for two-seat matrix games; 'public-goods' is none" in coplay.err


def test_eval_of_more_seats(coplay: Shell) -> None:
    report = coplay.json("eval", *["always_defect"] * 5, "--game", f"{GAME}:n=5,multiplier=2", "--episodes", "1")
    assert len(report["seats"]) == 5
    assert {about["per_round"] for about in report["seats"].values()} == {3.0}


def test_cross_play(coplay: Shell, here: Path) -> None:
    """By hand: alone among keepers a contributor gets 1.5; a keeper alone among contributors gets 3 + 3."""
    players = ["always_cooperate", "always_defect"]
    words = ["eval", *players, "--matrix", "--game", GAME, "--episodes", "1", "--plot", "map.png"]
    assert coplay(*words) == 0
    assert coplay.out.startswith(
        "public-goods, 10 rounds, 1 game each way; payoff per round of the player on the left\n"
    )
    assert coplay.out.endswith("wrote map.png\n")
    cells = coplay.json("eval", *players, "--matrix", "--game", GAME, "--episodes", "1")["cells"]
    found = {(cell["player"], cell["co_player"]): cell["per_round"] for cell in cells}
    assert found == {
        ("always_cooperate", "always_cooperate"): 4.5,
        ("always_cooperate", "always_defect"): 1.5,
        ("always_defect", "always_cooperate"): 6.0,
        ("always_defect", "always_defect"): 3.0,
    }


def test_a_trained_run_and_its_learners(coplay: Shell, trained: Path) -> None:
    again = coplay.json("eval", str(trained), "--episodes", "2")
    assert again == json.loads((trained / "eval.json").read_text())
    players = [f"{trained}:player-1", "always_defect", f"{trained}:player-3:1"]
    report = coplay.json("eval", *players, "--episodes", "2")  # the game is the run's
    assert report["game"] == GAME and set(report["seats"]) == set(SEATS)
    assert coplay("eval", *players, "--matrix", "--episodes", "1") == 2  # of two seeds and of one
    assert "different numbers of seeds" in coplay.err
    cells = coplay.json("eval", f"{trained}:player-1", f"{trained}:player-3", "--matrix", "--episodes", "1")
    assert cells["over"] == "seeds" and len(cells["cells"]) == 4


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    typed = io.StringIO("C\nnonsense\nK\n")
    monkeypatch.setattr("sys.stdin", typed)
    return typed


def test_play(coplay: Shell, typing: io.StringIO) -> None:
    words = ["play", GAME, "--vs", "always_cooperate", "always_defect", "--seat", "player-2", "--rounds", "2"]
    assert coplay(*words) == 0
    assert coplay.out.startswith(
        "public-goods: you are player-2, player-1 is always_cooperate, player-3 is always_defect.\n"
    )
    assert "The game: CCK CKK (player-1, player-2, player-3)\n" in coplay.out
    assert coplay.out.endswith("Total: you 7.5, player-1 4.5, player-3 10.5 points.\n")


def test_play_against_one_player_in_all_other_seats(coplay: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("K\n"))
    assert coplay("play", GAME, "--rounds", "1") == 0
    assert "player-2 is tit_for_tat, player-3 is tit_for_tat" in coplay.out
    assert coplay.out.endswith("Total: you 6, player-2 3, player-3 3 points.\n")


def test_prompt(coplay: Shell) -> None:
    texts = coplay.json("prompt", "any/naive", "--game", GAME, "--history", "CCK,KCC")
    assert list(texts) == SEATS
    assert "You are playing a 3-player game with actions: C, K." in texts["player-1"]
    assert "you played K and your opponents played C, C." in texts["player-1"]
    assert "you played C and your opponents played K, C." in texts["player-2"]
    assert coplay.json("prompt", "any/naive", "--game", GAME, "--history", "contribute/contribute/keep,K/C/C") == texts
    assert coplay("prompt", "any/naive", "--game", GAME, "--history", "CC") == 2
    assert "'CC' does not say what each of player-1, player-2, player-3 did; write e.g. CCC" in coplay.err


def test_check_and_list(coplay: Shell) -> None:
    assert coplay("check", GAME) == 0
    assert "C C K  3 / 3 / 6\n" in coplay.out and "K K K  3 / 3 / 3\n" in coplay.out
    assert coplay.out.endswith("public-goods: all checks pass\n")
    (row,) = [row for row in coplay.json("list", "games") if row["name"] == GAME]
    assert row["seats"] == SEATS


def test_list_runs(coplay: Shell, trained: Path) -> None:
    (row,) = coplay.json("list", "runs", "--runs-in", str(trained.parent))
    assert row["description"] == "any/naive, public-goods, tabular, 2 seeds, 2 trials, finished"


def test_report(coplay: Shell, trained: Path, here: Path) -> None:
    assert coplay("report", str(trained), "--out", "page") == 0
    page = (here / "page" / "report.html").read_text()
    assert "After 2 of 60 trials: three naive learners" in page
    for seat in SEATS:
        assert seat in page
    assert {path.name for path in (here / "page" / "figures").iterdir()} >= {"training.png", "evaluation.pdf"}


def test_train_and_dry_run(coplay: Shell, here: Path) -> None:
    words = ["train", "any/naive", "--game", GAME, "--learner", "tabular"]
    assert coplay(*words, "--dry-run", "--n-seeds", "1", "trials=1") == 0
    assert "seats.player-1=player-1\n" in coplay.out and "player-3.ppo.clip=" in coplay.out
    assert coplay.out.count("reads first") == 3
    assert "1 seed (0), 1 trial: " in coplay.out
    assert coplay(*words, *SMALL, "player-2.ppo.clip=0.1", "--out", "run") == 0
    assert coplay.out.startswith("public-goods, 4 rounds, 2 episodes x 2 seeds; ± is the 95% interval over seeds\n")
    assert json.loads((here / "run" / "config.json").read_text())["learners"]["player-2"]["ppo"]["clip"] == 0.1


def test_sweep(coplay: Shell, here: Path) -> None:
    tiny = ["trials=1", "games=2", "rounds=2", "episodes=1", "eval_games=2", "threads=1", "--n-seeds", "1", "--quiet"]
    words = ["sweep", "any/naive", "--game", GAME, "--learner", "tabular", "--over", "player-1.ppo.clip=0.1", *tiny]
    assert coplay(*words, "--out", "swept") == 0
    assert re.search(r"player-1.ppo.clip=0.1  player-1 \S+ .*player-2 \S+ .*player-3 ", coplay.out)
    page = (here / "swept" / "report.html").read_text()
    assert "player-3 (naive): reward per step" in page


def test_settings_of_the_game_may_change_its_seats(coplay: Shell) -> None:
    goods = ["train", "any/naive", "--game", "public-goods", "--dry-run", "--learner", "tabular"]
    assert coplay(*goods, "game.n=4") == 0, coplay.err
    assert "player-4 reads first" in coplay.out
    assert coplay(*goods, "game.nn=4") == 2
    assert "there is no setting 'nn'. Did you mean 'n'?" in coplay.err


def test_the_recipe_may_stand_after_settings(coplay: Shell) -> None:
    assert coplay("train", "trials=2", "--dry-run", "any/naive", "--learner", "tabular", "--game", "ipd") == 0, (
        coplay.err
    )
    assert "trials=2\n" in coplay.out
