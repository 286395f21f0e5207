"""Check the numbers that pages of the documentation give against the results that they come from.

    python scripts/check_numbers.py                         # every page that has a list in docs/numbers; exit status 1 if a number differs
    python scripts/check_numbers.py docs/numbers/readme.toml

Tables of claims are written by ``scripts/results_table.py``. Numbers in sentences and in other tables are written by hand, and a list in
``docs/numbers/`` says where each comes from: it repeats the sentence with a source in place of each number, so the page itself stays as it is.

    page = "README.md"
    says = ["the shaper ends at {ipd#row:.2f} points a round", "yields {frozen#row:.2f} of the {whole#row:.2f}"]

    [files]
    ipd = "shapellm/runs/ipd/eval.json"

A source is ``FILE#PATH|STEP|…:FORMAT``.

- ``FILE`` is a name from ``[files]``, below ``results/``: JSON, or JSON compressed; of ``metrics.jsonl.gz`` the curves of each seed; of a
  directory of recorded games what ``scripts/message_effect.py`` computes from them. A name with ``*`` stands for several lists of claims as one;
  several names have spaces between them, and of claims with the same id the last name's counts.
- ``PATH`` leads to the value by keys with dots between them; ``*`` takes all values, and a number an entry. In a list ``[ID]`` takes the entry with this ``id``, or
  ``[A,B]`` what player A gets from B. In an ``eval.json`` a seat's name alone is its payoff a round. ``holds``, ``fails``, ``undecided`` and
  ``all`` of a list of claims are numbers of claims.
- ``STEP`` is ``below X``, ``above X`` (how many of several values are), ``min``, ``max``, ``mean``, ``interval`` (the mean of
  one value a seed, with its interval), ``late`` (of curves, the mean of the last tenth), ``first below X``, ``last below X`` (of curves, the trial), ``times X``, ``minus X``.
- ``FORMAT`` is Python's. ``±`` before it writes a mean with its interval; ``~`` writes no zero before the point; ``words`` writes whole numbers up to
  twenty as words.

Line breaks and the kind of minus sign do not matter. A sentence that is not on the page is an error too: whoever rewrites it updates the list.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import message_effect

from coplay.evaluation.measures import last_tenth
from coplay.statistics import mean_ci95

REPOSITORY = Path(__file__).resolve().parent.parent
LISTS = REPOSITORY / "docs" / "numbers"
RESULTS = REPOSITORY / "results"

SOURCE = re.compile(r"\{([^{}#]+)#([^{}:]+):([^{}]+)\}")
NUMBER = r"[-\u2212+]?\d*\.?\d+"
WORDS = [
    "none",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]


@dataclass(frozen=True)
class Difference:
    """A number on a page that its source does not bear out, or a sentence that cannot be checked."""

    page: str
    """The page, from the repository's root."""
    line: int
    """The line of the number; 0 if the sentence is not there."""
    told: str
    """What is wrong."""

    def __str__(self) -> str:
        """A line for the terminal."""
        return f"{self.page}:{self.line}: {self.told}" if self.line else f"{self.page}: {self.told}"


class SourceError(Exception):
    """A source that leads nowhere."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the lists, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "lists", type=Path, nargs="*", default=sorted(LISTS.glob("*.toml")), help="all if none is given"
    )
    options = parser.parse_args(arguments)
    numbers, found = 0, []
    for file in options.lists:
        asked = tomllib.loads(file.read_text(encoding="utf-8"))
        text = (REPOSITORY / asked["page"]).read_text(encoding="utf-8")
        numbers += sum(len(SOURCE.findall(sentence)) for sentence in asked["says"])
        found += differences(asked["page"], text, asked["says"], asked["files"])
    for one in found:
        print(one, file=sys.stderr)
    print(f"{numbers} numbers on {len(options.lists)} pages checked, {len(found)} problems")
    return 1 if found else 0


def differences(page: str, text: str, sentences: Sequence[str], files: Mapping[str, str]) -> Iterator[Difference]:
    """Every number of these sentences that differs from its source, and every sentence that is not on the page.

    Args:
        page: the page's name, for messages.
        text: what it says.
        sentences: with sources in place of numbers.
        files: names of files below ``results/``.
    """
    for sentence in sentences:
        matches = list(re.finditer(_pattern(sentence), text))
        if not matches:
            yield Difference(page, 0, f"does not say {SOURCE.sub('…', sentence)!r}")
            continue
        for match in matches:
            for i, (file, path, form) in enumerate(SOURCE.findall(sentence), start=1):
                line = text.count("\n", 0, match.start(i)) + 1
                shown = " ".join(match[i].replace("\u2212", "-").split())
                try:
                    expected = written(value_of(files, file, path), form)
                except SourceError as error:
                    yield Difference(page, line, f"shows {shown}, whose source {file}#{path} is wrong: {error}")
                    continue
                if (shown.lower() if form == "words" else shown) != expected:
                    yield Difference(page, line, f"shows {shown}, but {file}#{path} is {expected}")


def _pattern(sentence: str) -> str:
    """The sentence as a pattern with a group for each source; any white space matches any other."""
    parts, end = [], 0
    for source in SOURCE.finditer(sentence):
        parts += [_literal(sentence[end : source.start()]), f"({_shown(source[3])})"]
        end = source.end()
    parts.append(_literal(sentence[end:]))
    first, last = sentence.startswith("{"), sentence.endswith("}")
    return ("(?<![\\d.])" if first else "") + "".join(parts) + ("(?!\\d)" if last else "")


def _literal(text: str) -> str:
    return re.sub(r"(?:\\\s|\s)+", r"\\s+", re.escape(text))


def _shown(form: str) -> str:
    """A pattern of what may be shown in this form."""
    if form == "words":
        return "[A-Za-z]+"
    return rf"{NUMBER}\s±\s{NUMBER}" if form.startswith("±") else NUMBER


def value_of(files: Mapping[str, str], file: str, path: str) -> Any:
    """What a source leads to.

    Raises:
        SourceError: if it leads nowhere.
    """
    path, *steps = path.split("|")
    if file not in files:
        raise SourceError(f"there is no file named {file!r}")
    found = _claims(files[file]) if "*" in files[file] else _read(files[file])
    for key in re.findall(r"\[[^\]]+\]|[^.\[\]]+", path):
        found = _at(found, key)
    for step in steps:
        found = _after(found, step)
    return found


@cache
def _read(name: str) -> Any:
    if (RESULTS / name).is_dir():
        return message_effect.effects(RESULTS / name)
    try:
        content = (RESULTS / name).read_bytes()
    except FileNotFoundError:
        raise SourceError(f"there is no results/{name}") from None
    text = gzip.decompress(content) if name.endswith(".gz") else content
    if ".jsonl" not in name:
        return json.loads(text)
    curves: dict[str, dict[str, list[Any]]] = {}
    for line in map(json.loads, text.splitlines()):
        for key, value in line.items():
            curves.setdefault(str(line["seed"]), {}).setdefault(key, []).append(value)
    return curves


@cache
def _claims(names: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for pattern in names.split():
        own = [claim for file in sorted(RESULTS.glob(pattern)) for claim in json.loads(file.read_bytes())]
        if not own:
            raise SourceError(f"there are no results/{pattern}")
        found |= {claim["id"]: claim for claim in own}
    return list(found.values())


def _at(found: Any, key: str) -> Any:
    """The value at a key."""
    if key.startswith("[") and isinstance(found, list):
        name = key[1:-1]
        entry = [one for one in found if name in (one.get("id"), f"{one.get('player')},{one.get('co_player')}")]
        if len(entry) == 1:
            return entry[0]
    elif isinstance(found, list) and key in ("holds", "fails", "undecided"):
        return sum(one["verdict"] == key for one in found)
    elif isinstance(found, list) and key == "all":
        return len(found)
    elif isinstance(found, list) and key.isdecimal():
        return found[int(key)]
    elif isinstance(found, list):
        return [_at(one, key) for one in found]
    elif isinstance(found, dict) and key == "*":
        return list(found.values())
    elif isinstance(found, dict) and key in found:
        return found[key]
    elif isinstance(found, dict) and key in found.get("seats", {}):
        return found["seats"][key]["per_round"]
    raise SourceError(f"there is no {key}")


def _after(found: Any, step: str) -> Any:
    """The value after a step."""
    name, _, argument = step.strip().partition(" ")
    if name in ("below", "above"):
        bound = float(argument)
        return sum(one < bound if name == "below" else one > bound for one in map(_mean, found))
    if name in ("late", "first", "last"):
        return [_of_curve(curve, name, argument) for curve in (found if isinstance(found[0], list) else [found])]
    if name in ("min", "max"):
        return (min if name == "min" else max)(map(_mean, found))
    if name == "mean":
        return sum(map(_mean, found)) / len(found)
    if name == "interval":
        interval = mean_ci95([_mean(one) for one in found])
        return {"mean": interval.mean, "ci95": interval.half_width}
    if name == "times":
        return _mean(found) * float(argument)
    if name == "minus":
        return _mean(found) - float(argument)
    raise SourceError(f"there is no step {step!r}")


def _of_curve(curve: list[Any], name: str, argument: str) -> float:
    """The mean of a curve's last tenth, or the first or last trial, from 1, in which it is below or above a number."""
    if name == "late":
        known = [value for value in last_tenth(curve) if value is not None]
        return sum(known) / len(known)
    side, _, bound = argument.partition(" ")
    trials = [i for i, value in enumerate(curve, start=1) if (value < float(bound)) == (side == "below")]
    return trials[0 if name == "first" else -1]


def _mean(found: Any) -> float:
    """A number, or the mean of something that has one; of a list of one entry that entry's."""
    if isinstance(found, list) and len(found) == 1:
        (found,) = found
    if isinstance(found, dict):
        found = next((found[key] for key in ("mean", "measured", "per_round") if key in found), None)
    if not isinstance(found, int | float):
        raise SourceError("it leads to no number")
    return float(found)


def written(found: Any, form: str) -> str:
    """A value as a page shows it.

    Raises:
        SourceError: if it has no number, or no interval where one is to be written.
    """
    if form == "words":
        number = _mean(found)
        return WORDS[int(number)] if number.is_integer() and 0 <= number < len(WORDS) else f"{number:g}"
    if form.startswith("±"):
        if not isinstance(found, dict) or found.get("ci95") is None:
            raise SourceError("it has no interval")
        return f"{written(found, form[1:])} ± {written(found['ci95'], form[1:])}"
    bare = form.removeprefix("~")
    number = _mean(found)
    text = f"{int(number) if bare.endswith('d') else number:{bare}}"
    text = text.removeprefix("-") if not re.search("[1-9]", text) else text  # no negative zero
    return re.sub(r"^(-?)0\.", r"\1.", text) if bare != form else text


if __name__ == "__main__":
    sys.exit(main())
