"""Environments of TextArena as games: an episode through the loop equals the environment stepped by hand; what is known to go wrong in it, pinned."""

import copy
import pickle
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from coplay import check_game, make_game, match
from coplay.adapters.naming import name_and_parameters
from coplay.adapters.textarena.game import ArenaGame
from coplay.errors import UsageError
from coplay.games.records import Action, Request

SAYS = {
    "IteratedPrisonersDilemma-v0(num_rounds=3)": ["[Cooperate]", "[Defect]", "let us talk", ""],
    "IteratedMatchingPennies-v0": ["[heads]", "[tails]"],
    "KuhnPoker-v0": ["[check]", "[bet]", "[call]", "[fold]"],
    "TicTacToe-v0": ["[0]", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]"],
    "SimpleNegotiation-v0": ["[Offer: I give 2 Wheat; you give 1 Wood]", "[Accept]", "[Deny]", "no"],
    "ThreePlayerIPD-v0(num_rounds=2)": ["[0 defect] [1 defect]", "[2 defect]", "hm", "[1 cooperate] [0 defect]"],
}
"""Environments, and texts that mean something in them."""


def test_without_textarena_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[textarena\]'"):
        make_game("textarena:KuhnPoker-v0")


@pytest.fixture
def arena() -> Iterator[Any]:
    found = pytest.importorskip("textarena", reason="needs the extra textarena")
    before = random.getstate()
    yield found
    random.setstate(before)


def game_of(name: str) -> ArenaGame:
    found = make_game(f"textarena:{name}")
    assert isinstance(found, ArenaGame)
    return found


def saying(texts: list[str]) -> Any:
    def speaker(request: Request) -> Action:
        return texts[int(request.draw * len(texts))]

    return speaker


@pytest.mark.parametrize("name", SAYS)
def test_an_episode_is_textarenas_move_for_move(arena: Any, name: str) -> None:
    game = game_of(name)
    short, settings = name.partition("(")[0], name_and_parameters(name, "", example="")[1]
    for episode in match(game, *[saying(SAYS[name])] * len(game.seats), episodes=8, seed=4).episodes:
        (one,) = episode.rounds
        views = {seat: iter(game.observe(one, seat).deal.known) for seat in game.seats}
        env, done = arena.make(short, **settings), False
        env.reset(num_players=len(game.seats), seed=one.deal.number)
        for act in one.acts:
            assert not done
            player, text = env.get_observation()
            assert game.seats[player] == act.seat
            assert next(views[act.seat]).text == text.strip()
            done, _ = env.step(action=str(act.action))
        assert done
        rewards, _ = env.close()
        scores = env.state.game_state.get("scores", rewards)
        assert one.payoffs == {seat: float(scores[number]) for number, seat in enumerate(game.seats)}


def test_chance_is_that_of_the_seed_whatever_is_played_beside_it(arena: Any) -> None:
    """TextArena draws on Python's common random numbers in the middle of games; they are put back."""
    speaker = saying(SAYS["KuhnPoker-v0"])
    random.seed(3)
    before = random.getstate()
    many = match("textarena:KuhnPoker-v0", speaker, speaker, episodes=20, seed=9).episodes
    assert random.getstate() == before
    few = match("textarena:KuhnPoker-v0", speaker, speaker, episodes=3, seed=9).episodes
    assert [one.rounds for one in many[:3]] == [one.rounds for one in few]


def test_the_kit_says_that_every_reply_is_an_action_and_nothing_else(arena: Any) -> None:
    found = check_game(game_of("IteratedPrisonersDilemma-v0(num_rounds=2)"))
    assert found and all("nonsense is parsed as an action" in problem for problem in found)


def test_only_the_end_of_a_reply_is_read(arena: Any) -> None:
    long = "[Defect]" + " " * 1000
    pays = match(
        "textarena:IteratedPrisonersDilemma-v0(num_rounds=1)", lambda request: long, saying(["[Defect]"]), episodes=1
    )
    assert pays.episodes[0].rounds[0].payoffs == {"player-0": 0.0, "player-1": 5.0}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("KuhnPokr-v0", "TextArena has no environment 'KuhnPokr-v0'. Did you mean 'KuhnPoker-v0'?"),
        ("KuhnPoker-v0(rounds)", "parameters are written as"),
        ("KuhnPoker-v0(hands=3)", "unexpected keyword argument 'hands'"),
        ("KuhnPoker-v0(players=3)", "The number of players has to be 2, received 3"),
    ],
)
def test_what_cannot_be_hosted_is_refused_before_anything_is_played(arena: Any, name: str, says: str) -> None:
    with pytest.raises(UsageError) as told:
        make_game(f"textarena:{name}")
    assert says in str(told.value) and "\n" not in str(told.value)


# ---------------------------------------------------------------------- known to go wrong in TextArena 0.7.4


def played(arena: Any, name: str, texts: list[str]) -> Any:
    env = arena.make(name)
    env.reset(num_players=2, seed=0)
    for text in texts:
        env.get_observation()
        env.step(action=text)
    return env


def test_its_kuhn_poker_is_another_game(arena: Any) -> None:
    """A bet that is called adds nothing to the pot, so that it costs no more than to fold."""
    env = played(arena, "KuhnPoker-v0", ["[bet]"])
    assert env.state.game_state["pot"] == 2
    bet = [dict(played(arena, "KuhnPoker-v0", ["[bet]", "[call]"]).state.game_state["player_chips"])]
    checked = dict(played(arena, "KuhnPoker-v0", ["[check]", "[check]"]).state.game_state["player_chips"])
    assert bet == [checked]


def test_an_environment_can_be_copied_and_not_pickled(arena: Any) -> None:
    env = played(arena, "TicTacToe-v0", ["[4]"])
    other = copy.deepcopy(env)
    other.get_observation()
    other.step(action="[0]")
    assert env.state.turn != other.state.turn
    with pytest.raises((RecursionError, AttributeError, TypeError)):
        pickle.loads(pickle.dumps(env))


def test_it_is_wrapped_already(arena: Any) -> None:
    with pytest.raises(ValueError, match="already wrapped"):
        arena.wrappers.LLMObservationWrapper(env=arena.make("TicTacToe-v0"))


def test_tags_of_players_are_taken_out_of_replies(arena: Any) -> None:
    env = played(arena, "IteratedPrisonersDilemma-v0", ["[Player 1] hello [Player 0] there"])
    _, text = env.get_observation()
    assert "hello" in text and "[Player 1] hello" not in text and "[Player 0] there" not in text
