"""Findings about the market as claims. Profit gain is 0 at Nash's profits and 1 at the monopoly's; each claim is of the firms that its results name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Count, Measure, Results, difference, rounds_of
from coplay.evaluation.rules import Rule, at_most, ci_above, ci_below, ci_within
from coplay.recipes.mediation.claims import PAPER
from coplay.recipes.mediation.market import ALGORITHMS, OURS, PAPERS, PROMPTS, Controller
from coplay.recipes.mediation.measures import collective, intervened

ALIKE = 0.02
"""Profit gain within which two mediators count as equal; Table 2's columns differ by about as much."""

PASSIVE = 0.1
"""Share of the rounds with a message that counts as passive. The paper names no number."""


def gain(arm: str, prompt: str) -> Measure:
    """The profit gain under a prompt."""
    return collective(f"{arm}@{prompt}", "profit_gain")


def surplus(arm: str, prompt: str) -> Measure:
    """The consumer surplus under a prompt."""
    return collective(f"{arm}@{prompt}", "consumer_surplus")


def average(measures: Sequence[Measure]) -> Measure:
    """Seed by seed, the mean of several numbers."""
    return lambda results: [
        sum(values) / len(values) for values in zip(*(one(results) for one in measures), strict=True)
    ]


def mean_gain(arm: str) -> Measure:
    """The profit gain, mean over the prompts."""
    return average([gain(arm, prompt) for prompt in PROMPTS])


def dominates(arm: str, other: str) -> Measure:
    """Seed by seed, the smaller of two advantages over another arm, each the mean over the prompts: less profit gain, more consumer surplus."""
    less = difference(mean_gain(other), mean_gain(arm))
    more = difference(
        average([surplus(arm, prompt) for prompt in PROMPTS]), average([surplus(other, prompt) for prompt in PROMPTS])
    )

    def measure(results: Results) -> list[float]:
        return [min(a, b) for a, b in zip(less(results), more(results), strict=True)]

    return measure


def _claim(
    name: str,
    place: str,
    text: str,
    measure: Measure,
    rule: Rule,
    published: float | None = None,
    table: str = "table2",
    counted: Count | None = None,
) -> Claim:
    return Claim(f"{table}/bertrand/{name}", f"{PAPER}, {place}", text, published, measure, rule, counted)


def _order() -> Iterator[Claim]:
    """What firms do without a mediator, by what they are told."""
    for low, high, published in (("AC", "P0", 0.023), ("P0", "PI", 0.058), ("PI", "PC", 0.121)):
        yield _claim(
            f"order-{low.lower()}-below-{high.lower()}",
            "Table 2",
            f"Without a mediator firms told {low} collude less than firms told {high}: profit gain under {high} minus that under {low}.",
            difference(gain("never", high), gain("never", low)),
            ci_above(0.0),
            published,
        )
    yield _claim(
        "framing-above-messages",
        "section 4.2",
        "What firms are told matters more than messages: PC minus AC without a mediator, less what always-strong takes off under PC.",
        difference(
            difference(gain("never", "PC"), gain("never", "AC")),
            difference(gain("never", "PC"), gain("always-strong", "PC")),
        ),
        ci_above(0.0),
        0.189,
    )


def _value() -> Iterator[Claim]:
    """Where messages help."""
    yield _claim(
        "value-under-pc",
        "section 4.2",
        "Messages are worth most under PC: what always-mild takes off the profit gain under PC minus what it takes off under P0.",
        difference(
            difference(gain("never", "PC"), gain("always-mild", "PC")),
            difference(gain("never", "P0"), gain("always-mild", "P0")),
        ),
        ci_above(0.0),
        0.041,
    )
    yield _claim(
        "mild-backfires-under-p0",
        "Table 2",
        "Where firms compete by themselves messages do harm: profit gain of always-mild under P0 minus that without a mediator.",
        difference(gain("always-mild", "P0"), gain("never", "P0")),
        ci_above(0.0),
        0.024,
    )
    for arm, prompt, other, published in (
        ("bandit-p0-50", "PC", "never", -0.032),
        ("ppo-pc-25", "AC", "never", -0.023),
        ("bandit-p0-50", "P0", "always-mild", -0.027),
        ("ppo-pc-25", "PC", "always-mild", 0.0),
    ):
        yield _claim(
            f"{arm}-below-{other}-under-{prompt.lower()}",
            "Table 2",
            f"A learned mediator lowers the profit gain under {prompt}: that of {arm} minus that of {other}.",
            difference(gain(arm, prompt), gain(other, prompt)),
            ci_below(0.0),
            published,
        )


def _learned() -> Iterator[Claim]:
    """What was learned, compared with rules."""
    yield _claim(
        "bandit-matches-rules",
        "section 5",
        "The bandit matches rules: profit gain of bandit-p0-50 minus that of always-mild, mean over the prompts.",
        difference(mean_gain("bandit-p0-50"), mean_gain("always-mild")),
        ci_within(0.0, ALIKE),
        -0.012,
    )
    for one in (*PAPERS, *OURS):
        yield _claim(
            f"{one.name}-does-not-dominate",
            "Figure 5",
            "No learned mediator beats always-mild in profit gain and consumer surplus together: the smaller of the two advantages, mean over the"
            f" prompts ({one.name}).",
            dominates(one.name, "always-mild"),
            at_most(0.0),
        )
    yield _claim(
        "ppo-drifts",
        "Figure 1",
        "PPO peaks early: profit gain of ppo-pc-100 minus that of ppo-pc-25, mean over the prompts.",
        difference(mean_gain("ppo-pc-100"), mean_gain("ppo-pc-25")),
        ci_above(0.0),
    )
    yield _claim(
        "bandit-stable",
        "section 4.2",
        "The bandit keeps its performance: profit gain of bandit-p0-100 minus that of bandit-p0-50, mean over the prompts.",
        difference(mean_gain("bandit-p0-100"), mean_gain("bandit-p0-50")),
        ci_within(0.0, ALIKE),
        -0.001,
    )
    yield _claim(
        "bandits-alike",
        "section 3.4 and Algorithm 1",
        "The paper's two bandits come to the same: profit gain of bandit-pg-p0-100 minus that of bandit-p0-100, mean over the prompts.",
        difference(mean_gain("bandit-pg-p0-100"), mean_gain("bandit-p0-100")),
        ci_within(0.0, ALIKE),
    )
    for other in ("ppo-any-100", "ppo-p0-50"):
        yield _claim(
            f"conditioned-as-good-as-{other}",
            "section 5",
            "A mediator that is told the prompt is at least as good across prompts: profit gain of ppo-conditioned-100 minus that of"
            f" {other}, mean over the prompts.",
            difference(mean_gain("ppo-conditioned-100"), mean_gain(other)),
            at_most(ALIKE / 2),
        )


def _passivity() -> Iterator[Claim]:
    """Claims about the controllers of Figures 1 and 2, each under the prompt that it was trained under."""
    for algorithm in ("ppo", "bandit"):
        for prompt in ("P0", "AC"):
            one = Controller(algorithm, prompt, 100)
            yield _claim(
                f"{one.name}-passive",
                "section 4.2 and Figure 1",
                f"Where firms compete by themselves the mediator learns to be silent: rounds with a message ({ALGORITHMS[algorithm]} under {prompt}).",
                intervened(f"{one.name}@{prompt}"),
                at_most(PASSIVE),
                table="checkpoints",
                counted=rounds_of(f"{one.name}@{prompt}"),
            )
        low, high = Controller(algorithm, "P0", 100), Controller(algorithm, "PC", 100)
        yield _claim(
            f"{algorithm}-speaks-more-under-pc",
            "section 4.2",
            f"The mediator learns to speak where firms collude: rounds with a message of {high.name} under PC minus those of {low.name} under P0.",
            difference(intervened(f"{high.name}@PC"), intervened(f"{low.name}@P0")),
            ci_above(0.0),
            table="checkpoints",
        )
    yield _claim(
        "pc-bandit-collapses",
        "Figure 2",
        "The bandit under PC falls silent late in training: rounds with a message under PC of bandit-pc-100 minus those of bandit-pc-25.",
        difference(intervened("bandit-pc-100@PC"), intervened("bandit-pc-25@PC")),
        ci_below(0.0),
        table="checkpoints",
    )


CLAIMS = (*_order(), *_value(), *_learned(), *_passivity())
"""All claims about the market."""
