"""A published run names its model, and not where that lay on the machine that trained it."""

import json
import shutil
import sys
from pathlib import Path

from small_runs import QUIET, small

from coplay.models.known import MODELS
from coplay.report.data import load_run
from coplay.runs.train import train

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import publish_results


def test_a_models_directory_is_named_without_its_place(tmp_path: Path) -> None:
    shutil.copytree(MODELS["tiny"].path, tmp_path / "models" / "My-Model")
    config = small("language_model", "trials=2", f"model={json.dumps(str(tmp_path / 'models' / 'My-Model'))}")
    run = train(config, tmp_path / "run", progress=QUIET)
    assert json.loads((run.path / "config.json").read_text())["model"] == str((tmp_path / "models/My-Model").resolve())
    assert publish_results.main([str(run.path), str(tmp_path / "copy")]) == 0
    assert load_run(tmp_path / "copy").config["model"] == "My-Model"
    assert str(tmp_path) not in (tmp_path / "copy" / "config.json").read_text()


def test_a_hub_id_stays_what_it_is(tmp_path: Path) -> None:
    run = train(small("language_model", "trials=2"), tmp_path / "run", progress=QUIET)
    assert publish_results.main([str(run.path), str(tmp_path / "copy")]) == 0
    assert load_run(tmp_path / "copy").config["model"] == "tiny"
