"""Every kind of player fails in one form: a line that names the player, its seat and the round, then what it did."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from fake_players import occupants, play, scripts
from misbehaving_server import Server

from coplay.errors import CoplayError
from coplay.games import make_game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory
from coplay.games.records import Action, Occupant, Reply, Request
from coplay.learners.q_learning import QTable
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.endpoint import Endpoint
from coplay.players.named import make_player
from coplay.players.own import OwnPlayer
from coplay.players.scripted import Mixture, Strategy
from coplay.players.strategies import always_cooperate
from coplay.players.tabular import TabularPolicy

IPD = make_game("ipd")
SPLIT = make_game("trust-and-split")

Act = Callable[[Sequence[Request]], list[Reply]]


def first_only(player: Player) -> Act:
    """The player's replies without the last."""
    act = player.act
    return lambda requests: act(requests)[:-1]


def raising(request: Request) -> Action:
    raise KeyError("lost")


class Own:
    name, memory = "own", Memory.NONE

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("F", "fly") for _ in requests]


class Raising(Own):
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        raise KeyError("lost")


class TooFew(Own):
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("C", "cooperate") for _ in requests][1:]


class Odd(Own):
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return ["C"]  # type: ignore[list-item]


WRONG: dict[str, tuple[Player, str]] = {
    "function raises": (make_player(raising, IPD, "row"), "'raising' (row, round 1) failed: KeyError: 'lost' ("),
    "function, unknown action": (
        make_player(lambda request: "fly", IPD, "row"),
        "'<lambda>' (row, round 1) returned 'fly', which is no legal action of phase 'action' in 'ipd'; legal are ",
    ),
    "class raises": (OwnPlayer(Raising(), "m:Raising", IPD), "'m:Raising' (row, round 1) failed: KeyError: 'lost' ("),
    "class, unknown action": (OwnPlayer(Own(), "m:Own", IPD), "'m:Own' (row, round 1) returned 'fly', which is no "),
    "class, too few": (OwnPlayer(TooFew(), "m:TooFew", IPD), "'m:TooFew' (row, round 1) gave 1 replies to 2 requests"),
    "class, no replies": (OwnPlayer(Odd(), "m:Odd", IPD), "'m:Odd' (row, round 1) gave no list of coplay's Reply but "),
    "object, too few": (TooFew(), "'own' (row, round 1) gave 1 replies to 2 requests"),
    "script, unknown action": (
        Mixture("always:fly", IPD, lambda choices: (0.0,) * len(choices)),
        "'always:fly' (row, round 1) has no legal action of phase 'action' in 'ipd'; legal are cooperate, defect",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_error_names_player_seat_and_round(kind: str) -> None:
    player, what = WRONG[kind]
    with pytest.raises(CoplayError) as caught:
        play(IPD, {**scripts(IPD, "random", "random"), "row": player}, (0, 1))
    assert str(caught.value).startswith(f"player {what}") and "\n" not in str(caught.value)


def test_a_script_without_a_list_of_actions() -> None:
    player = make_player("uniform", SPLIT, "alice")
    with pytest.raises(CoplayError, match=r"^player 'uniform' \(alice, round 1\) needs a list of legal actions; phase"):
        play(SPLIT, {**scripts(SPLIT, "random", "always_cooperate"), "alice": player})


def test_a_strategy_whose_game_does_not_say_how_to_cooperate() -> None:
    class Silent(MatrixGame):
        def perform(self, conduct: str, request: Request) -> Action:
            return super().perform("share", request)

    silent = object.__new__(Silent)
    silent.__dict__.update(vars(IPD))
    strategy = Strategy("always_cooperate", Memory.NONE, silent, always_cooperate)
    with pytest.raises(
        CoplayError, match=r"^player 'always_cooperate' \(row, round 1\) cannot act: game 'ipd' does not"
    ):
        play(IPD, {**scripts(IPD, "random", "random"), "row": strategy})


def test_an_endpoint(server: Server) -> None:
    server.faults = lambda _: "401"
    game = make_game("ipd-ab")
    endpoint = Endpoint(game, replace(server.settings, retries=0))
    with pytest.raises(
        CoplayError, match=r"^player 'm' \(bob, round 1\) has no answer: m at http.* refuses: 401[^\n]*$"
    ):
        play(game, {**scripts(game, "always_cooperate", "always_cooperate"), "bob": endpoint})


def test_a_language_model() -> None:
    player = make_player("hf:tiny", IPD, "row")
    player.act = first_only(player)  # type: ignore[method-assign]
    with pytest.raises(CoplayError, match=r"^player 'hf:tiny' \(row, round 1\) gave 1 replies to 2 requests$"):
        play(IPD, {**scripts(IPD, "random", "random"), "row": player}, (0, 1))


@pytest.mark.parametrize("slot", [0, 1])
def test_a_learner_a_past_self_and_a_frozen_run(slot: int) -> None:
    """They are slots of one policy."""
    for policy in (
        TabularPolicy("past-0", IPD, "row", Memory.LAST_ROUND, slots=2),
        QTable("past-0", IPD, "row", Memory.LAST_ROUND, slots=2),
    ):
        policy.act = first_only(policy)  # type: ignore[method-assign]
        seated = {**occupants(scripts(IPD, "random", "random")), "row": Occupant(policy, "past-0", slot)}
        tables = [Table(IPD, 0, index, index, seated) for index in range(2)]
        with pytest.raises(CoplayError, match=r"^player 'past-0' \(row, round 1\) gave 1 replies to 2 requests$"):
            play_episode(IPD, tables, rounds=1, streams=StreamNames(("test",)))
