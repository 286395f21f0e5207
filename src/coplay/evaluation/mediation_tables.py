"""What was measured of mediation as text for a person at a terminal."""

from __future__ import annotations

from coplay.evaluation.mediation_record import Difference, Measured, MediationRecord
from coplay.terminal.tables import align

_LAGS = ("in the same round", "in the round after")


def mediation_table(record: MediationRecord) -> str:
    """What the mediator did, what rounds came to, and what messages changed."""
    seat, player, games = record["mediator"], record["player"], record["unit"] == "games"
    over = f"; ± is the 95% interval over {record['unit']}" if record["n"] > 1 else ""
    rows = [["per game", "welfare", _shown(record["welfare"])]]
    rows.append(["", "rounds in which somebody was addressed", _shown(record["interventions"])])
    rows.append(["", "messages", _shown(record["messages"])])
    rows += [["", f"messages to {one}", _shown(value)] for one, value in record["to_seats"].items()]
    if 1 < len(record["to_players"]) < len(record["to_seats"]):  # else a player is a seat
        rows += [["", f"messages to {one}", _shown(value)] for one, value in record["to_players"].items()]
    for i, (name, value) in enumerate(record["collective"].items()):
        rows.append(["" if i else "per round", name.replace("_", " "), _shown(value, digits=3)])
    shares = "  ".join(f"{name} {value['mean']:.1%}" for name, value in record["notices"].items())
    text = [f"mediation by {seat} ({player}){over}", "", *align(rows), "", f"notices  {shares}"]
    if record["effects"]:
        text += ["", *_effects(record, whole_games=games)]
    return "\n".join(text)


def _effects(record: MediationRecord, *, whole_games: bool) -> list[str]:
    interval = "over whole games" if whole_games else "over seeds"
    head = f"change in the cooperation of a seat that reads a message, with the 95% interval {interval}"
    rows = [["message", "measured", "raw", "adjusted for the state", "compared"]]
    for one in record["effects"]:
        compared = "-" if one["compared"] is None else f"{one['compared']:.0%}"
        cells = [_gap(one["raw"]), _gap(one["adjusted"]), f"{compared} of {one['addressed']:,}"]
        rows.append([one["notice"], _LAGS[one["lag"]], *cells])
    return [head, "", *align(rows)]


def _shown(value: Measured, *, digits: int = 2) -> str:
    half = value["ci95"]
    return f"{value['mean']:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


def _gap(gap: Difference) -> str:
    if gap["mean"] is None:
        return "-"
    if gap["low"] is None or gap["high"] is None:
        return f"{gap['mean']:+.3f}"
    return f"{gap['mean']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}]"
