"""A run that is resumed asks its models what it asked when it began, or is refused."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from run_files import as_older, read_json, unfinished, write_json
from small_models import QWEN_TEMPLATE, write_checkpoint
from small_runs import QUIET, small
from small_text_runs import small_text

from coplay.errors import UsageError
from coplay.runs.config import Config
from coplay.runs.train import resume, train


def config_of(kind: str, model: Path) -> Config:
    changes = ["trials=1", "checkpoint_every=1", f"model={model}", "precision=float32"]
    if kind == "text":
        return small_text("ipd-ab", *changes, "learner.max_tokens=3", "workers=1", "past_selves.probability=0")
    return small("language_model", *changes)


@pytest.mark.parametrize("kind", ["choice", "text"])
def test_other_prompts_are_refused(kind: str, tmp_path: Path) -> None:
    model = write_checkpoint(tmp_path / "model", "qwen2")
    run = unfinished(train(config_of(kind, model), tmp_path / "run", progress=QUIET).path)
    begun = read_json(run / "env.json")["prompts"]
    assert begun and all(len(one) == 64 for one in begun.values())
    template = model / "chat_template.jinja"
    template.write_text(QWEN_TEMPLATE.replace("<|im_end|>", "<|im_end|>!"))
    files = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    with pytest.raises(UsageError, match="is another one than when the run began") as caught:
        resume(run, progress=QUIET)
    assert "\n" not in str(caught.value) and ", ".join(begun) in str(caught.value)
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == files
    template.write_text(QWEN_TEMPLATE)
    assert resume(run, progress=QUIET).is_finished


@pytest.mark.parametrize(("family", "form"), [("gemma2", "gemma"), ("llama", "llama"), ("qwen2", None)])
def test_runs_of_before_that_had_a_form_by_their_vocabulary_are_refused(
    family: str, form: str | None, tmp_path: Path
) -> None:
    model = write_checkpoint(tmp_path / "model", family)
    run = unfinished(train(config_of("choice", model), tmp_path / "run", progress=QUIET).path)
    about = read_json(as_older(run) / "env.json")
    del about["prompts"]
    write_json(run / "env.json", about)
    if form is None:
        assert resume(run, progress=QUIET).is_finished
        return
    with pytest.raises(UsageError, match=f"had the form chat={form} since the model's vocabulary has its tags"):
        resume(run, progress=QUIET)


def test_tables_read_no_prompts(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=1"), tmp_path / "run", progress=QUIET).path
    assert read_json(run / "env.json")["prompts"] == {}
    assert resume(unfinished(run), progress=QUIET).is_finished
