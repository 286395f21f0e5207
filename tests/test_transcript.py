"""Transcripts: a game as a reader sees it; and the co-player of the papers' transcripts, who is greedy once."""

import pytest
from coplay.evaluation.summary.match import match
from coplay.games.rounds import ALICE, BOB
from coplay.play.loop.transcript import matrix_transcript, round_transcript
from coplay.players.round_scripted import make_round_player
from coplay.rounds.evaluate import match_rounds
from coplay.rounds.metrics import cooperated
from coplay.rounds.types import Reply, Situation
from coplay.text.rounds import worded

from coplay.cli.main import main
from coplay.games import make_game
from coplay.players.scripted import make_player


def test_a_matrix_game_is_a_line_a_round() -> None:
    ipd = make_game("ipd")
    pair = {"row": make_player("tit_for_tat", ipd, "row"), "column": make_player("always:defect", ipd, "column")}
    (episode,) = match(ipd, pair, rounds=2, episodes=1, seed=0).episodes
    assert matrix_transcript(ipd, episode).splitlines() == [
        "round  row        column  points",
        "1      cooperate  defect  0 / 4",
        "2      defect     defect  1 / 1",
    ]


class Mumbling:
    """Says nothing that can be read, and tries to move the cursor."""

    name = "mumbling"

    def reply(self, situations: list[Situation]) -> list[Reply]:
        return [Reply("\x1b[2J<b>") for _ in situations]


@pytest.mark.parametrize("game", ["ipd-ab", "split-no-comm", "trust-and-split"])
def test_what_could_not_be_read_is_quoted(game: str) -> None:
    words = worded(game)
    players = {ALICE: Mumbling(), BOB: make_round_player("cooperate", game)}
    (played,) = match_rounds(words, players, seed=0, rounds=2, episodes=1)
    text = round_transcript(words, played)
    assert "'\\x1b[2J<b>'" in text and "\x1b" not in text
    assert len(text.splitlines()) == 5
    assert ("My hand is" in text) == (game == "trust-and-split")


class Silent:
    """Plays as another, but its messages are empty."""

    name = "silent"

    def __init__(self) -> None:
        self.player = make_round_player("cooperate", "trust-and-split")

    def reply(self, situations: list[Situation]) -> list[Reply]:
        replies = self.player.reply(situations)
        empty = Reply("<<message_start>><<message_end>>")
        return [empty if s.phase == "message" else r for s, r in zip(situations, replies, strict=True)]


def test_an_empty_message_was_read() -> None:
    words = worded("trust-and-split")
    (played,) = match_rounds(words, {ALICE: Silent(), BOB: Silent()}, seed=0, rounds=1, episodes=1)
    assert played.rounds[0].replies["message"][ALICE].action == ""
    assert "message_start" not in round_transcript(words, played)


@pytest.mark.parametrize("game", ["ipd-ab", "split-no-comm", "trust-and-split"])
def test_who_defects_once_does_so_once_and_not_at_first(game: str) -> None:
    words = worded(game)
    players = {ALICE: make_round_player("cooperate", game), BOB: make_round_player("defect_once", game)}
    for played in match_rounds(words, players, seed=1, rounds=10, episodes=8):
        done = [cooperated(words, one, BOB) for one in played.rounds]
        chances = [i for i, cooperates in enumerate(done) if i > 0 and cooperates is not None]
        assert [i for i, cooperates in enumerate(done) if cooperates is False] == chances[:1]


def test_the_command_line_shows_games(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["eval", "reciprocate", "defect_once", "--game", "ipd-ab", "--rounds", "4", "--episodes", "3"]
    assert main([*pair, "--show", "2"]) == 0
    text = capsys.readouterr().out
    assert text.count("round  seat   action     points") == 2 and "game 2" in text and "game 3" not in text
    assert main([*pair, "--show", "2", "--json"]) == 2
    assert "--show prints games of two players" in capsys.readouterr().err
    assert main([*pair, "--show", "-1"]) == 2
