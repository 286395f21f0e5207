"""Best responses as policies: played against the player that they respond to, they earn the value of a best response."""

from functools import partial

import pytest
import torch
from told_players import Told

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response, best_response_value
from coplay.evaluation.on_policy import on_policy_values
from coplay.evaluation.pasts import NotExact
from coplay.games import Game, make_game
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.information_table import InformationTable
from coplay.players.named import make_player
from coplay.players.responding import Responder
from coplay.players.tabular import TabularPolicy


def random_table(game: Game, seat: str, memory: Memory) -> InformationTable | TabularPolicy:
    """A table with a random policy in its only slot."""
    table: InformationTable | TabularPolicy
    if game.actions is None:
        table = InformationTable("table", game, memory, slots=1)
    else:
        table = TabularPolicy("table", game, seat, memory, slots=1, sharing=0.0)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in table.parameters():
            one.copy_(torch.randn(one.shape, generator=generator))
    return table


def responder(game: Game, seat: str, player: Occupant, rounds: int) -> Occupant:
    """The best response to a player in a seat, as the occupant of the other one."""
    (other,) = (one for one in game.seats if one != seat)
    policy = best_response(game, other, ActionProbabilities(game, {seat: player}), rounds=rounds)
    recalls = getattr(player.player, "recalls", None)
    recall = None if recalls is None else partial(recalls, seat)
    found = Responder("response", game, player.player.memory, recall=recall, policies={4: policy})
    return Occupant(found, "response", 4)


@pytest.mark.parametrize(
    ("name", "rounds", "memory"),
    [("kuhn", 2, "last_round"), ("kuhn", 6, "none"), ("ipd-8", 8, "last_round"), ("ipd-8", 3, "transcript"), ("auction", 2, "last_round")],
)  # fmt: skip
def test_a_response_earns_the_value_of_a_best_response(name: str, rounds: int, memory: str) -> None:
    game = make_game(name)
    for seat in game.seats if name == "kuhn" else game.seats[:1]:
        (other,) = (one for one in game.seats if one != seat)
        player = Occupant(random_table(game, seat, Memory(memory)), "learner", 0)
        best = best_response_value(game, other, ActionProbabilities(game, {seat: player}), rounds=rounds)
        seated = {seat: player, other: responder(game, seat, player, rounds)}
        value = on_policy_values(game, ActionProbabilities(game, seated), rounds=rounds)
        assert value[other] == pytest.approx(best, abs=1e-12)


def test_it_plays_what_was_enumerated() -> None:
    """In games, not by enumeration: against always_cooperate and grim_trigger in the IPD of eight rounds."""
    game = make_game("ipd-8")
    for name, total in (
        ("always_cooperate", 8 * 5),
        ("grim_trigger", 3 * 7 + 5),
        ("tit_for_two_tats", 4 * 5 + 3 * 3 + 5),
    ):
        player = Occupant(make_player(name, game, "alice"), name)
        seated = {"alice": player, "bob": responder(game, "alice", player, 8)}
        (episode,) = play_episode(game, [Table(game, 0, 0, 0, seated)], rounds=8, streams=StreamNames(("eval",)))
        assert episode.total("bob") == total


def test_where_the_player_never_led_to_all_choices_are_equally_likely() -> None:
    """A response to one who never bets knows no answer to a bet."""
    game = make_game("kuhn")
    passing = Occupant(make_player("always_pass", game, "player-1"), "always_pass")
    answer = responder(game, "player-1", passing, 1)
    betting = make_player("always_bet", game, "player-1")
    seated = {"player-1": Occupant(betting, "always_bet"), "player-2": answer}
    # called half of the time with each card: the bet wins 1 or is worth 0 on average
    assert on_policy_values(game, ActionProbabilities(game, seated), rounds=1)["player-2"] == pytest.approx(-0.5)


def test_sampled_replies_are_responded_to_by_their_shares() -> None:
    game = make_game("kuhn")

    def silent(request: Request) -> str:
        return "bet" if request.phase.name == "bet" else "fold"

    player = Occupant(make_player(silent, game, "player-1"), "silent")
    answer = best_response(
        game, "player-2", ActionProbabilities(game, {"player-1": player}, samples=2, halves=False), rounds=1
    )
    told = Occupant(make_player("loose_aggressive", game, "player-1"), "told")
    seated = {"player-1": told, "player-2": Occupant(Responder("r", game, Memory.NONE, policies={0: answer}), "r", 0)}
    best = best_response_value(game, "player-2", ActionProbabilities(game, {"player-1": told}), rounds=1)
    assert on_policy_values(game, ActionProbabilities(game, seated), rounds=1)["player-2"] == pytest.approx(best)


def test_a_seat_that_sees_less_later_in_a_round_is_refused() -> None:
    """Its best response depends on what it no longer sees, which only enumeration remembers."""
    kuhn = make_game("kuhn")

    class Forgetful(type(kuhn)):  # type: ignore[misc]
        def observe(self, one, seat):  # type: ignore[no-untyped-def]
            seen = super().observe(one, seat)
            if one.payoffs is None and len(one.acts) == 2:
                return type(seen)(seen.number, None, seen.acts)
            return seen

    game = Forgetful()

    def bluffs(request: Request) -> tuple[float, float]:
        return (0.5, 0.5)

    player = Occupant(Told(game, bluffs), "bluffs")
    with pytest.raises(NotExact, match="no longer sees what it saw before"):
        responder(game, "player-2", player, 1)
