"""Play: reproducible, independent of batching, and honest about illegal replies."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from coplay.evaluation.summary.match import match, summary
from coplay.games.matrix_prompts import write_message
from coplay.play.loop.loop import Table, legal_joint, play_episode, settle
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.games import MatrixGame, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS
from coplay.games.memory import Memory, Observation
from coplay.players.base import Player
from coplay.players.scripted import make_player
from coplay.types import Episode, Move, View

IPD = make_game("ipd")
C, D = "cooperate", "defect"

STRATEGIES = ["random", "random:0.8", "generous_tit_for_tat:0.5", "zd_extort_2", "tit_for_tat"]


def pair(row: str, column: str, game: MatrixGame = IPD) -> dict[str, Player]:
    return {ROW: make_player(row, game, ROW), COLUMN: make_player(column, game, COLUMN)}


@dataclass
class Script:
    """Plays a line of C, D and ? (an illegal reply), and remembers what it was shown."""

    line: str
    memory: Memory = Memory.TRANSCRIPT
    name: str = "script"

    def __post_init__(self) -> None:
        self.seen: list[Observation] = []

    def act(self, views: Sequence[View]) -> list[Move]:
        self.seen += [view.observation for view in views]
        return [Move({"C": C, "D": D}.get(self.line[view.round]), self.line[view.round]) for view in views]


def play_lines(
    row: str, column: str, memory: Memory = Memory.TRANSCRIPT, game: MatrixGame = IPD
) -> tuple[Episode, dict[str, Script]]:
    scripts = {ROW: Script(row, memory), COLUMN: Script(column, memory)}
    return play_episode([Table(game, 0, 0)], scripts, rounds=len(row), occasion=("test",))[0], scripts


def payoffs(episode: Episode, seat: str) -> list[float | None]:
    return [turn.payoff for turn in episode.traces[seat].turns]


# --- Episodes -----------------------------------------------------------------------------------------------------------------


def test_an_episode_is_complete() -> None:
    episode, _ = play_lines("CCDD", "CDCD")
    assert episode.states == [(C, C), (C, D), (D, C), (D, D)]
    assert payoffs(episode, ROW) == [3, 0, 4, 1]
    assert payoffs(episode, COLUMN) == [3, 4, 0, 1]
    assert [turn.move.reply for turn in episode.traces[COLUMN].turns] == list("CDCD")
    assert {seat: trace.seat for seat, trace in episode.traces.items()} == {ROW: ROW, COLUMN: COLUMN}


def test_payoffs_are_from_each_seats_own_view() -> None:
    episode, _ = play_lines("CD", "CC", game=make_game("c-ipd"))
    assert payoffs(episode, ROW) == [6, 4]
    assert payoffs(episode, COLUMN) == [3, 0]


def test_players_see_their_own_side_of_the_past() -> None:
    _, scripts = play_lines("CD", "DD", Memory.LAST_ROUND)
    assert scripts[ROW].seen == [Observation(), Observation(last=(C, D))]
    assert scripts[COLUMN].seen == [Observation(), Observation(last=(D, C))]


def test_moves_are_simultaneous() -> None:
    """Column cannot see row's move of the same round."""
    _, scripts = play_lines("DDD", "CCC")
    assert scripts[COLUMN].seen[0].transcript == ()
    assert scripts[COLUMN].seen[1].transcript == ((C, D),)


def test_a_table_remembers_a_trial() -> None:
    table = Table(IPD, 0, 0)
    scripts = {ROW: Script("CD", Memory.TRIAL_COUNTS), COLUMN: Script("DD", Memory.EPISODE_COUNTS)}
    for _ in range(2):
        play_episode([table], scripts, rounds=2, occasion=("test",))
    assert scripts[ROW].seen[-2:] == [
        Observation(last=(D, D), counts=(0, 1, 0, 0)),
        Observation(last=(C, D), counts=(0, 1, 0, 1)),
    ]
    assert scripts[COLUMN].seen[-2:] == [Observation(), Observation(last=(D, C))]
    table.start_trial()
    play_episode([table], scripts, rounds=2, occasion=("test",))
    assert scripts[ROW].seen[-2] == Observation()


# --- Chance -------------------------------------------------------------------------------------------------------------------


def one(seed: int, index: int, players: dict[str, Player], occasion: tuple[int | str, ...] = ("test",)) -> Episode:
    return play_episode([Table(IPD, seed, index)], players, rounds=12, occasion=occasion)[0]


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from(STRATEGIES), st.sampled_from(STRATEGIES))
@settings(max_examples=settings().max_examples // 2)
def test_same_seed_same_episode(seed: int, index: int, row: str, column: str) -> None:
    assert one(seed, index, pair(row, column)) == one(seed, index, pair(row, column))


def test_other_names_give_other_games() -> None:
    players = pair("random", "random")
    episodes = [
        one(0, 0, players),
        one(1, 0, players),
        one(0, 1, players),
        one(0, 0, players, ("eval",)),
        one(0, 0, players, ("test", 1)),
    ]
    assert len({tuple(episode.states) for episode in episodes}) == len(episodes)


def test_the_seats_have_streams_of_their_own() -> None:
    episode = one(0, 0, pair("random", "random"))
    assert any(state is not None and state[0] != state[1] for state in episode.states)
    against_another = one(0, 0, pair("random", "tit_for_tat"))
    own_moves = [turn.move.action for turn in episode.traces[ROW].turns]
    assert own_moves == [turn.move.action for turn in against_another.traces[ROW].turns]


def test_more_rounds_begin_with_the_same_rounds() -> None:
    players = pair("random", "zd_extort_2")
    short, long = (play_episode([Table(IPD, 3, 1)], players, rounds=n, occasion=("test",))[0].states for n in (5, 15))
    assert long[:5] == short


places = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=6)


@given(places, st.sampled_from(STRATEGIES), st.sampled_from(STRATEGIES))
@settings(max_examples=settings().max_examples // 2)
def test_played_together_or_alone(places: list[tuple[int, int]], row: str, column: str) -> None:
    """Several tables and seeds in one batch, in any order, give what each gives by itself."""
    players = pair(row, column)
    together = play_episode([Table(IPD, *place) for place in places], players, rounds=12, occasion=("test",))
    assert together == [one(*place, players) for place in places]


def test_tables_may_hold_different_games() -> None:
    """Each table is settled by its own rules."""
    tables = [Table(IPD, 0, 0), Table(make_game("c-ipd"), 0, 1)]
    episodes = play_episode(tables, {ROW: Script("C"), COLUMN: Script("C")}, rounds=1, occasion=("test",))
    assert [payoffs(episode, ROW) for episode in episodes] == [[3], [6]]


def test_a_player_must_move_at_every_table() -> None:
    class Silent(Script):
        def act(self, views: Sequence[View]) -> list[Move]:
            return []

    with pytest.raises(ValueError, match="shorter"):
        play_episode([Table(IPD, 0, 0)], {ROW: Silent("C"), COLUMN: Script("C")}, rounds=1, occasion=("test",))


# --- Illegal replies ----------------------------------------------------------------------------------------------------------


def test_the_augmented_payoff_table() -> None:
    """ShapeLLM, Table 6: the offender pays, the other seat's transition is discarded."""
    for seat in SEATS:
        for game in (IPD, make_game("icg")):
            first = game.actions[seat][0]
            both = {s: game.actions[s][0] for s in SEATS}
            other_illegal = {s: (first if s == seat else None) for s in SEATS}
            own_illegal = {s: (None if s == seat else first) for s in SEATS}
            assert settle(game, seat, both) == game.payoffs[0][0][SEATS.index(seat)]
            assert settle(game, seat, other_illegal) is None
            assert settle(game, seat, own_illegal) == game.null_payoff
            assert settle(game, seat, dict.fromkeys(SEATS)) == game.null_payoff
    assert legal_joint({ROW: C, COLUMN: D}) == (C, D)
    assert legal_joint({ROW: None, COLUMN: D}) is None


def test_illegal_replies_are_priced_and_void_the_round() -> None:
    episode, _ = play_lines("C?CD?", "DC?C?")
    assert payoffs(episode, ROW) == [0, -1, None, 4, -1]
    assert payoffs(episode, COLUMN) == [4, None, -1, 0, -1]
    assert episode.states == [(C, D), None, None, (D, C), None]
    assert episode.traces[ROW].turns[1].move == Move(None, "?")


@pytest.mark.parametrize("memory", Memory)
def test_history_does_not_advance_over_a_voided_round(memory: Memory) -> None:
    """What is shown after an illegal reply is what was shown before it."""
    _, voided = play_lines("CC?D?DC", "CD?DCDC", memory)  # rounds 2 and 4 are void
    _, clean = play_lines("CCDDC", "CDDDC", memory)
    for seat in SEATS:
        legal = [o for t, o in enumerate(voided[seat].seen) if t not in (2, 4)]
        assert legal == clean[seat].seen
        assert voided[seat].seen[2] == voided[seat].seen[3]


def test_a_scripted_player_overlooks_a_voided_round() -> None:
    players: dict[str, Player] = {ROW: make_player("tit_for_tat", IPD, ROW), COLUMN: Script("D?CC")}
    episode = play_episode([Table(IPD, 0, 0)], players, rounds=4, occasion=("test",))[0]
    assert [turn.move.action for turn in episode.traces[ROW].turns] == [C, D, D, C]


# --- One source of payoffs ----------------------------------------------------------------------------------------------------


def test_a_changed_payoff_changes_environment_prompt_and_evaluation() -> None:
    changed = dataclasses.replace(IPD, payoffs=(((3, 3), (0, 4)), ((9, -7), (1, 1))))
    for game, row, column in ((IPD, 4, 0), (changed, 9, -7)):
        players = pair("always_defect", "always_cooperate", game)
        result = match(game, players, rounds=2, episodes=1, seed=0)
        assert payoffs(result.episodes[0], ROW) == [row, row]
        assert payoffs(result.episodes[0], COLUMN) == [column, column]
        seats = summary(result)["seats"]
        assert (seats[ROW]["per_round"], seats[COLUMN]["per_round"]) == (row, column)
        assert f"D/C: {row}/{column}," in write_message(game, ROW, Observation()).rules
        assert f"C/D: {column}/{row}," in write_message(game, COLUMN, Observation()).rules


def test_a_changed_null_payoff_changes_the_price() -> None:
    episode, _ = play_lines("?", "C", game=dataclasses.replace(IPD, null_payoff=-5.0))
    assert payoffs(episode, ROW) == [-5]
