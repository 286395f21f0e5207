"""Games of OpenSpiel in coplay: the same episodes and payoffs, what each seat may know, and OpenSpiel's own values."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay import Act, Action, Request, Round, check_game, exploit, make_game, match
from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.games.records import Episode


def test_without_the_package_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[openspiel\]'"):
        make_game("openspiel:kuhn_poker")


pyspiel: Any = pytest.importorskip("pyspiel", reason="needs OpenSpiel: pip install 'coplay[openspiel]'")

from open_spiel.python import policy  # noqa: E402
from open_spiel.python.algorithms import exploitability  # noqa: E402

from coplay.adapters.openspiel.game import SpielGame, actions_of  # noqa: E402

SEQUENTIAL = ["kuhn_poker", "leduc_poker", "first_sealed_auction", "liars_dice(dice_sides=2)", "tic_tac_toe", "sheriff"]
AT_ONCE = ["goofspiel(num_cards=3)", "goofspiel(num_cards=3,imp_info=True,points_order=random)", "oshi_zumo(coins=4)"]
OBSERVED = ["coin_game", "phantom_ttt"]
MANY_SEATS = ["matching_pennies_3p", "kuhn_poker(players=3)"]
GAMES = [*SEQUENTIAL, *AT_ONCE, *OBSERVED, *MANY_SEATS]


@pytest.mark.parametrize("name", GAMES)
def test_the_conformance_kit_finds_nothing(name: str) -> None:
    assert check_game(make_game(f"openspiel:{name}")) == []


def replayed(game: SpielGame, episode: Episode) -> Any:
    """OpenSpiel's own state after an episode, by its actions' words alone; what seats read on the way is compared."""
    (one,) = episode.rounds
    numbers, used = one.deal.numbers, 0
    asked = {seat: iter(episode.turns[seat]) for seat in game.seats}
    state, left = game.spiel.new_initial_state(), list(one.acts)
    while not state.is_terminal():
        if state.is_chance_node():
            total = 0.0
            for outcome, p in state.chance_outcomes():
                total += p
                if numbers[used] < total:
                    state.apply_action(outcome)
                    break
            used += 1
        elif state.is_simultaneous_node():
            joint = [0] * len(game.seats)
            for player, seat in enumerate(game.seats):
                if state.legal_actions(player):
                    act = left.pop(0)
                    assert act.seat == seat
                    joint[player] = actions_of(state, player)[str(act.action)]
                    next(asked[seat])
            state.apply_actions(joint)
        else:
            act = left.pop(0)
            player = state.current_player()
            assert act.seat == game.seats[player]
            next(asked[act.seat])
            state.apply_action(actions_of(state, player)[str(act.action)])
    assert not left
    return state


@pytest.mark.parametrize("name", GAMES)
def test_an_episode_is_openspiels_move_for_move(name: str) -> None:
    game = make_game(f"openspiel:{name}")
    assert isinstance(game, SpielGame)
    for episode in match(game, *["uniform"] * len(game.seats), episodes=10, seed=3).episodes:
        state = replayed(game, episode)
        assert [episode.total(seat) for seat in game.seats] == list(state.returns())


class Reads:
    """Plays the first legal action and keeps what it was shown."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.__name__ = "reads"

    def __call__(self, request: Request) -> Action:
        self.requests.append(request)
        return request.now.deal.known[-1].legal[0]


@settings(max_examples=30, deadline=None)
@given(first=st.floats(0, 0.999), seed=st.integers(0, 1000), player=st.sampled_from([0, 1]))
def test_a_seat_sees_its_information_state_and_nothing_else(first: float, seed: int, player: int) -> None:
    """Two deals that give a seat the same card, and the same bets: all that it sees is equal."""
    game = make_game("openspiel:kuhn_poker")
    episode = match(game, "uniform", "uniform", episodes=1, seed=seed).episodes[0].rounds[0]
    mine = episode.deal.numbers
    (other,) = {
        deal.numbers
        for deal, _ in game.deals([]) or ()
        if seen_card(game, deal.numbers, player) == seen_card(game, mine, player)
    } - {nearest(game, mine)}
    seat = game.seats[player]
    acts = episode.acts
    one = Round(0, episode.deal, acts)
    two = Round(0, type(episode.deal)(other), acts)
    assert game.observe(one, seat) == game.observe(two, seat)
    assert game.observe(episode, seat).payoffs == {seat: (episode.payoffs or {})[seat]}


def seen_card(game: Game, numbers: tuple[float, ...], player: int) -> str:
    deal = type(game.deal((0.1, 0.1), []))(numbers)
    return str(game.observe(Round(0, deal), game.seats[player]).deal.known[0].text)


def nearest(game: Game, numbers: tuple[float, ...]) -> tuple[float, ...]:
    """The listed deal that deals as these numbers do."""
    cards = [seen_card(game, numbers, player) for player in (0, 1)]
    return next(d.numbers for d, _ in game.deals([]) or () if [seen_card(game, d.numbers, p) for p in (0, 1)] == cards)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "first_sealed_auction", AT_ONCE[1]])
def test_probabilities_of_deals_sum_to_one(name: str) -> None:
    deals = make_game(f"openspiel:{name}").deals([])
    assert deals is not None and sum(p for _, p in deals) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice(dice_sides=2)"])
def test_exact_exploitability_is_openspiels_nash_conv(name: str) -> None:
    spiel = pyspiel.load_game(name)
    expected = exploitability.nash_conv(spiel, policy.UniformRandomPolicy(spiel))
    found = exploit(f"openspiel:{name}", "uniform")
    assert found.kind == "exact" and found.nash_conv == pytest.approx(expected, abs=1e-9)


def test_an_illegal_reply_ends_the_round_and_never_pays() -> None:
    game = make_game("openspiel:kuhn_poker")
    deal = game.deal((0.5, 0.5), [])
    first, second = game.seats
    bet, nothing = Act(f"move of {first}", 0, first, "Bet"), Act(f"move of {second}", 0, second, None)
    one = Round(0, deal, (bet, nothing))
    assert game.next_phase(one) is None
    assert game.payoffs(one) == {first: None, second: -3.0}
    assert game.outcome(one).void
    view = game.observe(one, second)
    assert game.observe(view, second) == view


def test_matrix_games_are_matrix_games() -> None:
    game = make_game("openspiel:matrix_pd")
    assert isinstance(game, MatrixGame)
    assert game.actions["row"] == ("Cooperate", "Defect") and game.table == (
        ((5.0, 5.0), (0.0, 10.0)),
        ((10.0, 0.0), (1.0, 1.0)),
    )
    assert match(game, "tit_for_tat", "always_defect", rounds=3, episodes=1).summary()["seats"]["row"]["total"] == 2.0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kuhn_pokre", "OpenSpiel has no game 'kuhn_pokre'. Did you mean 'kuhn_poker'?"),
        ("goofspiel(num_crads=3)", "there is no parameter 'num_crads'. Did you mean 'num_cards'?"),
        ("goofspiel(num_cards=3", "parameters are written as goofspiel"),
        ("negotiation", "cannot be played: OpenSpiel draws its chance itself"),
        ("mfg_garnet", "cannot be played: it has a distribution of players"),
    ],
)
def test_what_cannot_be_played(name: str, says: str) -> None:
    with pytest.raises(UsageError) as told:
        make_game(f"openspiel:{name}")
    assert says in str(told.value)


def test_rounds_are_games() -> None:
    result = match("openspiel:kuhn_poker", "uniform", "uniform", rounds=5, episodes=2)
    assert [len(episode.rounds) for episode in result.episodes] == [5, 5]
    assert len({one.deal for one in result.episodes[0].rounds}) == 5
