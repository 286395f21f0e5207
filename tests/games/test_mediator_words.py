"""How a mediator replies: notices by name, messages in its own words, and what is refused."""

from __future__ import annotations

from typing import cast

import pytest

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import Message, addressed
from coplay.games.memory import START
from coplay.games.records import Act, Phase, Request, Round

SILENT: Message = ("none", ())


def mediated(spec: str) -> Mediated:
    return cast(Mediated, make_game(spec))


def asked(game: Mediated) -> Request:
    phase = Phase("mediation", ("mediator",))
    return Request(0, 0, "mediator", phase, Round(0), (), (), START, None, (), 0.0)


def letter(**said: str) -> Message:
    return ("letter", tuple((f"player-{seat[1:]}", text) for seat, text in said.items()))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("NONE", SILENT),
        ("none\n", SILENT),
        ("<think>TO player-1: x</think>NONE", SILENT),
        ("TO player-2: Please cooperate.", letter(p2="Please cooperate.")),
        ("to player-2 :  Please   cooperate. ", letter(p2="Please cooperate.")),
        ("TO player-3: c\n\nTO player-1: a", letter(p1="a", p3="c")),
        ("TO player-1: TO player-2: both", letter(p1="TO player-2: both")),
        ("TO player-1: " + "x" * 500, letter(p1="x" * 500)),
        ("TO player-1: " + "x" * 501, None),
        ("TO player-4: Who are you?", None),
        ("TO mediator: myself", None),
        ("TO player-1: a\nTO player-9: b", None),
        ("TO Player-1: a", None),
        ("TO player-1: a\nTO player-1: b", None),
        ("TO player-1:", None),
        ("TO : nobody", None),
        ("TO player-1: a\nNONE", None),
        ("NONE NONE", None),
        ("I think I should write.\nTO player-1: a", None),
        ("TO player-1: a\x1b[31m", None),
        ("TO player-1: \u202eabc", None),
        ("<think>TO player-1: a", None),
        ("", None),
    ],
)
def test_its_own_words_are_read_strictly(reply: str, expected: Message | None) -> None:
    game = mediated("ipd-3+mediator:notices=own")
    assert game.parse_action(asked(game), reply) == expected
    if expected is not None:
        assert game.parse_action(asked(game), game.render_action(asked(game), expected)) == expected


@pytest.mark.parametrize(
    ("targets", "reply", "expected"),
    [
        ("lowest", "INTERVENE", ["player-1"]),
        ("lowest", "They all talk.\nI choose INTERVENE.", ["player-1"]),
        ("lowest", "NONE", []),
        ("lowest", "INTERVENE or NONE", None),
        ("lowest", "intervene", None),
        ("lowest", "INTERVENE\nDone.", None),
        ("everyone", "INTERVENE", ["player-1", "player-2", "player-3"]),
        ("chosen", "INTERVENE player-2", ["player-2"]),
        ("chosen", "INTERVENE", None),
        ("chosen", "INTERVENE player-4", None),
        ("chosen", "INTERVENE player-2 player-3", None),
        ("chosen", "INTERVENE player-2 player-9", None),
        ("chosen", "I say INTERVENE player-2.", ["player-2"]),
        ("chosen", "NONE player-2", None),
        ("chosen", "NONE", []),
    ],
)
def test_notices_are_read_strictly(targets: str, reply: str, expected: list[str] | None) -> None:
    game = mediated(f"ipd-3+mediator:targets={targets}")
    action = game.parse_action(asked(game), reply)
    assert (None if action is None else list(addressed(action))) == expected


@pytest.mark.parametrize(
    ("targets", "reply", "expected"),
    [
        ("everyone", "CALL", ["player-1", "player-2", "player-3"]),
        ("everyone", "They defect.\nPASS", []),
        ("everyone", "INTERVENE", None),
        ("everyone", "NONE", None),
        ("chosen", "CALL player-2", ["player-2"]),
        ("chosen", "PASS", []),
    ],
)
def test_a_mediator_may_have_words_of_its_own(targets: str, reply: str, expected: list[str] | None) -> None:
    game = mediated(f"ipd-3+mediator:words=PASS+CALL,targets={targets}")
    action = game.parse_action(asked(game), reply)
    assert (None if action is None else list(addressed(action))) == expected
    question = game.question(Round(0), asked(game).phase, "mediator")
    assert "CALL: What cooperation" in question and "PASS: no message." in question and "NONE" not in question


@pytest.mark.parametrize("words", ["PASS", "PASS+PASS", "A+B+C", "PASS+", "PA SS+CALL"])
def test_words_that_do_not_fit_are_refused(words: str) -> None:
    with pytest.raises(
        UsageError, match=r"must be 2 different words .* for none, intervene; e\.g\. words=NONE\+INTERVENE"
    ):
        mediated(f"ipd-3+mediator:words={words}")


def test_own_words_need_no_others() -> None:
    with pytest.raises(UsageError, match="notices=own are written as they are; leave out words"):
        mediated("ipd-3+mediator:words=PASS+CALL,notices=own")


@pytest.mark.parametrize(
    "reply", ["INTERVENE player-2 player-3", "INTERVENE player-3, player-2", "INTERVENE player-3 and player-2"]
)
def test_two_seats_are_chosen_by_naming_both(reply: str) -> None:
    game = mediated("ipd-3+mediator:targets=chosen,count=2")
    assert list(addressed(game.parse_action(asked(game), reply))) == ["player-2", "player-3"]
    assert game.parse_action(asked(game), f"{reply} player-1") is None
    assert game.parse_action(asked(game), f"{reply} player-3") is None


@pytest.mark.parametrize(
    "spec",
    [
        "ipd-3+mediator",
        "bertrand+mediator",
        "bertrand+mediator:words=0+1+2",
        "ipd-3+mediator:targets=chosen,count=3",
        "ipd-3+mediator:targets=chosen,count=3,words=PASS+CALL",
    ],
)
def test_what_is_written_is_read_back(spec: str) -> None:
    game = mediated(spec)
    for action in game.choices(asked(game)) or ():
        assert game.parse_action(asked(game), game.render_action(asked(game), action)) == action


def test_the_addressed_reads_the_text_and_no_more() -> None:
    game = mediated("ipd-3:talk=0+mediator:notices=own")
    one = Round(0, None, (Act("mediation", 0, "mediator", letter(p1="Stay.", p3="Switch.")),))
    assert [game.announce(act, "player-3") for act in game.observe(one, "player-3").acts] == ["Switch."]
    assert game.observe(one, "player-2").acts == ()


# --- Specs --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ipd-3+mediator:cost=-1", "cost must be at least 0, got -1"),
        ("ipd-3+mediator:cost=nan", "cost must be a finite number"),
        ("ipd-3+mediator:fine=-0.5", "fine must be at least 0, got -0.5"),
        ("ipd-3+mediator:count=4", "count must be 1 to 3 seats, got 4"),
        ("ipd-3+mediator:count=0", "count must be at least 1, got 0"),
        ("ipd-3+mediator:targets=all", "targets must be"),
        ("ipd-3+mediator:notices=shout", "'shout'"),
        ("ipd-3+mediator:notices=intervene+", "''"),
        ("ipd-3+mediator:pays=glory", "'glory'"),
        ("ipd-3+mediator:talk=0", "there is no setting 'talk'"),
        ("ipd-3+mediator+mediator", "has a mediator already"),
        ("ipd-3+mediater", "'ipd-3+mediater'"),
        ("no-such-game+mediator", "'no-such-game'"),
        ("ipd+mediator", "offers no notices to a mediator; set notices=own"),
        ("ipd+mediator:targets=everyone", "offers no notices to a mediator; set notices=own"),
        ("ipd-3+mediator:", "setting"),
    ],
)
def test_bad_specs_are_refused_in_one_line(spec: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    players = ["uniform"] * 4
    assert main(["eval", *players, "--game", spec, "--episodes", "1"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.strip().splitlines()) == 1
    assert message in captured.err, captured.err


def test_games_without_notices_have_a_mediator_with_words_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_game({"name": "mediated", "game": "ipd", "notices": "own", "cost": 1}).seats[-1] == "mediator"
    spec = "ipd-ab+mediator:notices=own"
    assert main(["eval", "uniform", "tit_for_tat", "uniform", "--game", spec, "--episodes", "2"]) == 0
    assert "mediator" in capsys.readouterr().out
