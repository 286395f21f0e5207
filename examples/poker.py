"""How far are players of Kuhn poker from equilibrium? Best responses by enumeration, and what is taken from a learner."""

import coplay

for player in ("uniform", "always_bet", "nash:0.2"):
    found = coplay.exploit("kuhn", player, rounds=1)
    print(f"{player}: NashConv {found.nash_conv:.3f}")

run = coplay.train("any/q-learning", game="kuhn", seeds=(0,), trials=20, out="runs/poker")
print(coplay.exploit("kuhn", next(run.players()), rounds=1).table())
# → uniform: NashConv 0.917
# → always_bet: NashConv 0.667
# → nash:0.2: NashConv 0.000
# → runs/poker:player-1:0 in kuhn, 1 round; payoffs per round
# → ...
