"""Files of runs as tests read and write them: without the checks of the program."""

import json
from pathlib import Path
from typing import Any

from coplay.files.reading import parse_lines


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, or of its compressed copy; none without either."""
    file = path if path.exists() else path.with_name(f"{path.name}.gz")
    return parse_lines(file.read_bytes(), file) if file.exists() else []


def reseal(run: Path) -> None:
    """Have the manifest accept a run directory's files as they are now: somebody changed them on purpose, and well."""
    from coplay.files.store import MANIFEST, Store, entry_of

    if (run / MANIFEST).exists():
        store = Store.open(run, "run")
        store.entries = {name: entry_of((run / name).read_bytes()) for name in store.entries if (run / name).exists()}
        store.commit()
