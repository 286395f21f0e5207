"""Recorded games: complete, the same however they are cut, never overwritten."""

import json
from pathlib import Path

import pytest

from coplay.cli.main import main
from coplay.evaluation.match import STREAMS
from coplay.games import make_game
from coplay.play.records import episode_record, recorded_episode
from coplay.runs.recording import GAMES, GAMES_AT_ONCE, Recording

MEDIATED = "ipd-3:talk=0+mediator"
PLAYERS = ["random:0.7", "tit_for_tat", "always_defect", "always_intervene"]


def record(
    path: Path, *, episodes: int, players: list[str] = PLAYERS, game: str = MEDIATED, more: tuple[str, ...] = ()
) -> int:
    return main(["eval", *players, "--game", game, "--episodes", str(episodes), "--record", str(path), "--json", *more])


@pytest.mark.parametrize(
    ("players", "game"),
    [
        (PLAYERS, MEDIATED),
        (["tit_for_tat", "always_defect"], "trust-and-split"),
        (["random:0.5", "tit_for_tat"], "ipd"),
    ],
)
def test_the_same_games_as_without_and_when_they_are_gone_on_with(
    players: list[str], game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes = GAMES_AT_ONCE + 3
    plain = ["eval", *players, "--game", game, "--episodes", str(episodes), "--json"]
    assert main(plain) == 0
    expected = capsys.readouterr().out
    assert record(tmp_path / "once", episodes=episodes, players=players, game=game) == 0
    assert capsys.readouterr().out == expected
    for number in (1, episodes, episodes):
        assert record(tmp_path / "parts", episodes=number, players=players, game=game) == 0
    assert capsys.readouterr().out.endswith(expected)
    assert (tmp_path / "once" / GAMES).read_bytes() == (tmp_path / "parts" / GAMES).read_bytes()


def test_a_game_is_restored(tmp_path: Path) -> None:
    """Acts, payoffs, outcomes, replies; written again it is the same but for prompts."""
    record(tmp_path / "games", episodes=2)
    game = make_game(MEDIATED)
    recording = Recording.open(tmp_path / "games")
    assert recording.game.name == game.name and recording.asked["players"] == dict(
        zip(game.seats, PLAYERS, strict=True)
    )
    (first, _), lines = recording.episodes(game), recording.store.read_lines(GAMES)
    again = json.loads(json.dumps(episode_record(game, first)))
    assert again["rounds"] == lines[0]["rounds"] and again["states"] == lines[0]["states"]
    assert recorded_episode(game, again, STREAMS).turns == first.turns
    told = lines[0]["rounds"][0]["acts"][0]
    assert told["seat"] == "mediator" and told["action"][0] == "intervene"


def test_other_games_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games"
    record(path, episodes=1)
    before = (path / GAMES).read_bytes()
    for more, told in (
        (("--seed", "1"), "has games with seed 0, not 1"),
        (("--rounds", "2"), "has games with rounds 5, not 2"),
        (("--max-tokens", "9"), "has games with max_tokens None, not 9"),
    ):
        assert record(path, episodes=1, more=more) == 2
        assert told in capsys.readouterr().err
    assert record(path, episodes=1, players=[*PLAYERS[:3], "never"]) == 2
    assert (path / GAMES).read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("!")
    assert record(tmp_path / "other", episodes=1) == 2
    assert "holds no recorded games" in capsys.readouterr().err


def test_a_damaged_game_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games"
    record(path, episodes=1)
    (path / GAMES).write_text((path / GAMES).read_text().replace('"seed":0', '"seed":7'))
    assert record(path, episodes=2) == 2
    assert f"{path / GAMES} is damaged or another file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--matrix"], ["--payoffs", "3,0,5,1"]])
def test_what_it_does_not_go_with(option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "tit_for_tat", "always_defect", "--record", str(tmp_path / "x"), *option]) == 2
    assert "--record keeps games of players that are named for each seat" in capsys.readouterr().err
