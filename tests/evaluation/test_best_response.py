"""Exact best responses and on-policy values against OpenSpiel, brute force and closed forms."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
from told_players import KUHN, Silent, Told, both, kuhn_player

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response_value
from coplay.evaluation.on_policy import on_policy_values
from coplay.evaluation.pasts import NotExact
from coplay.games import Game, make_game
from coplay.games.exact import finite_value
from coplay.games.kuhn import BET, KuhnDeal, KuhnPoker
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request, Round
from coplay.players.game_player import GamePlayer
from coplay.players.information_table import InformationTable
from coplay.players.named import make_player

TRUTH = json.loads((Path(__file__).parents[1] / "golden" / "kuhn_openspiel.json").read_text())["policies"]
"""By scripts/openspiel_kuhn.py."""

FIRST, SECOND = KUHN.seats
IPD = make_game("ipd")


def responses(game: Game, probabilities: object, rounds: int) -> dict[str, float]:
    return {seat: best_response_value(game, seat, probabilities, rounds=rounds) for seat in game.seats}  # type: ignore[arg-type]


# ---------------------------------------------------------------------- Kuhn poker


@pytest.mark.parametrize("name", TRUTH)
def test_policies_of_kuhn_poker_are_worth_what_openspiel_says(name: str) -> None:
    truth = TRUTH[name]
    for player in [kuhn_player(truth["bets"]), *([] if name.startswith("random") else [name])]:
        probabilities = both(KUHN, player)
        best, value = responses(KUHN, probabilities, 1), on_policy_values(KUHN, probabilities, rounds=1)
        assert list(best.values()) == pytest.approx(truth["best_response"], abs=1e-9)
        assert list(value.values()) == pytest.approx(truth["value"], abs=1e-9)
        assert sum(best.values()) == pytest.approx(truth["nash_conv"], abs=1e-9)


class StackedDeck(KuhnPoker):
    """After a hand that began with a bet, only the first two deals remain: chance remembers what players may forget."""

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[KuhnDeal, float]]:
        found = super().deals(past)
        bet = past and past[-1].acts[0].action == BET
        return [(deal, 1 / 2) for deal, _ in found[:2]] if bet else found


def test_chance_that_remembers_more_than_the_player_is_refused() -> None:
    """One history would stand for another after which other cards are dealt."""
    game, player = StackedDeck(), kuhn_player(TRUTH["random-0"]["bets"])
    assert player.memory is Memory.NONE
    assert all(best_response_value(game, seat, both(game, player), rounds=1) for seat in game.seats)
    for measure in (
        lambda told: best_response_value(game, FIRST, told, rounds=2),
        lambda told: on_policy_values(game, told, rounds=2),
    ):
        with pytest.raises(NotExact, match="depends on earlier rounds that the player does not remember"):
            measure(both(game, player))


@pytest.mark.parametrize("name", ["random-0", "random-1", "always_bet"])
def test_seats_alternate_by_hand(name: str) -> None:
    truth = TRUTH[name]
    best = responses(KUHN, both(KUHN, kuhn_player(truth["bets"])), 2)
    assert list(best.values()) == pytest.approx([sum(truth["best_response"]) / 2] * 2, abs=1e-9)


def test_openspiel_itself_agrees() -> None:
    """Run it where OpenSpiel is installed; elsewhere the golden file stands for it."""
    pyspiel = pytest.importorskip("pyspiel")
    game, rng = pyspiel.load_game("kuhn_poker"), random.Random(7)
    for _ in range(20):
        bets = {f"{card}{done}": rng.random() for card in range(3) for done in ("", "pb", "p", "b")}
        policy = pyspiel.TabularPolicy({state: [(0, 1 - p), (1, p)] for state, p in bets.items()})
        best = responses(KUHN, both(KUHN, kuhn_player(bets)), 1)
        assert sum(best.values()) == pytest.approx(pyspiel.nash_conv(game, policy), abs=1e-9)


@pytest.mark.parametrize("alpha", ["0", "0.1", "0.25", "0.3333"])
@pytest.mark.parametrize("rounds", [1, 6])
def test_the_equilibria_cannot_be_exploited(alpha: str, rounds: int) -> None:
    probabilities = both(KUHN, f"nash:{alpha}")
    value = on_policy_values(KUHN, probabilities, rounds=rounds)
    assert value[FIRST] == pytest.approx(-1 / 18 if rounds == 1 else 0.0, abs=1e-9)
    assert responses(KUHN, probabilities, rounds) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seat", KUHN.seats)
def test_no_response_of_all_does_better(seat: str) -> None:
    bets = TRUTH["random-3"]["bets"]
    own = [state for state in bets if (state[1:] in ("", "pb")) == (seat == FIRST)]
    best = -9.0
    for plan in product((0.0, 1.0), repeat=len(own)):
        mine = kuhn_player(bets | dict(zip(own, plan, strict=True)))
        players = (mine, kuhn_player(bets)) if seat == FIRST else (kuhn_player(bets), mine)
        best = max(best, on_policy_values(KUHN, both(KUHN, *players), rounds=1)[seat])
    assert best_response_value(KUHN, seat, both(KUHN, kuhn_player(bets)), rounds=1) == pytest.approx(best, abs=1e-12)


def test_replies_that_cannot_be_parsed_are_an_outcome_of_their_own() -> None:
    """Against one who bets K, passes Q and says nothing readable with J, silence tells the card."""

    def probs(request: Request) -> tuple[float, float]:
        card = request.now.deal.of(request.seat)
        return {"J": (0.0, 0.0), "Q": (1.0, 0.0), "K": (0.0, 1.0)}[card] if request.phase.name == "bet" else (1.0, 0.0)

    best = best_response_value(KUHN, SECOND, both(KUHN, Told(KUHN, probs)), rounds=1)
    # folds to the bet of K; bets against Q and J, which fold: -1/3 + 2/3
    assert best == pytest.approx(1 / 3)


def test_a_table_that_remembers_what_both_saw_is_exact() -> None:
    table = InformationTable("table", KUHN, Memory.LAST_ROUND, slots=1)
    with torch.no_grad():
        table.theta.copy_(torch.randn(table.theta.shape, generator=torch.Generator().manual_seed(0)))

    def probs(request: Request) -> tuple[float, ...]:
        (reply,) = table.act([replace(request, slot=0)])
        return reply.probs or ()

    player = Told(KUHN, probs, Memory.LAST_ROUND)
    for seat in KUHN.seats:
        best = best_response_value(KUHN, seat, both(KUHN, player), rounds=2)
        for other in ("tight_value", player):
            players = (other, player) if seat == FIRST else (player, other)
            assert on_policy_values(KUHN, both(KUHN, *players), rounds=2)[seat] <= best + 1e-12


def test_a_player_that_remembers_its_folded_cards_is_refused() -> None:
    def probs(request: Request) -> tuple[float, float]:
        if not request.past:
            return (0.5, 0.5)
        return (0.0, 1.0) if request.past[-1].deal.of(request.seat) == "K" else (1.0, 0.0)

    player = Told(KUHN, probs, Memory.LAST_ROUND)
    assert best_response_value(KUHN, FIRST, both(KUHN, player), rounds=1) > 0
    with pytest.raises(NotExact, match=r"remembers what its co-player cannot know: in round 2 .* --rounds 1"):
        best_response_value(KUHN, FIRST, both(KUHN, player), rounds=2)


# ---------------------------------------------------------------------- repeated matrix games


@pytest.mark.parametrize(
    ("game", "rounds", "player", "total"),
    [
        ("ipd-8", 8, "tit_for_tat", 3 * 7 + 5),
        ("ipd-8", 8, "grim_trigger", 3 * 7 + 5),
        ("ipd-8", 8, "always_defect", 8),
        ("ipd-8", 8, "always_cooperate", 8 * 5),
        ("ipd", 20, "tit_for_tat", 3 * 19 + 4),
        ("imp", 5, "uniform", 0),
        ("ish", 4, "tit_for_tat", 4 * 4),
    ],
)
def test_best_responses_in_matrix_games(game: str, rounds: int, player: str, total: float) -> None:
    rules = make_game(game)
    for seat in rules.seats:
        assert best_response_value(rules, seat, both(rules, player), rounds=rounds) * rounds == pytest.approx(total)


def memory_one(game: MatrixGame, table: dict[tuple[str, ...] | None, float]) -> Told:
    """P(first action) after each joint action in the seat's own view, and at the start."""

    def probs(request: Request) -> tuple[float, float]:
        p = table[request.observation.last]  # type: ignore[index]
        return (p, 1.0 - p)

    return Told(game, probs, Memory.LAST_ROUND)


@pytest.mark.parametrize("seed", range(5))
def test_values_of_memory_one_policies_are_the_closed_forms(seed: int) -> None:
    assert isinstance(IPD, MatrixGame)
    rng = random.Random(seed)
    tables = {seat: {state: rng.random() for state in [None, *IPD.own_states(seat)]} for seat in IPD.seats}
    truth = finite_value(
        IPD,
        {
            seat: torch.tensor([[p, 1 - p] for p in table.values()], dtype=torch.float64)
            for seat, table in tables.items()
        },
        rounds=7,
    )
    found = on_policy_values(IPD, both(IPD, *(memory_one(IPD, tables[seat]) for seat in IPD.seats)), rounds=7)  # type: ignore[arg-type]
    assert found == pytest.approx({seat: float(value) / 7 for seat, value in truth.items()}, abs=1e-9)


@pytest.mark.parametrize("seat", IPD.seats)
def test_no_response_to_a_memory_one_policy_does_better(seat: str) -> None:
    """Over two rounds, against all 32 plans that depend on the first round."""
    assert isinstance(IPD, MatrixGame)
    rng = random.Random(3)
    table = {state: rng.random() for state in [None, *IPD.own_states(seat)]}
    theirs = memory_one(IPD, table)  # type: ignore[arg-type]
    best = -9.0
    for plan in product((0.0, 1.0), repeat=5):
        mine = memory_one(IPD, dict(zip(table, plan, strict=True)))  # type: ignore[arg-type]
        players = (mine, theirs) if seat == "row" else (theirs, mine)
        best = max(best, on_policy_values(IPD, both(IPD, *players), rounds=2)[seat])
    assert best_response_value(IPD, seat, both(IPD, theirs), rounds=2) == pytest.approx(best, abs=1e-12)


# ---------------------------------------------------------------------- players that tell nothing, and what cannot be enumerated


def test_sampled_replies_give_a_lower_bound() -> None:
    truth = TRUTH["random-2"]
    found = [
        best_response_value(KUHN, FIRST, both(KUHN, Silent(kuhn_player(truth["bets"])), samples=n), rounds=1)
        for n in (400, 100)
    ]
    assert found[0] == pytest.approx(truth["best_response"][0], abs=0.1)
    again = best_response_value(KUHN, FIRST, both(KUHN, Silent(kuhn_player(truth["bets"]))), rounds=1)
    assert again == found[1], "sampled replies depend on nothing else that is asked"


def test_a_function_is_sampled() -> None:
    def copycat(request: Request) -> str:
        return str(request.past[-1].actions("action")["column"]) if request.past else "cooperate"

    game = make_game("ipd")
    probabilities = both(game, copycat, "tit_for_tat", samples=4)  # type: ignore[arg-type]
    assert best_response_value(game, "column", probabilities, rounds=5) == pytest.approx((4 * 3 + 4) / 5)
    assert probabilities.sampled > 0


def test_a_player_that_reads_its_own_words_is_refused() -> None:
    def talk(request: Request) -> tuple[float, float]:
        return (0.5, 0.5)

    class Talker(Told):
        def reply(self, request: Request) -> Reply:
            reply = super().reply(request)
            return reply._replace(text=f"I thought of {request.draw}.\n{reply.text}", probs=None)

    player = Talker(KUHN, talk, Memory.CHAT)
    with pytest.raises(NotExact, match="its own earlier replies"):
        best_response_value(KUHN, FIRST, both(KUHN, player, samples=4), rounds=2)


@pytest.mark.parametrize(
    ("game", "player", "rounds", "problem"),
    [
        ("split-no-comm", "tit_for_tat", 2, "cannot list what chance deals"),
        ("public-goods", "uniform", 2, "has 3"),
    ],
)
def test_what_cannot_be_enumerated_is_refused_in_a_line(
    game: str, player: str, rounds: int, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coplay.evaluation.round_tree.MOST_POSITIONS", 500)
    rules = make_game(game)
    with pytest.raises(NotExact, match=problem):
        best_response_value(rules, rules.seats[0], both(rules, player), rounds=rounds)


class EndsAfterABet(KuhnPoker):
    """An episode ends with the first hand in which somebody bets."""

    def is_over(self, past):  # type: ignore[no-untyped-def]
        return any(act.action == "bet" for one in past for act in one.acts)


def test_episodes_that_may_end_early() -> None:
    """Against always_bet the first hand is the last; rounds that are not played pay nothing."""
    game = EndsAfterABet()
    once = best_response_value(game, FIRST, both(game, "always_bet"), rounds=1)
    assert best_response_value(game, FIRST, both(game, "always_bet"), rounds=4) == pytest.approx(once / 4)


# ---------------------------------------------------------------------- what strategies declare to remember


@pytest.mark.parametrize(
    ("game", "name", "rounds"),
    [
        ("negotiation-v1", "tit_for_tat_neg", 3),
        ("negotiation-v1", "concede", 3),
        ("auction", "shaded", 2),
        ("auction", "adaptive", 3),
    ],
)
def test_less_memory_changes_no_value(game: str, name: str, rounds: int) -> None:
    """Histories that a strategy says are alike to it make no difference; enumerating all of them gives the same."""
    rules = make_game(game)
    whole = {seat: make_player(name, rules, seat) for seat in rules.seats}
    for seat, player in whole.items():
        assert isinstance(player, GamePlayer)
        declares_nothing = replace(player.strategy, memory=Memory.TRANSCRIPT, recalls=None)
        whole[seat] = replace(player, strategy=declares_nothing)
    expected = both(rules, *whole.values())
    assert responses(rules, both(rules, name), rounds) == pytest.approx(responses(rules, expected, rounds), abs=1e-12)
    value = on_policy_values(rules, expected, rounds=rounds)
    assert on_policy_values(rules, both(rules, name), rounds=rounds) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", sorted(make_game("auction").strategies))
def test_all_strategies_of_the_auction_have_exact_best_responses(name: str) -> None:
    game = make_game("auction")
    best = responses(game, both(game, name), game.rounds)
    value = on_policy_values(game, both(game, name), rounds=game.rounds)
    assert all(best[seat] >= value[seat] - 1e-12 for seat in game.seats)
    if name in ("value_bid", "truthful"):  # equilibria of one round that do not look back are equilibria
        assert best == pytest.approx(value, abs=1e-12)


def test_another_stream_samples_afresh() -> None:
    """The same stream gives the same replies, also to the same player among others; another one does not."""

    def shares(*stream: str) -> float:
        player = Silent(kuhn_player(TRUTH["random-0"]["bets"]))
        told = ActionProbabilities(KUHN, {FIRST: Occupant(player, "it")}, samples=50, stream=stream)
        met = told.meeting({SECOND: Occupant(make_player("uniform", KUHN, SECOND), "uniform")})
        return on_policy_values(KUHN, met, rounds=1)[FIRST]

    assert shares() == shares() and shares("final") == shares("final")
    assert shares() != shares("final")
