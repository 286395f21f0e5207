"""Scripted players in every game of the catalogue and in every seat: those that fit conform, the others are refused with a reason."""

import pytest

from coplay.conformance.players import check_player
from coplay.errors import CoplayError, UsageError
from coplay.games import GAMES, Game
from coplay.games.matrix import COLUMN, game_from_dict
from coplay.games.pairwise import PairwiseDilemma
from coplay.games.public_goods import PublicGoods
from coplay.games.records import Episode, Occupant
from coplay.games.split import ALICE, BOB
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import PLAYERS, make_script

RPS = game_from_dict(
    {
        "name": "rps",
        "actions": ["rock", "paper", "scissors"],
        "payoffs": [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    }
)


def specs(game: Game, seat: str) -> list[str]:
    """The scripted players that fit a seat."""
    listed = {"auction": "low", "negotiation-v1": "9", "negotiation-v2": "[0, 0, 1]"}
    if game.name in listed:
        general = PLAYERS if len(game.conducts(seat)) == 2 else ["random", "uniform", "always"]
        return [*game.strategies, *(f"always:{listed[game.name]}" if one == "always" else one for one in general)]
    if game.name == "kuhn":  # no action is legal both before and after a bet
        return [*game.strategies, "random", "uniform"]
    if game.name == "bertrand":
        return [*game.strategies, "price:1.5", "logit_response:20", "undercut:0.1", "uniform"]
    if isinstance(game, PairwiseDilemma):
        return [*game.strategies, "uniform", "always:defect"]
    if game.actions is None:
        return [name for name in PLAYERS if name not in ("uniform", "always")]
    return [f"always:{game.actions[seat][1]}" if name == "always" else name for name in PLAYERS]


@pytest.mark.parametrize(
    ("game", "seat"),
    [(game, seat) for game in (*GAMES.values(), RPS) for seat in game.seats],
    ids=lambda x: getattr(x, "name", x),
)
def test_every_player_conforms(game: Game, seat: str) -> None:
    fitting = ["random", "uniform", "always:paper", "always:S"] if game is RPS else specs(game, seat)
    for spec in fitting:
        player = make_script(spec, game, seat)
        assert isinstance(player, Player)
        assert player.name == spec
        assert check_player(player, game, seat) == []


@pytest.mark.parametrize("spec", ["uniform", "always:cooperate"])
def test_open_replies_have_no_list_to_choose_from(spec: str) -> None:
    game = GAMES["trust-and-split"]
    with pytest.raises(
        CoplayError, match="needs a list of legal actions; phase 'message' of 'trust-and-split' has none"
    ):
        play(game, spec, "tit_for_tat")


def test_always_is_a_legal_action() -> None:
    with pytest.raises(UsageError, match="'B' is not an action of seat 'column' in game 'rps'"):
        make_script("always:B", RPS, COLUMN)


# --- What they do where rounds are bargained in words -------------------------------------------------------------------------


def play(game: Game, *names: str, rounds: int = 6) -> list[Episode]:
    """These players, in the order of seats, at a few tables."""
    seated = {seat: Occupant(make_script(n, game, seat), n) for seat, n in zip(game.seats, names, strict=True)}
    tables = [Table(game, 0, index, index, seated) for index in range(8)]
    return play_episode(game, tables, rounds=rounds, streams=StreamNames(("test",)))


@pytest.mark.parametrize("name", ["split-no-comm", "trust-and-split"])
def test_cooperation_is_the_social_optimum_and_greed_pays_against_it(name: str) -> None:
    """Items go to whoever values them most; a greedy seat gets more, and both get less together."""
    game = GAMES[name]
    means = {}
    for names in (("always_cooperate", "always_cooperate"), ("always_defect", "always_cooperate")):
        episodes = play(game, *names)
        rounds = [one for episode in episodes for one in episode.rounds]
        best = sum(game.most_together(one.deal) for one in rounds)
        means[names] = [sum(one.payoffs[seat] for one in rounds) / len(rounds) for seat in (ALICE, BOB)]
        assert (sum(means[names]) * len(rounds) == pytest.approx(best)) == (names[0] == "always_cooperate")
    fair, greedy = means.values()
    assert greedy[0] > fair[0] and greedy[1] < fair[1]


@pytest.mark.parametrize("name", ["split-no-comm", "trust-and-split"])
def test_tit_for_tat_answers_greed_when_it_can(name: str) -> None:
    """It never begins, and is greedy where it has a choice in the round after the co-player was."""
    game = GAMES[name]
    for episode in play(game, "tit_for_tat", "defect_once", rounds=10):
        alice, bob = zip(*(outcome.conduct for outcome in episode.outcomes), strict=True)
        assert bob.count("greedy") <= 1
        for now, before in zip(alice, (None, *bob[:-1]), strict=True):
            assert now == ("greedy" if before == "greedy" else "cooperate") or now is None
    assert any(
        "greedy" in outcome.conduct
        for episode in play(game, "always_defect", "tit_for_tat")
        for outcome in episode.outcomes
    )


# --- More than two seats ------------------------------------------------------------------------------------------------------


def test_the_co_player_cooperated_if_all_others_did() -> None:
    game = PublicGoods(n=3)
    (episode, *_) = play(game, "tit_for_tat", "alternator", "always_cooperate")
    assert [game.state_name(outcome) for outcome in episode.outcomes] == ["CCC", "CKC", "KCC", "CKC", "KCC", "CKC"]
    (episode, *_) = play(game, "grim_trigger", "win_stay_lose_shift", "defect_once")
    assert [game.state_name(outcome) for outcome in episode.outcomes] == ["CCC", "CCK", "KKC", "KCC", "KKC", "KCC"]
