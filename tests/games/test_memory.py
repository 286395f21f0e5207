"""Memory: what each mode shows, from either seat."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coplay.games import Joint, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import History, Memory, Observation, history_of, own_view

IPD = make_game("ipd")
C, D = "cooperate", "defect"
UNEVEN = game_from_dict({"name": "g", "actions": [["u", "d"], ["l", "m", "r"]], "payoffs": [[[0, 0]] * 3] * 2})

trials = st.lists(st.lists(st.sampled_from(UNEVEN.states), max_size=5), min_size=1, max_size=4)


def test_nothing_is_shown_before_anything_happened() -> None:
    for memory in Memory:
        shown = History(IPD).observe(ROW, memory)
        assert shown == (Observation(transcript=()) if memory is Memory.TRANSCRIPT else Observation())


def test_each_mode_in_the_second_episode() -> None:
    history = history_of(IPD, [[(C, D), (D, D)], [(C, C), (C, D), (C, D)]])
    shown = {memory: history.observe(COLUMN, memory) for memory in Memory}
    last = (D, C)  # column defected against row's cooperation
    # Order of counts, column's own view: CC, CD, DC, DD.
    assert shown == {
        Memory.NONE: Observation(),
        Memory.LAST_ROUND: Observation(last=last),
        Memory.EPISODE_COUNTS: Observation(last=last, counts=(1, 0, 1, 0)),
        Memory.TRIAL_COUNTS: Observation(last=last, counts=(1, 0, 2, 1)),
        Memory.TRANSCRIPT: Observation(transcript=((C, C), (D, C), (D, C))),
    }


def test_a_new_episode_starts_afresh_except_for_trial_memory() -> None:
    history = history_of(IPD, [[(C, D), (D, D)], []])
    for memory in (Memory.NONE, Memory.LAST_ROUND, Memory.EPISODE_COUNTS):
        assert history.observe(ROW, memory) == Observation()
    assert history.observe(ROW, Memory.TRANSCRIPT) == Observation(transcript=())
    assert history.observe(ROW, Memory.TRIAL_COUNTS) == Observation(last=(D, D), counts=(0, 1, 0, 0))


def test_a_shaper_sees_no_counts_in_the_second_round_of_a_trial() -> None:
    """ShapeLLM, appendix A.11: the state-only prompt, once a trial."""
    assert history_of(IPD, [[(C, D)]]).observe(ROW, Memory.TRIAL_COUNTS) == Observation(last=(C, D))


def test_the_example_of_figure_19() -> None:
    history = history_of(IPD, [[(D, D)] * 5 + [(C, C)]])
    assert history.observe(ROW, Memory.TRIAL_COUNTS) == Observation(last=(C, C), counts=(0, 0, 0, 5))


@given(trials, st.sampled_from(SEATS))
def test_counts_and_last_round_make_up_the_whole_past(trial: list[list[Joint]], seat: str) -> None:
    history = history_of(UNEVEN, trial)
    for memory, past in (
        (Memory.TRIAL_COUNTS, [joint for episode in trial for joint in episode]),
        (Memory.EPISODE_COUNTS, trial[-1]),
    ):
        shown = history.observe(seat, memory)
        seen = Counter({shown.last: 1} if shown.last else {})
        seen.update(dict(zip(UNEVEN.own_states(seat), shown.counts or [], strict=shown.counts is not None)))
        assert +seen == Counter(own_view(seat, joint) for joint in past)
        assert (shown.last is None) == (not past)
        assert (shown.counts is None) == (len(past) < 2)


@given(trials)
def test_the_seats_see_the_same_past_from_two_sides(trial: list[list[Joint]]) -> None:
    history = history_of(UNEVEN, trial)
    for memory in Memory:
        row, column = (history.observe(seat, memory) for seat in SEATS)
        assert (row.last and own_view(COLUMN, row.last)) == column.last
        if row.counts is not None and column.counts is not None:
            mine = dict(zip(UNEVEN.own_states(ROW), row.counts, strict=True))
            theirs = dict(zip(UNEVEN.own_states(COLUMN), column.counts, strict=True))
            assert {own_view(COLUMN, joint): n for joint, n in mine.items()} == theirs
        if row.transcript is not None:
            assert tuple(own_view(COLUMN, joint) for joint in row.transcript) == column.transcript


@given(trials, st.sampled_from(SEATS), st.sampled_from(Memory))
def test_observations_are_hashable_and_do_not_change_later(trial: list[list[Joint]], seat: str, memory: Memory) -> None:
    history = history_of(UNEVEN, trial)
    before = history.observe(seat, memory)
    key = hash(before)
    history.append(UNEVEN.states[0])
    assert hash(before) == key
    assert before == history_of(UNEVEN, trial).observe(seat, memory)


def test_own_view_undoes_itself() -> None:
    for seat in SEATS:
        assert own_view(seat, own_view(seat, ("u", "m"))) == ("u", "m")
