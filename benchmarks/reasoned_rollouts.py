"""Games whose replies reason before they act: tokens of replies per second of coplay's rollouts and training beside the straightforward ways.

    python benchmarks/reasoned_rollouts.py --out benchmarks/results/reasoned_rollouts.json
    python benchmarks/reasoned_rollouts.py --render    # those results into docs/benchmarks.md
    python benchmarks/reasoned_rollouts.py --model smollm2 --max-tokens 256 --games kuhn

Rollouts and training of `sepo/GAME` with the embedded model `tiny-reason`, whose reasons are short, and of `ipd-8` with replies of up to 64 tokens that
are hardly ever equal. Rates are in tokens and not in games: coplay ends a reply at its action, so it would play more games in the same time whatever a
token costs. What it costs to look for actions is measured as well: the same rollouts, whose replies are looked at and go on. The others are described in
``throughput.py``.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from throughput import (
    HEAD,
    LEARNER,
    Rates,
    RowByRow,
    begin,
    end,
    in_turn,
    parser,
    play,
    render,
    reply_tokens,
    results,
    row,
    setting,
    training,
)

GAMES = ("ipd-8", "auction", "negotiation-v1", "negotiation-v2", "kuhn")

LONG = {"model": "tiny-talk", f"{LEARNER}.max_tokens": 64, f"{LEARNER}.temperature": 2.0}
"""Settings that give long replies: an embedded model that knows nothing of these prompts, sampled hot."""

LONG_REPLIES = "ipd-8, long replies"
"""What the case with these settings is called."""

TRL_BATCH = 512
"""Replies that TRL scores at a time: a whole trial's, which is faster than several passes."""

WHAT = {"rollouts": "rollouts", "looking": "looking for actions", "training": "training"}
"""What is measured, as the table calls it."""

NAME = "reasoned_rollouts"


def main() -> None:
    options = _arguments()
    if options.render:
        render("reasoned rollouts", table(results(NAME)))
        return
    found = begin(options)
    found["cases"] = {case: measured(case, options) for case in options.games}
    end(found, table(found), options.out)


def measured(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """Rates of one case, and what it consists of."""
    state = state_of(case, options)
    player = state.learners[LEARNER].player
    games, rounds = state.config.games, state.config.rounds
    few, slow = max(1, games // 16), RowByRow(player)
    ours = lambda: reply_tokens(play(state, player, games, rounds))  # noqa: E731
    found: dict[str, Any] = {
        "model": state.config.model,
        "games": games,
        "rounds": rounds,
        "max_tokens": player.max_tokens,
        "temperature": player.temperature,
        "adapter": {"rank": state.config.adapter.rank, "targets": list(state.config.adapter.targets)},
    }
    played = play(state, player, games, rounds)
    found["tokens a reply"] = reply_tokens(played) / sum(len(own) for game in played for own in game.turns.values())
    found["rollouts"] = in_turn(
        {"coplay": ours, "row by row": lambda: reply_tokens(play(state, slow, few, rounds))}, options.repeat
    )
    found["looking"] = looking(state, options)
    found["training"] = training(state, options, batch=TRL_BATCH)
    return found


def state_of(case: str, options: argparse.Namespace) -> Any:
    """The recipe's training state with one seed."""
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_values
    from coplay.runs.factory import build

    chosen = {
        "model": options.model,
        f"{LEARNER}.max_tokens": options.max_tokens,
        f"{LEARNER}.temperature": options.temperature,
    }
    values: dict[str, object] = {"seeds": [0], "threads": options.threads, "workers": 1}
    values |= LONG if case == LONG_REPLIES else {}
    values |= {key: value for key, value in chosen.items() if value is not None}
    config = make_config(f"sepo/{case.partition(',')[0]}")
    values |= {"group_size": options.group_size, "games": config.games // config.group_size * options.group_size}
    return build(with_values(config, values))


def looking(state: Any, options: argparse.Namespace) -> dict[str, Rates]:
    """Rollouts that look for actions and go on all the same, and rollouts that do not look."""
    player = state.learners[LEARNER].player

    def going_on(looks: bool) -> float:
        with _going_on(looking=looks):
            return reply_tokens(play(state, player, state.config.games, state.config.rounds))

    return in_turn({"coplay": lambda: going_on(True), "without": lambda: going_on(False)}, options.repeat)


@contextlib.contextmanager
def _going_on(*, looking: bool) -> Iterator[None]:
    """Replies that do not end at their action, though perhaps it is looked for."""
    from coplay.players.completion import Completion

    of = Completion.of

    def never(self: Completion, requests: Sequence[Any], begun: Sequence[str]) -> Any:
        complete = of(self, requests, begun) if looking else None
        return None if complete is None else lambda row, tokens: complete(row, tokens) and False

    Completion.of = never  # type: ignore[method-assign]
    try:
        yield
    finally:
        Completion.of = of  # type: ignore[method-assign]


def table(found: Mapping[str, Any]) -> str:
    """Markdown."""
    lines = [
        f"Tokens of replies per second; {setting(found)}",
        "",
        f"| what | game | games x rounds | tokens a reply {HEAD[0]}",
        f"|---|---|---|---{HEAD[1]}",
    ]
    for what, title in WHAT.items():
        for case, of_case in found["cases"].items():
            cells = [title, case, f"{of_case['games']} x {of_case['rounds']}", f"{of_case['tokens a reply']:.1f}"]
            lines += [row(cells, of_case[what], other) for other in of_case[what] if other != "coplay"]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    found = parser(__doc__)
    cases = [*GAMES, LONG_REPLIES]
    found.add_argument("--games", default=";".join(cases), help=f"which, divided by semicolons, of: {'; '.join(cases)}")
    found.add_argument(
        "--group-size", type=int, default=16, help="games against each co-player (default: 16; the recipe has 4)"
    )
    found.add_argument(
        "--model", help="a model of `coplay models`, a directory or a Hub id (default: the embedded ones)"
    )
    found.add_argument("--max-tokens", type=int, help="most tokens of a reply (default: the recipe's)")
    found.add_argument("--temperature", type=float, help="sampling temperature (default: the recipe's)")
    options = found.parse_args()
    options.games = [one.strip() for one in options.games.split(";")]
    if unknown := sorted(set(options.games) - set(cases)):
        found.error(f"--games: unknown {', '.join(unknown)}; known: {'; '.join(cases)}")
    return options


if __name__ == "__main__":
    main()
