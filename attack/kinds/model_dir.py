"""``model-dir``: a model's directory with tensors missing, of other shapes, not finite; with nonsense or code in its files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

from attack import ways
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import MODEL
from attack.registry import Try, kind
from attack.workshop import Workshop
from coplay.models.known import known_path

Change = Callable[[Path, random.Random], object]

REFUSED: dict[str, Change] = {}
EITHER: dict[str, Change] = {}
"""What is done to the directory: what must be refused, and what may also do no harm."""


def _tensors(name: str, change: Callable[[dict[str, object], str, random.Random], object]) -> None:
    """Register a change of the weights' file."""

    def apply(directory: Path, rng: random.Random) -> None:
        from safetensors.torch import load_file, save_file

        file = directory / "model.safetensors"
        tensors = load_file(str(file))
        change(tensors, rng.choice(sorted(tensors)), rng)
        save_file(tensors, str(file), metadata={"format": "pt"})

    REFUSED[name] = apply


def _filled(value: float) -> Callable[[dict[str, object], str, random.Random], object]:
    def change(tensors: dict[str, object], key: str, rng: random.Random) -> None:
        tensors[key].flatten()[0] = value  # type: ignore[attr-defined]

    return change


_tensors("a tensor missing", lambda tensors, key, rng: tensors.pop(key))
_tensors("all but one tensor missing", lambda tensors, key, rng: [tensors.pop(k) for k in list(tensors) if k != key])
_tensors("an unknown tensor", lambda tensors, key, rng: tensors.update({"model.extra.weight": tensors[key].clone()}))  # type: ignore[attr-defined]
_tensors("a tensor of another shape", lambda tensors, key, rng: tensors.update({key: tensors[key][:-1].clone()}))  # type: ignore[index]
_tensors("a tensor of integers", lambda tensors, key, rng: tensors.update({key: tensors[key].int()}))  # type: ignore[attr-defined]
_tensors("NaN in a tensor", _filled(float("nan")))
_tensors("infinity in a tensor", _filled(float("inf")))


def _setting(file: str, key: str, value: object, *, either: bool = False) -> None:
    def apply(directory: Path, rng: random.Random) -> None:
        path = directory / file
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))

    (EITHER if either else REFUSED)[f"{file}: {key}={json.dumps(value)[:40]}"] = apply


_SIZES: tuple[object, ...] = (0, -1, "x", None, 10**12, 1.5, [], 10**30)
_SCALES: tuple[object, ...] = (1e300, "x", -1, {}, 0)
for _value in _SIZES:
    for _key in ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads"):
        _setting("config.json", _key, _value, either=_value is None)
for _key, _value in (
    ("model_type", "nothing"),
    ("architectures", ["Nothing"]),
    ("architectures", 5),
    ("torch_dtype", "x"),
):
    _setting("config.json", _key, _value, either=True)
for _value in _SCALES:
    _setting("config.json", "rms_norm_eps", _value, either=True)
    _setting("config.json", "rope_theta", _value, either=True)

CODE = "import os, pathlib\npathlib.Path(os.environ['CANARY']).write_text('ran')\nclass M:\n    pass\n"


def _auto_map(directory: Path, rng: random.Random) -> None:
    (directory / "code.py").write_text(CODE)
    for file in ("config.json", "tokenizer_config.json"):
        path = directory / file
        found = json.loads(path.read_text()) if path.exists() else {}
        names = ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer")
        path.write_text(json.dumps({**found, "auto_map": dict.fromkeys(names, "code.M"), "model_type": "mine"}))


def _template(text: str) -> Change:
    def apply(directory: Path, rng: random.Random) -> None:
        path = directory / "tokenizer_config.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**found, "chat_template": text}))
        (directory / "chat_template.jinja").write_text(text)

    return apply


EITHER["code for auto_map"] = _auto_map
EITHER["a pickle beside the weights"] = lambda directory, rng: (directory / "pytorch_model.bin").write_bytes(
    b"cposix\nsystem\n(S'touch $CANARY'\ntR."
)
for _words in (
    "{% for i in range(10**9) %}x{% endfor %}",
    "{{ 'x' * 10**10 }}",
    "{% for i in range(10**5) %}{% for j in range(10**5) %}x{% endfor %}{% endfor %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ 1 / 0 }}",
    "{{",
    "{{ raise_exception('\\u001b[31mno\\ncoplay: forged') }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "",
):
    REFUSED[f"template {_words[:40]!r}"] = _template(_words)


@kind("model-dir", "a model's directory with its weights, settings, tokenizer or template damaged", most=100, short=5)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every change, and every file damaged in every way, in random order."""
    files = sorted(
        path.name for path in known_path("tiny").iterdir() if path.suffix in (".json", ".safetensors", ".jinja")
    )
    damages = [(f"{file} {way}", _damage(file, way)) for file in files for way in ways.ALL]
    cases = [(name, change, True) for name, change in REFUSED.items()]
    cases += [(name, change, False) for name, change in EITHER.items()]
    rng.shuffle(cases)
    rng.shuffle(damages)
    while True:
        for i in range(max(len(cases), len(damages))):
            if i < len(cases):
                yield _try(*cases[i], rng.randrange(2**32))
            if i < len(damages):
                yield _try(*damages[i], False, rng.randrange(2**32))


def _damage(file: str, way: str) -> Change:
    return lambda directory, rng: ways.damage(
        directory / file, way, rng, directory.parent.parent / "outside" / "precious.txt"
    )


def _try(name: str, change: Change, refused: bool, seed: int) -> Try:
    is_template = name.startswith("template") or "chat_template" in name

    def run(place: Place) -> list[Fall]:
        directory = copytree(known_path("tiny"), place.work / "model", ignore=ignore_patterns("*.py", "__pycache__"))
        change(directory, random.Random(seed))
        chat = ["chat=template"] if is_template else []
        argv = ("train", *MODEL, "trials=1", "--model", "./model", *chat, "--out", "it", "--quiet")
        done = place.coplay(*argv, limit=45)
        return judged(done, names=["model"], statuses=(1, 2) if refused else (0, 1, 2))

    return Try(name, run)
