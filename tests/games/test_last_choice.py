"""The memory that shows the last round in which a co-player had a choice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay import make_config
from coplay.conformance.games import ExamplePlayer
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.conversation import chat_messages, check_memory
from coplay.games.information import key_of_request
from coplay.games.memory import START, History, Joint, Memory, Observation
from coplay.games.records import Occupant, Phase, Request, Round
from coplay.games.trust_and_split import TrustAndSplit
from coplay.learners.config import LearnerConfig
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.runs.checks import check_without_weights
from coplay.runs.prompts import prompts_after

IPD, TRUST = make_game("ipd"), make_game("trust-and-split")
LAST_ROUND, LAST_CHOICE = Memory.LAST_ROUND, Memory.LAST_CHOICE
C, D = "cooperate", "greedy"


def trust_history(*rounds: Joint | None) -> History:
    """A history of Trust-and-Split in which None stands for a void round."""
    history = History(lambda index: TRUST.own_states(TRUST.seats[index]))
    history.start_episode()
    for joint in rounds:
        history.append(joint or (None, None), void=joint is None)
    return history


@given(st.lists(st.sampled_from(IPD.own_states("row")), max_size=6))
def test_where_all_choose_in_every_round_it_is_the_last_round(joints: list[Joint]) -> None:
    history = History(lambda index: IPD.own_states(IPD.seats[index]))
    history.start_episode()
    for joint in joints:
        history.append(joint)
    for index in range(2):
        shown, last = (history.observe(index, memory) for memory in (LAST_CHOICE, LAST_ROUND))
        assert shown == last
        assert shown.round == last.round == (len(joints) - 1 if joints else None)


def test_rounds_in_which_the_co_player_had_no_choice_are_passed_over() -> None:
    history = trust_history((D, None), None, (None, C), (None, D), None)
    alice, bob = (history.observe(index, LAST_CHOICE) for index in range(2))
    assert (alice, alice.round) == (Observation(last=(None, D)), 3)
    assert (bob, bob.round) == (Observation(last=(None, D)), 0)  # own first: bob had no choice, alice was greedy


def test_nothing_is_shown_before_the_co_player_had_a_choice_in_this_episode() -> None:
    history = trust_history((D, None), (None, None))
    assert history.observe(0, LAST_CHOICE) == START
    history.start_episode()
    assert history.observe(1, LAST_CHOICE) == START
    history.append((C, None))
    assert history.observe(1, LAST_CHOICE).round == 0


def asked_in(game: Game) -> list[Request]:
    """What a player with this memory is asked in some games of examples, of which a fifth cannot be parsed."""
    player = ExamplePlayer(game, unparsed=0.2)
    player.memory = LAST_CHOICE
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    tables = [Table(game, 0, index, index, seated) for index in range(12)]
    play_episode(game, tables, rounds=8, streams=StreamNames(("test",)))
    return player.requests


@pytest.mark.parametrize("name", ["trust-and-split", "split-no-comm", "negotiation-v1", "kuhn"])
def test_prompts_tell_of_the_round_that_a_search_finds(name: str) -> None:
    game, ages = make_game(name), set()
    for request in asked_in(game):
        index = game.seats.index(request.seat)
        chose = [
            one
            for one in request.past
            if not game.outcome(one).void and game.outcome(one).conduct[1 - index] is not None
        ]
        (message,) = chat_messages(game, request, LAST_CHOICE)
        age = request.now.number - chose[-1].number if chose else 0
        told = game.recap(chose[-1], request.seat, dated=age > 1) if chose else ""
        assert told in message.text
        assert ("In the last" in message.text) == (age == 1)
        assert (f" {request.now.number - age + 1}" in told.split(" you")[0]) == (age > 1)
        recaps = [game.recap(one, request.seat, dated=dated) for one in request.past for dated in (False, True)]
        assert all(recap == told or recap not in message.text for recap in recaps)
        ages.add(age)
    assert {0, 1, 2} <= ages


def test_knowledge_is_equal_where_prompts_are() -> None:
    """An information set's name tells apart what the prompt tells apart, and nothing else."""
    keys: dict[str, set[str]] = {}
    prompts: dict[str, set[str]] = {}
    for request in asked_in(TRUST):
        text = f"{request.seat} {request.now.number} " + chat_messages(TRUST, request, LAST_CHOICE)[0].text
        key = key_of_request(TRUST, request, LAST_CHOICE, window=3)
        keys.setdefault(text, set()).add(key)
        prompts.setdefault(key, set()).add(text)
    assert all(len(texts) == 1 for texts in prompts.values())
    assert sum(len(found) == 1 for found in keys.values()) > 0.9 * len(
        keys
    )  # unparsed replies are read by the key alone


def test_a_game_without_words_for_conduct_is_refused() -> None:
    class Silent(Game):
        name, description, seats = "silent", "Nobody says what was done.", ("a", "b")

        def next_phase(self, now: Round) -> Phase | None:
            return None if now.acts else Phase("act", self.seats)

        def payoffs(self, now: Round) -> dict[str, float | None]:
            return dict.fromkeys(self.seats, 0.0)

        def question(self, now: Round, phase: Phase, seat: str) -> str:
            return "Act."

        def choices(self, request: Request) -> Sequence[str]:
            return ("x", "y")

    with pytest.raises(UsageError, match=r"write `conducts` and `outcome`; or use memory=last_round"):
        check_memory(Silent(), LAST_CHOICE)
    check_memory(Silent(), LAST_ROUND)


def test_a_recap_that_cannot_tell_of_earlier_rounds_is_refused() -> None:
    class Undated(TrustAndSplit):
        def recap(self, last: Round, seat: str) -> str:  # type: ignore[override]
            return "Something happened."

    with pytest.raises(UsageError, match="give it the argument `dated`"):
        check_memory(Undated(), LAST_CHOICE)
    check_memory(Undated(), LAST_ROUND)


@pytest.mark.parametrize("states", product(("C", "D"), repeat=2))
def test_choices_of_one_label_have_the_prompts_of_the_last_round(states: tuple[str, str]) -> None:
    texts = [
        prompts_after(make_config("shapellm/ipd", f"row.memory={memory}", f"column.memory={memory}"), ["".join(states)])
        for memory in (LAST_ROUND, LAST_CHOICE)
    ]
    assert texts[0] == texts[1]


def test_tables_that_are_indexed_by_the_last_round_refuse_it() -> None:
    with pytest.raises(ValueError, match="needs memory=none or last_round"):
        LearnerConfig(policy="tabular", algorithm="q_learning", memory=LAST_CHOICE)
    check_without_weights(make_config("adalign/trust-and-split", "learner.memory=last_choice"))
