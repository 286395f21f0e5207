"""The verdict tells what the numbers say, no more."""

from __future__ import annotations

import json
from dataclasses import replace

import fake_run
import pytest

from coplay.report import Arm, load_run
from coplay.report.verdict import claims_sentence, verdict


@pytest.fixture
def arms(tmp_path):
    found = []
    for name in ("baseline", "shaper"):
        path = fake_run.write_run(tmp_path / name, arm=name, seeds=3, trials=20, episodes=1, rounds=20)
        found.append(Arm(name, name.title(), load_run(path)))
    set_ending(found[0], (1.0, 1.0), "DD")
    set_ending(found[1], (3.72, 0.31), "DC")
    return found


def set_ending(arm, rewards, state):
    """Rewrite an arm's evaluation: the same rewards and one state in every seed."""
    for seed in arm.run.eval["seeds"].values():
        for seat, reward in zip(("row", "column"), rewards, strict=True):
            seed["seats"][seat]["per_round"] = reward
        seed["states"] = {state: 1.0}
    arm.run.eval["states"] = {state: 1.0}


TABLE = fake_run.PUBLISHED_TABLE


def test_the_example_of_the_design(arms):
    assert verdict(arms, None, TABLE) == (
        "Two naive learners end in mutual defection (1.00 / 1.00). Against the shaper the naive learner keeps 0.31 a round"
        " and the shaper takes 3.72 (tiny model, 3 seeds; the paper, on gemma-2-2b-it, has 0.10 and 3.96)."
    )


def test_a_shaper_that_is_caught_is_not_called_a_success(arms):
    set_ending(arms[1], (1.0, 1.0), "DD")
    text = verdict(arms, None, TABLE)
    assert "The shaper and the naive learner end in mutual defection (1.00 / 1.00; tiny model" in text
    assert "has 3.96 and 0.10" in text


def test_a_shaper_that_gets_ahead_in_the_other_rounds_is_not_called_cooperative(arms):
    """Cooperation in most rounds and a shaper that takes what is left: the sentence is about who gets what."""
    set_ending(arms[1], (3.37, 1.86), "CC")
    for summed in (arms[1].run.eval, *arms[1].run.eval["seeds"].values()):
        summed["states"] = {"CC": 0.62, "DC": 0.38}
    assert "Against the shaper the naive learner keeps 1.86 a round and the shaper takes 3.37 (tiny" in verdict(arms)
    set_ending(arms[1], (6.0, 3.0), "CC")  # where mutual cooperation pays the shaper more, it is still that
    assert "The shaper and the naive learner end in mutual cooperation (6.00 / 3.00; tiny model" in verdict(arms)


def test_a_shaper_without_an_edge(arms):
    set_ending(arms[1], (1.8, 1.9), "CD")
    expected = "the shaper takes 1.80, ahead in 0 of 3 seeds: it does not clearly get ahead (tiny model"
    assert expected in verdict(arms)


def test_seeds_that_disagree_are_counted(arms):
    seeds = arms[0].run.eval["seeds"]
    seeds["2"]["states"] = {"CC": 1.0}
    assert "mutual defection in 2 of 3 seeds" in verdict(arms)


def test_no_settled_outcome(arms):
    arms[0].run.eval["states"] = {"CC": 0.3, "CD": 0.3, "DC": 0.2, "DD": 0.2}
    assert "end without a settled outcome, most often CC (30%) and CD (30%)" in verdict(arms)


def splitting(arm, states):
    """Make it a run of a game of proposals, all of whose seeds end in these states."""
    for summed in (arm.run.eval, *arm.run.eval["seeds"].values()):
        actions = {"cooperate": 0.5, "greedy": 0.5}
        seats = zip(("alice", "bob"), summed["seats"].values(), strict=True)
        summed["seats"] = {seat: got | {"player": "learner", "actions": actions} for seat, got in seats}
        summed["states"] = states
    arm.run.config |= {
        "learners": {"learner": {"role": "learner"}},
        "seats": {"alice": ["learner"], "bob": ["learner"]},
        "rotate_seats": True,
    }
    for episode in arm.run.episodes:
        for act in [act for one in episode["rounds"] for act in one["acts"]]:
            act["action"] = "10 coins"


def test_games_of_proposals_end_in_words(arms):
    splitting(arms[0], {"CC": 0.1, "CD": 0.1, "DC": 0.1, "DD": 0.7})
    assert verdict(arms[:1]).startswith("Two learners end in mutual greed in 70% of rounds (1.00 / 1.00; ")


def test_who_had_the_choice_does_not_matter(arms):
    splitting(arms[0], {"C-": 0.3, "D-": 0.2, "-C": 0.3, "-D": 0.2})
    expected = "learners end in cooperation by the seat that has a choice, in 60% of rounds (1.00 / 1.00; "
    assert expected in verdict(arms[:1])
    splitting(arms[0], {"C-": 0.25, "D-": 0.2, "-C": 0.24, "-D": 0.26, "I": 0.05})
    expected = (
        "most often cooperation by the seat that has a choice (49%) and greed by the seat that has a choice (46%)"
    )
    assert expected in verdict(arms[:1])


def test_proposals_of_which_one_is_cooperative_name_its_seat(arms):
    splitting(arms[0], {"CC": 0.3, "CD": 0.4, "DC": 0.2, "DD": 0.1})
    assert "most often cooperation by alice alone (40%) and mutual cooperation (30%)" in verdict(arms[:1])


def test_actions_without_a_noun_are_named(arms):
    for episode in arms[0].run.episodes:
        for act in [act for one in episode["rounds"] for act in one["acts"]]:
            act["action"] = {"cooperate": "swerve", "defect": "go straight"}.get(act["action"])
    for about in arms[0].run.eval["seats"].values():
        about["actions"] = {"swerve": 0.0, "go straight": 1.0}
    assert verdict(arms[:1]).startswith("Two naive learners end with everybody playing go straight (1.00 / 1.00; ")


def test_arms_of_the_same_roles_are_told_apart(arms):
    for arm in arms:
        splitting(arm, {"C-": 1.0})
    text = verdict(arms)
    assert "Baseline: two learners end in" in text and "Shaper: two learners end in" in text


def test_shapers_are_told_apart_where_there_are_several(arms):
    arms[0].run.config["learners"] |= {"row": arms[1].run.config["learners"]["row"]}
    set_ending(arms[0], (3.9, 0.1), "DC")
    text = verdict(arms)
    assert "Baseline: against the shaper the naive learner keeps 0.10 a round and the shaper takes 3.90" in text
    assert "Shaper: against the shaper the naive learner keeps 0.31" in text


def test_a_seed_without_legal_replies_is_named(arms):
    assert "legal reply" not in verdict(arms)
    for seat in arms[1].run.eval["seeds"]["1"]["seats"].values():
        seat["per_round"] = None
    assert "Shaper: seed 1 has no legal reply to count, so the numbers are of the other seeds." in verdict(arms)
    for seat in arms[1].run.eval["seeds"]["0"]["seats"].values():
        seat["per_round"] = None
    assert "Shaper: seeds 0 and 1 have no legal reply to count" in verdict(arms)


def test_a_seed_that_diverged_is_told_of_once(arms):
    for seat in arms[1].run.eval["seeds"]["1"]["seats"].values():
        seat["per_round"] = None
    arms[1].run.eval["diverged"] = {"1": {"step": 3, "reason": "a loss is not finite"}}
    text = verdict(arms)
    assert "seed 1 diverged in trial 3" in text and "legal reply" not in text


def test_claims_of_which_some_are_ours_are_not_called_the_papers():
    paper, ours = (
        fake_run.claims_for(3.96),
        [{"id": "x", "claim": "A.", "paper": "coplay's explanation", "holds": True}],
    )
    assert "claims of the paper hold" in claims_sentence(paper)
    assert "of the paper" not in claims_sentence([*paper, *ours])


def test_no_evaluation_and_an_unfinished_run_are_said(tmp_path):
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=20, evaluate=False)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"trials": 300}))
    text = verdict([Arm("shaper", "Shaper", load_run(path))])
    assert text.startswith("After 20 of 300 trials: ")
    assert "1 seed)" in text
    assert "Shaper stopped at trial 20 of 300." in text
    assert "No evaluation was run for Shaper: the numbers are the mean of trials 19 to 20 of training." in text


def test_nothing_recorded_yet(tmp_path):
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=1, evaluate=False)
    (path / "metrics.jsonl").write_text("")
    assert "no rewards are recorded yet (tiny model, 1 seed)" in verdict([Arm("a", "A", load_run(path))])


def test_other_roles(arms):
    arms[1].run.config["learners"]["row"]["role"] = "advantage_aligned"
    assert "Shaper: reward a round is row (advantage aligned) 3.72, column (naive) 0.31" in verdict(arms)


def test_a_run_that_is_shorter_than_its_recipe_has_no_end(arms):
    """Two trials demonstrate the workflow: the verdict says how many there were, and claims no outcome."""
    short = [Arm(arm.name, arm.label, arm.run, recipe_trials=120) for arm in arms]
    text = verdict(short, fake_run.claims_for(3.0), TABLE)
    assert text.startswith(
        "After 20 of 120 trials: two naive learners are in mutual defection (1.00 / 1.00). Against the"
    )
    assert "The recipe trains for 120 trials: a shorter run demonstrates the workflow, not the effect." in text
    assert text.endswith("The claims of the paper are about longer runs; so far 2 of 3 hold.")
    assert " end " not in text
    arms[0].run.eval["states"] = {"CC": 0.3, "CD": 0.3, "DC": 0.2, "DD": 0.2}
    assert "two naive learners have no settled outcome, most often" in verdict(short)
    whole = [Arm(arm.name, arm.label, arm.run, recipe_trials=20) for arm in arms]
    assert verdict(whole) == verdict(arms)


def test_only_the_arm_that_is_short_is_said_to_be(arms):
    text = verdict([arms[0], Arm("shaper", "Shaper", arms[1].run, recipe_trials=40)])
    assert text.startswith(
        "Two naive learners end in mutual defection (1.00 / 1.00). After 20 of 40 trials: against the"
    )


def test_a_run_all_of_whose_replies_were_illegal_says_what_to_try(arms):
    """Without a legal round there are no rewards, which is not to be mistaken for a run that has only begun."""
    arm = arms[0]
    for summed in (arm.run.eval, *arm.run.eval["seeds"].values()):
        summed["states"] = {"I": 1.0}
        for about in summed["seats"].values():
            about |= {"per_round": None, "illegal": 1.0}
    for record in arm.run.metrics:
        record |= {"reward/row": None, "reward/column": None, "illegal/row": 1.0, "illegal/column": 1.0}
    advice = "try other labels (coplay labels), another chat format (chat=) or alignment (coplay align)"
    assert verdict([arm]).startswith(f"Baseline: every reply of row and column was illegal: {advice} (tiny model")
    arm.run.eval["seats"]["row"]["illegal"] = {"mean": 0.2, "ci95": 0.1, "n": 3}
    assert f"every reply of column was illegal: {advice}" in verdict([arm])
    unfinished = Arm("a", "A", replace(arm.run, eval=None))
    assert "A: every reply of row and column was illegal" in verdict([unfinished])


def test_three_seats_are_counted(arms):
    run = arms[0].run
    seats = [f"player-{i + 1}" for i in range(3)]
    run.config |= {"learners": {seat: {"role": "naive"} for seat in seats}, "seats": {seat: [seat] for seat in seats}}
    for summed in (run.eval, *run.eval["seeds"].values()):
        about = {"per_round": 3.0, "actions": {"contribute": 0.0, "keep": 1.0}, "illegal": 0.0}
        summed |= {"seats": dict.fromkeys(seats, about), "states": {"KKK": 0.8, "CKK": 0.2}}
    acts = [{"seat": seat, "action": "keep"} for seat in seats]
    run.episodes[:] = [{"states": ["KKK"], "players": dict.fromkeys(seats, "x"), "rounds": [{"acts": acts}]}]
    expected = "Three naive learners end with everybody playing keep in 80% of rounds (3.00 / 3.00 / 3.00; tiny model"
    assert verdict(arms[:1]).startswith(expected)


def test_many_claims_that_fail_are_counted_not_recited():
    claims = [{"claim": letter, "holds": False} for letter in "ABC"]
    assert claims_sentence(claims) == "0 of 3 claims of the paper hold; 3 do not, as the list of claims shows."


def test_claims():
    claims = [{"claim": "A.", "holds": True}, {"claim": "B.", "holds": False}, {"claim": "C.", "holds": None}]
    assert claims_sentence(claims[:1]) == "The claim of the paper holds."
    assert claims_sentence(claims) == "1 of 3 claims of the paper hold; this one does not: \u201cB\u201d; 1 undecided."
