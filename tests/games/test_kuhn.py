"""Kuhn poker: its tree against the rules written down here once more, its privacy, its words, its scripted players."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from coplay.conformance.games import check_game
from coplay.errors import UsageError
from coplay.evaluation.match import play_match
from coplay.games import Game, make_game
from coplay.games.kuhn import KuhnPoker
from coplay.games.kuhn_hand import DEALS, KuhnDeal
from coplay.games.memory import START, Memory
from coplay.games.records import Act, Harm, Occupant, Phase, Request, Round
from coplay.players.game_player import GamePlayer
from coplay.players.named import make_player
from coplay.players.scripted import make_script

GAME = make_game("kuhn")
SEATS = ("player-1", "player-2")

LINES = {
    ("pass", "pass"): 1,
    ("bet", "fold"): "first",
    ("bet", "call"): 2,
    ("pass", "bet", "fold"): "second",
    ("pass", "bet", "call"): 2,
}
"""All ways to play a hand: the stake of a showdown, or who wins the other's ante."""


def played(hand: int, cards: Sequence[str | None], line: Sequence[str | None]) -> Round:
    """A hand as it was played to that point; the game itself says whose turn it is. None is a reply that could not be parsed."""
    one = Round(hand, KuhnDeal((cards[0], cards[1])))
    for action in line:
        phase = GAME.next_phase(one)
        assert phase is not None
        (seat,) = phase.seats
        one = replace(one, acts=(*one.acts, Act(phase.name, phase.turn, seat, action)))
    return one


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("hand", [0, 1])
def test_payoffs_are_the_chips_that_are_won(line: tuple[str, ...], hand: int) -> None:
    first = SEATS[hand % 2]
    second = SEATS[1 - hand % 2]
    for cards in permutations("JQK", 2):
        one = played(hand, cards, line)
        assert GAME.next_phase(one) is None
        assert one.acts[0].seat == first
        stake = LINES[line]
        high = SEATS[0] if "JQK".index(cards[0]) > "JQK".index(cards[1]) else SEATS[1]
        winner = {"first": first, "second": second}.get(str(stake), high)
        won = stake if isinstance(stake, int) else 1
        assert GAME.payoffs(one) == {seat: won if seat == winner else -won for seat in SEATS}


def test_the_six_deals_are_listed_and_dealt_alike() -> None:
    listed = GAME.deals([])
    assert listed is not None
    assert sorted(deal.cards for deal, _ in listed) == sorted(permutations("JQK", 2))
    assert sum(probability for _, probability in listed) == pytest.approx(1.0)
    assert [GAME.deal([(i + 0.5) / 6], []) for i in range(6)] == list(DEALS)


@pytest.mark.parametrize(("line", "shown"), [(line, isinstance(stake, int)) for line, stake in LINES.items()])
def test_folded_cards_stay_private(line: tuple[str, ...], shown: bool) -> None:
    for n in range(len(line) + 1):
        one = played(0, "JK", line[:n])
        over = n == len(line)
        assert GAME.observe(one, "player-1").deal.cards == ("J", "K" if over and shown else None)
        assert GAME.observe(one, "player-2").deal.cards == ("J" if over and shown else None, "K")
    assert ("K" in GAME.recap(GAME.observe(replace(one, payoffs=GAME.payoffs(one)), "player-1"), "player-1")) == shown


def test_a_recap_tells_nothing_that_only_one_seat_knows() -> None:
    """So that a model which is shown the last hand alone depends on what both seats know."""
    for line in LINES:
        for seat in SEATS:
            told = set()
            for cards in [("K", "Q"), ("K", "J")] if LINES[line] in ("first", "second") else []:
                one = played(0, cards, line)
                told.add(GAME.recap(GAME.observe(replace(one, payoffs=GAME.payoffs(one)), seat), seat))
            assert len(told) <= 1


@pytest.mark.parametrize(
    ("line", "as_if"),
    [
        ((None, "pass"), ("pass", "pass")),
        ((None, "bet", None), ("pass", "bet", "fold")),
        (("bet", None), ("bet", "fold")),
    ],
)
def test_a_reply_that_cannot_be_parsed_passes_or_folds(line: tuple[str | None, ...], as_if: tuple[str, ...]) -> None:
    for cards in permutations("JQK", 2):
        one = played(0, cards, line)
        assert GAME.next_phase(one) is None
        assert GAME.payoffs(one) == GAME.payoffs(played(0, cards, as_if))
        assert GAME.state_name(GAME.outcome(one)) == "I"


def test_an_illegal_reply_never_pays() -> None:
    """It gets what one legal reply gets, and puts no chip at stake."""
    assert {phase: GAME.choices(request(phase))[0] for phase in ("bet", "call")} == {"bet": "pass", "call": "fold"}


def request(
    phase: str, hand: int = 0, seat: str = "player-1", card: str = "J", past: tuple[Round, ...] = ()
) -> Request:
    cards = (card, None) if seat == "player-1" else (None, card)
    now = Round(hand, KuhnDeal(cards))
    return Request(0, 0, seat, Phase(phase, (seat,)), now, past, (), START, None, (), 0.5)


@pytest.mark.parametrize(
    ("phase", "text", "action"),
    [
        ("bet", "J is low, but a bluff may work.\nBET", "bet"),
        ("bet", "<think>PASS or BET?</think>\nAction: PASS", "pass"),
        ("call", "I would rather BET than fold.\nFOLD", "fold"),
        ("call", "BET", None),
        ("bet", "PASS or BET", None),
    ],
)
def test_the_action_is_the_word_on_the_last_line(phase: str, text: str, action: str | None) -> None:
    assert GAME.parse_action(request(phase), text) == action


def test_recaps_and_announcements_read_well() -> None:
    one = played(1, "JK", ("pass", "bet", None))
    one = replace(one, payoffs=GAME.payoffs(one))
    told = "In the last hand you passed, Player-1 bet and you folded (the reply could not be read). You lost 1 chip."
    assert GAME.recap(GAME.observe(one, "player-2"), "player-2") == told
    shown = played(0, "JK", ("bet", "call"))
    shown = replace(shown, payoffs=GAME.payoffs(shown))
    told = "In the last hand you bet and Player-2 called. You showed J, Player-2 K. You lost 2 chips."
    assert GAME.recap(GAME.observe(shown, "player-1"), "player-1") == told
    assert GAME.announce(shown.acts[0], "player-2") == "Player-1 bet."


def test_the_ways_in_which_a_hand_ends_are_the_states() -> None:
    ended = {GAME.state_name(GAME.outcome(played(hand, "JK", line))) for line in LINES for hand in (0, 1)}
    assert ended == set(GAME.state_names()) - {"I"} == {"PP", "BF", "FB", "BC", "CB"}


def test_safety_figures_of_a_zero_sum_game() -> None:
    one = played(0, "JK", ("bet", "call"))
    assert (GAME.cooperation_payoff("player-1"), GAME.fair_payoff("player-1")) == (2.0, 0.0)
    assert GAME.harm(replace(one, payoffs=GAME.payoffs(one)), "player-1") == Harm(0.0, 0.0)


@pytest.mark.parametrize("name", KuhnPoker.strategies)
def test_scripted_players_are_distributions_that_do_not_read_the_past(name: str) -> None:
    player = make_script(name, GAME, "player-1")
    assert isinstance(player, GamePlayer) and player.memory is Memory.NONE
    past = (replace(played(0, "JK", ("bet", "call")), payoffs={"player-1": -2.0, "player-2": 2.0}),)
    for phase in ("bet", "call"):
        for card in "JQK":
            for hand in (0, 1):
                reply = player.reply(request(phase, hand, card=card))
                assert reply.probs is not None and sum(reply.probs) == pytest.approx(1.0)
                assert player.reply(request(phase, hand, card=card, past=past)).probs == reply.probs


def test_nash_is_kuhns_equilibrium() -> None:
    player = make_script("nash:0.2", GAME, "player-1")
    assert isinstance(player, GamePlayer)

    def often(phase: str, hand: int) -> list[float]:
        return [(player.reply(request(phase, hand, card=card)).probs or ())[1] for card in "JQK"]

    assert often("bet", 0) == pytest.approx([0.2, 0.0, 0.6])
    assert often("call", 0) == pytest.approx([0.0, 0.2 + 1 / 3, 1.0])
    assert often("bet", 1) == pytest.approx([1 / 3, 0.0, 1.0])
    assert often("call", 1) == pytest.approx([0.0, 1 / 3, 1.0])


def test_alpha_is_at_most_a_third() -> None:
    with pytest.raises(UsageError, match="from 0 to 1/3"):
        make_script("nash:0.4", GAME, "player-1")


def test_always_bet_beats_always_pass_in_every_hand() -> None:
    seated = {
        seat: Occupant(make_player(name, GAME, seat), name)
        for seat, name in zip(SEATS, ("always_bet", "always_pass"), strict=True)
    }
    found = play_match(GAME, seated, rounds=6, episodes=5, seed=0)
    assert all(episode.total("player-1") == 6.0 for episode in found.episodes)


def test_with_tiles_not_a_word_of_poker_is_left() -> None:
    (tiles,) = GAME.disguised().values()
    assert check_game(tiles) == []
    nouns = "poker kuhn deck card cards chip chips ante hand hands passes"
    of_poker = re.findall(r"\w+", f"{nouns} pass bet call fold passed called folded folds")

    def told(game: Game) -> list[str]:
        texts = [game.rules(SEATS[0])]
        for line in LINES:
            one = played(1, "KJ", line)
            one = replace(one, payoffs=game.payoffs(one))
            texts += [
                text
                for seat in SEATS
                for text in (game.opening(one, seat), game.recap(one, seat), game.show_deal(one, seat) or "")
            ]
            texts += [game.announce(act, seat) for act in one.acts for seat in SEATS]
            texts += [game.question(one, Phase(act.phase, (act.seat,)), act.seat) for act in one.acts]
        return texts

    poker_words, tiles_words = ([re.findall(r"\w+", text) for text in told(game)] for game in (GAME, tiles))
    assert set(of_poker) <= {word.lower() for text in poker_words for word in text}
    assert not {word for text in tiles_words for word in text} & {*of_poker, *map(str.upper, of_poker), *"JQK"}
    assert [len(text) for text in poker_words[1:]] == [len(text) for text in tiles_words[1:]]


def test_a_hand_with_tiles_reads_well() -> None:
    (tiles,) = GAME.disguised().values()
    one = played(0, "KJ", ("pass", "bet", "call"))
    one = replace(one, payoffs=tiles.payoffs(one))
    assert tiles.opening(one, SEATS[0]) == "New turn. Your tile is 3. You act first."
    assert (
        tiles.recap(one, SEATS[0])
        == "In the last turn you waited, Player-2 pushed and you matched. You showed 3, Player-2 1. You won 2 points."
    )
    assert tiles.rules(SEATS[0]).splitlines()[2:4] == [
        "Whoever acts first replies WAIT or PUSH; a push is one more point. After a wait the other replies WAIT or PUSH too.",
        "Whoever faces a push replies MATCH, paying one point as well, or LEAVE, losing the entry without showing its tile.",
    ]
