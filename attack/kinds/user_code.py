"""``user-code``: modules of games and players that do anything but what they should."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

GAME = """from coplay.games import MatrixGame
class Mine(MatrixGame):
{body}
    pass
G = Mine(name="mine", actions={{"row": ("a", "b"), "column": ("a", "b")}}, labels={{"row": ("A", "B"), "column": ("A", "B")}},
    table=(((1.0, 1.0), (2.0, 0.0)), ((0.0, 2.0), (3.0, 3.0))), rounds=3, description="mine"{more})
"""
PLAYER = """from coplay.games.records import Reply
class Mine:
    name = "mine"
    def act(self, requests):
        return [Reply(text="C", action=requests[0].actions[0] if hasattr(requests[0], "actions") else "cooperate") for _ in requests]
{body}
P = Mine()
"""

BODIES = (
    *(
        "return None",
        "return 5",
        "return 'x'",
        "return []",
        "return {}",
        "return [None]",
        "return float('nan')",
        "return object()",
    ),
    *(
        "raise ValueError('no\\x1b[31m\\nforged')",
        "raise SystemExit(0)",
        "raise KeyboardInterrupt",
        "raise StopIteration",
    ),
    *(
        "raise RecursionError",
        "raise MemoryError",
        "raise BrokenPipeError",
        "raise OSError(28, 'x')",
        "import sys; sys.exit(0)",
    ),
    *(
        "return self._recurse()",
        "raise BaseException('x')",
        "yield 1",
        "raise UnicodeDecodeError('utf-8', b'', 0, 1, 'x')",
    ),
    *("raise GeneratorExit", "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", "return iter(())"),
    *(
        "return (None, None)",
        "return ('a', 1)",
        "return {'row': None}",
        "return [5] * 1000",
        "return float('inf')",
        "return 10**400",
    ),
)
"""Bodies of methods, none of which is right anywhere."""

METHODS = (
    "act",
    "payoffs",
    "deal",
    "rules",
    "opening",
    "question",
    "recap",
    "parse_action",
    "observation",
    "own_view",
    "settle",
)
MODULES = (
    *(
        "raise SystemExit(0)",
        "import sys; sys.exit(0)",
        "import sys; sys.exit('x')",
        "raise KeyboardInterrupt",
        "raise BaseException('x')",
    ),
    *(
        "1 / 0",
        "def f(: pass",
        "import nowhere_at_all",
        "from coplay.games import Nothing",
        "x = [" * 300,
        "\\x00",
        "G = P = None",
    ),
    *(
        "G = P = 5",
        "G = P = type",
        "G = P = 'ipd'",
        "G = P = lambda *a, **k: 1 / 0",
        "G = P = object()",
        "def f(): f()\\nf()",
    ),
    *(
        "class M:\\n    def __getattr__(self, name): raise SystemExit(0)\\nG = P = M()",
        "def __getattr__(name): raise SystemExit(0)",
    ),
    *(
        "class M:\\n    def __getattr__(self, name): return self\\nG = P = M()",
        "raise BrokenPipeError",
        "raise StopIteration",
    ),
    *("raise ValueError('\\\\x1b[31m\\\\ncoplay: forged')", "import warnings; warnings.warn('\\\\x1b[31m'); G = P = 1"),
)
"""Whole modules."""

COMMANDS = (
    ("check", "mine:{name}"),
    ("eval", "--game", "{game}", "--rounds", "2", "--episodes", "2", "{player}", "tit_for_tat"),
    ("eval", "--game", "{game}", "--rounds", "2", "--episodes", "2", "--matrix", "{player}", "random:0.5", "--json"),
    (
        "train",
        "any/naive",
        "--learner",
        "tabular",
        "--seeds",
        "0",
        "trials=1",
        "--game",
        "{game}",
        "--out",
        "it",
        "--quiet",
    ),
    ("prompt", "any/naive", "--game", "{game}"),
    ("play", "{game}", "--vs", "{player}", "--rounds", "2"),
)


@kind("user-code", "modules of games and players that raise, return nonsense, exit or recurse", most=100, short=6)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Modules, methods of players and methods of games, endlessly."""
    while True:
        yield _try(rng.choice(MODULES).encode().decode("unicode_escape"), rng.choice("GP"), rng, broken=True)
        body = _method(rng.choice(["act", "act", "act", "name", "__init__"]), rng.choice(BODIES))
        yield _try(PLAYER.format(body=body), "P", rng)
        body = _method(rng.choice(METHODS), rng.choice(BODIES))
        more = rng.choice(["", "", ", rounds=-1", ", description=5", ", labels=None", ", table=None", ", actions=()"])
        yield _try(GAME.format(body=body, more=more if "rounds" not in more else ""), "G", rng)


def _method(name: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    return f"    def {name}(self, *words, **more):\n{lines}\n    def _recurse(self):\n        return self._recurse()"


def _try(module: str, name: str, rng: random.Random, *, broken: bool = False) -> Try:
    game, player = ("mine:G", "tit_for_tat") if name == "G" else ("ipd", "mine:P")
    usable = [argv for argv in COMMANDS if any(("{game}" if name == "G" else "{player}") in word for word in argv)]
    argv = tuple(
        word.format(game=game, player=player, name=name) for word in rng.choice([*usable, *COMMANDS[: name == "G"]])
    )

    def run(place: Place) -> list[Fall]:
        (place.work / "mine.py").write_text(module)
        done = place.coplay(*argv, stdin=b"C\nD\nC\n")
        falls = judged(done, names=["mine", "Mine"])
        if broken and not falls and done.status == 0:
            falls = [Fall("silent", "exit status 0, but the module is broken")]
        return falls

    words = " | ".join(line.strip() for line in module.splitlines() if "def " in line or broken)[:150]
    return Try(f"{' '.join(argv[:2])} with {words!r}", run)
