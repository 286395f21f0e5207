"""The paper's statements as checks.

What a statement compares with, the cooperative and the greedy payoff, is what the hard-coded agents get from each other in the very games
(deals included) in which the trained ones are measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coplay.evaluation.claims import (
    Claim,
    Measure,
    Results,
    at_least,
    at_most,
    ci_above,
    difference,
    first,
    late,
    per_round,
    scaled,
    share_of,
    versus,
)
from coplay.games.split import ALICE
from coplay.recipes.adalign.figures import COOPERATE, DEFECT, TRANSCRIPTS
from coplay.recipes.adalign.variants import TITLES

NEAR_GREEDY = 0.10
"""Play has turned greedy if it is paid greedy play's payoff, but for this share of the way to the cooperative one."""

NEAR_COOPERATIVE = {"ipd-ab": 0.9, "split-no-comm": 0.8}
"""Shares of the cooperative payoff that an aligned agent is to reach with itself."""

LITTLE = 0.05
"""A share of the cooperative payoff that counts as nothing gained."""

_PAPER = "Learning Robust Social Strategies with Large Language Models, "


def _own(player: str) -> Measure:
    return versus(player, player)


def _way(value: Measure) -> Measure:
    """How far a payoff lies on the way from mutual greed, 0, to mutual cooperation, 1, seed by seed."""
    greedy = _own(DEFECT)
    return share_of(difference(value, greedy), difference(_own(COOPERATE), greedy))


def _naive_learners(game: str) -> Iterator[Claim]:
    """Figure 2."""
    for arm, model in (("grpo", "the model"), ("grpo-second", "another family's model")):
        yield Claim(
            f"figure2/{game}/{arm}-greedy",
            f"{_PAPER}Figure 2",
            f"Naive learners turn greedy, on {model}: how far their reward lies from greed (0) towards cooperation (1).",
            0.0,
            _way(_own(arm)),
            at_most(NEAR_GREEDY),
        )
    yield Claim(
        f"figure2/{game}/began-better",
        f"{_PAPER}section 5.1",
        "They begin with more than greedy play gets: their first trial's reward minus that after training.",
        None,
        difference(first("grpo", "reward/learner"), per_round("grpo", ALICE)),
        ci_above(0.0),
    )


def _aligned(figure: int, game: str) -> Iterator[Claim]:
    """Figures 3 and 4: the aligned agent with itself, with cooperators and with defectors."""
    paper, own = f"{_PAPER}Figure {figure}", _own("adalign")
    begin = f"figure{figure}/{game}"
    if game in NEAR_COOPERATIVE:
        published = {"ipd-ab": None, "split-no-comm": 0.86}[game]
        yield Claim(
            f"{begin}/with-itself",
            f"{paper}, section 5.2",
            "The aligned agent cooperates with itself: its reward as a share of the cooperative payoff.",
            published,
            share_of(own, _own(COOPERATE)),
            at_least(NEAR_COOPERATIVE[game]),
        )
    else:
        yield Claim(
            f"{begin}/with-itself",
            f"{paper}, section 5.2",
            "The aligned agent gets more with itself than naive learners do: what it gains over them, as a share of the way from them to the"
            " cooperative payoff.",
            None,
            share_of(difference(own, _own("grpo")), difference(_own(COOPERATE), _own("grpo"))),
            at_least(0.5),
        )
    yield Claim(
        f"{begin}/with-cooperators",
        paper,
        "It cooperates with cooperators: what they get from it, as a share of the cooperative payoff.",
        None,
        share_of(versus(COOPERATE, "adalign"), _own(COOPERATE)),
        at_least(NEAR_COOPERATIVE.get(game, 0.8)),
    )
    yield Claim(
        f"{begin}/with-defectors",
        paper,
        "Defectors gain little from it: what they get, on the way from mutual greed (0) to mutual cooperation (1).",
        None,
        _way(versus(DEFECT, "adalign")),
        at_most(0.5),
    )
    yield Claim(
        f"{begin}/answers-in-kind",
        f"{paper}, section 5.2, Figures 5, 10 and 11",
        "It answers in kind: its cooperation after the co-player cooperated minus that after it was greedy, late in training.",
        None,
        difference(late("adalign", "cooperate_after/cooperate"), late("adalign", "cooperate_after/greedy")),
        ci_above(0.3),
    )


def _dilemma() -> Iterator[Claim]:
    yield Claim(
        "figure3/ipd-ab/loses-one-round",
        f"{_PAPER}section 5.2",
        "Against a defector it loses no more than the first round: its reward minus what an agent that answers in kind would get.",
        None,
        difference(versus("adalign", DEFECT), scaled(_own(DEFECT), 0.9)),
        at_least(-0.02),
    )


def _trained_baselines() -> Iterator[Claim]:
    """Figure 4's other agents."""
    begin, paper = "figure4/trust-and-split", f"{_PAPER}Figure 4"
    yield Claim(
        f"{begin}/sum-cooperates",
        paper,
        "Learners for the sum of rewards reach the largest possible reward with themselves: as a share of the cooperative payoff.",
        1.0,
        share_of(_own("sum"), _own(COOPERATE)),
        at_least(0.95),
    )
    yield Claim(
        f"{begin}/sum-is-exploited",
        paper,
        "They are easily exploited: what naive learners get from them minus what they get from each other.",
        None,
        difference(versus("grpo", "sum"), _own("grpo")),
        ci_above(0.0),
    )
    yield Claim(
        f"{begin}/not-exploited",
        paper,
        "Naive learners get less from the aligned agent than from learners for the sum of rewards.",
        None,
        difference(versus("grpo", "sum"), versus("grpo", "adalign")),
        ci_above(0.0),
    )


def _exploiters(game: str) -> Iterator[Claim]:
    """Figure 6."""
    begin, paper = f"figure6/{game}", f"{_PAPER}Figure 6"
    yield Claim(
        f"{begin}/exploits-the-kind",
        f"{paper}a",
        "A learner exploits a frozen agent that does not answer: its reward from it minus the cooperative payoff.",
        None,
        difference(versus("against-cooperate", COOPERATE), _own(COOPERATE)),
        ci_above(0.0),
    )
    yield Claim(
        f"{begin}/reaches-temptation",
        f"{paper}a",
        "It reaches what a defector gets from that agent: as a share of it.",
        None,
        share_of(versus("against-cooperate", COOPERATE), versus(DEFECT, COOPERATE)),
        at_least(0.97),
    )
    yield Claim(
        f"{begin}/gains-nothing",
        f"{paper}b",
        "A learner trained against the frozen aligned agent gains nothing over cooperating with it: its reward minus a cooperator's, as a"
        " share of the cooperative payoff.",
        None,
        share_of(difference(versus("against-adalign", "adalign"), versus(COOPERATE, "adalign")), _own(COOPERATE)),
        at_most(LITTLE),
    )
    yield Claim(
        f"{begin}/learns-to-cooperate",
        f"{paper}b",
        "It learns to cooperate: its cooperation late in training.",
        None,
        late("against-adalign", "cooperate_of/learner"),
        at_least(0.7),
    )


def _training(game: str) -> Iterator[Claim]:
    """Figure 7."""
    yield Claim(
        f"figure7/{game}/most-seeds",
        f"{_PAPER}Figure 7",
        "The reward is maximised in most seeds (6 of 8): share of seeds more than half of the way from greed to cooperation.",
        0.75,
        lambda results: [float(way > 0.5) for way in _way(_own("adalign"))(results)],
        at_least(0.75),
    )


def _hands() -> Iterator[Claim]:
    """Figure 8."""
    for key, hand, words, rule in (
        ("more", "upper", "near 10", at_least(8.0)),
        ("less", "lower", "near 0", at_most(2.0)),
    ):
        yield Claim(
            f"figure8/trust-and-split/{hand}",
            f"{_PAPER}Figure 8",
            f"With the {hand} hand the aligned agent asks for {words}: coins, late in training.",
            10.0 if hand == "upper" else 0.0,
            late("adalign", f"asked/{key}"),
            rule,
        )


def _choices_after_greed(states: Sequence[str]) -> tuple[bool | None, list[bool]]:
    """What the first seat does in a game after the second was greedy for the first time.

    Returns:
        Whether it cooperates at the next chance (None if there is none), and whether it does at each after that.
    """
    greedy = next((i for i, state in enumerate(states) if state[1:] == "D"), len(states))
    choices = [state[0] == "C" for state in states[greedy + 1 :] if state[0] in "CD"]
    return (choices[0] if choices else None), choices[1:]


def _answers(results: Results) -> list[float]:
    """By seed, the share of watched games in which the single defection is answered with greed at the next chance."""
    found = [[_choices_after_greed(game)[0] for game in games] for games in results.watched]
    return [_share(answer is False for answer in answers if answer is not None) for answers in found]


def _returns(results: Results) -> list[float]:
    """By seed, the share of cooperative choices after that."""
    return [_share(choice for game in games for choice in _choices_after_greed(game)[1]) for games in results.watched]


def _share(those: Iterable[bool]) -> float:
    counted = list(those)
    return sum(counted) / len(counted) if counted else float("nan")


def _interactions(number: int, game: str) -> Iterator[Claim]:
    """Figures 5, 10 and 11."""
    begin, paper = f"figure{number}/{game}", f"{_PAPER}Figure {number}"
    yield Claim(
        f"{begin}/answers",
        paper,
        "After a single defection the aligned agent is greedy at its next chance: share of games.",
        1.0,
        _answers,
        at_least(0.8),
    )
    grim = game == "split-no-comm"
    yield Claim(
        f"{begin}/{'stays-greedy' if grim else 'returns'}",
        paper,
        "It stays greedy, as grim trigger does: its cooperation at every later chance."
        if grim
        else "It returns to cooperation when its co-player has: its cooperation at every later chance.",
        0.0 if grim else 1.0,
        _returns,
        at_most(0.2) if grim else at_least(0.8),
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
