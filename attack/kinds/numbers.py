"""``numbers``: numbers that no float holds, for any key of any file that is read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from shutil import copytree, ignore_patterns
from typing import Any

from attack.judge import judged
from attack.kinds.special_files import READING
from attack.kinds.toml import ENDPOINT, GAME
from attack.outcome import Fall
from attack.place import Place
from attack.products import MODEL, PRODUCTS
from attack.registry import Try, kind
from attack.workshop import Workshop
from coplay.models.known import known_path

NOT_HELD = (
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-Infinity",
    "1" + "0" * 400,
    "-" + "9" * 310,
    "9" * 5000,
    "1" + "0" * 100_000,
    "1E+400",
)
"""In JSON."""

HELD = ("1e-400", "-0.0", "1e308", "1" + "0" * 300, "0e999")
"""At the edge, but held."""

IN_TOML = (
    "inf",
    "-inf",
    "nan",
    "+nan",
    "1e999",
    "1" + "0" * 400,
    "9" * 5000,
    "0x" + "f" * 400,
    "0b" + "1" * 2000,
    "1" + "_000" * 200,
)

OF_A_MODEL = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
NEW_KEYS = {
    "config.json": ("rope_theta", "attention_dropout", "rms_norm_eps", "sliding_window", "bos_token_id", "x"),
    "generation_config.json": ("eos_token_id", "temperature", "max_length", "x"),
    "tokenizer_config.json": ("model_max_length", "x"),
    "tokenizer.json": ("x",),
    "special_tokens_map.json": ("bos_token",),
    "added_tokens.json": ("<x>",),
    "adapter_config.json": ("r", "lora_alpha", "lora_dropout", "x"),
}
PUBLISHED = {
    "published": ("config.json", "env.json", "eval-T4.json.gz", "metrics.jsonl.gz", "episodes.jsonl.gz"),
    "tabular": ("config.json", "eval.json", "metrics.jsonl", "manifest.json"),
    "recording": ("recording.json", "games.jsonl"),
    "alignment": ("alignment.json", "adapter_config.json"),
    "probe": ("probe.json",),
    "audit": ("audit.json",),
    "simulator": ("simulator.json",),
}
"""Files of results."""

_SIGN = "a number stands here"


@kind(
    "numbers",
    "numbers that no float holds: of 1e999 and NaN to a hundred thousand digits, for any key of any file",
    most=100,
    short=4,
    needs=tuple(PUBLISHED),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """A model's file, a TOML file, an adapter's, then one of results, endlessly."""
    while True:
        file, number = rng.choice(OF_A_MODEL), rng.choice(NOT_HELD if rng.random() < 0.85 else HELD)
        yield _of_model(file, number, rng.choice(READING), rng.randrange(2**32))
        yield _toml(
            *rng.choice([("mine.toml", GAME), ("them.toml", ENDPOINT)]), rng.choice(IN_TOML), rng.randrange(2**32)
        )
        yield _of_adapter(rng.choice(NOT_HELD), rng.randrange(2**32))
        product = rng.choice(list(PUBLISHED))
        yield _of_result(product, rng.choice(PUBLISHED[product]), rng.choice(NOT_HELD), rng.randrange(2**32))


def changed(text: str, number: str, rng: random.Random, new: tuple[str, ...] = ()) -> tuple[str, str]:
    """A JSON document in which one value is another number, and its key."""
    found = json.loads(text)
    key = rng.choice([*new, *([""] if not new or (isinstance(found, dict) and found) else [])])
    if key:
        found[key] = _SIGN
    else:
        key = _anywhere(found, rng)
    return json.dumps(found).replace(json.dumps(_SIGN), number), key


def _anywhere(value: Any, rng: random.Random) -> str:
    """Put the sign somewhere within a value; returns the key."""
    key: Any = ""
    while isinstance(value, dict | list) and value:
        last, key = value, rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = value[key]
        if not isinstance(value, dict | list) or not value or rng.random() < 0.2:
            break
    last[key] = _SIGN
    return str(key)


def _of_model(name: str, number: str, argv: tuple[str, ...], seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = copytree(known_path("tiny"), place.work / "model", ignore=ignore_patterns("*.py", "__pycache__"))
        file = directory / name
        if not file.exists():
            file.write_text("{}")
        text, key = changed(file.read_text(), number, random.Random(seed), NEW_KEYS[name])
        file.write_text(text)
        done = place.coplay(*argv, limit=60)
        held = number in HELD
        falls = judged(done, names=["model"] if held else [name], statuses=(0, 1, 2) if held else (1, 2))
        if not falls and not held and not done.says(key[:200]):
            falls.append(Fall("unnamed", f"does not name the key {key!r}: {done.messages()[-1][:300]}"))
        return falls

    return Try(f"a model's {name} with {number[:20]}, then {argv[0]} ({seed})", run)


def _toml(name: str, text: str, number: str, seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        lines = text.splitlines()
        at = random.Random(seed).randrange(len(lines))
        key = lines[at].split(" ")[0]
        lines[at] = f"{key} = {number}"
        (place.work / name).write_text("\n".join(lines) + "\n")
        argv = {
            "mine.toml": ("eval", "--game", "mine.toml", "--rounds", "2", "--episodes", "2", "tit_for_tat", "uniform"),
            "them.toml": ("eval", "--game", "ipd", "--rounds", "2", "--episodes", "1", "tit_for_tat", "them.toml"),
        }
        done = place.coplay(*argv[name])
        falls = judged(done, names=[name], statuses=(1, 2))
        if not falls and not done.says(key, f"line {at + 1}"):
            falls.append(Fall("unnamed", f"does not name the key {key!r}: {done.messages()[-1][:300]}"))
        return falls

    return Try(f"{name} with {number[:20]} ({seed})", run)


def _of_adapter(number: str, seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = place.copy("alignment", "adapter")
        for listed in ("manifest.json", "alignment.json"):
            (directory / listed).unlink(missing_ok=True)  # as from another program
        file = directory / "adapter_config.json"
        text, key = changed(file.read_text(), number, random.Random(seed), NEW_KEYS[file.name])
        file.write_text(text)
        done = place.coplay("train", *MODEL, "trials=1", "adapter.init_adapter=./adapter", "--out", "it", "--quiet")
        falls = judged(done, names=["adapter_config.json"], statuses=(1, 2))
        if not falls and not done.says(key):
            falls.append(Fall("unnamed", f"does not name the key {key!r}: {done.messages()[-1][:300]}"))
        return falls

    return Try(f"adapter_config.json with {number[:20]} ({seed})", run)


def _of_result(product: str, name: str, number: str, seed: int) -> Try:
    rng = random.Random(seed)
    argv = rng.choice(PRODUCTS[product].reads)

    def run(place: Place) -> list[Fall]:
        import gzip

        file = place.copy(product) / name
        data = gzip.decompress(file.read_bytes()) if name.endswith(".gz") else file.read_bytes()
        lines = data.decode().splitlines() if ".jsonl" in name else [data.decode()]
        at = rng.randrange(max(1, len(lines) - 1))
        lines[at], _ = changed(lines[at], number, rng)
        text = "\n".join(lines) + "\n"
        file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        done = place.coplay(*argv)
        said = any("damaged" in line and name in line for line in done.out.splitlines())
        if done.status == 0 and not said:  # nothing of it was read, so nothing may be seen of it
            reference = place.workshop.reference(product, argv)
            return (
                [] if done.out == reference.done.out else [Fall("silent", "exit status 0, but prints something else")]
            )
        return judged(done, names=[name], statuses=(0, 1, 2))

    return Try(f"{product}: {name} with {number[:20]}, then {' '.join(argv[:2])} ({seed})", run)
