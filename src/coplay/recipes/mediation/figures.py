"""Figures 1 to 6 of Learning to Mediate, as the runs of Table 2 and of its controllers by checkpoint."""

from __future__ import annotations

from coplay.games import make_game
from coplay.games.bertrand import Bertrand
from coplay.recipes.experiments import FigureSpec, Panel
from coplay.recipes.mediation.market import (
    FAMILIES,
    GAIN,
    PAPERS,
    PRICE,
    PROMPTS,
    RULES,
    SURPLUS,
    TABLE,
    TRAINED,
    Controller,
)

_SHORT = {"ppo": "PPO", "bandit": "bandit"}
"""Algorithms, as panels have them."""

REFERENCES = ("never", "always-mild")
"""The rules that checkpoints are compared with."""


def _panel(one: Controller, title: str, prompt: str, family: str) -> Panel:
    return Panel(TRAINED.id, TRAINED.game, one.name, title, prompt, family)


def _of(algorithm: str) -> list[Controller]:
    return [one for one in FAMILIES if one.algorithm == algorithm]


def _family(one: Controller) -> str:
    return f"{_SHORT[one.algorithm]}-{one.prompt}"


def _by_checkpoint() -> tuple[Panel, ...]:
    """Figure 1: a panel an algorithm and an evaluation prompt."""
    panels = []
    for algorithm, short in _SHORT.items():
        for prompt in PROMPTS:
            title = f"{short}, evaluated under {prompt}"
            panels += [Panel(TRAINED.id, TRAINED.game, rule, title, prompt) for rule in REFERENCES]
            panels += [_panel(one, title, prompt, f"trained under {one.prompt}") for one in _of(algorithm)]
    return tuple(panels)


def _trained() -> tuple[Panel, ...]:
    """Figure 2: a row a prompt, PPO left and the bandit right."""
    longest = max(one.updates for one in FAMILIES)
    return tuple(
        _panel(Controller(algorithm, prompt, longest), f"{short}, {prompt}", "", "")
        for prompt in PROMPTS
        for algorithm, short in _SHORT.items()
    )


def _best() -> tuple[Panel, ...]:
    """Figure 3: Table 2's columns."""
    families = {one.name: f"{_family(one)} ({one.updates})" for one in PAPERS}
    arms = [*(name for name in RULES if name != "coin"), *families]
    return tuple(
        Panel(TABLE.id, TABLE.game, arm, prompt, prompt, families.get(arm, "")) for arm in arms for prompt in PROMPTS
    )


def _bandits() -> tuple[Panel, ...]:
    """Figure 4: evaluation prompts by bandits."""
    return tuple(_panel(one, prompt, prompt, one.prompt) for prompt in PROMPTS for one in _of("bandit"))


def _all() -> tuple[Panel, ...]:
    """Figure 5: every controller, mean over the prompts."""
    rules = [Panel(TRAINED.id, TRAINED.game, rule, prompt, prompt) for rule in REFERENCES for prompt in PROMPTS]
    return (*rules, *(_panel(one, prompt, prompt, _family(one)) for one in FAMILIES for prompt in PROMPTS))


def _own_prompt() -> tuple[Panel, ...]:
    """Figure 6: a panel an algorithm and the prompt of training and evaluation."""
    return tuple(
        _panel(one, _family(one), one.prompt, "profit gain of checkpoints")
        for algorithm in _SHORT
        for one in _of(algorithm)
    )


def _nash_price() -> float:
    game = make_game("bertrand")
    assert isinstance(game, Bertrand)
    return game.market.nash.price


FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "mediation/figure1",
        "Learning to mediate, Figure 1: profit gain by checkpoint",
        "Profit gain (0 at Nash's profits, 1 at the monopoly's; lower is better for consumers) after 25, 50, 75 and 100 updates: a panel an algorithm"
        " and a prompt of evaluation, a colour the prompt of training. Dashed lines: no mediator, and the mild notice before every round.",
        _by_checkpoint(),
        columns=2,
        shows=("checkpoints",),
        row=GAIN,
        text_only=True,
    ),
    FigureSpec(
        "mediation/figure2",
        "Learning to mediate, Figure 2: what the mediator does over training",
        "Shares of silence, mild and strong notices over training, mean over seeds: a row a prompt, PPO left and the bandit right. Dashed: update 25.",
        _trained(),
        columns=2,
        shows=("actions",),
        marked=25,
        text_only=True,
    ),
    FigureSpec(
        "mediation/figure3",
        "Learning to mediate, Figure 3: learned mediators and rules by price and profit gain",
        "Table 2's mediators, mean over the four prompts with 95 % intervals over seeds: mean price to the right, profit gain upwards, both better the"
        " lower. Dashed: always-mild. Dotted: the Nash price.",
        _best(),
        columns=1,
        shows=("frontier",),
        row=GAIN,
        across=PRICE,
        marked=_nash_price(),
        mark="Nash",
        reference="always-mild",
        text_only=True,
    ),
    FigureSpec(
        "mediation/figure4",
        "Learning to mediate, Figure 4: profit gain of bandits",
        "Profit gain by prompt of evaluation (down), and by prompt and updates of training (across), with 95 % intervals over seeds.",
        _bandits(),
        columns=1,
        shows=("map",),
        row=GAIN,
        text_only=True,
    ),
    FigureSpec(
        "mediation/figure5",
        "Learning to mediate, Figure 5: profit gain against consumer surplus",
        "Every mediator, mean over the four prompts with 95 % intervals over seeds. To the right and below is better. Lines join the checkpoints of a"
        " training in order, larger marks are later ones; dashed lines go through always-mild.",
        _all(),
        columns=1,
        shows=("frontier",),
        row=GAIN,
        across=SURPLUS,
        reference="always-mild",
        text_only=True,
    ),
    FigureSpec(
        "mediation/figure6",
        "Learning to mediate, Figure 6: the mediator's reward in training and profit gain of checkpoints",
        "Lines, right axis: the mediator's reward a round in training, closeness of the mean price to Nash's. Marks, left axis: profit gain of"
        " checkpoints under the prompt of training. Mean over seeds, with 95 % intervals.",
        _own_prompt(),
        columns=2,
        shows=("checkpoints", "training"),
        row=GAIN,
        text_only=True,
    ),
)
"""All of them."""
