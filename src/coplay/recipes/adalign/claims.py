"""The paper's statements as checks.

The cooperative and the defecting payoff that a statement compares with are what the hard-coded agents get from each other in the very games
(deals included) in which the trained ones are measured. A reward is *normalised* if mutual defection is 0 and mutual cooperation is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    Measure,
    Results,
    difference,
    first,
    late,
    mapped,
    mean,
    per_round,
    share_of,
    versus,
)
from coplay.evaluation.rules import Rule, at_least, at_most, ci_above
from coplay.games.split import ALICE
from coplay.recipes.adalign.figures import COOPERATE, DEFECT, TRANSCRIPTS
from coplay.recipes.adalign.variants import TITLES

NEAR_DEFECTION = 0.10
"""A learner defects if its normalised reward with itself is at most this."""

NEAR_COOPERATION = {"ipd-ab": 0.9, "split-no-comm": 0.8}
"""Shares of the cooperative payoff that an aligned agent is to reach with itself."""

NEGLIGIBLE = 0.05
"""A share of the cooperative payoff that counts as no gain."""


def _own(player: str) -> Measure:
    return versus(player, player)


def _normalised(value: Measure) -> Measure:
    """A payoff on the scale from mutual defection, 0, to mutual cooperation, 1, seed by seed."""
    defection = _own(DEFECT)
    return share_of(difference(value, defection), difference(_own(COOPERATE), defection))


def _share_of_cooperation(value: Measure) -> Measure:
    return share_of(value, _own(COOPERATE))


def _claim(id: str, place: str, text: str, measure: Measure, rule: Rule, *, published: float | None = None) -> Claim:
    """A claim of this paper; ``place`` is the figure or section in it."""
    return Claim(
        id, f"Learning Robust Social Strategies with Large Language Models, {place}", text, published, measure, rule
    )


def _naive_learners(game: str) -> Iterator[Claim]:
    """Figure 2."""
    for arm, model in (("grpo", "the model"), ("grpo-second", "another family's model")):
        yield _claim(
            f"figure2/{game}/{arm}-greedy",
            "Figure 2",
            f"Naive learners learn to defect, on {model}: their normalised reward (mutual defection 0, mutual cooperation 1).",
            _normalised(_own(arm)),
            at_most(NEAR_DEFECTION),
            published=0.0,
        )
    yield _claim(
        f"figure2/{game}/began-better",
        "section 5.1",
        "Naive learners start above the outcome of training: the first trial's reward minus that after training.",
        difference(first("grpo", "reward/learner"), per_round("grpo", ALICE)),
        ci_above(0.0),
    )


def _aligned(figure: int, game: str) -> Iterator[Claim]:
    """Figures 3 and 4: the aligned agent with itself, with cooperators and with defectors."""
    place, own, naive = f"Figure {figure}", _own("adalign"), _own("grpo")
    begin = f"figure{figure}/{game}"
    if game in NEAR_COOPERATION:
        yield _claim(
            f"{begin}/with-itself",
            f"{place}, section 5.2",
            "The aligned agent cooperates with itself: its reward as a share of the cooperative payoff.",
            _share_of_cooperation(own),
            at_least(NEAR_COOPERATION[game]),
            published={"ipd-ab": None, "split-no-comm": 0.86}[game],
        )
    else:
        yield _claim(
            f"{begin}/with-itself",
            f"{place}, section 5.2",
            "The aligned agent gets more with itself than naive learners do: its gain over them, as a share of the gap between their reward"
            " and the cooperative payoff.",
            share_of(difference(own, naive), difference(_own(COOPERATE), naive)),
            at_least(0.5),
        )
    yield _claim(
        f"{begin}/with-cooperators",
        place,
        "The aligned agent cooperates with cooperators: their reward against it, as a share of the cooperative payoff.",
        _share_of_cooperation(versus(COOPERATE, "adalign")),
        at_least(NEAR_COOPERATION.get(game, 0.8)),
    )
    yield _claim(
        f"{begin}/with-defectors",
        place,
        "Defectors gain little against the aligned agent: their normalised reward (mutual defection 0, mutual cooperation 1).",
        _normalised(versus(DEFECT, "adalign")),
        at_most(0.5),
    )
    yield _claim(
        f"{begin}/answers-in-kind",
        f"{place}, section 5.2, Figures 5, 10 and 11",
        "The aligned agent reciprocates: its rate of cooperation after the co-player cooperated minus that after it defected, late in"
        " training.",
        difference(late("adalign", "cooperate_after/cooperate"), late("adalign", "cooperate_after/greedy")),
        ci_above(0.3),
    )


def _dilemma() -> Iterator[Claim]:
    yield _claim(
        "figure3/ipd-ab/loses-one-round",
        "section 5.2",
        "The aligned agent is exploited by a defector in no more than the first round: its reward minus tit for tat's.",
        difference(versus("adalign", DEFECT), mapped(_own(DEFECT), lambda reward: 0.9 * reward)),
        at_least(-0.02),
    )


def _trained_baselines() -> Iterator[Claim]:
    """Figure 4's other agents."""
    begin, place = "figure4/trust-and-split", "Figure 4"
    yield _claim(
        f"{begin}/sum-cooperates",
        place,
        "Learners for the sum of rewards reach the largest possible reward with themselves: as a share of the cooperative payoff.",
        _share_of_cooperation(_own("sum")),
        at_least(0.95),
        published=1.0,
    )
    yield _claim(
        f"{begin}/sum-is-exploited",
        place,
        "Learners for the sum of rewards are exploited: naive learners' reward against them minus that against each other.",
        difference(versus("grpo", "sum"), _own("grpo")),
        ci_above(0.0),
    )
    yield _claim(
        f"{begin}/not-exploited",
        place,
        "Naive learners get less from the aligned agent than from learners for the sum of rewards: the difference of their rewards.",
        difference(versus("grpo", "sum"), versus("grpo", "adalign")),
        ci_above(0.0),
    )


def _exploiters(game: str) -> Iterator[Claim]:
    """Figure 6."""
    begin, place = f"figure6/{game}", "Figure 6"
    exploits, aligned = versus("against-cooperate", COOPERATE), versus("against-adalign", "adalign")
    yield _claim(
        f"{begin}/exploits-the-kind",
        f"{place}a",
        "A learner exploits a frozen agent that always cooperates: its reward minus the cooperative payoff.",
        difference(exploits, _own(COOPERATE)),
        ci_above(0.0),
    )
    yield _claim(
        f"{begin}/reaches-temptation",
        f"{place}a",
        "A learner against a frozen agent that always cooperates reaches a defector's reward: its share of that.",
        share_of(exploits, versus(DEFECT, COOPERATE)),
        at_least(0.97),
    )
    yield _claim(
        f"{begin}/gains-nothing",
        f"{place}b",
        "A learner trained against the frozen aligned agent gains nothing over cooperating with it: its reward minus a cooperator's, as a"
        " share of the cooperative payoff.",
        _share_of_cooperation(difference(aligned, versus(COOPERATE, "adalign"))),
        at_most(NEGLIGIBLE),
    )
    yield _claim(
        f"{begin}/learns-to-cooperate",
        f"{place}b",
        "A learner trained against the frozen aligned agent learns to cooperate: its rate of cooperation late in training.",
        late("against-adalign", "cooperate_of/learner"),
        at_least(0.7),
    )


def _training(game: str) -> Iterator[Claim]:
    """Figure 7."""
    yield _claim(
        f"figure7/{game}/most-seeds",
        "Figure 7",
        "The reward is maximised in most seeds (6 of 8): share of seeds with a normalised reward above one half.",
        mapped(_normalised(_own("adalign")), lambda reward: float(reward > 0.5)),
        at_least(0.75),
        published=0.75,
    )


def _hands() -> Iterator[Claim]:
    """Figure 8."""
    for key, hand, coins, rule in (("more", "upper", 10, at_least(8.0)), ("less", "lower", 0, at_most(2.0))):
        yield _claim(
            f"figure8/trust-and-split/{hand}",
            "Figure 8",
            f"With the {hand} hand the aligned agent proposes to keep about {coins} coins: its mean proposal late in training.",
            late("adalign", f"asked/{key}"),
            rule,
            published=float(coins),
        )


def _choices_after_defection(states: Sequence[str]) -> tuple[bool | None, list[bool]]:
    """What the first seat does in a game after the second defected for the first time.

    Returns:
        Whether it cooperates in its next choice (None if there is none), and whether it does in each one after that.
    """
    defection = next((i for i, state in enumerate(states) if state[1:] == "D"), len(states))
    choices = [state[0] == "C" for state in states[defection + 1 :] if state[0] in "CD"]
    return (choices[0] if choices else None), choices[1:]


def _retaliation(results: Results) -> list[float]:
    """By seed, the share of recorded games in which the single defection is followed by defection in the next choice; NaN without games."""
    if not results.transcripts:
        return [math.nan]
    found = [[_choices_after_defection(game)[0] for game in games] for games in results.transcripts]
    return [_share(choice is False for choice in choices if choice is not None) for choices in found]


def _later_cooperation(results: Results) -> list[float]:
    """By seed, the share of cooperative choices after that; NaN without games."""
    if not results.transcripts:
        return [math.nan]
    return [
        _share(choice for game in games for choice in _choices_after_defection(game)[1])
        for games in results.transcripts
    ]


def _share(those: Iterable[bool]) -> float:
    return mean([float(one) for one in those])


def _interactions(number: int, game: str) -> Iterator[Claim]:
    """Figures 5, 10 and 11."""
    begin, place, grim = f"figure{number}/{game}", f"Figure {number}", game == "split-no-comm"
    yield _claim(
        f"{begin}/answers",
        place,
        "After a single defection the aligned agent retaliates in its next choice: share of games.",
        _retaliation,
        at_least(0.8),
        published=1.0,
    )
    yield _claim(
        f"{begin}/{'stays-greedy' if grim else 'returns'}",
        place,
        "The aligned agent keeps defecting, as grim trigger does: its rate of cooperation in all later choices."
        if grim
        else "The aligned agent returns to cooperation when its co-player has: its rate of cooperation in all later choices.",
        _later_cooperation,
        at_most(0.2) if grim else at_least(0.8),
        published=0.0 if grim else 1.0,
    )


CLAIMS: tuple[Claim, ...] = (
    *(claim for game in TITLES for claim in _naive_learners(game)),
    *(claim for game in ("ipd-ab", "split-no-comm") for claim in _aligned(3, game)),
    *_dilemma(),
    *_aligned(4, "trust-and-split"),
    *_trained_baselines(),
    *(claim for game in TITLES for claim in _exploiters(game)),
    *(claim for game in TITLES for claim in _training(game)),
    *_hands(),
    *(claim for game, number in TRANSCRIPTS.items() for claim in _interactions(number, game)),
)
"""Figure by figure."""
