"""TextArena as a host: what it does otherwise than coplay's games, pinned; and the same payoffs for the same replies."""

import random
import sys
from typing import Any

import pytest

from coplay.adapters.textarena import host_payoffs, hosted, play_hosted
from coplay.adapters.textarena.dilemma import ENVIRONMENT
from coplay.adapters.textarena.package import MOST_CHARACTERS
from coplay.errors import UsageError
from coplay.evaluation.match import MatchResult, play_match
from coplay.games import make_game
from coplay.games.pairwise import CHICKEN_3, IPD_3, STAG_HUNT_3, PairwiseDilemma
from coplay.games.records import Occupant, Reply, Request
from coplay.players.base import OneByOne
from coplay.players.named import make_player


class Says(OneByOne):
    """Always the same text."""

    name = "says"
    memory = make_player("uniform", make_game("ipd"), "row").memory

    def __init__(self, game: PairwiseDilemma, text: str) -> None:
        self.game, self.text = game, text

    def reply(self, request: Request) -> Reply:
        return Reply(self.text, self.game.parse_action(request, self.text))


def test_without_the_package_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[textarena\]'"):
        play_hosted(hosted(), {}, episodes=1, seed=0)


@pytest.mark.parametrize("game", ["ipd-3:talk=0", "ipd-3:n=4", "ipd-3:shared=true"])
def test_games_that_it_does_not_have(game: str) -> None:
    found = make_game(game)
    assert isinstance(found, PairwiseDilemma)
    with pytest.raises(UsageError, match=f"TextArena's {ENVIRONMENT} has three players"):
        hosted(found)


@pytest.fixture
def arena() -> Any:
    return pytest.importorskip("textarena")


def said(*texts: str) -> MatchResult:
    """A round of players that say these texts."""
    game = hosted()
    seated = {seat: Occupant(Says(game, text), "says") for seat, text in zip(game.seats, texts, strict=True)}
    return play_hosted(game, seated, episodes=1, seed=0, rounds=1)


def new(arena: Any, **settings: Any) -> Any:
    before = random.getstate()
    env = arena.make(ENVIRONMENT, **settings)
    env.reset(num_players=3, seed=0)
    random.setstate(before)
    return env


def through(env: Any, text: str) -> dict[int, float]:
    """Everybody says the same to the end; the rewards."""
    done = False
    while not done:
        env.get_observation()
        done, _ = env.step(action=text)
    return dict(env.close()[0])


@pytest.mark.parametrize("game", [IPD_3, STAG_HUNT_3, CHICKEN_3])
def test_payoffs_are_those_of_our_game_for_the_same_replies(arena: Any, game: PairwiseDilemma) -> None:
    players = ["random:0.5", "tit_for_tat", "random:0.3"]
    ours = {seat: Occupant(make_player(name, game, seat), name) for seat, name in zip(game.seats, players, strict=True)}
    played = play_match(game, ours, rounds=5, episodes=8, seed=1)
    rules = hosted(game)
    for episode in played.episodes:
        assert host_payoffs(rules, episode) == [one.payoffs for one in episode.rounds]
    theirs = {
        seat: Occupant(make_player(name, rules, seat), name) for seat, name in zip(game.seats, players, strict=True)
    }
    again = play_hosted(rules, theirs, episodes=8, seed=1)
    assert [one.rounds for one in again.episodes] == [one.rounds for one in played.episodes]


def test_rewards_are_ranks(arena: Any) -> None:
    """All cooperate and all defect: 0 for everybody; we read the scores."""
    assert set(through(new(arena), "[0 cooperate] [1 cooperate] [2 cooperate]").values()) == {0.0}
    assert set(through(new(arena), "[0 defect] [1 defect] [2 defect]").values()) == {0.0}
    (episode,) = said(*["[1 defect] [2 defect] [3 defect]"] * 3).episodes
    assert episode.rounds[0].payoffs == dict.fromkeys(episode.seated, 2.0)


def test_a_used_environment_keeps_the_game_before(arena: Any) -> None:
    env = new(arena)
    _, first = env.get_observation()
    env.reset(num_players=3, seed=0)
    _, second = env.get_observation()
    assert len(second) > len(first)


def test_it_seeds_pythons_random_numbers_and_we_put_them_back(arena: Any) -> None:
    random.seed(7)
    before = random.getstate()
    said("", "", "")
    assert random.getstate() == before
    env = arena.make(ENVIRONMENT)
    env.reset(num_players=3, seed=0)
    assert random.getstate() != before


def test_no_communication_turns_are_one(arena: Any) -> None:
    env, phases = new(arena, communication_turns=0, num_rounds=1), []
    done = False
    while not done:
        env.get_observation()
        phases.append(env.state.game_state["phase"])
        done, _ = env.step(action="")
    assert phases == ["conversation"] * 3 + ["decision"] * 3


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("[2 defect] hmm, actually [2 cooperate]", "cooperate"),
        ("[2 cooperate] or [2 defect]", "defect"),
        ("[2: defect]", "cooperate"),
        ("[defect]", "cooperate"),
        ("[Player 2 defect]", "cooperate"),
        ("[1 defect] [9 defect]", "cooperate"),
        ("[ 2  DEFECT ]", "defect"),
        ("", "cooperate"),
        ("[2 defect]" + "." * MOST_CHARACTERS, "cooperate"),
        ("." * MOST_CHARACTERS + "[2 defect]", "defect"),
        ("[12 defect]" + "." * (MOST_CHARACTERS - 9), "cooperate"),
    ],
)
def test_how_it_reads_a_decision(arena: Any, text: str, first: str) -> None:
    """The last one counts, a missing one is to cooperate, the end of a long reply is read; the host pays accordingly."""
    (episode,) = said(text, "", "").episodes
    assert dict(episode.rounds[0].actions("action")["player-1"] or {})["player-2"] == first
    assert (episode.rounds[0].payoffs or {})["player-2"] == (3.0 if first == "defect" else 6.0)
