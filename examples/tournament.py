"""A tournament of the iterated prisoner's dilemma with a player of one's own: who gets what from whom, and who is best."""

import coplay
from coplay.evaluation.ranking import ranking, ranking_table


def suspicious(request: coplay.Request) -> str:
    """Defect first, then do what the co-player did. A player is a function of what its seat may know."""
    if not request.past:
        return "defect"
    (co_player,) = {"row", "column"} - {request.seat}
    return str(request.past[-1].actions("action")[co_player])


players = ["tit_for_tat", "always_defect", "win_stay_lose_shift", suspicious]
found = coplay.cross_play("ipd", players, rounds=50, episodes=1)
print(found.table())
print(ranking_table(ranking(found)))
# → ipd, 50 rounds, 1 game each way; payoff per round of the player on the left
# → ...
# → suspicious           2.00         1.00           1.68                 1.00
# →    player               payoff against the others  Elo        share if imitated
# → 1  tit_for_tat          1.99                       -45 ± 214  57 %
# → ...
