"""The loop: reproducible, independent of batching, and honest about replies that cannot be parsed."""

import dataclasses
from collections.abc import Sequence

import pytest
from fake_players import TEST, LinePlayer, actions, occupants, play, record, scripts, states
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.errors import CoplayError
from coplay.evaluation.match import play_match
from coplay.games import MatrixGame, make_game
from coplay.games.base import Game
from coplay.games.matrix import COLUMN, ROW, SEATS
from coplay.games.memory import START, Memory, Observation
from coplay.games.records import Act, Episode, Phase, Reply, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import make_script

IPD = make_game("ipd")
C, D = "cooperate", "defect"

STRATEGIES = ["random", "random:0.8", "generous_tit_for_tat:0.5", "zd_extort_2", "tit_for_tat"]


def pair(row: str, column: str, game: Game = IPD) -> dict[str, Player]:
    return scripts(game, row, column)


def play_lines(
    row: str, column: str, memory: Memory = Memory.TRANSCRIPT, game: Game = IPD
) -> tuple[Episode, dict[str, LinePlayer]]:
    players = {ROW: LinePlayer(row, memory), COLUMN: LinePlayer(column, memory)}
    return play(game, players, rounds=len(row))[0], players


# --- Episodes -----------------------------------------------------------------------------------------------------------------


def test_an_episode_is_complete() -> None:
    episode, _ = play_lines("CCDD", "CDCD")
    assert states(episode) == [(C, C), (C, D), (D, C), (D, D)]
    assert episode.payoffs(ROW) == [3, 0, 4, 1] and episode.total(ROW) == 8
    assert episode.payoffs(COLUMN) == [3, 4, 0, 1] and episode.total(COLUMN) == 8
    assert [turn.reply.text for turn in episode.turns[COLUMN]] == list("CDCD")
    assert [(turn.round, turn.phase, turn.turn) for turn in episode.turns[ROW]] == [(t, "action", 0) for t in range(4)]
    assert {turn.seat for turn in episode.turns[ROW]} == {ROW}
    assert [one.number for one in episode.rounds] == [0, 1, 2, 3]


def test_payoffs_are_from_each_seats_own_view() -> None:
    episode, _ = play_lines("CD", "CC", game=make_game("c-ipd"))
    assert episode.payoffs(ROW) == [6, 4]
    assert episode.payoffs(COLUMN) == [3, 0]


def test_players_see_their_own_side_of_the_past() -> None:
    _, players = play_lines("CD", "DD", Memory.LAST_ROUND)
    assert players[ROW].observations == [START, Observation(last=(C, D))]
    assert players[COLUMN].observations == [START, Observation(last=(D, C))]


def test_seats_of_a_phase_act_at_once() -> None:
    """Column cannot see row's action of the same round."""
    _, players = play_lines("DDD", "CCC")
    assert players[COLUMN].observations[0].transcript == ()
    assert players[COLUMN].observations[1].transcript == ((C, D),)


def test_a_request_shows_what_was_done_before_and_nothing_of_the_round_in_progress() -> None:
    asked: list[Request] = []

    class Asked(LinePlayer):
        def act(self, requests: Sequence[Request]) -> list[Reply]:
            asked.extend(requests)
            return super().act(requests)

    (episode,) = play(IPD, {ROW: LinePlayer("CDC"), COLUMN: Asked("DDC")}, rounds=3)
    for number, request in enumerate(asked):
        assert (request.seat, request.phase.name, request.attempt, request.slot) == (COLUMN, "action", 0, None)
        assert request.now == Round(number)
        assert request.past == tuple(episode.rounds[:number])
        assert request.own == tuple(episode.turns[COLUMN][:number])


def test_a_table_remembers_a_trial() -> None:
    players = {ROW: LinePlayer("CD", Memory.TRIAL_COUNTS), COLUMN: LinePlayer("DD", Memory.EPISODE_COUNTS)}
    table = Table(IPD, 0, 0, 0, occupants(players))
    for _ in range(2):
        play_episode(IPD, [table], rounds=2, streams=TEST)
    assert players[ROW].observations[-2:] == [
        Observation(last=(D, D), counts=(0, 1, 0, 0)),
        Observation(last=(C, D), counts=(0, 1, 0, 1)),
    ]
    assert players[COLUMN].observations[-2:] == [START, Observation(last=(D, C))]
    table.start_trial()
    play_episode(IPD, [table], rounds=2, streams=TEST)
    assert players[ROW].observations[-2] == START


def test_learners_that_update_every_round_are_called_after_each() -> None:
    called: list[tuple[int, list[int]]] = []

    def after_round(number: int, games: Sequence[Episode]) -> None:
        latest = [game.latest_round(finished=number == 2) for game in games]
        assert all([one.number for one in game.rounds] == [number] for game in latest)
        assert all(len(game.outcomes) == 1 for game in latest)
        assert all([turn.round for turn in game.turns[ROW]] == [number] for game in latest)
        assert all(game.finished == (number == 2) for game in latest)
        called.append((number, [len(game.rounds) for game in games]))

    tables = [Table(IPD, 0, 0, i, occupants(pair("random", "random"))) for i in range(2)]
    play_episode(IPD, tables, rounds=3, streams=TEST, after_round=after_round)
    assert called == [(0, [1, 1]), (1, [2, 2]), (2, [3, 3])]


# --- Chance -------------------------------------------------------------------------------------------------------------------


def one(seed: int, index: int, players: dict[str, Player], streams: StreamNames = TEST) -> Episode:
    table = Table(IPD, seed, index, index, occupants(players))
    return play_episode(IPD, [table], rounds=12, streams=streams)[0]


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from(STRATEGIES), st.sampled_from(STRATEGIES))
@settings(max_examples=25)
def test_same_seed_same_episode(seed: int, index: int, row: str, column: str) -> None:
    assert record(one(seed, index, pair(row, column))) == record(one(seed, index, pair(row, column)))


def test_other_names_give_other_games() -> None:
    players = pair("random", "random")
    episodes = [
        one(0, 0, players),
        one(1, 0, players),
        one(0, 1, players),
        one(0, 0, players, StreamNames(("eval",))),
        one(0, 0, players, StreamNames(("test",), 0)),
        one(0, 0, players, StreamNames(("test",), 1)),
    ]
    assert len({tuple(states(episode)) for episode in episodes}) == len(episodes)


def test_what_streams_are_called() -> None:
    """A contract: other names are other numbers, in every run ever recorded. Choices always have the episode in their name, deals and
    generated replies from the second episode of a trial on.
    """
    path = ("train", 7)
    outside, first, second = (StreamNames(path, episode) for episode in (None, 0, 1))
    assert [one.choices for one in (outside, first, second)] == [path, (*path, 0), (*path, 1)]
    assert [one.replies for one in (outside, first, second)] == [path, path, (*path, 1)]


def test_the_seats_have_streams_of_their_own() -> None:
    episode = one(0, 0, pair("random", "random"))
    assert any(own != other for own, other in states(episode))
    against_another = one(0, 0, pair("random", "tit_for_tat"))
    assert actions(episode, ROW) == actions(against_another, ROW)


def test_more_rounds_begin_with_the_same_rounds() -> None:
    players = pair("random", "zd_extort_2")
    short, middle, long = (states(play(IPD, players, seed=3, rounds=n)[0]) for n in (5, 15, 80))
    assert middle[:5] == short and long[:15] == middle


places = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=6)


@given(places, st.sampled_from(STRATEGIES), st.sampled_from(STRATEGIES))
@settings(max_examples=25)
def test_played_together_or_alone(places: list[tuple[int, int]], row: str, column: str) -> None:
    """Several tables and seeds in one batch, in any order, give what each gives by itself."""
    players = pair(row, column)
    tables = [Table(IPD, seed, index, index, occupants(players)) for seed, index in places]
    together = play_episode(IPD, tables, rounds=12, streams=TEST)
    assert [record(each) for each in together] == [record(one(*place, players)) for place in places]


# --- Broken protocols -----------------------------------------------------------------------------------------------------------


def test_a_player_must_reply_at_every_table() -> None:
    class Silent(LinePlayer):
        def act(self, requests: Sequence[Request]) -> list[Reply]:
            return []

    with pytest.raises(CoplayError, match=r"player 'silent' \((row|column), round 1\) gave 0 replies to 1 requests"):
        play(IPD, {ROW: Silent("C", name="silent"), COLUMN: LinePlayer("C")}, rounds=1)


class Broken(Game):
    """A game whose phases or payoffs are given by a test."""

    name, description, seats, rounds = "broken", "Breaks its protocol.", ("a", "b"), 1

    def __init__(self, phases: Sequence[Phase], payoffs: dict[str, float]) -> None:
        self.phases, self.paid = phases, payoffs

    def next_phase(self, now: Round) -> Phase | None:
        return self.phases[len(now.acts)] if len(now.acts) < len(self.phases) else None

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return dict(self.paid)

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return "?"


@pytest.mark.parametrize(
    ("phases", "payoffs", "said"),
    [
        ([Phase("move", ("c",))], {"a": 0.0, "b": 0.0}, "phase 'move' asks .*'c'.*, which are not its seats"),
        ([Phase("move", ())], {"a": 0.0, "b": 0.0}, "phase 'move' asks .*, which are not its seats"),
        ([Phase("move", ("a",))] * 2, {"a": 0.0, "b": 0.0}, "phase 'move' with turn 0 comes twice in one round"),
        ([Phase("move", ("a",))], {"a": 0.0}, "game 'broken' pays a; its seats are a, b"),
    ],
)
def test_a_game_that_breaks_its_protocol_is_named(phases: list[Phase], payoffs: dict[str, float], said: str) -> None:
    player = LinePlayer("C")
    with pytest.raises(CoplayError, match=said):
        play(Broken(phases, payoffs), {"a": player, "b": player}, rounds=1)


# --- Replies that cannot be parsed ------------------------------------------------------------------------------------------------


def paid(game: Game, row: str | None, column: str | None) -> dict[str, float | None]:
    return game.payoffs(Round(0, acts=(Act("action", 0, ROW, row), Act("action", 0, COLUMN, column))))


def test_the_augmented_payoff_table() -> None:
    """ShapeLLM, Table 6: the offender pays, the other seat's transition is discarded."""
    for name in ("ipd", "icg"):
        game = make_game(name)
        assert isinstance(game, MatrixGame)
        first = game.actions[ROW][0]
        assert paid(game, first, first) == dict(zip(SEATS, game.table[0][0], strict=True))
        assert paid(game, None, first) == {ROW: game.null_payoff, COLUMN: None}
        assert paid(game, first, None) == {ROW: None, COLUMN: game.null_payoff}
        assert paid(game, None, None) == dict.fromkeys(SEATS, game.null_payoff)


def test_illegal_replies_are_priced_and_void_the_round() -> None:
    episode, _ = play_lines("C?CD?", "DC?C?")
    assert episode.payoffs(ROW) == [0, -1, None, 4, -1]
    assert episode.payoffs(COLUMN) == [4, None, -1, 0, -1]
    assert [None if outcome.void else outcome.conduct for outcome in episode.outcomes] == [
        (C, D), None, None, (D, C), None
    ]  # fmt: skip
    assert [outcome.parsed for outcome in episode.outcomes] == [True, False, False, True, False]
    assert episode.turns[ROW][1].reply == Reply("?")
    assert [payoff for _, payoff in episode.scored_turns(COLUMN)] == [4, -1, 0, -1]


@pytest.mark.parametrize("memory", Memory)
def test_history_does_not_advance_over_a_voided_round(memory: Memory) -> None:
    """What is shown after an illegal reply is what was shown before it."""
    _, voided = play_lines("CC?D?DC", "CD?DCDC", memory)  # rounds 2 and 4 are void
    _, clean = play_lines("CCDDC", "CDDDC", memory)
    for seat in SEATS:
        legal = [o for t, o in enumerate(voided[seat].observations) if t not in (2, 4)]
        assert legal == clean[seat].observations
        assert voided[seat].observations[2] == voided[seat].observations[3]


def test_a_scripted_player_overlooks_a_voided_round() -> None:
    players: dict[str, Player] = {ROW: make_script("tit_for_tat", IPD, ROW), COLUMN: LinePlayer("D?CC")}
    (episode,) = play(IPD, players, rounds=4)
    assert actions(episode, ROW) == [C, D, D, C]


# --- One source of payoffs ----------------------------------------------------------------------------------------------------


def test_a_changed_payoff_changes_play_prompt_and_evaluation() -> None:
    assert isinstance(IPD, MatrixGame)
    changed = dataclasses.replace(IPD, table=(((3, 3), (0, 4)), ((9, -7), (1, 1))))
    for game, row, column in ((IPD, 4, 0), (changed, 9, -7)):
        players = occupants(pair("always_defect", "always_cooperate", game))
        result = play_match(game, players, rounds=2, episodes=1, seed=0)
        assert result.episodes[0].payoffs(ROW) == [row, row]
        assert result.episodes[0].payoffs(COLUMN) == [column, column]
        seats = result.summary()["seats"]
        assert (seats[ROW]["per_round"], seats[COLUMN]["per_round"]) == (row, column)
        assert f"D/C: {row}/{column}," in game.prompt_parts(ROW, START).rules
        assert f"C/D: {column}/{row}," in game.prompt_parts(COLUMN, START).rules


def test_a_changed_null_payoff_changes_the_price() -> None:
    assert isinstance(IPD, MatrixGame)
    episode, _ = play_lines("?", "C", game=dataclasses.replace(IPD, null_payoff=-5.0))
    assert episode.payoffs(ROW) == [-5]
