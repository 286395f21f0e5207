"""The verbs of supervised fine-tuning: ``demonstrate`` and ``sft``."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from coplay.cli.options import as_start, executor_from
from coplay.errors import UsageError
from coplay.games.memory import Memory
from coplay.models.known import Precision
from coplay.recipes.demonstrations import Demonstrations
from coplay.text.rendering import counted

ALL = "all"
"""Stands for all games that have demonstrations."""


def demonstrate(options: argparse.Namespace) -> int:
    """``coplay demonstrate``."""
    from coplay.experiments.demonstrate import of_size, refuse_taken
    from coplay.experiments.tasks import DemonstrationsTask, carry_out
    from coplay.recipes.sepo.demonstrations import VALIDATION

    if options.seed < 0:
        raise UsageError(f"--seed must be at least 0, got {options.seed}")
    out = Path(options.out)
    refuse_taken(out)
    plans = _plans(options)
    if options.examples is not None:
        plans = [of_size(plan, options.examples) for plan in plans]
    executor = executor_from(options)
    task = DemonstrationsTask(
        directory=out,
        plans=tuple(plans),
        seed=options.seed,
        memory=Memory(options.memory),
        validation=VALIDATION,
        command=_command(options, plans),
    )
    task.check(executor)
    carry_out(executor, task)
    card = task.card()
    if options.json:
        print(json.dumps(card, indent=2, ensure_ascii=False))
        return 0
    made = card["examples"]
    print(f"{counted(made['train'], 'example')} to train on, {made['valid']} to measure on")
    print(f"{out}: done. Next: coplay sft --data {shlex.quote(str(out))} --out DIR")
    return 0


def _plans(options: argparse.Namespace) -> list[Demonstrations]:
    """The demonstrations of the games that are named, with the strategies and opponents that are given instead of the paper's."""
    from coplay.games.catalogue import GAMES, make_game
    from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS

    names: list[str] = list(dict.fromkeys(options.games))
    if ALL in names:
        names = [name for name in DEMONSTRATIONS if name in GAMES]
    if len(names) > 1 and any(one is not None for one in (options.strategies, options.opponents, options.seats)):
        raise UsageError(f"--strategies, --opponents and --seats go with one game, not with {len(names)}")
    plans = []
    for name in names:
        plan = DEMONSTRATIONS.get(name)
        if plan is None:
            make_game(name)
            if options.strategies is None or options.opponents is None:
                known = ", ".join(DEMONSTRATIONS)
                raise UsageError(
                    f"{name} has no demonstrations of its own (these have: {known}); give --strategies and --opponents"
                )
            plan = Demonstrations(name, {}, (), episodes=100)
        if options.strategies is not None:
            plan = replace(plan, strategies=_weights(options.strategies))
        if options.opponents is not None:
            plan = replace(plan, opponents=tuple(_words(options.opponents)))
        if options.seats is not None:
            plan = replace(plan, seats=tuple(_words(options.seats)))
        plans.append(plan)
    return plans


def _weights(text: str) -> dict[str, float]:
    """``tit_for_tat=0.7,always_defect=0.3`` as a mapping; raises UsageError."""
    found: dict[str, float] = {}
    for part in _words(text):
        name, _, weight = part.rpartition("=")
        try:
            number = float(weight)
        except ValueError:
            name = ""
        if not name:
            raise UsageError(
                f"--strategies takes NAME=WEIGHT with commas, e.g. tit_for_tat=0.7,always_defect=0.3; got {part!r}"
            )
        if name in found:
            raise UsageError(f"--strategies: {name} is given twice")
        found[name] = number
    return found


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _command(options: argparse.Namespace, plans: Sequence[Demonstrations]) -> str:
    """The command that makes the same bytes, without the directory."""
    words = ["coplay", "demonstrate", *(plan.game for plan in plans), "--seed", str(options.seed)]
    for name in ("examples", "strategies", "opponents", "seats", "memory"):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def sft(options: argparse.Namespace) -> int:
    """``coplay sft``."""
    if options.recipe is not None:
        raise UsageError(f"settings of sft are of the form key=value, e.g. epochs=2; got {options.recipe!r}")
    for name, least in (("threads", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UsageError(f"--{name} must be at least {least}, got {value}")
    from coplay.experiments.sft import Request, refuse_taken, table
    from coplay.experiments.sft import sft as fine_tune
    from coplay.recipes.sepo.warm_start import SETTINGS
    from coplay.runs.config_input import with_settings
    from coplay.terminal.progress import epochs_shown

    request = Request(
        model=options.model,
        data=options.data,
        settings=with_settings(SETTINGS[options.scale], options.overrides),
        seed=options.seed,
        chat=options.chat,
        chat_date=options.chat_date,
        four_bit=options.four_bit,
        precision=Precision(options.precision),
        threads=options.threads,
    )
    out = Path(options.out)
    refuse_taken(out)
    with epochs_shown(request.settings.epochs, loss="loss", quiet=options.quiet) as show_epoch:
        done = fine_tune(request, out, progress=show_epoch)
    if options.json:
        print(json.dumps(done.record(), indent=2, ensure_ascii=False))
        return 0
    print(table(done))
    print(f"\n{out}: done. Next: coplay train RECIPE --model {options.model} {as_start(request.settings.adapter, out)}")
    return 0
