"""A mediator that is an endpoint, and a firm whose prices are none: the game goes on, and nobody is told what was not said."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from misbehaving_server import Server, settings_file

from coplay.cli.main import main
from coplay.evaluation.match import play_match
from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import Message, addressed
from coplay.games.records import Occupant
from coplay.players.endpoint import Endpoint
from coplay.players.scripted import make_script


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("TO player-9: hello", None),
        ("TO player-2: hello", ("letter", (("player-2", "hello"),))),
        ("NONE", ("none", ())),
        ("INTERVENE player-2", None),
    ],
)
def test_an_endpoint_as_mediator(reply: str, expected: Message | None, server: Server) -> None:
    """A reply that names an unknown seat reaches nobody; the round is played, and the record says that it could not be read."""
    game = cast(Mediated, make_game("ipd-3:talk=0+mediator:notices=own,cost=0.1"))
    server.text = reply
    seated = {seat: Occupant(make_script("tit_for_tat", game, seat), seat) for seat in game.playing_seats}
    seated["mediator"] = Occupant(Endpoint(game, server.settings), "endpoint")
    (episode,) = play_match(game, seated, rounds=2, episodes=1, seed=0).episodes
    for one in episode.rounds:
        assert one.acts[0].action == expected
        worth = 1.0 - 0.1 * len(addressed(expected))
        assert one.payoffs == {"player-1": 6.0, "player-2": 6.0, "player-3": 6.0, "mediator": pytest.approx(worth)}
    assert [turn.reply.text for turn in episode.turns["mediator"]] == [reply] * 2
    said = server.seen[-1]["messages"][0]["content"]
    assert "You are the mediator of a game of 5 rounds" in said and "costs you 0.1" in said


@pytest.mark.parametrize("reply", ["cheap", "-1.5", "nan", "NaN", "inf", "1e400", "1,5", "Price: -0.1", "0x10"])
def test_prices_that_are_none(reply: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The firm sells nothing and is paid nothing; the game goes on and every number that is printed is one."""
    server.text = reply
    path = settings_file(server, tmp_path)
    game = "bertrand+mediator"
    argv = ["eval", str(path), "nash", "gain_thresh", "--game", game, "--episodes", "1", "--rounds", "3", "--json"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert ": NaN" not in out and "Infinity" not in out
