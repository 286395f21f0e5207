"""``coplay labels``: the initial policy of a model for every pair of action labels."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from coplay.cli.options import check_plot
from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.experiments.labels import (
    LabelPolicy,
    Measured,
    check_target,
    check_two_actions,
    label_pairs,
    measure,
    nearest,
    prompt_names,
    published_policy,
)
from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import PayoffFormat, Spacing
from coplay.recipes.shapellm.table_14 import LabelPair
from coplay.terminal.progress import Progress
from coplay.terminal.streams import tell
from coplay.terminal.tables import align

_TARGET = 0.5
"""The wanted probability of the first action if none is named."""

_PATIENCE = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def labels(options: argparse.Namespace) -> int:
    """``coplay labels``."""
    game, pairs = matrix_game(options.game, what="coplay labels"), pairs_from(options.pairs)
    check_two_actions(game)
    _check(options)
    measured = _measured(options, game, label_pairs(game, options.seat) if pairs is None else pairs)
    policies, target = list(measured.policies), options.target
    if pairs is None:
        target = _TARGET if target is None else target
        policies = nearest(policies, target=target)
    if options.plot is not None:
        _plot(options, game, policies, target)
    shown = policies[: options.top] if pairs is None else policies
    if options.json:
        show([_as_json(policy, options, game, target) for policy in shown])
    else:
        print(_heading(options, game, target, len(shown), len(policies)))
        print("\n".join(_table(shown, options, game, target)))
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse impossible options before a model is loaded."""
    if options.target is not None:
        check_target(options.target)
    if options.top < 1:
        raise UsageError(f"--top must be at least 1, got {options.top}")
    if options.plot is None:
        return
    if options.pairs is not None:
        raise UsageError("--plot shows all pairs of letters; leave out --pairs")
    check_plot(options.plot)


def pairs_from(text: str | None) -> list[LabelPair] | None:
    """``"H/K,N/Y"`` as pairs."""
    if text is None:
        return None
    pairs: dict[LabelPair, None] = {}
    for item in text.split(","):
        first, *rest = (word.strip() for word in item.split("/"))
        if len(rest) != 1 or not first or not rest[0] or first == rest[0]:
            raise UsageError(f"--pairs takes pairs of different labels, e.g. H/K,N/Y; {item.strip()!r} is none")
        pairs[first, rest[0]] = None
    return list(pairs)


def _measured(options: argparse.Namespace, game: MatrixGame, pairs: Sequence[LabelPair]) -> Measured:
    from coplay.models.loading import load_model

    loaded = load_model(options.model, four_bit=options.four_bit, chat=options.chat, chat_date=options.chat_date)
    payoff_format, spacing = PayoffFormat(options.payoff_format), Spacing(options.spacing)
    progress = Progress(unit="pair")
    with progress.running(len(pairs)):
        on_progress = shown_by(progress)
        result = measure(
            loaded,
            game,
            seat=options.seat,
            pairs=pairs,
            payoff_format=payoff_format,
            spacing=spacing,
            on_progress=on_progress,
        )
    why = f"not two different single tokens of {options.model}, e.g. "
    if not result.policies:
        raise UsageError(f"labels: none of the pairs can be used: {why}{'/'.join(pairs[0])}")
    if result.skipped:
        example = "/".join(result.skipped[0])
        tell(f"coplay: {len(result.skipped)} of {len(pairs)} pairs left out: {why}{example}")
    return result


def shown_by(progress: Progress) -> Callable[[int, int], None]:
    """What shows how many pairs are done: where there is no bar a line now and then, and none if it does not take long."""
    last = time.monotonic()

    def show(done: int, pairs: int) -> None:
        nonlocal last
        due = time.monotonic() - last > _PATIENCE
        if due:
            last = time.monotonic()
        progress.advance(done, pairs, line=f"{done}/{pairs} pairs" if due else None)

    return show


def _heading(options: argparse.Namespace, game: MatrixGame, target: float | None, shown: int, pairs: int) -> str:
    action = game.actions[options.seat][0]
    payoff_format = "" if options.payoff_format == PayoffFormat.LIST else f", payoff format {options.payoff_format}"
    spacing = "" if options.spacing == Spacing.PAPER else f", spacing {options.spacing}"
    where = f"{options.model}, {game.name}, {options.seat}{payoff_format}{spacing}"
    if options.pairs is not None:
        return f"{where}: P({action}) in the first five prompts\n"
    return f"{where}: the {shown} of {pairs} pairs of labels nearest to P({action}) = {target:g}\n"


def _table(
    policies: Sequence[LabelPolicy], options: argparse.Namespace, game: MatrixGame, target: float | None
) -> list[str]:
    """Lines as in Table 14; where pairs were named, published rows follow our own."""
    cells = [["labels", *_short_names(game, options.seat), "illegal", *(["KL"] if target is not None else [])]]
    notes = ["after a joint action: own action first; illegal: mean over the prompts"]
    if target is not None:
        notes.append(f"KL: mean divergence from P({game.actions[options.seat][0]}) = {target:g}, in nats")
    for policy in policies:
        cells.append(_row(policy, target))
        paper = published_policy(game, policy.labels, PayoffFormat(options.payoff_format))
        if options.pairs is not None and paper is not None:
            cells.append(["  paper", *(f"{p:.2f}" for p in paper)])
            notes.append("paper: gemma-2-2b-it, ShapeLLM, Table 14")
    return [*align(cells, numbers=True, least=[5] * len(cells[0])), "", *dict.fromkeys(notes)]


def _row(policy: LabelPolicy, target: float | None) -> list[str]:
    illegal = sum(policy.illegal) / len(policy.illegal)
    cells = ["/".join(policy.labels), *(f"{p:.2f}" for p in policy.first), f"{illegal:.2%}"]
    return cells if target is None else [*cells, f"{policy.divergence(target):.4f}"]


def _short_names(game: MatrixGame, seat: str) -> list[str]:
    """The prompts by the game's own letters: ``start``, ``CC``, ``CD``, ..., the reader's first."""
    mine = dict(zip(game.actions[seat], game.labels[seat], strict=True))
    theirs = dict(zip(game.actions[game.other(seat)], game.labels[game.other(seat)], strict=True))
    between = "" if all(len(label) == 1 for label in (*mine.values(), *theirs.values())) else "/"
    return ["start", *(f"{mine[str(a)]}{between}{theirs[str(b)]}" for a, b in game.own_states(seat))]


def _as_json(
    policy: LabelPolicy, options: argparse.Namespace, game: MatrixGame, target: float | None
) -> dict[str, object]:
    names, actions = prompt_names(game, options.seat), game.actions[options.seat]
    rows = zip(names, policy.first, policy.second, policy.illegal, strict=True)
    result: dict[str, object] = {
        "labels": list(policy.labels),
        "probabilities": {name: {actions[0]: a, actions[1]: b, "illegal": c} for name, a, b, c in rows},
    }
    if target is not None:
        result |= {"target": target, "divergence": policy.divergence(target)}
    paper = published_policy(game, policy.labels, PayoffFormat(options.payoff_format))
    if paper is not None:
        result["published"] = dict(zip(names, paper, strict=True))
    return result


def _plot(options: argparse.Namespace, game: MatrixGame, policies: Sequence[LabelPolicy], target: float) -> None:
    from coplay.experiments.label_plot import label_figure
    from coplay.report.canvas import save_as

    start, *after = _short_names(game, options.seat)
    figure = label_figure(
        policies,
        title=f"{options.model}, {game.name}: first policies of {len(policies)} pairs of labels",
        actions=(game.actions[options.seat][0], game.actions[options.seat][1]),
        prompts=[start, *(f"after {name}" for name in after)],
        target=target,
    )
    save_as(Path(options.plot), figure)
