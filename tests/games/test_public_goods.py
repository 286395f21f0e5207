"""Public goods: payoffs against the closed form, the dilemma, and seats that can be swapped."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.games import MatrixGame, make_game
from coplay.games.memory import Observation
from coplay.games.normal_form import NormalFormGame
from coplay.games.public_goods import CONTRIBUTE, KEEP, PublicGoods
from coplay.games.records import Act, Action, Episode, Occupant, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.scripted import make_script

seat_counts = st.integers(2, 6)
amounts = st.floats(0.1, 20)


def payoffs(game: NormalFormGame, joint: tuple[Action | None, ...]) -> tuple[float | None, ...]:
    """What a round pays, in the order of seats."""
    paid = game.payoffs(Round(0, acts=tuple(Act("action", 0, s, a) for s, a in zip(game.seats, joint, strict=True))))
    assert list(paid) == list(game.seats)
    return tuple(paid.values())


@given(n=seat_counts, multiplier=amounts, endowment=amounts)
def test_the_closed_form(n: int, multiplier: float, endowment: float) -> None:
    """m e c / n for everybody, and e more for those who keep."""
    game = PublicGoods(n=n, multiplier=multiplier, endowment=endowment)
    for joint in product((CONTRIBUTE, KEEP), repeat=n):
        c = sum(action == CONTRIBUTE for action in joint)
        share = multiplier * endowment * c / n
        expected = [share if action == CONTRIBUTE else share + endowment for action in joint]
        assert payoffs(game, joint) == pytest.approx(expected)
        assert sum(game.joint_payoffs(joint)) == pytest.approx(endowment * (n - c) + multiplier * endowment * c)
        assert min(expected) > game.null_payoff


@given(n=seat_counts, multiplier=st.floats(1.01, 1.99) | st.floats(6.01, 9), endowment=amounts)
def test_keeping_dominates_below_n_and_contributing_above(n: int, multiplier: float, endowment: float) -> None:
    """Whatever the others do, keeping is worth e - m e / n more."""
    game = PublicGoods(n=n, multiplier=multiplier, endowment=endowment)
    for others in product((CONTRIBUTE, KEEP), repeat=n - 1):
        for i in range(n):
            contributing, keeping = (
                game.joint_payoffs((*others[:i], own, *others[i:]))[i] for own in (CONTRIBUTE, KEEP)
            )
            assert keeping - contributing == pytest.approx(endowment * (1 - multiplier / n), abs=1e-9)
            assert (keeping > contributing) == (multiplier < n)


@given(n=seat_counts, multiplier=st.floats(0.1, 0.99) | st.floats(1.01, 6), endowment=amounts)
def test_the_social_optimum(n: int, multiplier: float, endowment: float) -> None:
    """All contribute if the multiplier is above 1, none if it is below; between 1 and n it is a dilemma."""
    game = PublicGoods(n=n, multiplier=multiplier, endowment=endowment)
    best = max(game.states, key=lambda joint: sum(game.joint_payoffs(joint)))
    assert set(best) == {CONTRIBUTE if multiplier > 1 else KEEP}
    everybody, nobody = (game.joint_payoffs((own,) * n) for own in (CONTRIBUTE, KEEP))
    assert all((a > b) == (multiplier > 1) for a, b in zip(everybody, nobody, strict=True))


def test_illegal_replies_cost_their_seats_and_void_the_round_for_the_others() -> None:
    game = PublicGoods(n=4)
    assert payoffs(game, (CONTRIBUTE, None, KEEP, None)) == (None, game.null_payoff, None, game.null_payoff)
    one = Round(0, acts=tuple(Act("action", 0, seat, None if i == 1 else KEEP) for i, seat in enumerate(game.seats)))
    outcome = game.outcome(one)
    assert outcome.void and not outcome.parsed
    assert game.state_name(outcome) == "I"


@pytest.mark.parametrize("settings", [{"n": 1}, {"n": 13}, {"multiplier": 0}, {"multiplier": -1}, {"endowment": 0}])
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="public-goods"):
        make_game({"name": "public-goods", **settings})


# --- Words --------------------------------------------------------------------------------------------------------------------


def test_the_prompt_of_three_seats() -> None:
    """The wording of two-seat games with opponents for opponent."""
    observation = Observation(last=(KEEP, CONTRIBUTE, KEEP), counts=(1, 0, 0, 0, 2, 0, 0, 0))
    assert PublicGoods().prompt_parts("player-2", observation).text == (
        "You are playing a 3-player game with actions: C, K. Points are assigned as follows:"
        " C/C/C: 4.5/4.5/4.5, C/C/K: 3/3/6, C/K/C: 3/6/3, C/K/K: 1.5/4.5/4.5,"
        " K/C/C: 6/3/3, K/C/K: 4.5/1.5/4.5, K/K/C: 4.5/4.5/1.5, K/K/K: 3/3/3.\n"
        "<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been"
        " CCC:1, CCK:0, CKC:0, CKK:0, KCC:2, KCK:0, KKC:0, KKK:0.\n"
        "<STATE>In the previous round, you played K and your opponents played C, K.\n"
        "Choose an action for the current round. Reply only with C or K."
    )


def test_the_prompt_of_many_seats_has_the_rule_in_place_of_a_long_list() -> None:
    assert "C/C/C/C/C: " in PublicGoods(n=5).rules("player-1")
    assert PublicGoods(n=6).rules("player-1") == (
        "You are playing a 6-player game with actions: C, K. Points are assigned as follows:"
        " every player who plays C gives all 6 players 0.75 points; every player who plays K keeps 3 points."
    )


@given(n=seat_counts, multiplier=st.integers(1, 9), endowment=st.integers(1, 9))
def test_the_prompt_says_what_is_paid(n: int, multiplier: int, endowment: int) -> None:
    """The two numbers of the sentence give the payoff of every joint action, as far as it writes them out."""
    game = PublicGoods(n=n, multiplier=multiplier, endowment=endowment)
    sentence = game.payoff_rule({CONTRIBUTE: "X", KEEP: "Y"})
    gives, keeps = (float(part.split()[-2]) for part in (sentence.split(" points;")[0] + " points", sentence))
    for joint in game.states:
        expected = [gives * joint.count(CONTRIBUTE) + (keeps if action == KEEP else 0) for action in joint]
        assert game.joint_payoffs(joint) == pytest.approx(expected, abs=0.0005 * n)


# --- Seats can be swapped -----------------------------------------------------------------------------------------------------


@given(joint=st.lists(st.sampled_from((CONTRIBUTE, KEEP)), min_size=2, max_size=6), data=st.data())
def test_permuted_seats_get_permuted_payoffs(joint: list[str], data: st.DataObject) -> None:
    game = PublicGoods(n=len(joint))
    order = data.draw(st.permutations(range(len(joint))))
    paid = game.joint_payoffs(tuple(joint))
    assert game.joint_payoffs(tuple(joint[i] for i in order)) == tuple(paid[i] for i in order)


def test_what_is_symmetric_says_so() -> None:
    assert all(PublicGoods(n=n).is_symmetric for n in range(2, 6))


def played(game: NormalFormGame, names: tuple[str, ...]) -> Episode:
    """An episode of these scripted players, in the order of seats."""
    seated = {s: Occupant(make_script(name, game, s), name) for s, name in zip(game.seats, names, strict=True)}
    return play_episode(game, [Table(game, 0, 0, 0, seated)], rounds=7, streams=StreamNames(("test",)))[0]


SYMMETRIC = [PublicGoods(n=3), PublicGoods(n=4), *(make_game(name) for name in ("ipd", "icg", "ish", "ipd-ab"))]


@pytest.mark.parametrize("game", SYMMETRIC, ids=lambda game: f"{game.name}-{len(game.seats)}")
def test_permuted_players_play_the_permuted_game(game: NormalFormGame) -> None:
    """Whoever sits where: each player does and gets what it did and got in any other seat."""
    assert not isinstance(game, MatrixGame) or game.is_symmetric
    names = ("tit_for_tat", "alternator", "always_defect", "suspicious_tit_for_tat")[: len(game.seats)]
    episode = played(game, names)
    rounds = [one.actions("action") for one in episode.rounds]
    assert len({tuple(of.values()) for of in rounds}) > 2  # something happens
    for order in permutations(range(len(names))):
        permuted = played(game, tuple(names[i] for i in order))
        for seat, i in zip(game.seats, order, strict=True):
            assert permuted.payoffs(seat) == episode.payoffs(game.seats[i])
            assert [one.actions("action")[seat] for one in permuted.rounds] == [of[game.seats[i]] for of in rounds]
