"""SEPO's published numbers, table by table, with the recipes behind each row; and experiments of ours on weights and pools."""

from __future__ import annotations

from collections.abc import Sequence

from coplay.recipes.experiments import Arm, Experiment, Published, WarmStart
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS, SEED
from coplay.recipes.sepo.measures import best_of_pool, best_response, measured, safety
from coplay.recipes.sepo.settings import TITLES, WEIGHTS
from coplay.recipes.sepo.warm_start import SETTINGS

GEMMA, QWEN = "Gemma 4 E4B-it", "Qwen 3.5-4B"
"""The paper's models."""

COLUMNS = {
    "pay": "Pay/r ↑",
    "exploit_over_agent": "Exploit ↓",
    "externality": "Ext ↓",
    "safety": "Safety ↑",
    "nra": "NRA ↑",
}
"""The columns of Tables 2 to 5, 9 and 10, by what is measured."""

STAGES = ("base", "sft", "sepo")
"""The arms of Tables 2 to 5 and 8 to 10."""

Numbers = tuple[float | None, ...]
"""A row of a table: a number for each of :data:`COLUMNS`, None where it is left out."""


def warm_start(game: str) -> WarmStart:
    """The fine-tuning that all arms of a game start from."""
    return WarmStart(f"sft-{game}", DEMONSTRATIONS[game], SETTINGS, SEED)


def arm(name: str, label: str, recipe: str, game: str) -> Arm:
    """An arm that starts from the game's warm start."""
    return Arm(name, label, f"sepo/{recipe}", preparation=warm_start(game))


def stages(game: str) -> tuple[Arm, ...]:
    """Base, SFT and SEPO."""
    return (
        Arm("base", "Base: the model as it is", f"sepo/{game}-base"),
        arm("sft", "SFT: the warm start alone", f"{game}-sft", game),
        arm("sepo", "SEPO", game, game),
    )


def rows(game: str, of_arm: str, *published: Numbers) -> list[Published]:
    """An arm's rows: the table's columns with the numbers of one or two of the paper's models, then numbers of ours."""
    found = []
    for i, (name, label) in enumerate(COLUMNS.items()):
        measure = safety(of_arm, game) if name == "safety" else measured(of_arm, name)
        values = [numbers[i] for numbers in published] + [None, None]
        found.append(Published(of_arm, "", label, values[0], measure=measure, second=values[1]))
    found.append(Published(of_arm, "", "Robust ↑", None, measure=measured(of_arm, "robust")))
    return found + gap(of_arm)


def gap(of_arm: str) -> list[Published]:
    """What the most successful co-player of the exploit pool gets, and what a best response gets: both per round, in points."""
    pool = Published(of_arm, "", "best of the exploit pool gets", None, measure=best_of_pool(of_arm))
    best = Published(of_arm, "", "a best response gets", None, measure=best_response(of_arm))
    return [pool, best]


def last(game: str, of_arm: str, exploit: float | None = None, second: float | None = None) -> list[Published]:
    """Exploit and safety of an arm's last checkpoint."""
    return [
        Published(
            of_arm,
            "",
            "Exploit, last checkpoint",
            exploit,
            measure=measured(of_arm, "exploit_over_agent", "last"),
            second=second,
        ),
        Published(of_arm, "", "Safety, last checkpoint", None, measure=safety(of_arm, game, "last")),
    ]


def _stages(
    number: int, game: str, models: Sequence[str], *published: tuple[Numbers, ...], own: tuple[Arm, ...] = ()
) -> Experiment:
    """A table of base, SFT and SEPO; ``published`` has the rows of each of the models."""
    title = f"SEPO, Table {number}: {TITLES[game]}"
    table = [row for i, stage in enumerate(STAGES) for row in rows(game, stage, *(of[i] for of in published))]
    table += last(game, "sepo")
    table += [row for one in own for row in [*rows(game, one.name), *last(game, one.name)]]
    arms = (*stages(game), *own)
    return Experiment(f"sepo/table{number}", game, title, arms, tuple(table), text_only=True, models=tuple(models))


SMALL_BETA = arm("small-beta", "SEPO with a small KL weight", "kuhn-small-beta", "kuhn")
"""Section 3.5: with a KL weight of 0.01 late checkpoints overshoot."""

_TABLES = (
    _stages(
        2,
        "ipd-8",
        (GEMMA, QWEN),
        (
            (2.741, 0.703, 0.155, 0.761, -0.091),
            (2.719, 0.828, 0.153, 0.455, -0.105),
            (2.745, 0.703, 0.159, 0.772, -0.090),
        ),
        (
            (1.641, 5.000, 0.146, -13.109, -0.372),
            (1.773, 3.125, 0.278, -7.894, -0.225),
            (2.379, 1.250, 0.261, -1.847, -0.080),
        ),
    ),
    _stages(
        3,
        "auction",
        (GEMMA, QWEN),
        (
            (0.514, 0.146, 0.380, -2.049, 0.478),
            (0.646, 0.000, 0.208, -1.054, 0.149),
            (0.750, 0.021, 0.208, -0.900, 0.130),
        ),
        (
            (0.514, 0.042, 0.490, -2.861, 0.373),
            (0.542, 0.250, 0.344, -1.783, 0.230),
            (0.563, 0.125, 0.255, -1.200, 0.122),
        ),
    ),
    _stages(
        4,
        "negotiation-v1",
        (QWEN,),
        ((1.08, 1.50, 0.70, -4.98, -0.44), (1.75, 2.00, 0.57, -3.20, -0.26), (2.17, 0.00, 0.60, -0.74, -0.19)),
    ),
    _stages(
        4,
        "negotiation-v2",
        (GEMMA,),
        ((6.04, 0.06, 0.70, -0.32, -0.04), (7.05, 6.03, 0.56, -2.77, -0.23), (10.93, 0.14, 0.60, 2.19, 0.17)),
    ),
    _stages(
        5,
        "kuhn",
        (GEMMA, QWEN),
        (
            (-0.256, 0.211, None, -1.398, None),
            (0.000, 0.000, None, -0.931, None),
            (0.249, 0.000, None, -0.379, None),
        ),
        (
            (0.033, 0.705, None, -3.686, None),
            (-0.113, 0.347, None, -3.142, None),
            (-0.267, 0.000, None, -1.709, None),
        ),
        own=(SMALL_BETA,),
    ),
    _stages(
        9,
        "negotiation-v1",
        (GEMMA,),
        ((1.08, 0.00, 0.82, -1.32, -0.17), (3.00, 3.00, 0.34, -3.34, -0.22), (3.00, 2.00, 0.39, -2.01, -0.23)),
    ),
    _stages(
        10,
        "negotiation-v2",
        (QWEN,),
        ((6.71, 0.78, 0.70, -1.28, 0.12), (5.41, 1.72, 0.56, -2.23, 0.12), (6.81, 2.03, 0.63, -1.97, -0.10)),
    ),
)
"""Tables 2 to 5, 9 and 10. Of SEPO's checkpoints those that the paper calls its best; in Tables 9 and 10 the first."""

_EXPLOIT = {
    "ipd-8": ((0.625, 5.000), (0.625, 3.125), (0.625, 1.250)),
    "auction": ((0.146, 0.042), (0.000, 0.250), (0.021, 0.125)),
    "negotiation-v1": ((0.000, 1.500), (3.000, 2.000), (2.000, 0.000)),
    "negotiation-v2": ((0.063, 0.781), (6.031, 1.719), (0.141, 2.031)),
    "kuhn": ((0.211, 0.705), (0.000, 0.347), (0.000, 0.000)),
}
"""Table 8: exploit of base, SFT and SEPO, of both models. Table 2 has other numbers for Gemma 4 in the IPD."""


def _table_8(game: str) -> Experiment:
    table = [
        Published(stage, "", "Exploit ↓", gemma, measure=measured(stage, "exploit_over_agent"), second=qwen)
        for stage, (gemma, qwen) in zip(STAGES, _EXPLOIT[game], strict=True)
    ]
    title = f"SEPO, Table 8: {TITLES[game]}, exploit by stage"
    return Experiment("sepo/table8", game, title, stages(game), tuple(table), text_only=True, models=(GEMMA, QWEN))


def _ours(id: str, game: str, what: str, arms: Sequence[Arm], *, extra: bool) -> Experiment:
    """An experiment with the numbers of :func:`rows` for each arm, without published ones."""
    table = [row for one in arms for row in [*rows(game, one.name), *last(game, one.name)]]
    text_only = any(one.name in ("base", "sft") for one in arms)
    return Experiment(
        id, game, f"SEPO, {what}: {TITLES[game]}", tuple(arms), tuple(table), text_only=text_only, extra=extra
    )


def _ablation(game: str) -> Experiment:
    """Appendix D: how penalties are credited, and what advantages are divided by."""
    credits = {
        "episode": "Advantages of whole episodes",
        "shared": "One penalty for all rollouts (algorithm 1)",
        "auxiliary": "A penalty a rollout, from other games",
        "payoff": "Payoff alone",
    }
    own = [arm(name, label, f"{game}-{name}", game) for name, label in credits.items()]
    return _ours("sepo/ablation", game, "Appendix D", [*stages(game)[1:], *own], extra=False)


def _weights(game: str) -> Experiment:
    """Each weight alone."""
    names = dict(zip(("exploit", "collusion", "externality"), WEIGHTS[game], strict=True))
    own = [
        arm(name, f"Payoff less {name} alone", f"{game}-{name}", game) for name, weight in names.items() if weight > 0
    ]
    return _ours(
        "sepo/weights",
        game,
        "each weight alone",
        [arm("payoff", "Payoff alone", f"{game}-payoff", game), *own],
        extra=True,
    )


def _pools() -> Experiment:
    """Which pool leads to a policy that is hard to exploit."""
    arms = (
        arm("fixed-pool", "SEPO, the paper's exploit pool", "kuhn-fixed-pool", "kuhn"),
        arm("large-pool", "SEPO, every scripted strategy in the exploit pool", "kuhn-large-pool", "kuhn"),
        arm("best-responses", "SEPO, best responses join the exploit pool", "kuhn-best-responses", "kuhn"),
        arm("best-responses-alone", "SEPO, best responses are the exploit pool", "kuhn-best-responses-alone", "kuhn"),
    )
    return _ours("sepo/pools", "kuhn", "which exploit pool", arms, extra=True)


EXPERIMENTS: tuple[Experiment, ...] = (
    *sorted((*_TABLES, *map(_table_8, TITLES)), key=lambda one: int(one.id.removeprefix("sepo/table"))),
    *map(_ablation, ("ipd-8", "kuhn")),
    *map(_weights, ("ipd-8", "auction", "negotiation-v1", "negotiation-v2")),
    _pools(),
)
"""The paper's, in its order, then ours."""
