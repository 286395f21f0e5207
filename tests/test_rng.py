"""Streams depend on their names and on nothing else."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coplay.rng import draws, draws_of_many, stream, stream_seed

names = st.tuples(st.integers(0, 10), st.sampled_from(["play", "minibatch"]), st.lists(st.integers(0, 5), max_size=3))


@given(names, st.integers(1, 20))
def test_same_name_same_numbers(name: tuple[int, str, list[int]], n: int) -> None:
    seed, purpose, path = name
    first = draws(seed, purpose, *path, n=n)
    np.random.default_rng(0).random(7)  # something else happens in between
    np.testing.assert_array_equal(first, draws(seed, purpose, *path, n=n))
    np.testing.assert_array_equal(first, draws(seed, purpose, *path, n=n + 5)[:n])
    assert ((first >= 0) & (first < 1)).all()


@given(names, st.integers(0, 70))
def test_draws_are_the_streams_first_numbers(name: tuple[int, str, list[int]], n: int) -> None:
    seed, purpose, path = name
    np.testing.assert_array_equal(draws(seed, purpose, *path, n=n), stream(seed, purpose, *path).random(n))


@given(
    st.integers(0, 2**63), st.lists(st.lists(st.integers(0, 9) | st.text(max_size=3), max_size=3)), st.integers(0, 70)
)
def test_many_streams_at_once_are_numpys(seed: int, paths: list[list[int | str]], n: int) -> None:
    found = draws_of_many(seed, "play", [tuple(path) for path in paths], n=n)
    assert found.shape == (len(paths), n) and found.dtype == np.float64
    for row, path in zip(found, paths, strict=True):
        np.testing.assert_array_equal(row, stream(seed, "play", *path).random(n))


def test_more_streams_than_are_computed_together() -> None:
    found = draws_of_many(1, "play", [("eval", game, "row") for game in range(2500)], n=3)
    assert all((found[game] == draws(1, "play", "eval", game, "row", n=3)).all() for game in range(2500))


def test_threads_draw_apart() -> None:
    """Each has a generator of its own, however their draws fall between each other."""
    expected = [stream(seed, "play").random(2000).sum() for seed in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: draws(seed, "play", n=2000).sum(), range(400)))
    assert found == expected


@given(names, names)
def test_other_name_other_numbers(a: tuple[int, str, list[int]], b: tuple[int, str, list[int]]) -> None:
    if a != b:
        assert not np.array_equal(draws(a[0], a[1], *a[2], n=4), draws(b[0], b[1], *b[2], n=4))


def test_names_do_not_run_together() -> None:
    assert stream_seed(1, "play", 12, 3) != stream_seed(1, "play", 1, 23)
    assert stream_seed(11, "play") != stream_seed(1, "1play")


def test_the_global_generator_is_left_alone() -> None:
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    stream(0, "play").random(10)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


def test_draws_are_uniform_over_streams() -> None:
    numbers = np.array([draws(0, "play", game, seat, n=5) for game in range(400) for seat in ("row", "column")])
    assert abs(numbers.mean() - 0.5) < 4 / np.sqrt(12 * numbers.size)
    assert abs(np.corrcoef(numbers[0::2, 0], numbers[1::2, 0])[0, 1]) < 0.2  # the seats of a game are independent


def test_stream_seed_fits_a_torch_generator() -> None:
    seeds = {stream_seed(seed, "model") for seed in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_numbers_are_those_of_version_1() -> None:
    """Golden: a change here changes every run ever recorded."""
    golden = [0.7847413556800068, 0.9467728856322302, 0.7058939721663603]
    assert draws(0, "play", "eval", 0, "row", n=3).tolist() == golden
