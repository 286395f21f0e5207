"""The paper's statements as checks, figure by figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    Count,
    Measure,
    Results,
    SeedCount,
    difference,
    first,
    late,
    mapped,
    mean,
    per_round,
    share_of,
    versus,
)
from coplay.evaluation.rules import at_least, at_most, ci_above
from coplay.games.split import ALICE
from coplay.recipes.adalign.claims_in_words import IN_WORDS
from coplay.recipes.adalign.figures import COOPERATE, DEFECT, TRANSCRIPTS
from coplay.recipes.adalign.measures import (
    NEAR_COOPERATION,
    NEAR_DEFECTION,
    NEGLIGIBLE,
    claim,
    normalised,
    own,
    share_of_cooperation,
)
from coplay.recipes.adalign.variants import TITLES


def greedy(begin: str, place: str, arm: str, model: str, *, itself: Measure | None = None) -> Claim:
    """Figure 2: naive learners of an arm defect.

    Args:
        begin: as for :func:`aligned`.
        place: as there.
        arm: whose learners.
        model: what they are, in words.
        itself: what they get from themselves; by default in the games in which the players meet.
    """
    return claim(
        f"{begin}/{arm}-greedy",
        place,
        f"Naive learners learn to defect, on {model}: their normalised reward (mutual defection 0, mutual cooperation 1).",
        normalised(own(arm) if itself is None else itself),
        at_most(NEAR_DEFECTION),
        published=0.0,
    )


def _naive_learners(game: str) -> Iterator[Claim]:
    """Figure 2."""
    for arm, model in (("grpo", "the model"), ("grpo-second", "another family's model")):
        yield greedy(f"figure2/{game}", "Figure 2", arm, model)
    yield claim(
        f"figure2/{game}/began-better",
        "section 5.1",
        "Naive learners start above the outcome of training: the first trial's reward minus that after training.",
        difference(first("grpo", "reward/learner"), per_round("grpo", ALICE)),
        ci_above(0.0),
    )


def aligned(begin: str, place: str, game: str) -> Iterator[Claim]:
    """Figures 3 and 4: the aligned agent with itself, with cooperators and with defectors.

    Args:
        begin: of the claims' ids, ``figure3/ipd-ab``.
        place: the figure in the paper, and what else is to be said of where the claims come from.
        game: the game.
    """
    itself, naive = own("adalign"), own("grpo")
    if game in NEAR_COOPERATION:
        yield claim(
            f"{begin}/with-itself",
            f"{place}, section 5.2",
            "The aligned agent cooperates with itself: its reward as a share of the cooperative payoff.",
            share_of_cooperation(itself),
            at_least(NEAR_COOPERATION[game]),
            published={"ipd-ab": None, "split-no-comm": 0.86}[game],
        )
    else:
        yield claim(
            f"{begin}/with-itself",
            f"{place}, section 5.2",
            "The aligned agent gets more with itself than naive learners do: its gain over them, as a share of the gap between their reward"
            " and the cooperative payoff.",
            share_of(difference(itself, naive), difference(own(COOPERATE), naive)),
            at_least(0.5),
        )
    yield claim(
        f"{begin}/with-cooperators",
        place,
        "The aligned agent cooperates with cooperators: their reward against it, as a share of the cooperative payoff.",
        share_of_cooperation(versus(COOPERATE, "adalign")),
        at_least(NEAR_COOPERATION.get(game, 0.8)),
    )
    yield claim(
        f"{begin}/with-defectors",
        place,
        "Defectors gain little against the aligned agent: their normalised reward (mutual defection 0, mutual cooperation 1).",
        normalised(versus(DEFECT, "adalign")),
        at_most(0.5),
    )
    yield claim(
        f"{begin}/answers-in-kind",
        f"{place}, section 5.2, Figures 5, 10 and 11",
        "The aligned agent reciprocates: its rate of cooperation after the co-player cooperated minus that after it defected, late in"
        " training.",
        difference(late("adalign", "cooperate_after/cooperate"), late("adalign", "cooperate_after/greedy")),
        ci_above(0.3),
    )


def _dilemma() -> Iterator[Claim]:
    yield claim(
        "figure3/ipd-ab/loses-one-round",
        "section 5.2",
        "The aligned agent is exploited by a defector in no more than the first round: its reward minus tit for tat's.",
        difference(versus("adalign", DEFECT), mapped(own(DEFECT), lambda reward: 0.9 * reward)),
        at_least(-0.02),
    )


def _trained_baselines() -> Iterator[Claim]:
    """Figure 4's other agents."""
    begin, place = "figure4/trust-and-split", "Figure 4"
    yield claim(
        f"{begin}/sum-cooperates",
        place,
        "Learners for the sum of rewards reach the largest possible reward with themselves: as a share of the cooperative payoff.",
        share_of_cooperation(own("sum")),
        at_least(0.95),
        published=1.0,
    )
    yield claim(
        f"{begin}/sum-is-exploited",
        place,
        "Learners for the sum of rewards are exploited: naive learners' reward against them minus that against each other.",
        difference(versus("grpo", "sum"), own("grpo")),
        ci_above(0.0),
    )
    yield claim(
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
    yield claim(
        f"{begin}/exploits-the-kind",
        f"{place}a",
        "A learner exploits a frozen agent that always cooperates: its reward minus the cooperative payoff.",
        difference(exploits, own(COOPERATE)),
        ci_above(0.0),
    )
    yield claim(
        f"{begin}/reaches-temptation",
        f"{place}a",
        "A learner against a frozen agent that always cooperates reaches a defector's reward: its share of that.",
        share_of(exploits, versus(DEFECT, COOPERATE)),
        at_least(0.97),
    )
    yield claim(
        f"{begin}/gains-nothing",
        f"{place}b",
        "A learner trained against the frozen aligned agent gains nothing over cooperating with it: its reward minus a cooperator's, as a"
        " share of the cooperative payoff.",
        share_of_cooperation(difference(aligned, versus(COOPERATE, "adalign"))),
        at_most(NEGLIGIBLE),
    )
    yield claim(
        f"{begin}/learns-to-cooperate",
        f"{place}b",
        "A learner trained against the frozen aligned agent learns to cooperate: its rate of cooperation late in training.",
        late("against-adalign", "cooperate_of/learner"),
        at_least(0.7),
    )


def _maximised(results: Results) -> list[float]:
    """Of each seed, whether its normalised reward is above one half."""
    return mapped(normalised(own("adalign")), lambda reward: float(reward > 0.5))(results)


def _training(game: str) -> Iterator[Claim]:
    """Figure 7."""
    yield claim(
        f"figure7/{game}/most-seeds",
        "Figure 7",
        "The reward is maximised in most seeds (6 of 8): share of seeds with a normalised reward above one half.",
        _maximised,
        at_least(0.75),
        published=0.75,
        counted=SeedCount(_maximised),
    )


def _hands() -> Iterator[Claim]:
    """Figure 8."""
    for key, hand, coins, rule in (("more", "upper", 10, at_least(8.0)), ("less", "lower", 0, at_most(2.0))):
        yield claim(
            f"figure8/trust-and-split/{hand}",
            "Figure 8",
            f"With the {hand} hand the aligned agent proposes to keep about {coins} coins: its mean proposal late in training.",
            late("adalign", f"asked/{key}"),
            rule,
            published=float(coins),
        )


def choices_after_defection(states: Sequence[str]) -> tuple[bool | None, list[bool]]:
    """What the first seat does in a game after the second, a player that defects once, did so.

    Returns:
        Whether it cooperates in its next choice, before the second seat chooses again (None if it has none there), and whether it does in
        each choice after the second seat has cooperated again. Where one seat has a choice in a round, as in Trust-and-Split, the first may
        choose several times before the second does: of these the first counts.
    """
    defection = next((i for i, state in enumerate(states) if state[1:] == "D"), len(states))
    answer: bool | None = None
    afterwards: list[bool] = []
    returned = False
    for state in states[defection + 1 :]:
        if state[0] in "CD":
            cooperates = state[0] == "C"
            if returned:
                afterwards.append(cooperates)
            elif answer is None:
                answer = cooperates
        returned = returned or state[1:] == "C"
    return answer, afterwards


def _next_choices(results: Results) -> list[list[bool]]:
    """By seed, and by recorded game in which there is one, whether the next choice after the single defection is defection."""
    found = [[choices_after_defection(game)[0] for game in games] for games in results.transcripts]
    return [[not choice for choice in choices if choice is not None] for choices in found]


def _later_choices(results: Results) -> list[list[bool]]:
    """By seed, whether each choice after the co-player has returned to cooperation is cooperation."""
    return [[choice for game in games for choice in choices_after_defection(game)[1]] for games in results.transcripts]


def _shares(choices: Callable[[Results], list[list[bool]]]) -> Measure:
    """Each seed's share of these choices; NaN without games."""
    return lambda results: [mean([float(one) for one in seed]) for seed in choices(results)] or [math.nan]


def _counted(choices: Callable[[Results], list[list[bool]]]) -> Count:
    """How many choices these are in all."""
    return lambda results: sum(map(len, choices(results)))


def _interactions(number: int, game: str) -> Iterator[Claim]:
    """Figures 5, 10 and 11."""
    begin, place, grim = f"figure{number}/{game}", f"Figure {number}", game == "split-no-comm"
    yield claim(
        f"{begin}/answers",
        place,
        "After a single defection the aligned agent retaliates in its next choice, if its co-player has not chosen again before: share of games.",
        _shares(_next_choices),
        at_least(0.8),
        published=1.0,
        counted=_counted(_next_choices),
    )
    yield claim(
        f"{begin}/{'stays-greedy' if grim else 'returns'}",
        place,
        "The aligned agent keeps defecting, as grim trigger does: its rate of cooperation in all later choices."
        if grim
        else "The aligned agent returns to cooperation when its co-player has: its rate of cooperation in all choices after that.",
        _shares(_later_choices),
        at_most(0.2) if grim else at_least(0.8),
        published=0.0 if grim else 1.0,
        counted=_counted(_later_choices),
    )


CLAIMS: tuple[Claim, ...] = (
    *(one for game in TITLES for one in _naive_learners(game)),
    *(one for game in ("ipd-ab", "split-no-comm") for one in aligned(f"figure3/{game}", "Figure 3", game)),
    *_dilemma(),
    *aligned("figure4/trust-and-split", "Figure 4", "trust-and-split"),
    *_trained_baselines(),
    *(one for game in TITLES for one in _exploiters(game)),
    *(one for game in TITLES for one in _training(game)),
    *_hands(),
    *(one for game, number in TRANSCRIPTS.items() for one in _interactions(number, game)),
    *IN_WORDS,
)
"""Figure by figure, then what the text says in words."""
