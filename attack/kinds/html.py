"""``html``: hostile text in every field that a page shows; no page may hold it unescaped, nor any script but ours."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.registry import Try, kind
from attack.workshop import Workshop

HOSTILE = (
    "<script>x7()</script>",
    '"><img src=x onerror=x7()>',
    "' onmouseover='x7()",
    "</script><script>x7()</script>",
    "</style><script>x7()</script>",
    "<!--<script>x7()",
    "javascript:x7()",
    "]]><svg onload=x7()>",
    "{{ 7 * 191 }}x7",
    "</title><svg/onload=x7()>",
    "\ud800x7",
)
"""All hold ``x7``, which nothing else does."""

NEEDS = ("tabular", "text", "sweep", "table", "paper", "policies")


class Page(HTMLParser):
    """Finds what a browser would run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at a tag and its attributes."""
        self._in_script = tag == "script"
        for name, value in attrs:
            if name.startswith("on") or "x7" in name or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"<{tag} {name}={value!r}>")
            if name in ("src", "href", "xlink:href") and (value or "").startswith(("http:", "https:", "//")):
                self.scripts += [f"{tag} {value}"] if tag in ("script", "img", "link", "iframe") else []

    def handle_data(self, data: str) -> None:
        """Look at the text of scripts."""
        if self._in_script and "x7()" in data and "</script" not in data:
            self.found += [f"script: {data[:60]!r}"] if _runs(data) else []

    def handle_endtag(self, tag: str) -> None:
        """A script is over."""
        self._in_script = False


def _runs(script: str) -> bool:
    """Whether hostile text stands in a script as code: data in it are JSON, in which ``<`` is escaped."""
    return "<" in script.partition("x7()")[0][-12:]


@kind("html", "hostile text in every field of the files that pages are made from", most=40, short=1, needs=NEEDS)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """A field of a random file, then a game with hostile names, endlessly."""
    files = {}
    for product in NEEDS:
        names = [name for name in workshop.files(product) if name.endswith((".json", ".jsonl"))]
        files[product] = [name for name in names if "checkpoint" not in name and not name.endswith("manifest.json")]
    while True:
        for product in NEEDS:
            yield _in_file(product, rng.choice(files[product]), rng.choice(HOSTILE), rng.randrange(2**32))
        yield _in_names(rng.choice(HOSTILE))


def _in_file(product: str, name: str, text: str, seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        root = place.copy(product)
        rng = random.Random(seed)
        path = root / name
        lines = path.read_text().splitlines() if name.endswith("l") else [path.read_text()]
        at = rng.randrange(len(lines))
        lines[at] = json.dumps(_planted(json.loads(lines[at]), text, rng))
        path.write_text("\n".join(lines) + "\n")
        reseal(root)
        return _judge(place, "it", f"{name}")

    return Try(f"{product}: {text!r} in {name}, choice {seed}", run)


def _planted(value: Any, text: str, rng: random.Random) -> Any:
    """The same with a string, or a key, somewhere in it that is the text."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {(text if one == key else one): inner for one, inner in value.items()}
        return {**value, key: _planted(value[key], text, rng)}
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        return [*value[:at], _planted(value[at], text, rng), *value[at + 1 :]]
    return text


def reseal(root: Path) -> None:
    """Have the manifests say what is there: whoever plants text can do that too."""
    from coplay.files.store import MANIFEST, entry_of, entry_record, sealed

    depth = sorted(root.rglob(MANIFEST), key=lambda path: -len(path.parts))
    for path in depth:
        found = json.loads(path.read_text())
        for name in found["files"]:
            found["files"][name] = entry_record(entry_of((path.parent / name).read_bytes()))
        found.pop("seal")
        path.write_text(json.dumps(sealed(found)))


def _in_names(text: str) -> Try:
    def run(place: Place) -> list[Fall]:
        word = json.dumps(text.replace("\ud800", ""))
        game = f'name = {word}\nrounds = 2\nactions = [{word}, "go"]\nlabels = ["S", "G"]\ndescription = {word}\n'
        (place.work / "mine.toml").write_text(game + "payoffs = [[[1, 1], [2, 0]], [[0, 2], [3, 3]]]\n")
        argv = ("train", "any/naive", "--learner", "tabular", "--seeds", "0", "trials=2", "games=1", "eval_games=2")
        done = place.coplay(*argv, "--game", "mine.toml", "--out", "it", "--quiet")
        return judged(done) or ([] if done.status else _judge(place, "it", ""))

    return Try(f"a game named {text!r}", run)


def _judge(place: Place, where: str, name: str) -> list[Fall]:
    done = place.coplay("report", where)
    falls = judged(done)
    for page in place.work.rglob("report.html") if done.status == 0 else ():
        found = Page()
        found.feed(page.read_text(encoding="utf-8", errors="replace"))
        words = [*found.found, *found.scripts]
        falls += [Fall("executed", f"{page.relative_to(place.work)}: {words[0]}")] if words else []
        if "1337x7" in page.read_text(errors="replace"):
            falls.append(Fall("executed", "a template in data was rendered"))
    return falls
