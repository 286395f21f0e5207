"""Audit an agent of one's own before it is deployed: what a best response takes from it, and a gate that decides."""

from pathlib import Path

import coplay


def forgiving(request: coplay.Request) -> str:
    """Defect only after two defections in a row."""
    (co_player,) = {"row", "column"} - {request.seat}
    theirs = [one.actions("action")[co_player] for one in request.past[-2:]]
    return "defect" if theirs == ["defect", "defect"] else "cooperate"


gate = Path("gate.toml")
gate.write_text('[[threshold]]\nmeasure = "margin"\nco_player = "random"\nat_most = 0.5\n', encoding="utf-8")

found = coplay.audit("ipd", forgiving, against=["scripted"], gate=gate, rounds=10)
print(found.table())
# → ...
# → fail: 0 of 1 check met
# →   margin with random at most 0.5: 1.15, 95 % interval 1.084 to 1.216
assert found.verdict == "fail"  # a random player gets 1.15 a round more than this agent
