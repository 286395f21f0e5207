"""``toml``: files of games and of endpoints whose values are anything, or that are no TOML."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attack.judge import judged
from attack.outcome import Fall
from attack.place import KEY, Place
from attack.registry import Try, kind
from attack.workshop import Workshop

GAME = """name = "mine"
rounds = 3
actions = ["stay", "go"]
labels = ["S", "G"]
payoffs = [[[1, 1], [2, 0]], [[0, 2], [3, 3]]]
"""
ENDPOINT = """base_url = "http://127.0.0.1:9/v1"
model = "m"
api_key_var = "COPLAY_TEST_KEY"
timeout = 0.2
retries = 0
token_budget = 10_000
"""
"""Port 9 is nobody's: the connection is refused at once."""

VALUES = (
    *(
        "0",
        "-1",
        "1.5",
        "nan",
        "inf",
        "-inf",
        "1e308",
        "-1e308",
        "9" * 25,
        "9" * 401,
        "true",
        '""',
        '" "',
        '"x"',
        "[]",
        "{}",
    ),
    *(
        "[[]]",
        "[1]",
        '["a"]',
        '["a", "a"]',
        '["a", "b", "c"]',
        "[[1]]",
        "[[[1]]]",
        "[[[nan, 1], [2, 0]], [[0, 2], [3, 3]]]",
    ),
    *(
        "[" * 5000,
        "[" * 60 + "]" * 60,
        '"' + "x" * 5000 + '"',
        '"\\u001b[31m"',
        '"\\n"',
        '"\\u0000"',
        '"\\u202e"',
        "07:30:00",
    ),
    *(
        "1979-05-27",
        "1979-05-27T07:32:00Z",
        "'''x'''",
        "{a = {b = {c = 1}}}",
        '"<script>alert(1)</script>"',
        '"../../x"',
    ),
    *(
        '"/"',
        '"💥"',
        '"S"',
        '["S", ""]',
        '["S", " G"]',
        '["SS", "G"]',
        '[["a", "b"], ["c", "d"]]',
        '"{}"',
        '"%s"',
        "1_000",
    ),
    *(
        "[[[1e308, 1e308], [1e308, 0]], [[0, 2], [3, 1e308]]]",
        '"http://127.0.0.1:9/v1?key=x"',
        '"file:///etc/passwd"',
        '"x://"',
    ),
    *(
        "[[[1, 1], [2, 0]]]",
        "[[[1, 1], [2]], [[0, 2], [3, 3]]]",
        '[[["1", 1], [2, 0]], [[0, 2], [3, 3]]]',
        '"http://[::1"',
    ),
)
"""Values in TOML."""


@kind("toml", "files of games and endpoints with any value for any key, damaged, or no TOML at all", most=100, short=6)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """A game, then an endpoint, endlessly."""
    while True:
        yield _game(*_changed(GAME, rng), rng.randrange(4))
        yield _endpoint(*_changed(ENDPOINT, rng))
        if rng.random() < 0.05:
            yield _large(rng.choice([3, 10, 30]))
        if rng.random() < 0.05:
            url = rng.choice(
                ["http://user:{0}@127.0.0.1:9/v1", "http://{0}@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key={0}"]
            )
            yield _endpoint(ENDPOINT.replace("http://127.0.0.1:9/v1", url.format(KEY)).encode(), f"a key in {url}")


def _changed(text: str, rng: random.Random) -> tuple[bytes, str]:
    """The file with one thing wrong, and what that is."""
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    key = lines[at].split(" ")[0]
    what = rng.randrange(6)
    if what <= 2:
        value = rng.choice(VALUES)
        lines[at] = f"{key} = {value}"
        words = f"{key} = {value[:40]}"
    elif what == 3:
        lines.append(lines.pop(at) if rng.random() < 0.1 else f"[{key}]" if rng.random() < 0.5 else f"{key}x = 1")
        words = f"ends with {lines[-1]}"
    elif what == 4:
        del lines[at]
        words = f"without {key}"
    else:
        data = bytearray("\n".join(lines).encode())
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(0, 5))
        return bytes(data), f"damaged at byte {place}"
    return ("\n".join(lines) + "\n").encode(), words


def _game(data: bytes, words: str, which: int) -> Try:
    argv = (
        ("check", "mine.toml"),
        ("train", "any/naive", "--dry-run", "--learner", "tabular", "--game", "mine.toml"),
        ("eval", "--game", "mine.toml", "--rounds", "2", "--episodes", "2", "tit_for_tat", "random:0.5", "--json"),
        ("prompt", "any/naive", "--game", "mine.toml"),
    )[which]

    def run(place: Place) -> list[Fall]:
        (place.work / "mine.toml").write_bytes(data)
        done = place.coplay(*argv)
        falls = judged(done, names=["mine.toml"])
        if not falls and done.status == 0 and any(word in done.out for word in (" nan", "NaN", " inf", "Infinity")):
            falls = [Fall("silent", "exit status 0, but prints a number that is none")]
        return falls

    return Try(f"game: {words!r}, then {argv[0]}", run)


def _large(size: int) -> Try:
    """A game of many actions, which is checked in the time of a breath."""
    actions = [f"a{i}" for i in range(size)]
    row = ", ".join("[1, 2]" for _ in actions)
    payoffs = ", ".join(f"[{row}]" for _ in actions)
    text = f'name = "large"\nactions = {actions}\nlabels = {actions}\npayoffs = [{payoffs}]\n'
    return _game(text.encode(), f"{size} actions", 0)


def _endpoint(data: bytes, words: str) -> Try:
    def run(place: Place) -> list[Fall]:
        (place.work / "them.toml").write_bytes(data)
        argv = ("eval", "--game", "ipd", "--rounds", "2", "--episodes", "1", "tit_for_tat", "them.toml")
        done = place.coplay(*argv, limit=30)
        return judged(done, names=["them.toml", "endpoint", "http", "token_budget"], statuses=(1, 2))

    return Try(f"endpoint: {words!r}", run)
