"""Prompts of games with more than two seats that list their payoffs."""

from dataclasses import dataclass
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from coplay.conformance.games import check_game
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.memory import START, Joint, Observation, from_own_view
from coplay.games.normal_form import NormalFormGame


@dataclass(frozen=True)
class Minority(NormalFormGame):
    """Three seats; whoever is alone with its choice gets 2. The last seat has other actions."""

    name = "minority"
    description = "Be alone."
    seats = ("a", "b", "c")
    actions = MappingProxyType({"a": ("left", "right"), "b": ("left", "right"), "c": ("west", "east")})
    labels = MappingProxyType({"a": ("L", "R"), "b": ("L", "R"), "c": ("W", "E")})
    rounds, null_payoff = 4, -1.0

    def joint_payoffs(self, joint: Joint) -> tuple[float, ...]:
        sides = [action in ("left", "west") for action in joint]
        return tuple(2.0 * (sides.count(side) == 1) for side in sides)


def test_three_seats_list_their_payoffs_own_first() -> None:
    assert Minority().prompt_parts("c", Observation(last=("west", "right", "left"))).text == (
        "You are playing a 3-player game with actions: W, E (your opponents': L, R; L, R)."
        " Points are assigned as follows: W/L/L: 0/0/0, W/L/R: 0/0/2, W/R/L: 0/2/0, W/R/R: 2/0/0,"
        " E/L/L: 2/0/0, E/L/R: 0/2/0, E/R/L: 0/0/2, E/R/R: 0/0/0.\n"
        "<STATE>In the previous round, you played W and your opponents played R, L.\n"
        "Choose an action for the current round. Reply only with W or E."
    )


@given(st.sampled_from(("a", "b", "c")), st.sampled_from(PayoffFormat))
def test_three_seats_read_the_payoffs_that_are_paid(seat: str, payoff_format: PayoffFormat) -> None:
    game = Minority()
    listed = game.prompt_parts(seat, START, payoff_format=payoff_format).rules.split("follows: ")[1]
    others = [one for one in game.seats if one != seat]
    found = {}
    for cell in listed.rstrip(".").split(", "):
        labels, paid = cell.split(": ")
        own = [game.action_named(one, label) for one, label in zip((seat, *others), labels.split("/"), strict=True)]
        points = dict(zip((seat, *others), map(float, paid.split("/")), strict=True))
        joint = from_own_view(game.seats.index(seat), tuple(own))
        found[joint] = tuple(points[one] for one in game.seats)
    assert found == {joint: game.joint_payoffs(joint) for joint in game.states}


def test_the_order_of_opponents_is_that_of_the_seats() -> None:
    """Also where only one of them has other actions than the reader."""
    assert "actions: L, R (your opponents': L, R; W, E)." in Minority().rules("a")
    assert check_game(Minority()) == []
