"""Transcripts: a game as a reader sees it; and the co-player of the papers' transcripts, who is greedy once."""

from collections.abc import Sequence

import pytest
from fake_players import TEXT_GAMES, TextPlayer, actions, play, scripts
from shell import Shell

from coplay.evaluation.metrics import cooperates
from coplay.games import make_game
from coplay.games.records import Reply, Request
from coplay.games.split import ALICE, BOB
from coplay.play.transcript import numbered, transcript


def test_a_game_of_simultaneous_choices_is_a_line_a_round() -> None:
    ipd = make_game("ipd")
    (episode,) = play(ipd, scripts(ipd, "tit_for_tat", "always:defect"), rounds=2)
    assert transcript(ipd, episode).splitlines() == [
        "round  row        column  points",
        "1      cooperate  defect  0 / 4",
        "2      defect     defect  1 / 1",
    ]


def test_three_seats_are_three_columns() -> None:
    game = make_game("public-goods")
    (episode,) = play(game, scripts(game, "always_cooperate", "always:keep", "alternator"), rounds=2)
    assert transcript(game, episode).splitlines() == [
        "round  player-1    player-2  player-3    points",
        "1      contribute  keep      contribute  3 / 6 / 3",
        "2      contribute  keep      keep        1.5 / 4.5 / 4.5",
    ]


def test_a_void_round_has_no_points() -> None:
    ipd = make_game("ipd")
    players = {**scripts(ipd, "tit_for_tat", "tit_for_tat"), "column": TextPlayer(ipd, "\x1b[2J")}
    (episode,) = play(ipd, players, rounds=1)
    assert transcript(ipd, episode).splitlines()[1] == r"1      cooperate  '\x1b[2J'  - / -1"


@pytest.mark.parametrize("name", TEXT_GAMES)
def test_what_could_not_be_parsed_is_quoted(name: str) -> None:
    game = make_game(name)
    players = {**scripts(game, "always_cooperate", "always_cooperate"), ALICE: TextPlayer(game, "\x1b[2J<b>")}
    (episode,) = play(game, players, rounds=2)
    text = transcript(game, episode)
    assert "'\\x1b[2J<b>'" in text and "\x1b" not in text
    assert len(text.splitlines()) == (3 if name == "ipd-ab" else 5)
    assert ("My hand is" in text) == (name == "trust-and-split")


class SilentPlayer:
    """Proposes as another player does, but its messages are empty."""

    name = "silent"

    def __init__(self) -> None:
        self.game = make_game("trust-and-split")
        self.player = scripts(self.game, "always_cooperate", "always_cooperate")[ALICE]
        self.memory = self.player.memory

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        text = "<<message_start>><<message_end>>"
        return [
            Reply(text, self.game.parse_action(request, text)) if request.phase.name == "message" else reply
            for request, reply in zip(requests, self.player.act(requests), strict=True)
        ]


def test_an_empty_message_was_parsed() -> None:
    game = make_game("trust-and-split")
    (episode,) = play(game, {ALICE: SilentPlayer(), BOB: SilentPlayer()}, rounds=1)
    assert actions(episode, ALICE)[0] == ""
    assert "message_start" not in transcript(game, episode)


@pytest.mark.parametrize("name", ["ipd", *TEXT_GAMES])
def test_who_defects_once_does_so_once_and_not_at_first(name: str) -> None:
    game = make_game(name)
    for episode in play(game, scripts(game, "always_cooperate", "defect_once"), range(8), seed=1, rounds=10):
        done = [cooperates(game, 1, outcome.conduct[1]) for outcome in episode.outcomes]
        chances = [i for i, kind in enumerate(done) if i > 0 and kind is not None]
        assert [i for i, kind in enumerate(done) if kind is False] == chances[:1]


def test_several_games_are_numbered() -> None:
    assert numbered(["a", "b"]) == "game 1\na\n\ngame 2\nb"


def test_the_command_line_prints_games(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    pair = ["eval", "tit_for_tat", "defect_once", "--game", "ipd-ab", "--rounds", "4", "--episodes", "3"]
    assert shell(*pair, "--print-games", "2") == 0
    assert shell.out.count("round  alice      bob        points") == 2
    assert "game 2" in shell.out and "game 3" not in shell.out
    assert shell(*pair, "--print-games", "2", "--json") == 2
    assert "--print-games prints" in shell.err
    assert shell(*pair, "--print-games", "-1") == 2
