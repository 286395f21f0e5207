"""Scripted strategies, by short transcripts against one another and by totals known by hand; test_axelrod.py has longer ones."""

import math

import pytest

from coplay.errors import UsageError
from coplay.games import MatrixGame, make_game
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import START, Memory, Observation
from coplay.games.records import Episode, Occupant, Phase, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.sampling import sample
from coplay.players.scripted import PLAYERS, Strategy, make_script
from coplay.players.strategies import forgiveness
from coplay.rng import draws

IPD = matrix_game("ipd")
AXELROD = IPD.with_payoffs([3, 0, 5, 1])
RPS = game_from_dict(
    {
        "name": "rps",
        "actions": ["rock", "paper", "scissors"],
        "payoffs": [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    }
)


def played(row: str, column: str, *, game: MatrixGame = IPD, rounds: int = 8, tables: int = 1) -> list[Episode]:
    """Row against column, at some tables."""
    seated = {s: Occupant(make_script(n, game, s), n) for s, n in zip(game.seats, (row, column), strict=True)}
    places = [Table(game, 0, index, index, seated) for index in range(tables)]
    return play_episode(game, places, rounds=rounds, streams=StreamNames(("test",)))


def play(row: str, column: str, *, game: MatrixGame = IPD, rounds: int = 8) -> Episode:
    return played(row, column, game=game, rounds=rounds)[0]


def transcript(episode: Episode, game: MatrixGame = IPD) -> str:
    """``"CD DD DD"``: row's and column's labels, round by round."""
    return " ".join(game.state_name(outcome) for outcome in episode.outcomes)


def totals(episode: Episode) -> tuple[float, float]:
    return episode.total(ROW), episode.total(COLUMN)


def request(seat: str, observation: Observation = START, draw: float = 0.5) -> Request:
    """A seat is asked for an action, and shown this."""
    phase, now = Phase("action", SEATS), Round(len(observation.transcript or ()))
    return Request(0, 0, seat, phase, now, (), (), observation, None, ("test",), draw)


def plays(row: str, column: str, expected: str, game: MatrixGame = IPD) -> None:
    """Row against column gives this transcript, and so does the mirror image."""
    rounds = len(expected.split())
    assert transcript(play(row, column, game=game, rounds=rounds), game) == expected
    mirrored = " ".join(pair[::-1] for pair in expected.split())
    assert transcript(play(column, row, game=game, rounds=rounds), game) == mirrored


# --- Behaviour ----------------------------------------------------------------------------------------------------------------


def test_always() -> None:
    plays("always_cooperate", "always_defect", "CD CD CD CD")


def test_tit_for_tat() -> None:
    plays("tit_for_tat", "always_defect", "CD DD DD DD")
    plays("tit_for_tat", "always_cooperate", "CC CC CC CC")
    plays("tit_for_tat", "alternator", "CC CD DC CD DC")
    plays("tit_for_tat", "alternator_defect_first", "CD DC CD DC")
    plays("tit_for_tat", "tit_for_tat", "CC CC CC CC")


def test_suspicious_tit_for_tat() -> None:
    plays("suspicious_tit_for_tat", "always_cooperate", "DC CC CC")
    plays("suspicious_tit_for_tat", "tit_for_tat", "DC CD DC CD")
    plays("suspicious_tit_for_tat", "suspicious_tit_for_tat", "DD DD DD")


def test_tit_for_two_tats() -> None:
    plays("tit_for_two_tats", "always_defect", "CD CD DD DD")
    plays("tit_for_two_tats", "alternator", "CC CD CC CD CC CD")
    plays("tit_for_two_tats", "suspicious_tit_for_tat", "CD CC CC")


def test_grim_trigger() -> None:
    plays("grim_trigger", "alternator", "CC CD DC DD DC DD")
    plays("grim_trigger", "always_defect", "CD DD DD")
    plays("grim_trigger", "always_cooperate", "CC CC CC")


def test_win_stay_lose_shift() -> None:
    plays("win_stay_lose_shift", "always_defect", "CD DD CD DD")
    plays("win_stay_lose_shift", "alternator", "CC CD DC DD CC CD")
    plays("win_stay_lose_shift", "always_cooperate", "CC CC CC")
    plays("win_stay_lose_shift", "suspicious_tit_for_tat", "CD DC DD CD")


def test_alternators() -> None:
    plays("alternator", "alternator_defect_first", "CD DC CD DC")


def test_defect_once() -> None:
    plays("defect_once", "always_cooperate", "CC DC CC CC")
    plays("defect_once", "tit_for_tat", "CC DC CD CC CC")


def test_generous_tit_for_tat_is_generous_to_the_extent_it_is_told() -> None:
    plays("generous_tit_for_tat:0", "always_defect", "CD DD DD DD")
    plays("generous_tit_for_tat:1", "always_defect", "CD CD CD CD")
    plays("generous_tit_for_tat", "tit_for_tat", "CC CC CC")


def test_random_at_its_ends() -> None:
    plays("random:1", "random:0", "CD CD CD")


def test_always_an_action() -> None:
    plays("always:cooperate", "always:D", "CD CD CD")
    plays("always:rock", "always:scissors", "RS RS RS", game=RPS)
    chicken = matrix_game("icg")
    assert transcript(play("always:go straight", "always:S", game=chicken, rounds=2), chicken) == "GS GS"


# --- Probabilities ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payoffs", "p"),
    [
        ([3, 0, 5, 1], 1 / 3),  # as in Axelrod
        ([3, 0, 4, 1], 2 / 3),  # ShapeLLM
        ([-1, -3, 0, -2], 1 / 2),  # LOLA, M-FOS
        ([3, 0, 7, 1], 0),  # alternating pays more than cooperating: nothing may be forgiven
    ],
)
def test_forgiveness_follows_from_the_payoffs(payoffs: list[float], p: float) -> None:
    game = IPD.with_payoffs(payoffs)
    for seat in SEATS:
        assert forgiveness(game, seat) == pytest.approx(p)


def test_forgiveness_is_a_third_where_there_is_no_dilemma() -> None:
    for name in ("imp", "icg", "ish"):
        assert forgiveness(make_game(name), ROW) == 1 / 3
    assert forgiveness(make_game("c-ipd"), ROW) == 1 / 3
    assert forgiveness(make_game("c-ipd"), COLUMN) == pytest.approx(2 / 3)


FOUR_VECTORS = {
    # P(cooperate) first, then after CC, CD, DC, DD: opponent_shaping literature and Axelrod's classes.
    "tit_for_tat": (1, 1, 0, 1, 0),
    "suspicious_tit_for_tat": (0, 1, 0, 1, 0),
    "win_stay_lose_shift": (1, 1, 0, 0, 1),
    "zd_extort_2": (1, 8 / 9, 1 / 2, 1 / 3, 0),
    "generous_tit_for_tat": (1, 1, 1 / 3, 1, 1 / 3),
    "generous_tit_for_tat:0.1": (1, 1, 0.1, 1, 0.1),
    "random": (0.5, 0.5, 0.5, 0.5, 0.5),
    "random:0.3": (0.3, 0.3, 0.3, 0.3, 0.3),
    "always_defect": (0, 0, 0, 0, 0),
}


@pytest.mark.parametrize("spec", FOUR_VECTORS)
@pytest.mark.parametrize("seat", SEATS)
def test_memory_one_strategies_are_their_four_vectors(spec: str, seat: str) -> None:
    player = make_script(spec, AXELROD, seat)
    pasts = [(), *(((own, theirs),) for own, theirs in AXELROD.own_states(seat))]
    replies = player.act([request(seat, Observation(transcript=past)) for past in pasts])
    probs = [reply.probs for reply in replies]
    assert probs == [pytest.approx((p, 1 - p)) for p in FOUR_VECTORS[spec]]


@pytest.mark.parametrize(("spec", "p"), [("generous_tit_for_tat", 2 / 3), ("random", 0.5), ("random:0.2", 0.2)])
def test_frequencies_are_the_probabilities(spec: str, p: float) -> None:
    """Against a defector in the paper's payoffs; four standard errors."""
    episodes = played(spec, "always_defect", rounds=21, tables=100)
    actions = [one.actions("action")[ROW] for episode in episodes for one in episode.rounds[1:]]
    share = actions.count("cooperate") / len(actions)
    assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / len(actions))


def test_random_is_uniform_over_many_actions() -> None:
    player = make_script("random", RPS, ROW)
    replies = player.act([request(ROW, draw=draw) for draw in draws(0, "test", n=3000)])
    for i, action in enumerate(RPS.actions[ROW]):
        share = sum(reply.action == action for reply in replies) / len(replies)
        assert abs(share - 1 / 3) < 0.035, i
    assert {reply.logprobs for reply in replies} == {(math.log(1 / 3),)}


def test_sampling_inverts_the_cumulative_distribution() -> None:
    assert [sample((0.25, 0.5, 0.25), draw) for draw in (0.0, 0.24, 0.25, 0.74, 0.75, 0.99)] == [0, 0, 1, 1, 2, 2]
    assert sample((0.0, 1.0), 0.0) == 1
    assert sample((1.0, 0.0), math.nextafter(1.0, 0.0)) == 0
    assert (
        sample((0.1,) * 3 + (0.7 - 1e-9, 0.0), math.nextafter(1.0, 0.0)) == 3
    )  # rounding never picks what has no chance


# --- Totals -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "column", "axelrod", "shapellm"),
    [
        ("tit_for_tat", "always_defect", (7, 12), (7, 11)),
        ("tit_for_tat", "tit_for_tat", (24, 24), (24, 24)),
        ("tit_for_tat", "always_cooperate", (24, 24), (24, 24)),
        ("tit_for_tat", "alternator", (3 + 3 * 5, 3 + 4 * 5), (3 + 3 * 4, 3 + 4 * 4)),
        ("tit_for_tat", "suspicious_tit_for_tat", (20, 20), (16, 16)),
        ("always_cooperate", "always_defect", (0, 40), (0, 32)),
        ("always_defect", "always_defect", (8, 8), (8, 8)),
        ("win_stay_lose_shift", "always_defect", (4, 24), (4, 20)),
        ("tit_for_two_tats", "always_defect", (6, 16), (6, 14)),
        ("grim_trigger", "alternator", (3 + 0 + 3 * 5 + 3 * 1, 3 + 5 + 3 * 0 + 3 * 1), (3 + 0 + 3 * 4 + 3, 3 + 4 + 3)),
    ],
)
def test_totals_of_eight_rounds(
    row: str, column: str, axelrod: tuple[float, float], shapellm: tuple[float, float]
) -> None:
    assert totals(play(row, column, game=AXELROD)) == axelrod
    assert totals(play(row, column, game=IPD)) == shapellm


# --- Any game -----------------------------------------------------------------------------------------------------------------


def test_names_mean_first_and_second_action_in_other_games() -> None:
    pennies, stag = matrix_game("imp"), matrix_game("ish")
    assert transcript(play("alternator", "tit_for_tat", game=pennies, rounds=4), pennies) == "HH TH HT TH"
    assert transcript(play("always_defect", "tit_for_tat", game=stag, rounds=3), stag) == "HS HH HH"


def test_actions_may_differ_between_seats() -> None:
    game = game_from_dict({"name": "g", "actions": [["up", "down"], ["left", "right"]], "payoffs": [[[0, 0]] * 2] * 2})
    assert transcript(play("tit_for_tat", "alternator", game=game, rounds=4), game) == "UL UR DL UR"


def memory_of(name: str) -> Memory:
    return make_script("always:cooperate" if name == "always" else name, IPD, ROW).memory


def test_only_what_needs_the_past_asks_for_it() -> None:
    forgetful = {name for name in PLAYERS if memory_of(name) is Memory.NONE}
    assert forgetful == {"always_cooperate", "always_defect", "random", "uniform", "always"}
    assert {name for name in PLAYERS if memory_of(name) is Memory.LAST_ROUND} == set(MEMORY_ONE)
    assert {memory_of(name) for name in PLAYERS} == {Memory.NONE, Memory.LAST_ROUND, Memory.TRANSCRIPT}
    assert memory_of("random:0.3") is Memory.NONE
    assert memory_of("generous_tit_for_tat:0.1") is Memory.LAST_ROUND


MEMORY_ONE = (
    "tit_for_tat",
    "generous_tit_for_tat",
    "suspicious_tit_for_tat",
    "win_stay_lose_shift",
    "zd_extort_2",
)


@pytest.mark.parametrize("spec", MEMORY_ONE)
def test_the_last_round_is_all_that_a_memory_one_strategy_looks_at(spec: str) -> None:
    player = make_script(spec, AXELROD, ROW)
    for last in AXELROD.own_states(ROW):
        long = (*AXELROD.own_states(ROW), last)
        shown = [Observation(last=last), Observation(transcript=long), Observation(transcript=(last,))]
        replies = player.act([request(ROW, observation) for observation in shown])
        assert len(set(replies)) == 1


def test_every_player_has_a_description() -> None:
    for script in PLAYERS.values():
        assert script.description.endswith(".")
        assert len(script.description) < 130


def test_replies_are_the_labels() -> None:
    (reply,) = make_script("always_defect", IPD, ROW).act([request(ROW)])
    assert (reply.action, reply.text, reply.logprobs, reply.probs) == ("defect", "D", (0.0,), (0.0, 1.0))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tit_for_tt", "unknown player 'tit_for_tt'. Did you mean 'tit_for_tat'"),
        ("tit_for_tat:3", "takes no parameter. Write 'tit_for_tat'"),
        ("random:1.5", "'1.5' is not a probability. Write a number from 0 to 1"),
        ("random:nan", "not a probability"),
        ("random:often", "not a probability"),
        ("generous_tit_for_tat:-1", "'-1' is not a probability"),
        ("always", "Write for example 'always:cooperate'"),
        ("always:coperate", "Did you mean 'cooperate'"),
    ],
)
def test_errors_say_what_is_allowed(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_script(spec, IPD, ROW)
    assert message in str(error.value)


def test_an_unknown_seat_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown seat 'rwo'"):
        make_script("random", IPD, "rwo")


def test_strategies_for_two_actions_are_refused_in_larger_games() -> None:
    for name in set(PLAYERS) - {"random", "uniform", "always"}:
        with pytest.raises(UsageError, match=r"game 'rps' has 3 x 3 actions\. Use 'uniform' or 'always:ACTION'"):
            make_script(name, RPS, ROW)
    with pytest.raises(UsageError, match=r"has 3\. Write 'random'"):
        make_script("random:0.3", RPS, ROW)
    uneven = game_from_dict({"name": "g", "actions": [["u", "d"], ["l", "m", "r"]], "payoffs": [[[0, 0]] * 3] * 2})
    with pytest.raises(UsageError, match="has 2 x 3 actions"):  # the co-player's actions count too
        make_script("tit_for_tat", uneven, ROW)


def test_players_are_data() -> None:
    player = make_script("random:0.3", IPD, ROW)
    assert isinstance(player, Strategy)
    assert (player.name, player.game, player.memory) == ("random:0.3", IPD, Memory.NONE)
