"""Memory: what each mode shows, from either seat."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coplay.games import Joint, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import START, History, Memory, Observation, from_own_view, own_view
from coplay.games.normal_form import NormalFormGame
from coplay.games.public_goods import PublicGoods

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
        Memory.EPISODE_COUNTS: Observation(last=last, counts=(1, 0, 1, 0)),
        Memory.TRIAL_COUNTS: Observation(last=last, counts=(1, 0, 2, 1)),
        Memory.TRANSCRIPT: Observation(transcript=((C, C), (D, C), (D, C))),
        Memory.CHAT: Observation(),  # the conversation is in the request's rounds
    }


def test_a_new_episode_starts_afresh_except_for_trial_memory() -> None:
    history = history_of(IPD, [[(C, D), (D, D)], []])
    for memory in (Memory.NONE, Memory.LAST_ROUND, Memory.EPISODE_COUNTS, Memory.CHAT):
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
