"""``adapter``: directories of adapters whose tensors or settings are not what they should be."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attack import ways
from attack.judge import judged
from attack.outcome import Fall
from attack.place import Place
from attack.products import MODEL
from attack.registry import Try, kind
from attack.workshop import Workshop

Change = Callable[[Path, random.Random], object]
SLOW = r"(\w+\.?)+(\w+\.?)+!"
"""An expression that takes longer to match a layer's name than anybody waits."""

SETTINGS: dict[str, tuple[object, ...]] = {
    "peft_type": (None, "x", 5, "PREFIX_TUNING"),
    "r": (0, -1, "x", 10**12, 1.5, None, 3),
    "lora_alpha": ("x", None, [], -1, 1e308),
    "target_modules": (
        None,
        [],
        ["nothing"],
        "x",
        5,
        [5],
        "(a+)+$",
        SLOW,
        "(",
        ".*",
        "all-linear",
        ["lm_head"],
        ["embed_tokens", "q_proj"],
    ),
    "exclude_modules": (SLOW, "(", ["q_proj"], ".*", 5),
    "layers_to_transform": (0, [1], [9], -1, True, "x", [10**30]),
    "layers_pattern": ("layers", "(", 5),
    "rank_pattern": ({"x": 2}, {"q_proj": 3}, {SLOW: 2}, {"(": 2}, {"q_proj": -1}, [1]),
    "alpha_pattern": ({"q_proj": 3}, {SLOW: 2}, {"q_proj": "x"}, {"q_proj": 1e308}),
    "init_lora_weights": ("pissa", "olora", "eva", False, 5),
    "target_parameters": (["mlp.experts"],),
    "trainable_token_indices": ([1, 2],),
    "a_later_setting": (1, "x", None, {"x": 1}),
    "\x1b[31m\n": (1,),
    "use_rslora": (True,),
    "use_dora": (True,),
    "bias": ("all",),
    "modules_to_save": (["x"],),
    "auto_mapping": ({"base_model_class": "x"},),
    "base_model_name_or_path": ("../../x",),
    "fan_in_fan_out": (True,),
}
"""Settings that an adapter of another making may have."""


def _tensor(change: Callable[[dict[str, Any], str], object]) -> Change:
    def apply(directory: Path, rng: random.Random) -> None:
        from safetensors.torch import load_file, save_file

        file = directory / "adapter_model.safetensors"
        tensors = load_file(str(file))
        change(tensors, rng.choice(sorted(tensors)))
        save_file(tensors, str(file))

    return apply


TENSORS: dict[str, Change] = {
    "a tensor missing": _tensor(lambda tensors, key: tensors.pop(key)),
    "an unknown tensor": _tensor(lambda tensors, key: tensors.update({"extra": tensors[key].clone()})),
    "a tensor of another shape": _tensor(lambda tensors, key: tensors.update({key: tensors[key][:-1].clone()})),
    "a tensor of integers": _tensor(lambda tensors, key: tensors.update({key: tensors[key].int()})),
    "NaN in a tensor": _tensor(lambda tensors, key: tensors[key].flatten().__setitem__(0, float("nan"))),
    "infinity in a tensor": _tensor(lambda tensors, key: tensors[key].flatten().__setitem__(0, float("inf"))),
}


@kind(
    "adapter",
    "an adapter's directory with its tensors or settings damaged, to start from",
    most=60,
    needs=("alignment",),
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every change and every way to damage each file, in random order."""
    cases = [(name, change, True) for name, change in TENSORS.items()]
    cases += [(f"{key}={value!r}", _setting(key, value), False) for key, values in SETTINGS.items() for value in values]
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        cases += [(f"{file} {way}", _damage(file, way), False) for way in ways.ALL]
    while True:
        rng.shuffle(cases)
        for name, change, refused in cases:
            yield _try(name, change, refused, rng.randrange(2**32))


def _setting(key: str, value: object) -> Change:
    def apply(directory: Path, rng: random.Random) -> None:
        path = directory / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))

    return apply


def _damage(file: str, way: str) -> Change:
    return lambda directory, rng: ways.damage(
        directory / file, way, rng, directory.parent.parent / "outside" / "precious.txt"
    )


def _try(name: str, change: Change, refused: bool, seed: int) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = place.copy("alignment", "adapter")
        for file in ("manifest.json", "alignment.json"):
            (directory / file).unlink(missing_ok=True)  # as from another program
        change(directory, random.Random(seed))
        argv = ("train", *MODEL, "trials=1", "adapter.init_adapter=./adapter", "--out", "it", "--quiet")
        return judged(place.coplay(*argv), names=["adapter"], statuses=(1, 2) if refused else (0, 1, 2))

    return Try(name, run)
