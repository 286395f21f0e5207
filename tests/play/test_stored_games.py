"""Stored games say what happened: acts in order, who may know of each, which rounds are void; and are restored as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from coplay.evaluation.match import STREAMS, play_match
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.mediation_words import addressed
from coplay.games.memory import Memory
from coplay.games.records import Episode, EpisodeRecord, Occupant, Reply, Request, Round, shown_action
from coplay.games.trust_and_split import TrustAndSplit
from coplay.play.records import episode_record, recorded_episode
from coplay.players.base import OneByOne
from coplay.players.named import make_player


def played(game: Game, *players: Any, rounds: int = 4) -> Episode:
    seated = {
        seat: Occupant(one if isinstance(one, OneByOne) else make_player(one, game, seat), str(one))
        for seat, one in zip(game.seats, players, strict=True)
    }
    return play_match(game, seated, rounds=rounds, episodes=1, seed=3).episodes[0]


def stored(game: Game, episode: Episode) -> EpisodeRecord:
    """As it is read from a file."""
    found: EpisodeRecord = json.loads(json.dumps(episode_record(game, episode), allow_nan=False))
    return found


class Mute(OneByOne):
    """Says what cannot be parsed in every second round."""

    name = "mute"
    memory = Memory.NONE

    def reply(self, request: Request) -> Reply:
        return Reply("?") if request.now.number % 2 else Reply("C", "cooperate", probs=(0.7, 0.2))


CASES = [
    ("ipd", ("tit_for_tat", "random:0.4")),
    ("trust-and-split", ("tit_for_tat", "always_defect")),
    ("kuhn", ("uniform", "uniform")),
    ("auction", ("uniform", "uniform")),
    ("negotiation-v2", ("uniform", "uniform")),
    ("bertrand", ("uniform", "uniform")),
    ("public-goods", ("uniform", "uniform", "uniform")),
    ("ipd-3:talk=0+mediator", ("random:0.7", "tit_for_tat", "always_defect", "coin")),
]


@pytest.mark.parametrize(("spec", "players"), CASES)
def test_acts_stand_in_the_order_in_which_they_were_done(spec: str, players: tuple[str, ...]) -> None:
    game = make_game(spec)
    episode = played(game, *players)
    record = stored(game, episode)
    assert len(record["rounds"]) == len(record["states"]) == len(episode.rounds)
    for told, one in zip(record["rounds"], episode.rounds, strict=True):
        found = [(act["seat"], act["phase"], act.get("turn", 0), shown_action(act)) for act in told["acts"]]
        assert found == [(act.seat, act.phase, act.turn, game.show(act.action)) for act in one.acts]
        assert told["payoffs"] == one.payoffs


@pytest.mark.parametrize(("spec", "players"), CASES)
def test_a_stored_game_is_restored(spec: str, players: tuple[str, ...]) -> None:
    game = make_game(spec)
    episode = played(game, *players)
    record = stored(game, episode)
    again = recorded_episode(game, record, STREAMS)
    assert (again.rounds, again.outcomes) == (episode.rounds, episode.outcomes)
    for seat in game.seats:
        said = [[(turn.round, turn.phase, turn.reply.text) for turn in one.turns[seat]] for one in (again, episode)]
        assert said[0] == said[1]
    assert stored(game, again) == record


def test_what_all_others_learn_needs_no_readers() -> None:
    for spec, players in CASES[:-1]:
        game = make_game(spec)
        assert all(
            "readers" not in act for one in stored(game, played(game, *players))["rounds"] for act in one["acts"]
        )


def test_a_mediators_text_is_read_by_those_it_addressed() -> None:
    game = make_game(CASES[-1][0])
    episode = played(game, *CASES[-1][1])
    record = stored(game, episode)
    for told, one in zip(record["rounds"], episode.rounds, strict=True):
        mediation, *others = told["acts"]
        assert mediation["readers"] == addressed(one.acts[0].action)
        assert all("readers" not in act for act in others)
    assert {bool(one["acts"][0]["readers"]) for one in record["rounds"]} == {True, False}


class Whispered(TrustAndSplit):
    """Alice's message never reaches bob."""

    def observe(self, one: Round, seat: str) -> Round:
        seen = super().observe(one, seat)
        return replace(seen, acts=tuple(act for act in seen.acts if act.phase != "message" or act.seat == seat))


def test_a_message_that_the_game_hides_has_no_readers() -> None:
    game = Whispered()
    for one in stored(game, played(game, "tit_for_tat", "always_defect"))["rounds"]:
        assert [act.get("readers") for act in one["acts"]] == [{}, {}, None, None]
        assert "readers" not in one["acts"][-1]


def test_where_acts_are_not_shown_as_such_readers_are_unknown() -> None:
    game = make_game("ipd")
    episode = played(game, "tit_for_tat", "tit_for_tat")
    game = replace(game)  # type: ignore[type-var]
    object.__setattr__(game, "shows_acts", False)
    assert all(act["readers"] is None for one in stored(game, episode)["rounds"] for act in one["acts"])


def test_void_rounds_are_flagged_and_probabilities_kept() -> None:
    game = make_game("ipd")
    record = stored(game, played(game, Mute(), "tit_for_tat"))
    assert [one.get("void", False) for one in record["rounds"]] == [False, True, False, True]
    assert [one["acts"][0]["action"] for one in record["rounds"]] == ["cooperate", None] * 2
    assert record["rounds"][0]["acts"][0]["probs"] == {"cooperate": 0.7, "defect": 0.2}


def test_an_action_that_json_cannot_hold_is_kept_in_words() -> None:
    game = make_game("ipd")
    episode = played(game, "tit_for_tat", "tit_for_tat", rounds=1)
    odd = replace(episode.rounds[0].acts[0], action=float("inf"))
    episode.rounds[0] = replace(episode.rounds[0], acts=(odd, *episode.rounds[0].acts[1:]))
    assert stored(game, episode)["rounds"][0]["acts"][0]["action"] == game.show(float("inf"))
