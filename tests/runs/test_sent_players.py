"""Players that are sent by name: what they are read from, which models they are made of, and who is not sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.runs.sent_players import checksums_of, files_of, inputs_of, models_of, sent_name


def test_what_names_lead_to(finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories that happen to be called like a strategy, a model or a game are none of it."""
    monkeypatch.chdir(tmp_path)
    for name in ("tit_for_tat", "tiny", "ipd", "adapter"):
        Path(name).mkdir()
    for name in ("fitted.json", "kind.txt", "mine.toml"):
        Path(name).write_text("")
    model, table = finished["language_model"], finished["tabular"]
    expected: dict[str, tuple[list[Path], list[str]]] = {
        "tit_for_tat": ([], []),
        "random:0.5": ([], []),
        "axelrod:TitForTat": ([], []),
        "my_module:PLAYER": ([], []),
        f"{model}:row:0": ([model], ["tiny"]),
        f"{table}:row": ([table], []),
        "tiny": ([], ["tiny"]),
        "hf:tiny+adapter": ([Path("adapter")], ["tiny"]),
        "choose:tiny-talk@kind.txt": ([Path("kind.txt")], ["tiny-talk"]),
        "simulator:fitted.json": ([Path("fitted.json")], []),
        "simulator:fitted.json@malicious": ([Path("fitted.json")], []),
    }
    for player, (files, models) in expected.items():
        assert (files_of([player], "ipd", models_of([player])), models_of([player])) == (files, models), player
    assert files_of([], "mine.toml", []) == [Path("mine.toml")] and files_of([], {"name": "ipd"}, []) == []
    assert inputs_of([table]) == (str(table),)
    assert inputs_of([Path("kind.txt")]) == (str(tmp_path), str(tmp_path / "kind.txt"))
    assert list(checksums_of([table, Path("adapter"), Path("kind.txt")])) == [str(table), "kind.txt"]


@pytest.mark.parametrize("player", ["server.toml", "server.toml@malicious", "openai:m@http://127.0.0.1:9/v1"])
def test_endpoints_are_not_sent(player: str) -> None:
    with pytest.raises(UsageError, match="is an endpoint: what it is asked is agreed to, counted and limited by one"):
        sent_name(player)
