"""Memory: what each mode shows, from either seat."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay import make_config
from coplay.errors import UsageError
from coplay.games import Joint, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import START, History, Memory, Observation, from_own_view, own_view
from coplay.games.normal_form import NormalFormGame
from coplay.games.public_goods import PublicGoods
from coplay.runs.checks import check_without_weights
from coplay.runs.prompts import prompts_after

IPD = make_game("ipd")
C, D = "cooperate", "defect"
UNEVEN = game_from_dict({"name": "g", "actions": [["u", "d"], ["l", "m", "r"]], "payoffs": [[[0, 0]] * 3] * 2})

FIRST, SECOND = range(2)  # row and column, as histories count them


def history_of(game: NormalFormGame, episodes: list[list[Joint]]) -> History:
    history = History(lambda i: game.own_states(game.seats[i]))
    for episode in episodes:
        history.start_episode()
        for joint in episode:
            history.append(joint)
    return history


trials = st.lists(st.lists(st.sampled_from(UNEVEN.states), max_size=5), min_size=1, max_size=4)


def test_nothing_is_shown_before_anything_happened() -> None:
    for memory in Memory:
        shown = history_of(IPD, []).observe(FIRST, memory)
        assert shown == (Observation(transcript=()) if memory is Memory.TRANSCRIPT else Observation())


def test_each_mode_in_the_second_episode() -> None:
    history = history_of(IPD, [[(C, D), (D, D)], [(C, C), (C, D), (C, D)]])
    shown = {memory: history.observe(SECOND, memory) for memory in Memory}
    last = (D, C)  # column defected against row's cooperation
    # Order of counts, column's own view: CC, CD, DC, DD.
    assert shown == {
        Memory.NONE: Observation(),
        Memory.LAST_ROUND: Observation(last=last),
        Memory.LAST_CHOICE: Observation(last=last),
        Memory.EPISODE_COUNTS: Observation(last=last, counts=(1, 0, 1, 0)),
        Memory.TRIAL_COUNTS: Observation(last=last, counts=(1, 0, 2, 1)),
        Memory.WINDOW: Observation(recent=((C, C), (D, C), (D, C))),
        Memory.TRANSCRIPT: Observation(transcript=((C, C), (D, C), (D, C))),
        Memory.CHAT: Observation(),  # the conversation is in the request's rounds
    }


def test_a_new_episode_starts_afresh_except_for_trial_memory() -> None:
    history = history_of(IPD, [[(C, D), (D, D)], []])
    for memory in (Memory.NONE, Memory.LAST_ROUND, Memory.LAST_CHOICE, Memory.EPISODE_COUNTS, Memory.CHAT):
        assert history.observe(FIRST, memory) == Observation()
    assert history.observe(FIRST, Memory.TRANSCRIPT) == Observation(transcript=())
    assert history.observe(FIRST, Memory.TRIAL_COUNTS) == Observation(last=(D, D), counts=(0, 1, 0, 0))


def test_a_shaper_sees_no_counts_in_the_second_round_of_a_trial() -> None:
    """ShapeLLM, appendix A.11: the state-only prompt, once a trial."""
    assert history_of(IPD, [[(C, D)]]).observe(FIRST, Memory.TRIAL_COUNTS) == Observation(last=(C, D))


def test_the_example_of_figure_19() -> None:
    history = history_of(IPD, [[(D, D)] * 5 + [(C, C)]])
    assert history.observe(FIRST, Memory.TRIAL_COUNTS) == Observation(last=(C, C), counts=(0, 0, 0, 5))


@given(trials, st.sampled_from(SEATS))
def test_counts_and_last_round_make_up_the_whole_past(trial: list[list[Joint]], seat: str) -> None:
    history = history_of(UNEVEN, trial)
    for memory, past in (
        (Memory.TRIAL_COUNTS, [joint for episode in trial for joint in episode]),
        (Memory.EPISODE_COUNTS, trial[-1]),
    ):
        shown = history.observe(SEATS.index(seat), memory)
        seen = Counter({shown.last: 1} if shown.last else {})
        seen.update(dict(zip(UNEVEN.own_states(seat), shown.counts or [], strict=shown.counts is not None)))
        assert +seen == Counter(own_view(SEATS.index(seat), joint) for joint in past)
        assert (shown.last is None) == (not past)
        assert (shown.counts is None) == (len(past) < 2)


@given(trials)
def test_the_seats_see_the_same_past_from_two_sides(trial: list[list[Joint]]) -> None:
    history = history_of(UNEVEN, trial)
    for memory in Memory:
        row, column = (history.observe(index, memory) for index in (FIRST, SECOND))
        assert (row.last and own_view(SECOND, row.last)) == column.last
        if row.counts is not None and column.counts is not None:
            mine = dict(zip(UNEVEN.own_states(ROW), row.counts, strict=True))
            theirs = dict(zip(UNEVEN.own_states(COLUMN), column.counts, strict=True))
            assert {own_view(SECOND, joint): n for joint, n in mine.items()} == theirs
        if row.transcript is not None:
            assert tuple(own_view(SECOND, joint) for joint in row.transcript) == column.transcript


@given(trials, st.sampled_from(SEATS), st.sampled_from(Memory))
def test_observations_are_hashable_and_do_not_change_later(trial: list[list[Joint]], seat: str, memory: Memory) -> None:
    history = history_of(UNEVEN, trial)
    before = history.observe(SEATS.index(seat), memory)
    key = hash(before)
    history.append(UNEVEN.states[0])
    assert hash(before) == key
    assert before == history_of(UNEVEN, trial).observe(SEATS.index(seat), memory)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.integers(0, n - 1))))
def test_own_view_puts_the_own_action_first_and_can_be_undone(case: tuple[list[int], int]) -> None:
    joint, index = tuple(f"a{i}" for i in case[0]), case[1]
    seen = own_view(index, joint)
    assert seen[0] == joint[index]
    assert [action for action in joint if action != joint[index]] == list(seen[1:])  # the others keep their order
    assert from_own_view(index, seen) == joint


@given(st.lists(st.tuples(*[st.sampled_from(("contribute", "keep"))] * 3), max_size=6))
def test_three_seats_see_one_past(episode: list[Joint]) -> None:
    game = PublicGoods(n=3)
    history = history_of(game, [episode])
    for index, seat in enumerate(game.seats):
        shown = history.observe(index, Memory.EPISODE_COUNTS)
        counts = dict(zip(game.own_states(seat), shown.counts or [0] * 8, strict=True))
        before = Counter(from_own_view(index, own) for own, n in counts.items() for _ in range(n))
        assert before == Counter(episode[:-1])
        assert shown.last == (own_view(index, episode[-1]) if episode else None)
        assert (shown == START) == (not episode)


# --- The window of H rounds -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(*[st.sampled_from(["cooperate", "defect"])] * 2), max_size=6), st.integers(1, 4))
def test_the_window_is_the_end_of_the_transcript(rounds: list[tuple[str, str]], window: int) -> None:
    history = History(lambda i: [])
    for _ in range(2):  # a new episode begins with nothing
        history.start_episode()
        for joint in rounds:
            history.append(joint)
    for index in (0, 1):
        seen = history.observe(index, Memory.WINDOW, window=window)
        transcript = history.observe(index, Memory.TRANSCRIPT).transcript
        assert transcript is not None and (seen.recent or ()) == transcript[-window:]
        assert (seen.last, seen.counts, seen.transcript) == (None, None, None)


@pytest.mark.parametrize(
    ("history", "shown"),
    [
        ([], ""),
        (["CD"], "The last rounds of the current game, in order, have been C/D."),
        (["CC", "CD", "DD"], "The last rounds of the current game, in order, have been C/D, D/D."),
    ],
)
def test_a_prompt_shows_the_window(history: list[str], shown: str) -> None:
    config = make_config("any/naive", "row.memory=window", "row.window=2")
    prompt = prompts_after(config, history)["row"]
    assert shown in prompt and ("<ADDITIONAL INFORMATION>" in prompt) == bool(shown)


def test_in_text_the_conversation_begins_with_the_window() -> None:
    """With H rounds of the past, it is that of an episode which began H rounds ago, but for what is recalled of the round before."""
    config = make_config("any/naive", "alice.memory=window", "alice.window=2", game="ipd-ab")
    texts = [prompts_after(config, ["AA", "AB", "BB", "BA"][:n])["alice"] for n in range(5)]
    assert [text.count("<start_of_turn>model") for text in texts] == [1, 2, 3, 3, 3]
    assert "you played <A> and Bob played <A>" in texts[2] and "you played <A> and Bob played <A>" not in texts[4]
    whole = make_config("any/naive", "alice.memory=chat", game="ipd-ab")
    assert texts[:3] == [prompts_after(whole, ["AA", "AB", "BB", "BA"][:n])["alice"] for n in range(3)]


def test_tables_do_not_take_windows() -> None:
    with pytest.raises(UsageError, match="a tabular learner cannot read transcripts"):
        check_without_weights(make_config("any/naive", "row.memory=window", learner="tabular"))
