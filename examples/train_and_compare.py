"""Train a shaper beside a naive learner, look at its payoffs, and play both against strategies they never met."""

import coplay

run = coplay.train("shapellm/ipd", learner="tabular", seeds=(0, 1), trials=12, eval_games=20, out="runs/example")
for record in run.metric_records[::8]:
    print(f"seed {record['seed']}, trial {record['step']}: {record['reward/row']:.2f} / {record['reward/column']:.2f}")

shaper, *others = run.players()  # names such as runs/example:row:0
for opponent in ("tit_for_tat", "always_cooperate"):
    seats = coplay.match("ipd", shaper, opponent, episodes=20).summary()["seats"]
    print(f"against {opponent}: {seats['row']['per_round']:.1f} / {seats['column']['per_round']:.1f}")
# → seed 0, trial 1: 2.79 / 2.52
# → ...
# → against tit_for_tat: 2.2 / 2.1
# → against always_cooperate: 3.2 / 2.5
