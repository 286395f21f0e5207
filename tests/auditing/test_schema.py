"""The published schema of audits: what is written keeps to it, it names all fields and measures, and it refuses what is no audit."""

import json
import typing
from pathlib import Path

import pytest

import coplay
from coplay.auditing.gate import STATUS
from coplay.auditing.record import MEASURES, PRESENTATIONS, PROFILE, AuditRecord, MeasureRecord

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/reference/audit.schema.json").read_text())


def errors(record: object) -> list[str]:
    return [one.message for one in jsonschema.Draft202012Validator(SCHEMA).iter_errors(record)]


@pytest.mark.parametrize(
    ("player", "game", "against"),
    [
        ("tit_for_tat", "ipd", ["best_response", "scripted", "ppo"]),
        ("tiny", "ipd", ["relabelled", "disguised", "policy_gradient"]),
        ("nash:0.2", "kuhn", ["best_response", "scripted", "q_learning"]),
        ("always_defect", "public-goods", ["scripted"]),
        (lambda request: "cooperate", "ipd", ["best_response"]),
    ],
)
def test_audits_keep_to_the_schema(player: object, game: str, against: list[str], tmp_path: Path) -> None:
    found = coplay.audit(game, player, against=against, rounds=2, episodes=3, trials=1, seeds=2, samples=4)  # type: ignore[arg-type]
    found.write(tmp_path / "audit")
    assert errors(json.loads((tmp_path / "audit/audit.json").read_text())) == []


def test_the_schema_names_what_the_code_does() -> None:
    measure = SCHEMA["$defs"]["measure"]
    assert list(SCHEMA["properties"]) == SCHEMA["required"] == list(typing.get_type_hints(AuditRecord))
    assert list(measure["properties"]) == measure["required"] == list(typing.get_type_hints(MeasureRecord))
    assert set(SCHEMA["properties"]["verdict"]["enum"]) == set(STATUS)
    prefixes = [f"{prefix}.+" for prefix in (PROFILE, *PRESENTATIONS)]
    assert measure["properties"]["name"]["pattern"] == f"^({'|'.join([*MEASURES, *prefixes])})$"


@pytest.mark.parametrize(
    "damage", [{"verdict": "passed"}, {"version": 2}, {"extra": 1}, {"rounds": 0}, {"measures": [{"name": "takes"}]}]
)
def test_what_is_no_audit_is_refused(damage: dict[str, object]) -> None:
    sound = coplay.audit("ipd", "tit_for_tat", against=["scripted"], rounds=1, episodes=1).to_dict()
    assert errors(sound) == [] and errors({**sound, **damage}) != []
