"""The table of architectures: some rows are examined again, and the page is about the classes and the version of Transformers that are installed."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import transformers

from coplay.models.bank import AdapterBank

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

pytest.importorskip("peft", reason="trained adapters are read by PEFT: pip install -c constraints.txt -e '.[dev]'")
architectures: Any = import_module("architectures")
trial: Any = import_module("architecture_trial")

PAGE = ROOT / "docs" / "reference" / "architectures.md"

SAMPLE = (
    "bloom",
    "deepseek_v3",
    "emu3",
    "gemma3",
    "gemma3n_text",
    "gpt2",
    "gpt_oss",
    "lfm2",
    "llama",
    "phi3",
    "qwen3_5_text",
    "roberta",
)
"""Of each kind one: fused projections, latent and shared keys, a class that is not loaded, towers beside the text, experts, hybrids, positions that begin later."""

Said = dict[str, tuple[str, str, str]]


@pytest.fixture(scope="module")
def said() -> Said:
    """What the page says of each model type: verdict, engine and targets."""
    found: Said = architectures.verdicts_of(PAGE.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("model_type", SAMPLE)
def test_an_architecture_is_what_the_page_says(model_type: str, tmp_path: Path, cache: Path, said: Said) -> None:
    row = trial.examine(model_type, architectures.classes()[model_type], tmp_path)
    assert (row.verdict, row.engine, row.targets) == said[model_type], row


@pytest.mark.skipif(
    f"transformers=={transformers.__version__}\n" not in (ROOT / "constraints.txt").read_text(),
    reason="the page is about the pinned version",
)
def test_the_page_is_about_all_classes_of_the_pinned_transformers(said: Said) -> None:
    assert f"of Transformers {transformers.__version__} as a tiny model" in PAGE.read_text(encoding="utf-8")
    assert said.keys() == architectures.classes().keys(), "write it anew: python scripts/architectures.py"


def test_most_architectures_train_and_none_is_a_fault(said: Said) -> None:
    count = Counter(verdict for verdict, _, _ in said.values())
    assert count[trial.INTERNAL] == 0 and count.keys() <= set(trial.VERDICTS)
    assert count[trial.TRAINS] >= 60 and count[trial.TRAINS] + count[trial.NAMED] >= 120
    words = PAGE.read_text(encoding="utf-8")
    assert f"Of {len(said)} model types {count[trial.TRAINS]} agree and train" in words


def test_a_page_says_what_was_found() -> None:
    rows = [
        trial.Row("a", "A", trial.TRAINS, "packed", "q_proj, v_proj", still="tower.q_proj"),
        trial.Row("b-c", "BC", trial.NAMED, "rows", "in_proj_x"),
        trial.Row("d", "D", trial.REFUSED, note="cannot be *run* on <text>"),
        trial.Row("e", "E", trial.UNMADE, note="| needs a package"),
        trial.Row("f", "F", trial.INTERNAL, note="IndexError"),
    ]
    found = architectures.verdicts_of(architectures.page(rows))
    assert found == {row.model_type: (row.verdict, row.engine, row.targets) for row in rows}


def test_logits_that_are_off_after_training_are_a_fault(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = AdapterBank.import_peft

    def other(self: AdapterBank, slot: int, directory: Path) -> None:
        importing(self, slot, directory)
        for _, B in self.weights.values():
            B.data[slot] += 0.02

    monkeypatch.setattr(AdapterBank, "import_peft", other)
    with pytest.raises(AssertionError, match="log-probabilities behind 7 tokens, slot 0, are off by"):
        trial.examine("llama", "LlamaForCausalLM", tmp_path)


def test_one_that_crashes_or_hangs_is_a_fault_and_does_not_end_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashing(model_type: str, architecture: str, scratch: Path) -> Any:
        if model_type == "ends":
            os._exit(3)
        if model_type == "raises":
            raise ValueError("wrong")
        while model_type == "hangs":
            pass
        return trial.Row(model_type, architecture, trial.TRAINS)

    monkeypatch.setattr(architectures, "examine", crashing)
    monkeypatch.setattr(architectures, "LIMIT", 1)
    wanted = dict.fromkeys(["ends", "raises", "hangs", "works"], "X")
    rows = {row.model_type: row for row in architectures.examine_all(wanted, jobs=2)}
    assert [row.verdict for row in rows.values()] == [trial.INTERNAL] * 3 + [trial.TRAINS]
    assert rows["ends"].note == "ended with 3" and rows["hangs"].note == "took more than 1 s"
    assert re.match(r"ValueError: wrong \(test_architectures.py:\d+\)", rows["raises"].note)


@pytest.mark.slow
def test_the_whole_table(said: Said) -> None:
    rows = list(architectures.examine_all(architectures.classes(), jobs=os.cpu_count() or 1))
    assert {row.model_type: (row.verdict, row.engine, row.targets) for row in rows} == said
