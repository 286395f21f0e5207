"""Whether to follow a mediator is a best reply: by hand, by playing all plans, and the least fine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pytest

from coplay.cli.main import main
from coplay.evaluation.delegation import Delegation, delegation
from coplay.evaluation.match import play_match
from coplay.evaluation.pasts import NotExact
from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.players.named import make_player


def seated(game: Mediated, mediator: str, follower: str) -> Mapping[str, Occupant]:
    names = {seat: mediator if seat == "mediator" else follower for seat in game.seats}
    return {seat: Occupant(make_player(name, game, seat), name) for seat, name in names.items()}


def found(spec: str, mediator: str, follower: str = "obedient", *, rounds: int) -> Delegation:
    game = make_game(spec)
    assert isinstance(game, Mediated)
    return delegation(game, lambda rules: seated(rules, mediator, follower), rounds=rounds)


def gains(one: Delegation) -> list[float]:
    return [of["gain"] for of in one.record["seats"].values()]


@pytest.mark.parametrize(
    ("spec", "gain", "fine"),
    [
        # All are told to cooperate. Defecting with both gains T - R a pair, and a fine is taken once for a shortfall of 1.
        ("ipd-3:talk=0+mediator:targets=everyone", 4.0, 4.0),
        ("ipd-3:talk=0,shared=true+mediator:targets=everyone", 4.0, 4.0),
        ("stag-hunt-3:talk=0+mediator:targets=everyone", 0.0, 0.0),
        ("chicken-3:talk=0+mediator:targets=everyone", 2.0, 2.0),
        # Two are told, the third defects: with one shared action that is an equilibrium of Chicken.
        ("chicken-3:talk=0,shared=true+mediator:count=2", 0.0, 0.0),
        ("ipd-3:talk=0+mediator:targets=everyone,fine=3", 1.0, 4.0),
        ("ipd-3:talk=0+mediator:targets=everyone,fine=4", 0.0, 4.0),
    ],
)
def test_one_round_by_hand(spec: str, gain: float, fine: float) -> None:
    one = found(spec, "always_intervene", rounds=1)
    assert gains(one) == pytest.approx([gain] * 3)
    assert one.record["equilibrium"] == (gain == 0.0)
    assert one.record["least_fine"] == pytest.approx(fine)


def test_a_public_coin_makes_a_correlated_equilibrium() -> None:
    """Stag Hunt: all cooperate on heads, nobody on tails. Who does not look gets less, so it is a coarse one as well."""
    one = found("stag-hunt-3:talk=0,shared=true+mediator:targets=everyone", "coin:0.5", rounds=1)
    for of in one.record["seats"].values():
        # (8 + 4) / 2 for following; always cooperate (8 + 0) / 2, never (6 + 4) / 2.
        assert of == {"follow": 6.0, "best_reply": 6.0, "gain": 0.0, "ignoring": 5.0}
    assert one.record["equilibrium"] and one.record["coarse"]


def test_no_fine_reaches_those_who_read_nothing() -> None:
    one = found("ipd-3:talk=0+mediator", "never", "always_cooperate", rounds=1)
    assert gains(one) == [4.0] * 3
    assert one.record["least_fine"] is None
    assert "No fine makes it one" in one.table()


@dataclass
class Plan:
    """Plays a line of actions, whatever it is told."""

    line: Sequence[str]
    name: str = "plan"
    memory: Memory = Memory.NONE

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(self.line[one.now.number], self.line[one.now.number]) for one in requests]


@pytest.mark.parametrize("mediator", ["never", "always_intervene", "coop_thresh", "defector", "payoff_thresh"])
@pytest.mark.parametrize("setting", ["targets=everyone", "count=2", "targets=everyone,fine=1.5"])
def test_against_all_plans(mediator: str, setting: str) -> None:
    """Without chance the best reply is a line of actions: all of them, played."""
    spec = f"ipd-3:talk=0,shared=true+mediator:{setting}"
    game = make_game(spec)
    assert isinstance(game, Mediated)
    one = found(spec, mediator, "obedient", rounds=3)
    others = seated(game, mediator, "obedient")
    for seat in game.playing_seats:
        totals = [
            play_match(game, {**others, seat: Occupant(Plan(line), "plan")}, rounds=3, episodes=1, seed=0)
            .episodes[0]
            .total(seat)
            for line in product(("cooperate", "defect"), repeat=3)
        ]
        assert one.record["seats"][seat]["best_reply"] == pytest.approx(max(totals))
    all_follow = play_match(game, others, rounds=3, episodes=1, seed=0).episodes[0]
    assert [of["follow"] for of in one.record["seats"].values()] == pytest.approx(
        [all_follow.total(seat) for seat in game.playing_seats]
    )


def test_the_least_fine_is_the_least() -> None:
    spec = "ipd-3:talk=0,shared=true+mediator:targets=everyone"
    least = found(spec, "coop_thresh", rounds=3).record["least_fine"]
    assert least is not None and least > 0
    for fine, holds in ((least - 1e-3, False), (least, True), (least + 1.0, True)):
        assert found(f"{spec},fine={fine!r}", "coop_thresh", rounds=3).record["equilibrium"] == holds


def test_a_seat_does_not_know_whom_else_the_mediator_wrote_to() -> None:
    """Chicken with one action for all: each of the pairs is told to cooperate with 1/3, and the third defects. Told, it does not know with whom."""
    spec = "chicken-3:talk=0,shared=true+mediator:targets=chosen,count=2"
    one = found(spec, "coin:1", rounds=1)  # six messages: three to one seat alone, three to pairs
    # Not told, a seat is alone with a seat or two that are told: who defects, 7 from one and 0 from the other, or 14.
    told, not_told = 3 / 6, 3 / 6
    follow = told * ((1 / 3) * 4 + (2 / 3) * 8) + not_told * ((2 / 3) * 7 + (1 / 3) * 14)
    # Told and defecting: 0 with two who defect, 7 with one who cooperates and one who defects. Not told and cooperating: 8, or 12.
    assert 7 * 2 / 3 < (1 / 3) * 4 + (2 / 3) * 8
    deviate = told * ((1 / 3) * 4 + (2 / 3) * 8) + not_told * max(
        (2 / 3) * 7 + (1 / 3) * 14, (2 / 3) * 8 + (1 / 3) * 12
    )
    for of in one.record["seats"].values():
        assert (of["follow"], of["best_reply"]) == pytest.approx((follow, deviate))


def test_what_cannot_be_enumerated_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotExact, match="ipd-3:talk=0"):
        found("ipd-3+mediator", "never", rounds=1)
    monkeypatch.setattr("coplay.evaluation.round_tree.MOST_POSITIONS", 500)
    with pytest.raises(NotExact, match="at most --rounds 2"):
        found("ipd-3:talk=0+mediator", "coin", rounds=5)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    game = "ipd-3:talk=0+mediator:targets=everyone"
    assert main(["exploit", "always_intervene", "--game", game, "--delegation", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Following is no equilibrium: player-1, player-2 and player-3 gain" in shown
    assert "A fine of 4 or more makes it one" in shown
    assert main(["exploit", "never", "--game", game, "--delegation", "--rounds", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["equilibrium"] is True and record["follower"] == "obedient"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["never", "--game", "ipd-3:talk=0+mediator"], "--delegation"),
        (["never", "--game", "public-goods", "--delegation"], "try --game public-goods+mediator"),
        (["tit_for_tat", "--game", "ipd-3:talk=0+mediator", "--delegation"], "cannot play as mediator"),
        (["never", "--game", "ipd-3:talk=0+mediator", "--delegation", "--follower", "coin"], "cannot play as player-1"),
        (["tit_for_tat", "--game", "ipd", "--follower", "coin"], "use it with --delegation"),
    ],
)
def test_wrong_usage(arguments: Sequence[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exploit", *arguments]) == 2
    assert reason in capsys.readouterr().err
